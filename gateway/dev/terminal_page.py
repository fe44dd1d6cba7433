"""A page of the web chat on a terminal: one room, whose messages are printed as they grow."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TextIO
from uuid import uuid4

import anyio

from adapters.web.requests import room_id
from runtime.core.background import WakeSignal
from runtime.core.markup import as_read
from runtime.core.plain_text import visible

_START = "/start"
_CALM_S = 0.5
"""How long agents must be silent before the next line is read where nobody looks on."""

_OVER = "\r\x1b[K"
"""Begins the row of a terminal again."""

_ROW_CHARS = 60
"""What certainly stands in one row."""

SHOWN = 12
"""The messages of an earlier talk that are shown, the latest ones."""

ReadLine = Callable[[], Awaitable[str | None]]
"""The person's next line; None when there will be no more."""


class TerminalPage:
    """A `PageLink` whose page is a terminal. The next line is read when everything that was said is answered.

    A room in which nothing was said yet begins with `/start`. `ended` is called at the end of input; what agents still
    say is shown until the visit is cancelled.
    """

    def __init__(self, room: str, person_id: str, out: TextIO, read_line: ReadLine, ended: Callable[[], None]) -> None:
        self._room, self._me = room_id(room), person_id
        self._out = out
        self._read_line, self._ended = read_line, ended
        self._people = out.isatty()
        self._messages: OrderedDict[str, dict[str, Any]] = OrderedDict()
        """Those that are not printed whole, in order."""
        self._printed: dict[str, str] = {}
        self._heading = ""
        """The message whose line is open."""
        self._typing: set[str] = set()
        self._waits = False
        """Whether something was said that nobody has answered."""
        self._begun = self._asks = False
        self._news = WakeSignal()
        self._later = [json.dumps({"t": "open", "name": room})]

    # -- what the page says

    async def receive(self) -> str | None:
        while True:
            if self._later:
                return self._later.pop(0)
            if self._begun and not (self._waits or self._messages or self._typing):
                if not self._people and await self._more_comes():
                    continue
                self._asks = self._people
                line = await self._read_line()
                self._asks = False
                if line is None:
                    self._ended()
                    await anyio.sleep_forever()
                elif line.strip():
                    return self._say(line)
            else:
                await self._news.wait()

    async def _more_comes(self) -> bool:
        """Whether agents go on speaking, which a person would see."""
        with anyio.move_on_after(_CALM_S) as calm:
            await self._news.wait()
        return not calm.cancelled_caught

    def _say(self, text: str) -> str:
        self._waits = True
        return json.dumps({"t": "say", "id": str(uuid4()), "room": self._room, "text": text})

    # -- what the page is told

    def send_at_once(self, frame: str, /) -> bool:
        self._take(json.loads(frame))
        self._news.send()
        return True

    async def send(self, frame: str, /) -> None:
        self.send_at_once(frame)

    async def close(self, _code: int, reason: str, /) -> None:
        self._line(f"({reason})")

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["t"] in ("error", "refused"):
            self._answered(f"({frame['text']})")
        if frame["t"] == "opened":
            self._later.append(json.dumps({"t": "join", "room": self._room}))
        if frame.get("room") != self._room:
            return
        match frame["t"]:
            case "joined":
                self._join(frame["messages"])
            case "message":
                message = frame["message"]
                of_ours = message["kind"] == "notice"
                self._show({**message, "text": as_read(message["text"])} if of_ours else message)
            case "grow" if frame["id"] in self._messages:
                message = self._messages[frame["id"]]
                units = message["text"].encode("utf-16-le")
                kept = units[: len(units) - 2 * frame.get("cut", 0)].decode("utf-16-le")
                self._show({**message, "text": kept + frame["add"], "live": "done" not in frame})
            case "alone":
                self._answered(as_read(frame["text"]))
            case "typing" if frame["kind"] == "agent":
                (self._typing.discard if frame.get("ended") else self._typing.add)(frame["by"])

    def _join(self, messages: list[dict[str, Any]]) -> None:
        said = [one for one in messages if one["kind"] == "agent" or (one["by"] == self._me and one["text"] != _START)]
        for one in said[-SHOWN:]:
            if one["by"] == self._me:
                self._line(f"You: {one['text']}")
            else:
                self._show(one)
        if not said:
            self._later.append(self._say(_START))
        self._begun = True

    def _show(self, message: dict[str, Any]) -> None:
        """Print what is new of a message, once those before it are whole."""
        if message["by"] == self._me or message.get("deleted") or self._printed.get(message["id"]) == message["text"]:
            self._messages.pop(message["id"], None)
            return
        self._typing.discard(message["by"])
        self._messages[message["id"]] = message
        while self._messages:
            first = next(iter(self._messages.values()))
            if self._people or not first["live"]:
                self._grow(first)
            if first["live"]:
                return
            for number, choice in enumerate(first.get("choices", ()), 1):
                self._line(f"  {number}. {choice['label']}")
            del self._messages[first["id"]]
            self._waits = False

    def _grow(self, message: dict[str, Any]) -> None:
        before = self._printed.get(message["id"], "")
        if self._heading != message["id"] or not message["text"].startswith(before):
            if self._heading == message["id"] and len(before) < _ROW_CHARS and "\n" not in before:
                self._out.write(_OVER)
                self._heading = ""
            self._line(f"{message['name']}: ", end="")
            self._heading, before = message["id"], ""
        self._out.write(visible(message["text"][len(before) :]))
        self._printed[message["id"]] = message["text"]
        if not message["live"]:
            self._out.write("\n")
            self._heading = ""
        self._out.flush()

    def _answered(self, text: str) -> None:
        self._line(text)
        self._waits = False

    def _line(self, text: str, end: str = "\n") -> None:
        self._out.write((_OVER if self._asks else "") + "\n" * bool(self._heading) + visible(text) + end)
        self._heading = ""
        self._out.flush()

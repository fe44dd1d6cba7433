"""Calls in both directions over one connection, as JSON: each is answered with a value or with an error of ours."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from runtime.core import errors
from runtime.core.errors import AdapterError, ConversationFull, ParleyError, StorageUnavailable, TapeConflict
from runtime.core.json_text import compact_json

FRAME_CHARS = 256 * 1024
"""Longer messages are sent in several frames; the web server takes frames of 2 MiB."""

MESSAGE_CHARS = 64 * 1024 * 1024
"""The longest message that is read."""

AT_ONCE = 256
"""The number of calls that are answered at once; further ones are refused."""

_MORE, _LAST = "+", "."

Handler = Callable[[Any], Awaitable[Any]]
"""Answers a call, given its JSON data."""


class Link(Protocol):
    """A connection that carries texts, in order."""

    async def receive(self) -> str | None:
        """The next text; None when the other side has gone."""
        ...

    async def send(self, frame: str, /) -> None:
        """Send a text; does nothing when the other side has gone."""
        ...


class Peer:
    """One end of a connection. `handlers` answer what the other end calls, each call in a task of its own.

    A call that is cut off raises StorageUnavailable: whether it was done is not known, as with a database.
    """

    def __init__(self, link: Link, handlers: Mapping[str, Handler]) -> None:
        self._link = link
        self._handlers = handlers
        self._numbers = count(1)
        self._waiting: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}
        self._sending = anyio.Lock()
        self._answering = 0
        self._room = anyio.Semaphore(2 * AT_ONCE)
        self._gone = False

    async def run(self) -> None:
        """Answer until the other end has gone. Calls that are under way then are cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                while (text := await self._message()) is not None:
                    await self._take(json.loads(text), tasks)
                tasks.cancel_scope.cancel()
        finally:
            self._gone = True
            for done, _ in self._waiting.values():
                done.set()

    async def call(self, name: str, data: Any = None) -> Any:
        """Have the other end do something; its value. Raises what it raises there."""
        number = next(self._numbers)
        done, answer = self._waiting[number] = (anyio.Event(), {})
        try:
            if not self._gone:
                await self._send({"call": name, "number": number, "data": data})
                await done.wait()
        finally:
            del self._waiting[number]
        if "error" in answer:
            raise error_from(answer["error"])
        if "value" not in answer:
            raise StorageUnavailable("The gateway that this task belongs to has gone.")
        return answer["value"]

    async def _take(self, message: dict[str, Any], tasks: TaskGroup) -> None:
        """Take a message. Of an end that calls, and does not read the answers, no more is taken."""
        if "call" in message:
            await self._room.acquire()
            tasks.start_soon(self._answer, message)
        elif message.get("number") in self._waiting:
            done, answer = self._waiting[message["number"]]
            answer.update(message)
            done.set()

    async def _answer(self, message: Mapping[str, Any]) -> None:
        handler = self._handlers.get(message["call"])
        self._answering += 1
        try:
            if handler is None or self._answering > AT_ONCE:
                raise errors.TaskRefused(f"There is no call {str(message['call'])[:100]}, or too many calls are open.")
            answer: dict[str, Any] = {"value": await handler(message.get("data"))}
        except ParleyError as error:
            answer = {"error": error_data(error)}
        except (ValueError, LookupError, TypeError, AttributeError) as error:  # what came is not as it should be
            answer = {"error": error_data(errors.TaskRefused(f"{message['call']} was not understood: {error!r}"))}
        finally:
            self._answering -= 1
        try:
            await self._send({**answer, "number": message["number"]})
        finally:
            self._room.release()

    async def _send(self, message: Mapping[str, Any]) -> None:
        text = compact_json(message)
        async with self._sending:
            while len(text) > FRAME_CHARS:
                await self._link.send(_MORE + text[:FRAME_CHARS])
                text = text[FRAME_CHARS:]
            await self._link.send(_LAST + text)

    async def _message(self) -> str | None:
        parts, size = [], 0
        while (frame := await self._link.receive()) is not None:
            size += len(frame)
            if size > MESSAGE_CHARS:
                return None
            parts.append(frame[1:])
            if frame[:1] == _LAST:
                return "".join(parts)
        return None


def error_data(error: ParleyError) -> dict[str, Any]:
    """An error of ours as JSON data."""
    return {"kind": type(error).__name__, "text": str(error), "more": _more(error)}


def _more(error: ParleyError) -> dict[str, Any]:
    if isinstance(error, TapeConflict):
        return {"expected": error.expected, "actual": error.actual}
    return {"bound": error.bound} if isinstance(error, ConversationFull) else {}


def error_from(data: Mapping[str, Any]) -> ParleyError:
    """The error in this data; one that is not known here is StorageUnavailable."""
    kind = getattr(errors, str(data["kind"]), StorageUnavailable)
    try:
        found = kind(data["text"], **data["more"])
    except TypeError:  # it says more than comes over
        found = (AdapterError if issubclass(kind, AdapterError) else StorageUnavailable)(data["text"])
    return found if isinstance(found, ParleyError) else StorageUnavailable(data["text"])

"""People at their pages, over real WebSockets: each says something now and then, and reads what its room shows."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from benchmarks.web_chat.servers import ANSWER

AT_ONCE = 50
"""Pages that are opened at the same time."""

HELLO = "hello"
"""What is said first in a room."""

OPEN_LIMIT_S = 60.0
WAIT_LIMIT_S = 30.0
"""How long answers are waited for after the last message."""


@dataclass
class Told:
    """What became of what people said. `delays_s` are from saying to seeing the answer on the page of who said it."""

    said: int = 0
    refused: int = 0
    cut_off: int = 0
    delays_s: list[float] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    def answered(self, delay_s: float) -> None:
        """Somebody has seen an answer."""
        self.delays_s.append(delay_s)
        self._news.set()

    async def all_answered(self) -> None:
        """Return when no answer is missing."""
        while self.lost:
            self._news = anyio.Event()
            await self._news.wait()

    def forget(self) -> None:
        """Begin to count anew."""
        self.said = self.refused = self.cut_off = 0
        self.delays_s.clear()

    @property
    def lost(self) -> int:
        """Messages that nobody has seen an answer to."""
        return self.said - len(self.delays_s)


class Page:
    """One page. What is refused because there is too much is said again, as a browser does."""

    def __init__(self, socket: ClientConnection, room: str, told: Told) -> None:
        self._socket = socket
        self.room = room
        self._told = told
        self._waits: dict[str, tuple[str, float]] = {}
        self._texts: dict[str, str] = {}

    async def enter(self) -> None:
        """Look at the room, which is opened if need be."""
        await self._socket.send(json.dumps({"t": "open", "name": self.room}))
        await self._until("opened")
        await self._socket.send(json.dumps({"t": "join", "room": self.room}))
        await self._until("joined")

    async def say(self, text: str) -> None:
        """Say something and note when."""
        id_ = str(uuid4())
        self._texts[id_] = text
        self._waits[text] = (id_, time.perf_counter())
        self._told.said += 1
        await self._submit(id_, text)

    async def read(self, tasks: TaskGroup) -> None:
        """Read for ever what comes."""
        try:
            async for raw in self._socket:
                frame = json.loads(raw)
                if frame["t"] == "message" and frame["message"]["kind"] == "agent":
                    self._see(frame["message"]["text"].removeprefix(ANSWER))
                elif frame["t"] == "refused":
                    self._told.refused += 1
                    tasks.start_soon(self._again, frame["id"])
        except ConnectionClosed:
            pass
        self._told.cut_off += 1

    def _see(self, text: str) -> None:
        waited = self._waits.pop(text, None)
        if waited is not None:
            self._told.answered(time.perf_counter() - waited[1])

    async def _again(self, id_: str) -> None:
        await anyio.sleep(1)
        await self._submit(id_, self._texts[id_])

    async def _submit(self, id_: str, text: str) -> None:
        try:
            await self._socket.send(json.dumps({"t": "say", "id": id_, "room": self.room, "text": text}))
        except ConnectionClosed:
            return

    async def _until(self, kind: str) -> None:
        while json.loads(await self._socket.recv())["t"] != kind:
            pass


async def _open(url: str, cookie: str, room: str, told: Told) -> Page:
    socket = await connect(
        url.replace("http:", "ws:") + "/ws",
        origin=Origin(url),
        additional_headers={"Cookie": cookie},
        proxy=None,
        compression=None,
        max_queue=None,
        ping_interval=None,
        open_timeout=OPEN_LIMIT_S,
    )
    page = Page(socket, room, told)
    await page.enter()
    return page


@asynccontextmanager
async def pages(
    url: str, who_and_where: Callable[[int], tuple[str, str]], count: int, told: Told
) -> AsyncIterator[list[Page]]:
    """So many pages that read what comes; the cookie and the room of each by its number."""
    made: list[Page] = []
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            made.append(await _open(url, *who_and_where(number), told))
            tasks.start_soon(made[-1].read, tasks)

    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as opening:
            for _ in range(AT_ONCE):
                opening.start_soon(some)
        yield made
        tasks.cancel_scope.cancel()


async def talk(talking: list[Page], told: Told, *, per_second: float, seconds: float) -> None:
    """Have the pages say something one after the other, evenly; return when everything is answered, or too late."""
    began = time.perf_counter()
    wanted = told.said + round(per_second * seconds)
    for number, page in enumerate(itertools.cycle(talking)):
        await anyio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
        await page.say(f"{began:.3f}/{number}")
        if told.said >= wanted:
            break
    with anyio.move_on_after(WAIT_LIMIT_S):
        await told.all_answered()

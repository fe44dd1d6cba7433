"""A unix socket in front of another that can lose an answer, or hang: faults that no server makes on demand."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType

import anyio

_CHUNK_BYTES = 64 * 1024


class CutWire:
    """Passes everything on, by asyncio's streams: a read of anyio's that is cancelled while data come is an error.

    `swallow_next_answer`: the next answer is thrown away and its connection is closed. `hang`: nothing passes
    either way, as if the network between were cut, until `mend`.
    """

    def __init__(self, target: Path, path: Path) -> None:
        self.path = path
        self.swallowed = 0
        self._target = target
        self._swallow = False
        self._passable = anyio.Event()
        self._passable.set()
        self._stack = AsyncExitStack()

    def swallow_next_answer(self) -> None:
        self._swallow = True

    def hang(self) -> None:
        self._passable = anyio.Event()

    def mend(self) -> None:
        self._passable.set()

    async def __aenter__(self) -> CutWire:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        server = await asyncio.start_unix_server(lambda *ends: self._tasks.start_soon(self._serve, *ends), self.path)
        self._stack.callback(server.close)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tasks.cancel_scope.cancel()
        await self._stack.aclose()

    async def _serve(self, questions: StreamReader, back: StreamWriter) -> None:
        answers, on = await asyncio.open_unix_connection(self._target)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._questions, questions, on)
                await self._answers(answers, back)
                tasks.cancel_scope.cancel()
        finally:
            back.close()
            on.close()

    async def _questions(self, source: StreamReader, sink: StreamWriter) -> None:
        with suppress(ConnectionError):  # one side has given up
            while data := await source.read(_CHUNK_BYTES):
                await self._passable.wait()
                sink.write(data)
                await sink.drain()

    async def _answers(self, source: StreamReader, sink: StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(_CHUNK_BYTES):
                if self._swallow:
                    self._swallow = False
                    self.swallowed += 1
                    return
                await self._passable.wait()
                sink.write(data)
                await sink.drain()

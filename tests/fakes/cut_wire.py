"""A unix socket in front of another that can lose an answer, or hang: faults that no server makes on demand."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream


class CutWire:
    """Passes everything on. `swallow_next_answer`: the next answer is thrown away and its connection is closed.

    `hang`: nothing passes either way, as if the network between were cut, until `mend`.
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
        listener = await self._stack.enter_async_context(await anyio.create_unix_listener(self.path))
        self._tasks.start_soon(listener.serve, self._serve)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tasks.cancel_scope.cancel()
        await self._stack.aclose()

    async def _serve(self, client: SocketStream) -> None:
        async with client, await anyio.connect_unix(self._target) as server, anyio.create_task_group() as tasks:
            tasks.start_soon(self._questions, client, server)
            await self._answers(server, client)
            tasks.cancel_scope.cancel()

    async def _questions(self, client: ByteReceiveStream, server: ByteSendStream) -> None:
        with suppress(anyio.BrokenResourceError):  # one side has given up
            async for data in client:
                await self._passable.wait()
                await server.send(data)

    async def _answers(self, server: ByteReceiveStream, client: ByteSendStream) -> None:
        with suppress(anyio.BrokenResourceError):
            async for data in server:
                if self._swallow:
                    self._swallow = False
                    self.swallowed += 1
                    return
                await self._passable.wait()
                await client.send(data)

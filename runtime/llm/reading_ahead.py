"""Model answers that are read as they arrive, even while their consumer is stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from runtime.llm.client import Completion, CompletionRequest, LLMClient, Usage, model_for, name_for

MAX_PIECES = 100_000
"""The most pieces of one answer that may wait; reading continues once they are taken."""


class ReadingAhead:
    """A client that reads the answers of another in a task of their own, so that its limits of time hold for the model
    alone. An answer may be left in another cancel scope than it was asked for in."""

    def __init__(self, client: LLMClient, tasks: TaskGroup) -> None:
        """`tasks` own the reading; it ends when its answer is left."""
        self._client = client
        self._tasks = tasks

    @property
    def model(self) -> str:
        """The name of the other client's model."""
        return self._client.model

    def name_for(self, purpose: str, model: str, /) -> str:
        return name_for(self._client, purpose, model)

    def model_for(self, request: CompletionRequest, /) -> str:
        return model_for(self._client, request)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Ahead]:
        send, receive = anyio.create_memory_object_stream[str](MAX_PIECES)
        ahead = _Ahead(receive)
        self._tasks.start_soon(ahead.read, self._client, request, send)
        try:
            yield ahead
        finally:
            with anyio.CancelScope(shield=True):
                await ahead.leave()


class _Ahead:
    def __init__(self, pieces: MemoryObjectReceiveStream[str]) -> None:
        self._pieces = pieces
        self._completion: Completion | None = None
        self._failure: Exception | None = None
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()

    @property
    def usage(self) -> Usage:
        return Usage() if self._completion is None else self._completion.usage

    async def leave(self) -> None:
        """Stop reading; returns when the model's request has ended."""
        self._scope.cancel()
        await self._over.wait()
        self._pieces.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self._pieces:
            yield piece
        if self._failure is not None:
            raise self._failure

    async def read(self, client: LLMClient, request: CompletionRequest, into: MemoryObjectSendStream[str]) -> None:
        """Read the answer to its end. Its exceptions go to the consumer of the pieces."""
        try:
            with into, self._scope:
                await self._read(client, request, into)
        finally:
            self._over.set()

    async def _read(self, client: LLMClient, request: CompletionRequest, into: MemoryObjectSendStream[str]) -> None:
        try:
            async with client.stream(request) as completion:
                self._completion = completion
                async for piece in completion:
                    await into.send(piece)
        except Exception as error:  # noqa: BLE001 - it is raised where the pieces are taken
            self._failure = error

"""Answers of a model that are read as they come, however long who runs them stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from runtime.llm.client import Completion, CompletionRequest, LLMClient, Usage

MAX_PIECES = 100_000
"""Pieces of one answer that wait at most; a longer one is read on when they were taken."""


class ReadingAhead:
    """A client that reads the answers of another in a task of their own, so that its limits of time hold for the model
    alone."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    @property
    def model(self) -> str:
        """The other's."""
        return self._client.model

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Ahead]:
        """See `LLMClient`."""
        failure: Exception | None = None
        send, receive = anyio.create_memory_object_stream[str](MAX_PIECES)
        with send, receive:
            async with anyio.create_task_group() as tasks:
                ahead = _Ahead(receive)
                tasks.start_soon(ahead.read, self._client, request, send)
                try:
                    yield ahead
                except Exception as error:  # noqa: BLE001 - whatever it is, it leaves as itself and not in a group
                    failure = error
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure


class _Ahead:
    def __init__(self, pieces: MemoryObjectReceiveStream[str]) -> None:
        self._pieces = pieces
        self._completion: Completion | None = None
        self._failure: Exception | None = None

    @property
    def usage(self) -> Usage:
        return Usage() if self._completion is None else self._completion.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in self._pieces:
            yield piece
        if self._failure is not None:
            raise self._failure

    async def read(self, client: LLMClient, request: CompletionRequest, into: MemoryObjectSendStream[str]) -> None:
        """Read the answer to its end; what is wrong with it is for whoever takes the pieces."""
        with into:
            try:
                async with client.stream(request) as completion:
                    self._completion = completion
                    async for piece in completion:
                        await into.send(piece)
            except Exception as error:  # noqa: BLE001 - see above
                self._failure = error

"""Clients made of others: several models behind one, of which each request goes to the one that its program, its route
or its purpose names; none at all; and one whose answers are read as they arrive, even while their consumer is stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from runtime.core.errors import NoModelSet
from runtime.llm import client as port
from runtime.llm.chain import ModelCooldowns

DEFAULT = "default"
VISION = "vision"
PURPOSES: Mapping[str, str] = {"decide": "fast", "summarize": "summary", "compile": "compile", port.DESCRIBE: VISION}
"""The names in the settings by the purposes of requests; all others are answered by the default."""

SERVICES: Mapping[str, str] = {port.TRANSCRIBE: "transcription", port.SPEAK: "speech", port.EMBED: "embedding"}
"""The names of what listens, speaks, and tells what texts mean. Nothing else answers their requests, and no program may
name them."""

MAX_PIECES = 100_000
"""The most pieces of one answer that may wait; reading continues once they are taken."""


class ModelRegistry(port.LLMClient):
    def __init__(self, clients: Mapping[str, port.LLMClient], cooldowns: ModelCooldowns | None = None) -> None:
        """One of the names is DEFAULT. `cooldowns` are those of all chains."""
        self.all_clients = clients
        self.cooldowns = cooldowns
        self.model = clients[DEFAULT].model

    @property
    def clients(self) -> Mapping[str, port.LLMClient]:
        """The models by their names in the settings, without those that write no text."""
        return {name: client for name, client in self.all_clients.items() if name not in SERVICES.values()}

    def service(self, purpose: str) -> port.LLMClient | None:
        client = self.all_clients.get(SERVICES[purpose])
        return None if isinstance(client, NoModelClient) else client

    def name_for(self, purpose: str, model: str, /) -> str:
        if purpose in SERVICES:
            return SERVICES[purpose]
        name = model or PURPOSES.get(purpose, DEFAULT)
        return DEFAULT if name in PURPOSES.values() and name not in self.all_clients else name

    def client_for(self, purpose: str) -> port.LLMClient | None:
        client = self.all_clients[self.name_for(purpose, "")]
        return None if isinstance(client, NoModelClient) else client

    async def sees(self, purpose: str = "execute", model: str = "", /) -> bool | None:
        client = self.all_clients.get(self.name_for(purpose, model))
        return None if client is None else await client.sees()

    async def all_see(self) -> bool | None:
        return await self.all_clients[DEFAULT].all_see()

    async def warm_up(self) -> None:
        for client in self.all_clients.values():
            await client.warm_up()

    def model_for(self, request: port.CompletionRequest, /) -> str:
        """The model that is asked first; another one may answer."""
        return self._client(request).model

    def stream(self, request: port.CompletionRequest, /) -> AbstractAsyncContextManager[port.ModelCompletion]:
        return self._client(request).stream(request)

    def _client(self, request: port.CompletionRequest) -> port.LLMClient:
        name = self.name_for(request.purpose, request.model)
        client = self.all_clients.get(name)
        # where there is none, the session began with other settings
        return NoModelClient(f'The settings have no model "{name}".') if client is None else client


class NoModelClient(port.LLMClient):
    """Takes the place of a model: every request fails with the reason, which says what to set."""

    model = "none"

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @asynccontextmanager
    async def stream(self, _request: port.CompletionRequest, /) -> AsyncIterator[_Unavailable]:
        yield _Unavailable(self.reason)


class _Unavailable:
    usage = port.Usage()

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __aiter__(self) -> AsyncIterator[str]:
        raise NoModelSet(self._reason)


class ReadingAhead(port.LLMClient):
    """A client that reads the answers of another in a task of their own, so that its limits of time hold for the model
    alone. An answer may be left in another cancel scope than it was asked for in."""

    def __init__(self, client: port.LLMClient, tasks: TaskGroup) -> None:
        """`tasks` own the reading; it ends when its answer is left."""
        self.model = client.model
        self._client = client
        self._tasks = tasks

    def name_for(self, purpose: str, model: str, /) -> str:
        return self._client.name_for(purpose, model)

    def model_for(self, request: port.CompletionRequest, /) -> str:
        return self._client.model_for(request)

    @asynccontextmanager
    async def stream(self, request: port.CompletionRequest, /) -> AsyncIterator[_Ahead]:
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
        self._completion: port.ModelCompletion | None = None
        self._failure: Exception | None = None
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()

    @property
    def usage(self) -> port.Usage:
        return port.Usage() if self._completion is None else self._completion.usage

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

    async def read(
        self, client: port.LLMClient, request: port.CompletionRequest, into: MemoryObjectSendStream[str]
    ) -> None:
        """Read the answer to its end. Its exceptions go to the consumer of the pieces."""
        try:
            with into, self._scope:
                await self._read(client, request, into)
        finally:
            self._over.set()

    async def _read(
        self, client: port.LLMClient, request: port.CompletionRequest, into: MemoryObjectSendStream[str]
    ) -> None:
        try:
            async with client.stream(request) as completion:
                self._completion = completion
                async for piece in completion:
                    await into.send(piece)
        except Exception as error:  # noqa: BLE001 - it is raised where the pieces are taken
            self._failure = error

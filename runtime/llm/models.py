"""Several models behind one client: each request goes to the one that its program, its route or its purpose names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from runtime.llm.client import (
    DESCRIBE,
    EMBED,
    SPEAK,
    TRANSCRIBE,
    Completion,
    CompletionRequest,
    KnowsSight,
    KnowsSightOfAll,
    LLMClient,
    warm_up,
)
from runtime.llm.cooldowns import Cooldowns
from runtime.llm.local import NoModelClient

DEFAULT = "default"
VISION = "vision"
PURPOSES: Mapping[str, str] = {"decide": "fast", "summarize": "summary", "compile": "compile", DESCRIBE: VISION}
"""The names in the settings by the purposes of requests; all others are answered by the default."""

SERVICES: Mapping[str, str] = {TRANSCRIBE: "transcription", SPEAK: "speech", EMBED: "embedding"}
"""The names of what listens, speaks, and tells what texts mean. Nothing else answers their requests, and no program may
name them."""


class Models:
    """Models by their names in the settings."""

    def __init__(self, clients: Mapping[str, LLMClient], cooldowns: Cooldowns | None = None) -> None:
        """One of the names is DEFAULT. `cooldowns` are those of all chains."""
        self._clients = clients
        self.cooldowns = cooldowns

    @property
    def model(self) -> str:
        """The default's name."""
        return self._clients[DEFAULT].model

    @property
    def all_clients(self) -> Mapping[str, LLMClient]:
        """All of them by their names in the settings."""
        return self._clients

    @property
    def clients(self) -> Mapping[str, LLMClient]:
        """The models by their names in the settings, without those that write no text."""
        return {name: client for name, client in self._clients.items() if name not in SERVICES.values()}

    def service(self, purpose: str) -> LLMClient | None:
        """What answers requests of such a purpose; None where there is none."""
        client = self._clients.get(SERVICES[purpose])
        return None if isinstance(client, NoModelClient) else client

    def name_for(self, purpose: str, model: str, /) -> str:
        """The name in the settings of what answers a request of this purpose that asks for `model`."""
        if purpose in SERVICES:
            return SERVICES[purpose]
        name = model or PURPOSES.get(purpose, DEFAULT)
        return DEFAULT if name in PURPOSES.values() and name not in self._clients else name

    def client_for(self, purpose: str) -> LLMClient | None:
        """The model for requests of this purpose; None where there is none."""
        client = self._clients[self.name_for(purpose, "")]
        return None if isinstance(client, NoModelClient) else client

    async def sees(self, purpose: str = "execute", model: str = "", /) -> bool | None:
        client = self._clients.get(self.name_for(purpose, model))
        return await client.sees() if isinstance(client, KnowsSight) else None

    async def all_see(self, purpose: str = "execute", model: str = "", /) -> bool | None:
        client = self._clients.get(self.name_for(purpose, model))
        return await client.all_see() if isinstance(client, KnowsSightOfAll) else await self.sees(purpose, model)

    async def warm_up(self) -> None:
        for client in self._clients.values():
            await warm_up(client)

    def model_for(self, request: CompletionRequest, /) -> str:
        """The model that is asked first; another one may answer."""
        return self._client(request).model

    def stream(self, request: CompletionRequest, /) -> AbstractAsyncContextManager[Completion]:
        return self._client(request).stream(request)

    def _client(self, request: CompletionRequest) -> LLMClient:
        name = self.name_for(request.purpose, request.model)
        client = self._clients.get(name)
        # where there is none, the session began with other settings
        return NoModelClient(f'The settings have no model "{name}".') if client is None else client

"""Sight of models: whether one sees pictures, by the settings, else its provider's data, else by trying."""

from __future__ import annotations

from runtime.llm.client import KnowsSight, KnowsSightOfAll, LLMClient, name_for


class Sight:
    """A node's knowledge about the sight of its models."""

    def __init__(self, client: LLMClient | None = None, said: bool | None = None) -> None:
        """`said` is what the settings say of them."""
        self._client = client
        self._said = said
        self._refused: set[str] = set()

    async def sees(self, purpose: str = "execute", model: str = "") -> bool:
        """Whether what answers such a request is to be given pictures."""
        if self._said is not None:
            return self._said
        known = await self._client.sees(purpose, model) if isinstance(self._client, KnowsSight) else None
        return self._named(purpose, model) not in self._refused if known is None else known

    async def all_see(self) -> bool:
        """Whether whatever answers is to be given pictures: no model of a chain is blind."""
        known = await self._client.all_see() if isinstance(self._client, KnowsSightOfAll) else None
        return await self.sees() if self._said is not None or known is None else known

    def refused(self, purpose: str = "execute", model: str = "") -> None:
        """It has refused a request with pictures: it gets no more, unless its data or the settings say so."""
        self._refused.add(self._named(purpose, model))

    def _named(self, purpose: str, model: str) -> str:
        return "" if self._client is None else name_for(self._client, purpose, model)

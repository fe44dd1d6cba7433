"""Several models behind one process: who answers depends on what is asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from runtime.llm.client import CompletionRequest, KnowsSight, Provider, Usage


class ByPurpose:
    """A provider that gives requests of some purposes to others."""

    def __init__(self, main: Provider, others: Mapping[str, Provider]) -> None:
        self._main = main
        self._others = dict(others)

    async def warm_up(self) -> None:
        """Prepare the main one; others are prepared by their first request."""
        await self._main.warm_up()

    async def sees(self) -> bool | None:
        """Whether the main one takes pictures."""
        return await self._main.sees() if isinstance(self._main, KnowsSight) else None

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        provider = self._others.get(request.purpose, self._main)
        async with aclosing(provider.answer(request)) as parts:
            async for part in parts:
                yield part

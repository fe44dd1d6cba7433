"""The pages that are open, so that they close at once when their person is not admitted any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

Admitted = Callable[[], Awaitable[bool]]
"""Whether the person of a page may still look at it."""


class Told(Protocol):
    """News of whose access has changed; see `adapters.web.echo.RoomNews`."""

    async def listen(
        self, on_open: Callable[[], Awaitable[None]], on_news: Callable[[str], Awaitable[None]], /
    ) -> None: ...


@dataclass(eq=False, slots=True)
class _Page:
    person: str
    admitted: Admitted
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class OpenPages:
    """The pages of this node."""

    def __init__(self) -> None:
        self._pages: dict[str, dict[_Page, None]] = {}

    @contextmanager
    def one(self, person: str, admitted: Admitted) -> Iterator[anyio.CancelScope]:
        """A page is open within the block, which is cancelled when its person is not admitted any more."""
        page = _Page(person, admitted)
        self._pages.setdefault(person, {})[page] = None
        try:
            with page.scope:
                yield page.scope
        finally:
            del self._pages[person][page]
            if not self._pages[person]:
                del self._pages[person]

    async def heed(self, told: Told) -> None:
        """Close pages as news come, until cancelled. Raises StorageUnavailable."""
        await told.listen(self.check_all, self.check)

    async def check(self, person: str) -> None:
        """Close the pages of a person that are not admitted any more."""
        for page in list(self._pages.get(person, ())):
            if not await page.admitted():
                page.scope.cancel()

    async def check_all(self) -> None:
        """Close all pages that are not admitted any more: news may have been missed."""
        for person in list(self._pages):
            await self.check(person)

"""The port through which nodes tell each other at once what happens in rooms, so that a page sees it on any of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

OnOpen = Callable[[], Awaitable[None]]
OnNews = Callable[[str], Awaitable[None]]


class RoomNews(Protocol):
    """Texts between nodes. Nothing is kept: what is told while a node does not listen never reaches it."""

    @property
    def node(self) -> str:
        """Our name."""
        ...

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        """Tell one node, or all of them, ours among them. Texts of one caller arrive in their order."""
        ...

    async def listen(self, on_open: OnOpen, on_news: OnNews, /) -> None:
        """Hand over what others tell, for ever; `on_open` each time that something may have been missed before."""
        ...

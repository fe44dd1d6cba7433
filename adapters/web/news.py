"""The port by which nodes report events in rooms at once, so that a page on any node sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

OnOpen = Callable[[], Awaitable[None]]
OnNews = Callable[[str], Awaitable[None]]


class RoomNews(Protocol):
    """Texts between nodes. Nothing is stored: a node that does not listen misses texts."""

    @property
    def node(self) -> str:
        """This node's name."""
        ...

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        """Send a text to one node or to all, including this one. Texts of one caller arrive in order."""
        ...

    async def listen(self, on_open: OnOpen, on_news: OnNews, /) -> None:
        """Deliver others' texts, until cancelled. `on_open` is called each time that texts may have been missed
        before.
        """
        ...

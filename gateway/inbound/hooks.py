"""What routers call of others: who hears of what was kept, and who reads programs again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from runtime.core.texts import Texts
from runtime.stores.inbox import InboxEvent

Kept = Callable[[InboxEvent], None]
"""Hears of each event that is in an inbox now."""

Reload = Callable[[Texts, bool], Awaitable[str]]
"""Reads programs and settings again. What came of it, in words; errors and keys only where owners alone read them."""


def unheard(_event: InboxEvent) -> None:
    """Nobody hears of it."""


async def nothing_to_reload(texts: Texts, _private: bool) -> str:
    """Nothing can be read again."""
    return texts("reload.nothing")

"""Pages of what is found among sessions: as many as are wanted, and where the next page goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from runtime.stores.catalog import KnownSession, SessionCatalog

Item = TypeVar("Item")

_READ_AT_ONCE = 200
_FEW = 20


async def among_sessions(
    catalog: SessionCatalog,
    after: str,
    limit: int,
    choose: Callable[[KnownSession], Awaitable[Item | None]],
    look_at: int,
) -> tuple[list[Item], str]:
    """What `choose` makes of the sessions after a mark, the most recently active first, and the mark of the next page.

    There are fewer than `limit` only at the end, where the mark is "", or where none was found among `look_at` more
    sessions than those that were given. Raises ValueError for what is no mark.
    """
    found: list[Item] = []
    mark, looked_at = after, 0
    while True:
        page = await catalog.page(mark, limit=min(_READ_AT_ONCE, limit + _FEW))
        for known, own in zip(page.sessions, page.marks, strict=True):
            item = await choose(known)
            if item is None:
                looked_at += 1
                continue
            found.append(item)
            if len(found) == limit:
                is_last = not page.next and known is page.sessions[-1]
                return found, "" if is_last else own
        mark = page.next
        if not mark or looked_at >= look_at:
            return found, mark

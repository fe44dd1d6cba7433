"""Pages of what is found among sessions are full until the end, and together they are everything, once."""

from datetime import UTC, datetime
from itertools import chain, product
from typing import cast

import pytest

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.catalog import KnownSession, SessionCatalog, SessionPage, among_sessions
from runtime.stores.sessions import SessionRecord

NOW = datetime(2026, 11, 28, tzinfo=UTC)


class Numbered:
    """A catalog of sessions with the numbers from 1 on, which are their marks."""

    def __init__(self, count: int) -> None:
        self._known = [
            KnownSession(
                SessionRecord(SessionId(str(number)), Address("test", str(number)), "p", NOW, 1),
                *(False, frozenset(), NOW, 0, None),
            )
            for number in range(1, count + 1)
        ]

    async def page(self, after: str = "", /, *, limit: int) -> SessionPage:
        first = int(after or 0)
        found = self._known[first : first + limit]
        marks = [str(known.record.id) for known in found]
        return SessionPage(found, marks[-1] if first + limit < len(self._known) else "", marks)


async def pages(count: int, every: int, limit: int, look_at: int = 10_000) -> list[list[int]]:
    catalog, mark = cast("SessionCatalog", Numbered(count)), ""
    found: list[list[int]] = []

    async def choose(known: KnownSession) -> int | None:
        number = int(known.record.id)
        return number if number % every == 0 else None

    while True:
        page, mark = await among_sessions(catalog, mark, limit, choose, look_at)
        found.append(page)
        if not mark:
            return found


@pytest.mark.parametrize("count", [0, 1, 99, 300, 501])
async def test_pages_are_full_until_the_end_and_have_everything_once(count: int) -> None:
    for every, limit in product([1, 3, 50, 1000], [1, 2, 7, 100, 1000]):
        *full, last = await pages(count, every, limit)
        assert all(len(page) == limit for page in full)
        assert len(last) <= limit
        assert [*chain(*full, last)] == list(range(every, count + 1, every))


async def test_an_answer_that_has_looked_at_much_says_where_the_next_goes_on() -> None:
    found = await pages(900, 300, limit=5, look_at=50)
    assert len(found) > 3
    assert [*chain(*found)] == [300, 600, 900]

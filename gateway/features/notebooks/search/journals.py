"""Search in sessions' tapes. They have no index: what is searched is read, the latest first, and forgotten.

So nothing of a deleted session, and nothing that is encrypted, is left in a file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from gateway.features.notebooks.search.index import Filters, IndexedEntry, SearchIndex, Shelf
from gateway.features.notebooks.search.search import utc_text
from gateway.features.notebooks.search.words import Meant, match_of, meant, texts_in, words_of
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact, TapeReader

LOOKED_AT = 10_000
"""The facts that one search looks at."""

LOOKS_S = 2.0
"""How long one search reads facts."""

_IN_MEMORY = Path(":memory:")
_SHELF = Shelf("", 0)


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """The facts that were found, the latest first. `sealed` is how many facts could not be read, because their key is
    not there.

    `rest` is the session, and the fact in it, before which there is more to look at; None after all of them. `missing`:
    the archive did not give all of them.
    """

    facts: Sequence[tuple[SessionRecord, Fact]]
    rest: tuple[SessionRecord, int] | None
    missing: bool
    sealed: int
    meant: Meant


class JournalSearch:
    """Searches the tapes of sessions."""

    def __init__(self, tapes: TapeReader) -> None:
        self._tapes = tapes
        self._thread = anyio.CapacityLimiter(1)

    async def find(
        self, records: Sequence[SessionRecord], asked: str, filters: Filters, limit: int, *, before: int | None = None
    ) -> FoundFacts:
        """The facts that a question means, among those of sessions, the latest first.

        `before` is where the first session is begun with: at its fact before this one.
        Raises StorageUnavailable.
        """
        wanted: list[tuple[SessionRecord, Fact]] = []
        rest, missing, looked, sealed, until = None, False, 0, 0, anyio.current_time() + LOOKS_S
        for record in records:
            seq = min(before or record.seq + 1, record.seq + 1)
            before = None
            try:
                async for fact in self._facts(record, seq):
                    if looked == LOOKED_AT or anyio.current_time() > until:
                        rest = record, fact.seq + 1
                        break
                    looked += 1
                    if not filters.kinds or fact.kind in filters.kinds:
                        wanted.append((record, fact))
            except ContentLocked:
                sealed += record.seq
            except ArchiveUnavailable:
                missing = True
            if rest is not None:
                break
        wanted.reverse()
        places, parts = await run_sync(
            _places, [fact for _, fact in wanted], asked, filters, limit, limiter=self._thread
        )
        found = [wanted[place - 1] for place in places]
        if len(found) == limit:
            rest = found[-1][0], found[-1][1].seq
        return FoundFacts(found, rest, missing, sealed, parts)

    async def _facts(self, record: SessionRecord, before: int) -> AsyncIterator[Fact]:
        if record.archived:  # it comes back from the archive when it is read from its beginning
            async for _ in self._tapes.read_session(record.id, until=1):
                break
        async for fact in self._tapes.read_back(record.id, before=before):
            yield fact


def _places(facts: Sequence[Fact], asked: str, filters: Filters, limit: int) -> tuple[list[int], Meant]:
    """The places of the facts that are meant, counted from 1, the latest first; and what is meant."""
    index = SearchIndex(_IN_MEMORY)
    try:
        index.add(_SHELF, [_item(place, fact) for place, fact in enumerate(facts, 1)])
        parts = meant(asked, index.spellings)
        match = match_of(parts)
        found = [] if match is None else index.search(match, [(_SHELF, 1, len(facts))], filters, limit)
        return [place for _, place in found], parts
    finally:
        index.close()


def _item(place: int, fact: Fact) -> IndexedEntry:
    words = [word for text in texts_in(fact.data) for word in words_of(text)]
    return IndexedEntry(place, fact.kind, utc_text(fact.at.isoformat()), words)

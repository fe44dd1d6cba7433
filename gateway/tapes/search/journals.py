"""Search in sessions' tapes. They have no index: what is searched is read, the latest first, and forgotten.

So nothing of a deleted session, and nothing that is encrypted, is left in a file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from gateway.tapes.search.index import Filters, Item, SearchIndex, Shelf
from gateway.tapes.search.search import utc_text
from gateway.tapes.search.words import question, texts_in, words_of
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact, TapeReader

LOOKED_AT = 10_000
"""So many facts one search looks at."""

LOOKS_S = 2.0
"""So long one search reads facts."""

_IN_MEMORY = Path(":memory:")
_SHELF = Shelf("", 0)


@dataclass(frozen=True, slots=True)
class FoundFacts:
    """What was found, the latest first. `behind`: there was more than one search looks at. `sealed` is how many facts
    could not be read, because their key is not there."""

    facts: Sequence[tuple[SessionRecord, Fact]]
    behind: bool
    sealed: int


class JournalSearch:
    """Searches the tapes of sessions."""

    def __init__(self, tapes: TapeReader) -> None:
        self._tapes = tapes
        self._thread = anyio.CapacityLimiter(1)

    async def find(self, records: Sequence[SessionRecord], asked: str, filters: Filters, limit: int) -> FoundFacts:
        """The facts that a question means, among those of sessions, of which the first are the latest.

        Raises StorageUnavailable.
        """
        looked: list[tuple[SessionRecord, Fact]] = []
        behind, sealed, until = False, 0, anyio.current_time() + LOOKS_S
        for record in records:
            try:
                async for fact in self._facts(record):
                    if len(looked) == LOOKED_AT or anyio.current_time() > until:
                        behind = True
                        break
                    looked.append((record, fact))
            except ContentLocked:
                sealed += record.seq
            except ArchiveUnavailable:
                behind = True
            if behind and anyio.current_time() > until:
                break
        looked.reverse()
        places = await run_sync(_places, [fact for _, fact in looked], asked, filters, limit, limiter=self._thread)
        return FoundFacts([looked[place - 1] for place in places], behind, sealed)

    async def _facts(self, record: SessionRecord) -> AsyncIterator[Fact]:
        if record.archived:  # it comes back from the archive when it is read from its beginning
            async for _ in self._tapes.read_session(record.id, until=1):
                break
        async for fact in self._tapes.read_back(record.id, before=record.seq + 1):
            yield fact


def _places(facts: Sequence[Fact], asked: str, filters: Filters, limit: int) -> list[int]:
    """The places of the facts that are meant, counted from 1, the latest first."""
    index = SearchIndex(_IN_MEMORY)
    try:
        index.add(_SHELF, [_item(place, fact) for place, fact in enumerate(facts, 1)])
        match = question(asked, index.spellings)
        found = [] if match is None else index.search(match, [(_SHELF, 1, len(facts))], filters, limit)
        return [place for _, place in found]
    finally:
        index.close()


def _item(place: int, fact: Fact) -> Item:
    words = [word for text in texts_in(fact.data) for word in words_of(text)]
    return Item(place, fact.kind, utc_text(fact.at.isoformat()), words)

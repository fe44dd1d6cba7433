"""`GET /tape/v1/search` and `GET /tape/v1/tapes/{tape}/search`.

Search in sessions' tapes. They have no index: what is searched is read, the latest first, and forgotten.

So nothing of a deleted session, and nothing that is encrypted, is left in a file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.journals import journal_of, tape_name
from gateway.clients.requests import BusClient, answer, known_mark, whole
from gateway.clients.scopes import JOURNAL
from gateway.clients.views import ClientView, looks
from gateway.features.notebooks.search import index as indexing
from gateway.features.notebooks.search.index import meant
from gateway.features.notebooks.search.search import FoundEntries, NotebookSearch, utc_text
from gateway.features.notebooks.tapes import MAX_NUMBER, NamedTapes, fact_data
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import PageBegun
from runtime.tape.facts.session import AgentCreated
from runtime.tape.tape import Fact, TapeReader

BEFORE_CHARS = 60

EXCERPT_CHARS = 220

_LOOKED_AT = 20_000
"""The first characters of a text, in which words are looked for."""

_CUT = "…"

Piece = dict[str, Any]
"""`text`, and whether it is what was `found`."""

MAX_HITS = 100
MAX_SESSIONS = 200
"""The most recently active sessions that are searched."""

MAX_QUESTION_CHARS = 1_000

LOOKED_AT = 10_000

LOOKS_S = 2.0

_IN_MEMORY = Path(":memory:")
_SHELF = indexing.Shelf("", 0)


def excerpts(payloads: Sequence[Any], parts: indexing.Meant) -> list[list[Piece]]:
    return [_excerpt(payload, parts) for payload in payloads]


def _excerpt(payload: Any, parts: indexing.Meant) -> list[Piece]:
    """The pieces of the text that has most of what was asked for, in order; nothing where no single text has it."""
    best: tuple[int, str, list[tuple[int, int]]] = 0, "", []
    for full in indexing.texts_in(payload):
        text = unicodedata.normalize("NFC", full[:_LOOKED_AT])
        words = list(indexing.placed_words(text))
        found = [list(_places(words, part)) for part in parts]
        count = sum(bool(places) for places in found)
        if count > best[0]:
            best = count, text, sorted(place for places in found for place in places)
    _, text, places = best
    return _cut(text, places) if places else []


def _places(words: Sequence[tuple[str, int, int]], part: Sequence[indexing.Phrase]) -> Iterator[tuple[int, int]]:
    for phrase in part:
        *firsts, last = phrase.words
        for at in range(len(words) - len(firsts)):
            word = words[at + len(firsts)][0]
            if not (word == last or (phrase.begins and word.startswith(last))):
                continue
            if all(words[at + number][0] == first for number, first in enumerate(firsts)):
                start, end = words[at][1], words[at + len(firsts)][2]
                yield start, start + 1 if phrase.begins else end


def _cut(text: str, places: Sequence[tuple[int, int]]) -> list[Piece]:
    first = places[0][0]
    start = max(0, first - BEFORE_CHARS)
    if start:
        start = text.find(" ", start, first) + 1 or start
    stop = min(len(text), start + EXCERPT_CHARS)
    pieces: list[Piece] = [{"text": _CUT, "found": False}] if start else []
    at = start
    for begins, ends in places:
        begins, ends = max(begins, at), min(ends, stop)
        if begins >= ends:
            continue
        if begins > at:
            pieces.append({"text": text[at:begins], "found": False})
        pieces.append({"text": text[begins:ends], "found": True})
        at = ends
    if at < stop:
        pieces.append({"text": text[at:stop], "found": False})
    return [*pieces, {"text": _CUT, "found": False}] if stop < len(text) else pieces


class SearchRoutes(ClientView, frozen=True):
    tapes: NamedTapes
    search: NotebookSearch
    journals: JournalSearch

    @looks("/tapes/{tape}/search")
    async def in_one(self, request: Request, client: BusClient) -> Response:
        """Search one notebook, with what it took over from others; or one session."""
        name = tape_name(client, "read", request)
        if journal_of(name) is not None:
            record = await self.tapes.record(name)
            if record is None:
                raise HTTPException(404, f"There is no tape {name}.")
            if client.scopes.content:
                await self.tapes.rooms.check(client, record)
            return await self._facts(request, client, [record], _Place.of(request))
        notebook = await self.tapes.notebooks.find(name)
        if notebook is None:
            raise HTTPException(404, f"There is no tape {name}.")
        asked, filters, limit = _asked(request)
        return await _told(await self.search.in_notebook(notebook, asked, filters, limit))

    @looks("/search")
    async def in_all(self, request: Request, client: BusClient) -> Response:
        """Search all notebooks that the client may read, or those whose names fit `scope`; with a scope that begins as
        their names do, the sessions that were active last."""
        scope = request.query_params.get("scope", "*")
        if scope.startswith(JOURNAL):
            place = _Place.of(request)
            with known_mark():
                page = await self.tapes.catalog.page(place.mark, limit=MAX_SESSIONS)
            records = [known.record for known in page.sessions]
            ids = [record.id for record in records]
            first = ids.index(place.session) if place.session in ids else 0
            may_read = [
                record
                for record in records[first:]
                if fnmatchcase(name := f"{JOURNAL}{record.id}", scope)
                and client.scopes.may_tape("read", name)
                and (client.scopes.private or not await self.tapes.rooms.holds(record))
            ]
            return await self._facts(request, client, may_read, place, following=page.next)
        asked, filters, limit = _asked(request)

        def among(name: str) -> bool:
            return fnmatchcase(name, scope) and client.scopes.may_tape("read", name)

        return await _told(await self.search.in_all(among, asked, filters, limit))

    async def _facts(
        self,
        request: Request,
        client: BusClient,
        records: Sequence[SessionRecord],
        place: _Place,
        *,
        following: str = "",
    ) -> Response:
        """What is found from a place on; `following` is the mark of the sessions behind these."""
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content, and so none to search what people say.")
        begun = bool(records) and records[0].id == place.session
        found = await self.journals.find(records, *_asked(request), before=place.before if begun else None)
        pieces = await run_sync(excerpts, [fact.data for _, fact in found.facts], found.meant)
        hits = [
            {
                "tape": f"{JOURNAL}{record.id}",
                "entry": fact_data(fact, content=True),
                "excerpt": excerpt,
                "conversation": record.address.key,
                "who": found.speakers.get(
                    (record.id, found.speakers.get((record.id, f"page {fact.data.get('page')}"), ""))
                ),
            }
            for (record, fact), excerpt in zip(found.facts, pieces, strict=True)
        ]
        rest = found.rest
        next_ = _Place(place.mark, rest[0].id, rest[1]) if rest else _Place(following) if following else None
        behind = next_ is not None or found.missing
        return answer({"hits": hits, "behind": behind, "sealed": found.sealed, "next": next_ and str(next_)})


class _Place(Struct, frozen=True):
    """Where a search of sessions goes on: behind a mark of their list, with a session, before one of its facts. Where
    that session has moved in the list, all that stand there now are looked at."""

    mark: str = ""
    session: SessionId | None = None
    before: int | None = None

    def __str__(self) -> str:
        return f"{self.mark}~{self.session or ''}~{self.before or ''}"

    @staticmethod
    def of(request: Request) -> _Place:
        text = request.query_params.get("after", "")
        if not text:
            return _Place()
        mark, session, before = text.split("~") if text.count("~") == 2 else ("", "", "-")
        number = whole_number(before, MAX_NUMBER)
        with known_mark():
            if before and number is None:
                raise ValueError(text)
        return _Place(mark, SessionId(session) or None, number)


def _asked(request: Request) -> tuple[str, indexing.Filters, int]:
    params = request.query_params
    asked = params.get("q", "")
    if not 0 < len(asked) <= MAX_QUESTION_CHARS:
        raise HTTPException(422, f"q is a text of 1 to {MAX_QUESTION_CHARS:,} characters.")
    kinds = tuple(filter(None, params.get("kinds", "").split(",")))
    dates = [utc_text(params[name]) if name in params else "" for name in ("from", "until")]
    if any(name in params and not date for name, date in zip(("from", "until"), dates, strict=True)):
        raise HTTPException(422, "from and until are dates such as 2026-11-23T09:00:00Z.")
    return asked, indexing.Filters(kinds, *dates), whole(request, "limit", 20, MAX_HITS, least=1)


async def _told(found: FoundEntries) -> Response:
    entries = [entry.data() for _, entry in found.hits]
    pieces = await run_sync(excerpts, [entry["payload"] for entry in entries], found.meant)
    hits = [
        {"tape": tape, "entry": entry, "excerpt": excerpt}
        for (tape, _), entry, excerpt in zip(found.hits, entries, pieces, strict=True)
    ]
    return answer({"hits": hits, "behind": found.behind, "sealed": found.sealed, "next": None})


class FoundFacts(Struct, frozen=True):
    """The facts that were found, the latest first. `sealed` is how many facts could not be read, because their key is
    not there.

    `rest` is the session, and the fact in it, before which there is more to look at; None after all of them. `missing`:
    the archive did not give all of them. `speakers`: see `_note_speaker`.
    """

    facts: Sequence[tuple[SessionRecord, Fact]]
    rest: tuple[SessionRecord, int] | None
    missing: bool
    sealed: int
    meant: indexing.Meant
    speakers: Mapping[tuple[str, str], str]


class JournalSearch(Struct, eq=False):
    _tapes: TapeReader
    _thread: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def find(
        self,
        records: Sequence[SessionRecord],
        asked: str,
        filters: indexing.Filters,
        limit: int,
        *,
        before: int | None = None,
    ) -> FoundFacts:
        """The facts that a question means, among those of sessions, the latest first.

        `before` is where the first session is begun with: at its fact before this one.
        Raises StorageUnavailable.
        """
        wanted: list[tuple[SessionRecord, Fact]] = []
        rest, missing, looked, sealed, until = None, False, 0, 0, anyio.current_time() + LOOKS_S
        speakers: dict[tuple[str, str], str] = {}
        for record in records:
            seq = min(before or record.seq + 1, record.seq + 1)
            before = None
            try:
                async for fact in self._facts(record, seq):
                    if looked == LOOKED_AT or anyio.current_time() > until:
                        rest = record, fact.seq + 1
                        break
                    looked += 1
                    _note_speaker(speakers, record, fact)
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
            _places_of_facts, [fact for _, fact in wanted], asked, filters, limit, limiter=self._thread
        )
        found = [wanted[place - 1] for place in places]
        if len(found) == limit:
            rest = found[-1][0], found[-1][1].seq
        return FoundFacts(found, rest, missing, sealed, parts, speakers)

    async def _facts(self, record: SessionRecord, before: int) -> AsyncIterator[Fact]:
        if record.archived:  # it comes back from the archive when it is read from its beginning
            async for _ in self._tapes.read_session(record.id, until=1):
                break
        async for fact in self._tapes.read_back(record.id, before=before):
            yield fact


def _note_speaker(known: dict[tuple[str, str], str], record: SessionRecord, fact: Fact) -> None:
    """Note, by session and page, which agent says it, and by session and agent its name."""
    if fact.kind == PageBegun.kind:
        known[record.id, f"page {fact.seq}"] = str(fact.data["agent"])
    elif fact.kind == AgentCreated.kind:
        known[record.id, str(fact.data["id"])] = str(fact.data["class"])


def _places_of_facts(
    facts: Sequence[Fact], asked: str, filters: indexing.Filters, limit: int
) -> tuple[list[int], indexing.Meant]:
    """The places of the facts that are meant, counted from 1, the latest first; and what is meant."""
    index = indexing.SearchIndex(_IN_MEMORY)
    try:
        index.add(_SHELF, [_item(place, fact) for place, fact in enumerate(facts, 1)])
        parts = meant(asked, index.spellings)
        match = indexing.match_of(parts)
        found = [] if match is None else index.search(match, [(_SHELF, 1, len(facts))], filters, limit)
        return [place for _, place in found], parts
    finally:
        index.close()


def _item(place: int, fact: Fact) -> indexing.IndexedEntry:
    words = [word for text in indexing.texts_in(fact.data) for word in indexing.words_of(text)]
    return indexing.IndexedEntry(place, fact.kind, utc_text(fact.at.isoformat()), words)

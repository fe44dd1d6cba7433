"""Tapes as clients read them: notebooks, and the journals of sessions, by one interface. `GET /tape/v1/…`: which tapes
there are, their entries, and what comes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeAlias

import anyio
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.clients.journals import ClosedRooms, journal_of, tape_name
from gateway.clients.requests import STREAM_HEADERS, BusClient, answer, chosen, known_mark, whole
from gateway.clients.scopes import JOURNAL, ClientScopes
from gateway.clients.views import ClientView, looks
from gateway.features.notebooks import store as stored
from runtime.core.ids import SessionId
from runtime.core.json_text import write_json
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import ANCHORS, Fact, TapeFollowing, TapeReader

ANY_ANCHOR = "*"
LOOKED_AT = 10_000
"""The entries that one answer looks at; the next answer goes on from there."""

ANSWER_CHARS = 1024 * 1024
KEEP_ALIVE_S = 15.0
LISTED = 1_000

Names = list[str]

MAX_NUMBER = 2**53
"""The largest number of an entry or a branch that a request may have: every client writes it exactly."""

_FLAGS = ("0", "1", "true", "false")
_JSON = "application/json"


class TapeLine(Struct, frozen=True):
    """An entry of a tape: its number and its kind. `text` makes JSON text of all of it."""

    id: int
    kind: str
    text: Callable[[], str]


class NamedTapes:
    """Finds tapes by their names. Journals come with their words where `scopes` allow that."""

    def __init__(self, notebooks: stored.NotebookStore, catalog: SessionCatalog, reader: TapeReader) -> None:
        self.notebooks = notebooks
        self.catalog = catalog
        self.reader = reader
        self.rooms = ClosedRooms(catalog, reader)

    async def find(self, name: str, scopes: ClientScopes, *, branch: int | None = None) -> Tape | None:
        """A tape as it is now. Raises NotebookGone where it has no such branch."""
        if name.startswith(JOURNAL):
            record = await self.record(name)
            if record is None:
                return None
            return JournalTape(self.reader, record, await self.rooms.words(scopes, record))
        notebook = await self.notebooks.find(name)
        return None if notebook is None else NotebookTape(self.notebooks, notebook, branch)

    async def record(self, name: str) -> SessionRecord | None:
        known = await self.catalog.find(SessionId(name.removeprefix(JOURNAL)))
        return None if known is None else known.record


class NotebookTape:
    """A notebook as it was when it was looked up; what is on it never changes. `head` is 0 for one without entries."""

    def __init__(self, store: stored.NotebookStore, notebook: stored.Notebook, branch: int | None = None) -> None:
        self.name = notebook.name
        self.branch = notebook.branch if branch is None else branch
        self._store = store
        self._notebook = notebook
        try:
            self.head = notebook.head_of(self.branch)
            self._view = notebook.view(branch)
        except LookupError as error:
            raise stored.no_branch(self.name, branch) from error

    def about(self) -> dict[str, Any]:
        """What there is to know of it, JSON data."""
        notebook = self._notebook
        left = [
            {"branch": number, "from": one.parent, "at": one.at, "head": notebook.head_of(number)}
            for number, one in sorted(notebook.branches.items())
        ]
        origin = None if notebook.parent is None else {"tape": notebook.parent, "at": notebook.at}
        return {
            "tape": self.name,
            "kind": "notebook",
            "head": notebook.head,
            "branch": notebook.branch,
            "fork_of": origin,
            "branches": left,
            "merged": {
                name: {"branch": merged.branch, "last": merged.last} for name, merged in notebook.merged.items()
            },
        }

    async def lines(self, after: int, until: int, *, back: bool = False) -> AsyncIterator[TapeLine]:
        """The entries after number `after`, up to `until`, in order or in reverse."""
        async for entry in self._store.read(stored.cut(self._view, until, after=after), back=back):
            yield TapeLine(entry.id, entry.kind, partial(_text, entry))

    async def file_lines(self) -> AsyncIterator[str]:
        async for entry in self._store.read(self._view):
            yield entry.exported()

    async def since(self, anchor: str, until: int) -> int | None:
        """The number of the last anchor of this name, of any for `*`, not above `until`."""
        async for number in self._store.anchors(stored.cut(self._view, until)):
            if anchor == ANY_ANCHOR:
                return number
            async for entry in self._store.read(stored.cut(self._view, number, after=number - 1)):
                payload = entry.data()["payload"]
                if isinstance(payload, dict) and payload.get("name") == anchor:
                    return number
        return None

    def following(self) -> AbstractAsyncContextManager[TapeFollowing]:
        return self._store.following(self.name)

    async def shared_with(self, branch: int) -> int:
        """The number of entries that it shares with another branch of it. Raises LookupError where there is none."""
        return stored.common(self._view, self._notebook.view(branch))


class JournalTape:
    """A session's tape, with the methods of `NotebookTape`."""

    branch = 0

    def __init__(self, reader: TapeReader, record: SessionRecord, content: bool) -> None:
        self.name = f"{JOURNAL}{record.id}"
        self.head = record.seq
        self._reader = reader
        self._record = record
        self._content = content

    def about(self) -> dict[str, Any]:
        record, parent = self._record, self._record.parent
        return {
            "tape": self.name,
            "kind": "journal",
            "head": record.seq,
            "branch": 0,
            "fork_of": None if parent is None else {"tape": f"{JOURNAL}{parent.session}", "at": parent.seq},
            "program": record.program,
            "ended": record.ended,
            "replaced_by": None if record.replaced_by is None else f"{JOURNAL}{record.replaced_by}",
        }

    async def lines(self, after: int, until: int, *, back: bool = False) -> AsyncIterator[TapeLine]:
        if not back:
            async for fact in self._reader.read_session(self._record.id, after=after, until=until):
                yield self._line(fact)
            return
        if self._record.archived:  # it comes back from the archive when it is read from its beginning
            async for _ in self._reader.read_session(self._record.id, until=1):
                break
        async for fact in self._reader.read_back(self._record.id, before=until + 1):
            if fact.seq <= after:
                return
            yield self._line(fact)

    async def file_lines(self) -> AsyncIterator[str]:
        async for line in self.lines(0, self.head):
            yield line.text()

    async def since(self, anchor: str, until: int) -> int | None:
        kinds = ANCHORS if anchor == ANY_ANCHOR else ANCHORS & {anchor}
        found = [await self._reader.last_anchor(self._record.id, kind, until=until) for kind in sorted(kinds)]
        return max((number for number in found if number is not None), default=None)

    def following(self) -> AbstractAsyncContextManager[TapeFollowing]:
        return self._reader.following(self._record.id)

    async def shared_with(self, branch: int) -> int:
        if branch != 0:
            raise LookupError(branch)
        return self.head

    def _line(self, fact: Fact) -> TapeLine:
        return TapeLine(fact.seq, fact.kind, partial(self._text, fact))

    def _text(self, fact: Fact) -> str:
        return write_json(fact_data(fact, content=self._content))


Tape: TypeAlias = NotebookTape | JournalTape


def fact_data(fact: Fact, *, content: bool) -> dict[str, Any]:
    """A fact as an entry of a journal; with what it says only where `content` says so."""
    said = {"payload": fact.data} if content else {}
    meta = {"tape": fact.tape.rpartition("/")[2]}
    return {"id": fact.seq, "kind": fact.kind, **said, "meta": meta, "date": fact.at.isoformat()}


def _text(entry: stored.NotebookEntry) -> str:
    return write_json(entry.data()) if entry.raw else entry.exported()


class _Wanted(Struct, frozen=True):
    """The entries that a client asks for."""

    after: int
    until: int
    limit: int
    back: bool
    kinds: frozenset[str]


class ReadingRoutes(ClientView, frozen=True):
    tapes: NamedTapes

    @looks("/tapes")
    async def list(self, request: Request, client: BusClient) -> Response:
        after, limit = request.query_params.get("after", ""), whole(request, "limit", 100, LISTED, least=1)
        if chosen(request, "kind", "notebook", "journal") == "journal":
            names, next_ = await self._journals(client, after, limit)
            return answer({"tapes": names, "next": next_ or None})
        names = await self._readable(client, after)
        return answer({"tapes": names[:limit], "next": names[limit - 1] if len(names) > limit else None})

    @looks("/manifest")
    async def manifest(self, request: Request, client: BusClient) -> Response:
        names = await self._readable(client, request.query_params.get("after", ""))
        found = [await self.tapes.find(name, client.scopes) for name in names[:LISTED]]
        tapes = {tape.name: tape.about() for tape in found if tape is not None}
        for about in tapes.values():
            origin = about["fork_of"]
            if origin is not None and origin["tape"] in tapes:
                tapes[origin["tape"]].setdefault("forks", []).append(about["tape"])
        return answer({"version": 1, "tapes": tapes, "next": names[LISTED - 1] if len(names) > LISTED else None})

    @looks("/tapes/{tape}")
    async def look(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)
        return answer(tape.about())

    @looks("/tapes/{tape}/entries")
    async def entries(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)
        wanted = await _wanted(request, tape)
        texts, next_ = await _some(tape, wanted)
        body = f'{{"entries":[{",".join(texts)}],"head":{tape.head},"branch":{tape.branch},"next":{json.dumps(next_)}}}'
        return Response(body, media_type=_JSON, headers={"cache-control": "no-store"})

    @looks("/tapes/{tape}/export")
    async def export(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)

        async def lines() -> AsyncIterator[bytes]:
            async for line in tape.file_lines():
                yield f"{line}\n".encode()

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"cache-control": "no-store"})

    @looks("/tapes/{tape}/follow")
    async def follow(self, request: Request, client: BusClient) -> Response:
        """A stream of entries that does not end, as server-sent events."""
        tape = await self._followed(request, client)
        last = request.headers.get("last-event-id")
        try:
            branch, _, after = (last or f"{tape.branch}.{whole(request, 'after', tape.head, MAX_NUMBER)}").partition(
                "."
            )
            place = int(branch), int(after)
            await tape.shared_with(place[0])
        except (ValueError, LookupError) as error:
            raise HTTPException(422, "Last-Event-ID is the id of an event of this stream.") from error
        return StreamingResponse(
            self._stream(client, tape, place), media_type="text/event-stream", headers=STREAM_HEADERS
        )

    async def _stream(self, client: BusClient, first: Tape, place: tuple[int, int]) -> AsyncIterator[str]:
        branch, seen = place
        begun = first.head > 0
        async with first.following() as following:
            yield f"id: {branch}.{seen}\n\n"
            while (tape := await self.tapes.find(first.name, client.scopes)) is not None or not begun:
                tape, begun = tape or first, tape is not None
                if tape.branch != branch:
                    shared, branch = await tape.shared_with(branch), tape.branch
                    if shared < seen:
                        seen = shared
                        yield f'event: rollback\nid: {branch}.{seen}\ndata: {{"head":{seen},"branch":{branch}}}\n\n'
                async for line in tape.lines(seen, tape.head):
                    seen = line.id
                    yield f"id: {branch}.{seen}\ndata: {line.text()}\n\n"
                while True:
                    with anyio.move_on_after(KEEP_ALIVE_S) as quiet:
                        await following.news()
                    if not quiet.cancelled_caught:
                        break
                    yield ": still here\n\n"

    async def _journals(self, client: BusClient, after: str, limit: int) -> tuple[Names, str]:
        async def readable(known: KnownSession) -> str | None:
            name = f"{JOURNAL}{known.record.id}"
            return name if client.scopes.may_tape("read", name) else None

        with known_mark():
            return await among_sessions(self.tapes.catalog, after, limit, readable, LOOKED_AT)

    async def _readable(self, client: BusClient, after: str) -> Names:
        may_tape, names = client.scopes.may_tape, await self.tapes.notebooks.names()
        return [name for name in names if name > after and may_tape("read", name)]

    async def _followed(self, request: Request, client: BusClient) -> Tape:
        """The tape that is to be followed; an empty one for a notebook that its first entry is yet to begin."""
        name = tape_name(client, "read", request)
        could_begin = (
            stored.NOTEBOOK_NAME.fullmatch(name) and journal_of(name) is None and "branch" not in request.query_params
        )
        if could_begin and await self.tapes.find(name, client.scopes) is None:
            return NotebookTape(self.tapes.notebooks, stored.Notebook(name))
        return await self._found(request, client)

    async def _found(self, request: Request, client: BusClient) -> Tape:
        name = tape_name(client, "read", request)
        branch = whole(request, "branch", -1, MAX_NUMBER)
        tape = await self.tapes.find(name, client.scopes, branch=None if branch < 0 else branch)
        if tape is None:
            raise HTTPException(404, f"There is no tape {name}.")
        return tape


async def _wanted(request: Request, tape: Tape) -> _Wanted:
    until = min(whole(request, "until", tape.head, MAX_NUMBER), tape.head)
    after, anchor = whole(request, "after", 0, MAX_NUMBER), request.query_params.get("since")
    if anchor is not None:
        after = max(after, (await tape.since(anchor, until) or 1) - 1)
    kinds = frozenset(filter(None, request.query_params.get("kinds", "").split(",")))
    back = chosen(request, "reverse", *_FLAGS) in ("1", "true")
    return _Wanted(after, until, whole(request, "limit", 100, stored.MAX_ENTRIES_AT_ONCE, least=1), back, kinds)


async def _some(tape: Tape, wanted: _Wanted) -> tuple[list[str], int | None]:
    """The entries of one answer, and the place where the next one goes on: its `after`, or its `until` in reverse."""
    texts: list[str] = []
    most = LOOKED_AT if wanted.kinds else wanted.limit  # without kinds to choose, no more than are given are looked at
    after = max(wanted.after, wanted.until - most) if wanted.back else wanted.after
    until = wanted.until if wanted.back else min(wanted.until, wanted.after + most)
    chars = 0
    async for line in tape.lines(after, until, back=wanted.back):
        if not wanted.kinds or line.kind in wanted.kinds:
            texts.append(line.text())
            chars += len(texts[-1])
        after, until = (after, line.id - 1) if wanted.back else (line.id, until)
        if len(texts) == wanted.limit or chars > ANSWER_CHARS:
            break
    more = until > wanted.after if wanted.back else after < wanted.until
    return texts, (until if wanted.back else after) if more else None

"""Tapes as clients read them: notebooks, and the journals of sessions, by one interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from gateway.clients.journals import ClosedRooms
from gateway.clients.scopes import JOURNAL, ClientScopes
from gateway.features.notebooks.store import Notebook, NotebookEntry, NotebookStore, common, cut, no_branch
from runtime.core.ids import SessionId
from runtime.core.json_text import write_json
from runtime.stores.catalog import SessionCatalog
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import ANCHORS, Fact, TapeFollowing, TapeReader

ANY_ANCHOR = "*"


class TapeLine(Struct, frozen=True):
    """An entry of a tape: its number and its kind. `text` makes JSON text of all of it."""

    id: int
    kind: str
    text: Callable[[], str]


class NamedTapes:
    """Finds tapes by their names. Journals come with their words where `scopes` allow that."""

    def __init__(self, notebooks: NotebookStore, catalog: SessionCatalog, reader: TapeReader) -> None:
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

    def __init__(self, store: NotebookStore, notebook: Notebook, branch: int | None = None) -> None:
        self.name = notebook.name
        self.branch = notebook.branch if branch is None else branch
        self._store = store
        self._notebook = notebook
        try:
            self.head = notebook.head_of(self.branch)
            self._view = notebook.view(branch)
        except LookupError as error:
            raise no_branch(self.name, branch) from error

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
        async for entry in self._store.read(cut(self._view, until, after=after), back=back):
            yield TapeLine(entry.id, entry.kind, partial(_text, entry))

    async def file_lines(self) -> AsyncIterator[str]:
        async for entry in self._store.read(self._view):
            yield entry.exported()

    async def since(self, anchor: str, until: int) -> int | None:
        """The number of the last anchor of this name, of any for `*`, not above `until`."""
        async for number in self._store.anchors(cut(self._view, until)):
            if anchor == ANY_ANCHOR:
                return number
            async for entry in self._store.read(cut(self._view, number, after=number - 1)):
                payload = entry.data()["payload"]
                if isinstance(payload, dict) and payload.get("name") == anchor:
                    return number
        return None

    def following(self) -> AbstractAsyncContextManager[TapeFollowing]:
        return self._store.following(self.name)

    async def shared_with(self, branch: int) -> int:
        """The number of entries that it shares with another branch of it. Raises LookupError where there is none."""
        return common(self._view, self._notebook.view(branch))


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


def _text(entry: NotebookEntry) -> str:
    return write_json(entry.data()) if entry.raw else entry.exported()

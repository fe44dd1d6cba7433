"""Search in notebooks: the index is brought up to what was written, outside of every write, and then asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from msgspec import Struct

from gateway.features.notebooks.search import index as indexing
from gateway.features.notebooks.search.index import meant
from gateway.features.notebooks.store import EntryRange, Notebook, NotebookEntry, NotebookStore
from runtime.core.clock import Clock
from runtime.core.errors import StorageError, StorageUnavailable

INDEXED_WITHIN_S = 2.0
"""How long one search brings the index up to date before it is asked; the next search goes on."""

TIDIED_EVERY_S = 6 * 3600.0
"""How often words of deleted notebooks are looked for: as often as notebooks are deleted."""

_AT_ONCE = 500

Answer = TypeVar("Answer")


Hit = tuple[str, NotebookEntry]
"""An entry that was found, behind the tape in which it is read."""


class NoIndex(StorageError):
    """This machine cannot have an index; the text says why."""


class FoundEntries(Struct, frozen=True):
    """The entries that were found. `behind`: the index lacks entries yet. `sealed` is how many are encrypted, and not
    in it.
    """

    hits: Sequence[Hit]
    behind: bool
    sealed: int
    meant: indexing.Meant = ()


class NotebookSearch:
    """Searches the notebooks of a store. The file of the index is opened with the first search. Where content is
    `sealed`, no word is indexed, and what was is thrown away.
    """

    def __init__(self, store: NotebookStore, path: Path, *, sealed: bool = False) -> None:
        self._store = store
        self._path = path
        self._sealed = sealed
        if sealed:
            indexing.throw_away(path)
        self._index: indexing.SearchIndex | None = None
        self._closed = False
        self._thread = anyio.CapacityLimiter(1)
        self._known: dict[str, tuple[int, Notebook]] = {}
        self._emptied = 0
        """How often the index was emptied."""

    def close(self) -> None:
        self._closed, index, self._index = True, self._index, None
        if index is not None:
            index.close()

    async def keep_tidy(self, clock: Clock) -> None:
        """Forget deleted notebooks now and at times, until cancelled; then close the file. What fails is tried again
        the next time."""
        try:
            while True:
                with suppress(StorageUnavailable, NoIndex):
                    await self.forget_deleted()
                await clock.sleep_until(clock.monotonic() + TIDIED_EVERY_S)
        finally:
            with anyio.CancelScope(shield=True):  # behind what is searched
                await self._in_thread(self.close)

    async def forget_deleted(self) -> bool:
        """Empty the index if it has words of a notebook that was deleted, and say so; searches make it anew. Raises
        NoIndex.
        """
        if not self._path.exists():
            return False
        index = await self._opened()
        for shelf in await self._in_thread(index.shelves):
            found = await self._store.find(shelf.name)
            if found is None or _shelf(found) != shelf:
                self._known.clear()
                self._emptied += 1
                await self._in_thread(index.empty)
                return True
        return False

    async def in_notebook(self, notebook: Notebook, asked: str, filters: indexing.Filters, limit: int) -> FoundEntries:
        """Search everything that is seen in a notebook, with what it took over from others. Raises NoIndex."""
        view = notebook.view()
        homes = [notebook] + [found for found in await self._others(notebook, view) if found is not None]
        return await self._find(homes, [(notebook.name, one) for one in view], asked, filters, limit)

    async def in_all(
        self, may: Callable[[str], bool], asked: str, filters: indexing.Filters, limit: int
    ) -> FoundEntries:
        """Search all notebooks that may be read, each for what was written to it. Raises NoIndex."""
        names = {name: change for name, change in (await self._store.names()).items() if may(name)}
        homes: list[Notebook] = []
        for name, change in names.items():
            known = self._known.get(name)
            if known is None or known[0] != change:
                found = await self._store.find(name)
                if found is None:
                    continue
                known = self._known[name] = change, found
            homes.append(known[1])
        own = [(home.name, one) for home in homes for one in home.view() if one.notebook == home.name]
        return await self._find(homes, own, asked, filters, limit)

    async def _others(self, notebook: Notebook, view: Iterable[EntryRange]) -> list[Notebook | None]:
        names = dict.fromkeys(one.notebook for one in view if one.notebook != notebook.name)
        return [await self._store.find(name) for name in names]

    async def _find(
        self,
        homes: Sequence[Notebook],
        seen: Sequence[tuple[str, EntryRange]],
        asked: str,
        filters: indexing.Filters,
        limit: int,
    ) -> FoundEntries:
        index, emptied = await self._opened(), self._emptied
        behind = await self._catch_up(index, homes)
        shelves = {home.name: _shelf(home) for home in homes}
        places = [
            (shelves[one.notebook], one.first - one.offset, one.last - one.offset)
            for _, one in seen
            if one.notebook in shelves
        ]

        def ask() -> tuple[list[tuple[str, int]], int, indexing.Meant]:
            parts = meant(asked, index.spellings)
            match = indexing.match_of(parts)
            found = [] if match is None else index.search(match, places, filters, limit)
            return found, index.sealed(shelves.values()), parts

        found, sealed, parts = await self._in_thread(ask)
        hits: list[Hit | None] = [None] * len(found)
        async with anyio.create_task_group() as tasks:
            for number, (name, place) in enumerate(found):
                tasks.start_soon(self._read, hits, number, seen, name, place)
        return FoundEntries([hit for hit in hits if hit is not None], behind or emptied != self._emptied, sealed, parts)

    async def _read(
        self, hits: list[Hit | None], number: int, seen: Sequence[tuple[str, EntryRange]], name: str, place: int
    ) -> None:
        """The entry itself: the index only leads to it."""
        for tape, one in seen:
            if one.notebook == name and one.first <= place + one.offset <= one.last:
                only = EntryRange(name, place + one.offset, place + one.offset, one.offset)
                async for entry in self._store.read([only]):
                    hits[number] = tape, entry
                return

    async def _catch_up(self, index: indexing.SearchIndex, homes: Sequence[Notebook]) -> bool:
        """Index what is new in these notebooks; whether there is more than there was time for."""
        shelves = [(_shelf(home), home.written) for home in homes if home.written]
        waiting = await self._in_thread(lambda: [(s, index.indexed(s), last) for s, last in shelves])
        until = anyio.current_time() + INDEXED_WITHIN_S
        for shelf, indexed, last in waiting:
            at = indexed
            while at < last:
                if anyio.current_time() > until:
                    return True
                at = await self._index_some(index, shelf, at, last)
        return False

    async def _index_some(self, index: indexing.SearchIndex, shelf: indexing.Shelf, after: int, last: int) -> int:
        upto = min(last, after + _AT_ONCE)
        entries = [entry async for entry in self._store.read([EntryRange(shelf.name, after + 1, upto, 0)])]
        await self._in_thread(lambda: index.add(shelf, [_item(entry, sealed=self._sealed) for entry in entries]))
        return upto if entries else last

    async def _opened(self) -> indexing.SearchIndex:
        if self._index is None and not self._closed:
            try:
                opened = await self._in_thread(partial(_open, self._path))
            except (sqlite3.Error, OSError) as error:
                raise NoIndex(f"Nothing can be searched: {self._path} cannot be an index ({error}).") from error
            self._use(opened)
        if self._index is None:
            raise NoIndex("Nothing can be searched: Parley is stopping.")
        return self._index

    def _use(self, opened: indexing.SearchIndex) -> None:
        if self._index is None and not self._closed:
            self._index = opened
        else:  # somebody else was first
            opened.close()

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        try:
            return await run_sync(work, limiter=self._thread)
        except sqlite3.DatabaseError as error:
            index = self._index
            passes = isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError)  # it was closed meanwhile
            if index is not None and not passes:
                self._index = None
                index.discard()
            raise NoIndex(f"Nothing can be searched: {self._path} cannot be read ({error}). Try again.") from error


def _open(path: Path) -> indexing.SearchIndex:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return indexing.SearchIndex(path)


def utc_text(date: Any) -> str:
    """A date as it is compared: ISO 8601 in UTC; "" for what is none."""
    try:
        found = datetime.fromisoformat(str(date))
    except ValueError:
        return ""
    return (found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)).isoformat()


def _shelf(notebook: Notebook) -> indexing.Shelf:
    return indexing.Shelf(notebook.name, notebook.created_ms)


def _item(entry: NotebookEntry, *, sealed: bool) -> indexing.IndexedEntry:
    if entry.sealed or sealed:
        return indexing.IndexedEntry(entry.id, entry.kind, "", None)
    data = entry.data()
    words = [word for text in indexing.texts_in(data["payload"]) for word in indexing.words_of(text)]
    return indexing.IndexedEntry(entry.id, entry.kind, utc_text(data["date"]), words)

"""Notebooks in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from msgspec.structs import replace

from gateway.features.notebooks.store import (
    ANCHOR,
    MAX_BRANCHES,
    Appended,
    Draft,
    EntryRange,
    Merged,
    Merging,
    Notebook,
    NotebookBranch,
    NotebookEntry,
    head_moved,
    name_taken,
    no_entry,
    no_room_for,
    no_room_in,
    rolled_back_too_often,
    view_up_to,
)
from runtime.tape.tape import TapeFollowing


class _Follower:
    def __init__(self, store: MemoryNotebooks) -> None:
        self._store = store
        self._news = store.changed

    async def news(self) -> None:
        await self._news.wait()
        self._news = self._store.changed


class MemoryNotebooks:
    """Implements `NotebookStore`."""

    def __init__(self, *, notebooks: int = 10_000, entries: int = 1_000_000, begun_ms: int = 0) -> None:
        self.changed = anyio.Event()
        self.now_ms = begun_ms
        self._notebooks = notebooks
        self._entries = entries
        self._known: dict[str, Notebook] = {}
        self._changes: dict[str, int] = {}
        self._places: dict[str, list[Draft]] = {}
        self._keys: dict[tuple[str, str], Appended] = {}

    async def find(self, name: str, /) -> Notebook | None:
        return self._known.get(name)

    async def names(self) -> Mapping[str, int]:
        return dict(sorted(self._changes.items()))

    async def append(
        self,
        name: str,
        drafts: Sequence[Draft],
        /,
        *,
        expect: int | None = None,
        key: str | None = None,
        merging: Merging | None = None,
    ) -> Appended:
        if key is not None and (name, key) in self._keys:
            return replace(self._keys[name, key], known=True)
        self._make_room(name)
        now = self._known.get(name, Notebook(name, created_ms=self.now_ms))
        if expect not in (None, now.head):
            raise head_moved(name, now.head)
        if merging is not None and now.merged.get(merging.notebook) != merging.before:
            raise head_moved(name, now.head)
        if now.written + len(drafts) > self._entries:
            raise no_room_in(name, self._entries)
        self._places.setdefault(name, []).extend(drafts)
        done = Appended(now.head + 1, now.head + len(drafts))
        merged = {} if merging is None else {merging.notebook: Merged(merging.branch, merging.last, done.last)}
        written = now.written + len(drafts)
        self._put(replace(now, head=done.last, written=written, merged={**now.merged, **merged}))
        if key is not None:
            self._keys[name, key] = done
        return done

    async def fork(self, name: str, origin: Notebook, at: int, /, *, branch: int | None = None) -> bool:
        taken_over = view_up_to(origin, at, branch)
        self._touch(origin, taken_over)
        self._make_room(name)
        now = self._known.get(name)
        if now is not None:
            if (now.branches[0].origin, now.parent) != (taken_over, origin.name):
                raise name_taken(name)
            return False
        self._places[name] = []
        self._put(Notebook(name, at, 0, 0, origin.name, at, {0: NotebookBranch(at, at, origin=taken_over)}))
        return True

    async def rollback(self, name: str, to: int, /, *, expect: int | None = None) -> int:
        now = self._known.get(name)
        if now is None:
            raise no_entry(name, to)
        if expect not in (None, now.head):
            raise head_moved(name, now.head)
        if to > now.head:
            raise no_entry(name, to)
        if to == now.head:
            return now.branch
        return self._move(now, to, NotebookBranch(to, to - now.written, now.branch))

    async def rebase(self, name: str, origin: Notebook, /, *, expect: int) -> int:
        now = self._known.get(name)
        if now is None:
            raise no_entry(name, origin.head)
        if expect != now.head:
            raise head_moved(name, now.head)
        self._touch(origin, origin.view())
        begun = NotebookBranch(origin.head, origin.head - now.written, origin=origin.view())
        return self._move(replace(now, at=origin.head), origin.head, begun)

    async def delete(self, name: str, changed_ms: int, /) -> bool:
        if self._changes.get(name) != changed_ms:
            return False
        del self._known[name], self._changes[name], self._places[name]
        self._tell()
        return True

    def _touch(self, origin: Notebook, view: Sequence[EntryRange]) -> None:
        for name in {origin.name, *(one.notebook for one in view)}:
            if name not in self._known:
                raise no_entry(name, origin.head)
            self._changes[name] = max(self.now_ms, self._changes[name] + 1)

    def _move(self, now: Notebook, to: int, begun: NotebookBranch) -> int:
        new = len(now.branches)
        if new > MAX_BRANCHES:
            raise rolled_back_too_often(now.name)
        before = replace(now.branches[now.branch], head=now.head)
        self._put(replace(now, head=to, branch=new, branches={**now.branches, now.branch: before, new: begun}))
        return new

    async def read(self, view: Sequence[EntryRange], /, *, back: bool = False) -> AsyncIterator[NotebookEntry]:
        for number, draft in self._numbered(view, back):
            yield NotebookEntry(number, draft.kind, draft.line, draft.raw)

    async def anchors(self, view: Sequence[EntryRange], /) -> AsyncIterator[int]:
        for number, draft in self._numbered(view, back=True):
            if draft.kind == ANCHOR:
                yield number

    @asynccontextmanager
    async def following(self, name: str, /) -> AsyncIterator[TapeFollowing]:
        del name
        yield _Follower(self)

    def _numbered(self, view: Sequence[EntryRange], back: bool) -> list[tuple[int, Draft]]:
        found = [
            (number, self._places[stretch.notebook][number - stretch.offset - 1])
            for stretch in view
            for number in range(stretch.first, stretch.last + 1)
        ]
        return found[::-1] if back else found

    def _make_room(self, name: str) -> None:
        if name not in self._known and len(self._known) >= self._notebooks:
            raise no_room_for(self._notebooks)

    def _put(self, notebook: Notebook) -> None:
        self._known[notebook.name] = notebook
        self._changes[notebook.name] = max(self.now_ms, self._changes.get(notebook.name, 0) + 1)
        self._tell()

    def _tell(self) -> None:
        news, self.changed = self.changed, anyio.Event()
        news.set()

"""The port for notebooks: tapes of other programs, without a session and without a lease.

A notebook's entries are written at places that count up and are never used twice; an entry stays where it is. What a
reader sees is a *view*: stretches of places, numbered through from 1. A fork is a notebook whose view begins with
another's; a rollback begins a new branch, and what is behind it stays readable as the branch that was left.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.errors import HeadMoved, NotebookExists, NotebookFull, NotebookGone
from runtime.core.json_text import write_json
from runtime.tape.tape import TapeFollowing

NOTEBOOK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

ANCHOR = "anchor"
"""The kind of entries that are found without going through the others."""

UNREADABLE_LINE = "unreadable"
"""The kind of an imported line that is no entry; it is kept as it is."""

MAX_ENTRY_BYTES = 256 * 1024
MAX_ENTRIES_AT_ONCE = 1_000
MAX_BRANCHES = 1_000
"""So often a notebook can be rolled back."""

KEY_KEPT_MS = 7 * 24 * 3600 * 1000


class EntryRange(Struct, frozen=True):
    """Entries `first` to `last` of a view: entry n is at the place n - offset in `notebook`."""

    notebook: str
    first: int
    last: int
    offset: int


class NotebookBranch(Struct, frozen=True):
    """Entries after number `at` of the branch `parent`, or of `origin` where that is None: what was taken over from
    others. `head` is its last entry when it was left, None while it is the current one.
    """

    at: int
    offset: int
    parent: int | None = None
    head: int | None = None
    origin: tuple[EntryRange, ...] = ()


class Merged(Struct, frozen=True):
    """Entries of another notebook, up to `last` of its branch, were merged, which brought the head to `head`."""

    branch: int
    last: int
    head: int


class Notebook(Struct, frozen=True):
    """A notebook as it was read. `head` is the number of its last entry, 0 while there is none, and `written` the
    number of places that are used, with those behind rollbacks. A fork goes on from `parent` after entry `at`.
    """

    name: str
    head: int = 0
    branch: int = 0
    written: int = 0
    parent: str | None = None
    at: int = 0
    branches: Mapping[int, NotebookBranch] = field(default_factory=lambda: {0: NotebookBranch(0, 0)})
    created_ms: int = 0
    merged: Mapping[str, Merged] = field(default_factory=dict)
    """What was merged last, by the notebook that it came from."""

    def head_of(self, branch: int) -> int:
        """The last entry of a branch. Raises LookupError where there is none of that number."""
        left = self.branches[branch].head
        return self.head if branch == self.branch or left is None else left

    def view(self, branch: int | None = None) -> tuple[EntryRange, ...]:
        """The places of all entries of a branch, in order. Raises LookupError."""
        number: int | None = self.branch if branch is None else branch
        top = self.head if branch is None else self.head_of(branch)
        found: list[EntryRange] = []
        origin: tuple[EntryRange, ...] = ()
        while number is not None:
            one = self.branches[number]
            origin = one.origin
            if top > one.at:
                found.append(EntryRange(self.name, one.at + 1, top, one.offset))
                top = one.at
            number = one.parent
        return (*cut(origin, top), *found[::-1])


class NotebookEntry(Struct, frozen=True):
    """An entry. `line` is its JSON text: one that was appended has no `id`; one that was imported (`raw`) is as it was
    in the file. `sealed`: it is encrypted where it is kept; one that cannot be opened says so in its payload.
    """

    id: int
    kind: str
    line: str
    raw: bool = False
    sealed: bool = False

    def data(self) -> dict[str, Any]:
        """The entry as readers get it: `id`, `kind`, `payload`, `meta`, `date`, and what else the line has."""
        try:
            written = json.loads(self.line)
        except (ValueError, RecursionError):
            written = None
        if not isinstance(written, dict):
            written = {"payload": {"line": self.line}}
        return {"payload": {}, "meta": {}, "date": None, **written, "id": self.id, "kind": self.kind}

    def exported(self) -> str:
        return self.line if self.raw else f'{{"id":{self.id},{self.line[1:]}'


class Draft(Struct, frozen=True):
    """An entry that is to be written; see `NotebookEntry`."""

    kind: str
    line: str
    raw: bool = False


class Merging(Struct, frozen=True):
    """The entries that an append brings over: those of `notebook` up to `last` of its branch. `before` is what was
    brought over before that, as `Notebook.merged` has it.
    """

    notebook: str
    branch: int
    last: int
    before: Merged | None


class Appended(Struct, frozen=True):
    """The numbers of the first and last entry. `known`: the key was used before, and nothing was written."""

    first: int
    last: int
    known: bool = False


class NotebookStore(Protocol):
    """Raises StorageError, and what the methods say."""

    async def find(self, name: str, /) -> Notebook | None:
        """A notebook as it is now."""

    async def names(self) -> Mapping[str, int]:
        """The names of all notebooks, in their order, each with the time of its last change, in milliseconds since the
        epoch, which grows with every change. To be forked or rebased from counts as one.
        """

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
        """Write entries, all or none; the first ones make the notebook. With `expect` the head has to be there. A `key`
        that was used within `KEY_KEPT_MS` gives the first answer again.

        Raises HeadMoved, also where something else was merged meanwhile, and NotebookFull.
        """

    async def fork(self, name: str, origin: Notebook, at: int, /, *, branch: int | None = None) -> bool:
        """Make a notebook that goes on from another one's entry `at`. False where it is there already, made so.

        Raises NotebookExists, NotebookFull, and NotebookGone where the other has no such entry or branch.
        """

    async def rollback(self, name: str, to: int, /, *, expect: int | None = None) -> int:
        """Move the head back to entry `to`; the number of the branch that is current then.

        Raises HeadMoved, NotebookFull, and NotebookGone where there is no such notebook or entry.
        """

    async def rebase(self, name: str, origin: Notebook, /, *, expect: int) -> int:
        """Have a fork go on from all that `origin` has now, on a new branch; the number of that branch.

        Raises HeadMoved, NotebookFull, and NotebookGone where there is no such notebook.
        """

    async def delete(self, name: str, changed_ms: int, /) -> bool:
        """Delete a notebook for good, unless it has changed since. Forks that see entries of it would lose them."""

    def read(self, view: Sequence[EntryRange], /, *, back: bool = False) -> AsyncIterator[NotebookEntry]:
        """The entries of a view in order, or in reverse."""

    def anchors(self, view: Sequence[EntryRange], /) -> AsyncIterator[int]:
        """The numbers of a view's anchors, the last first."""

    def following(self, name: str, /) -> AbstractAsyncContextManager[TapeFollowing]:
        """News of a notebook, whether it is there or not."""


def cut(view: Sequence[EntryRange], last: int, *, after: int = 0) -> tuple[EntryRange, ...]:
    """The part of a view after entry `after` and up to `last`."""
    return tuple(
        replace(stretch, first=max(stretch.first, after + 1), last=min(stretch.last, last))
        for stretch in view
        if stretch.first <= last and stretch.last > after and after < last
    )


def common(one: Sequence[EntryRange], other: Sequence[EntryRange]) -> int:
    """The number of entries that two views have in common: up to there they are the same ones."""
    for mine, theirs in zip(one, other, strict=False):
        if (mine.notebook, mine.first, mine.offset) != (theirs.notebook, theirs.first, theirs.offset):
            return mine.first - 1
        if mine.last != theirs.last:
            return min(mine.last, theirs.last)
    shorter = min((one, other), key=len)
    return shorter[-1].last if shorter else 0


def entry_line(kind: str, payload: Any, meta: Any, date: Any) -> str:
    data = {"kind": kind, "payload": payload, "meta": meta, "date": date}
    try:
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        line.encode()
    except ValueError:  # what an imported entry may have, and no other text
        return write_json(data)
    return line


def head_moved(name: str, head: int) -> HeadMoved:
    return HeadMoved(f"{name} is at entry {head}: somebody else wrote first. Read on from there.", head=head)


def no_entry(name: str, number: int) -> NotebookGone:
    return NotebookGone(f"{name} has no entry {number}.")


def no_branch(name: str, branch: int | None) -> NotebookGone:
    return NotebookGone(f"{name} has no branch {branch}.")


def name_taken(name: str) -> NotebookExists:
    """The error where a fork's name is that of another notebook."""
    return NotebookExists(f"There is another notebook {name}; choose another name for the fork.")


def no_room_in(name: str, entries: int) -> NotebookFull:
    """The error where a notebook has as many entries as it may."""
    return NotebookFull(f"{name} has no room: tapes.entries allows {entries:,}, with those behind rollbacks.")


def no_room_for(notebooks: int) -> NotebookFull:
    """The error where there are as many notebooks as there may be."""
    return NotebookFull(f"There are {notebooks:,} notebooks, as many as tapes.notebooks allows.")


def rolled_back_too_often(name: str) -> NotebookFull:
    """The error where a notebook has as many branches as it may."""
    return NotebookFull(f"{name} was rolled back {MAX_BRANCHES:,} times; fork it to roll back again.")


def view_up_to(notebook: Notebook, at: int, branch: int | None) -> tuple[EntryRange, ...]:
    """What a fork takes over. Raises NotebookGone."""
    try:
        view = notebook.view(branch)
    except LookupError as error:
        raise no_branch(notebook.name, branch) from error
    if not 0 <= at <= (view[-1].last if view else 0):
        raise no_entry(notebook.name, at)
    return cut(view, at)

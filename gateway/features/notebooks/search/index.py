"""The index of notebooks' words: a SQLite file beside everything else, which is made anew where it is missing.

It holds words and no texts: they lead to places, and who searches reads the entries there. What is encrypted is not in
it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gateway.features.notebooks.search.words import distance, mistakes_in

_VERSION = 1
_MAX_SPELLINGS = 8
_LOOKED_AT = 200
_ASKED = 200
"""Among more notebooks than that, what is found in others is left out one by one."""

_BUSY_S = 5.0

_TABLES = """
CREATE TABLE IF NOT EXISTS notebooks (
  id INTEGER PRIMARY KEY, name TEXT, created INTEGER, indexed INTEGER, sealed INTEGER, UNIQUE (name, created));
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY, notebook INTEGER, place INTEGER, kind TEXT, date TEXT, UNIQUE (notebook, place));
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (notebook, text, content = '', tokenize = 'ascii');
CREATE TABLE IF NOT EXISTS known (id INTEGER PRIMARY KEY, word TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS grams (gram TEXT, word INTEGER, PRIMARY KEY (gram, word)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Shelf:
    """A notebook, by the time at which it began: one of the same name in another database is another one."""

    name: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class IndexedEntry:
    """The indexed part of an entry. `words` is None for one that is encrypted."""

    place: int
    kind: str
    date: str
    words: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Filters:
    """The kinds that are looked for, all without any, and the dates from and until which."""

    kinds: Sequence[str] = ()
    first: str = ""
    last: str = ""


class SearchIndex:
    """For one thread at a time. A file that is no index of this version is thrown away. Raises sqlite3.Error where this
    machine's SQLite cannot have one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._base = self._open()
        except sqlite3.DatabaseError:
            throw_away(path)
            self._base = self._open()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def discard(self) -> None:
        """Close the file and throw it away."""
        self._base.close()
        throw_away(self._path)

    def shelves(self) -> list[Shelf]:
        """The notebooks with something in the index."""
        return [Shelf(*row) for row in self._base.execute("SELECT name, created FROM notebooks")]

    def empty(self) -> None:
        """Begin with a new file: words of one notebook cannot be told from those of others."""
        self.discard()
        self._base = self._open()

    def indexed(self, shelf: Shelf) -> int:
        """The last place of a notebook that was looked at."""
        return self._row(shelf)[1]

    def sealed(self, shelves: Iterable[Shelf]) -> int:
        """How many entries of these notebooks are not in the index, because they are encrypted."""
        return sum(self._row(shelf)[2] for shelf in shelves)

    def add(self, shelf: Shelf, items: Sequence[IndexedEntry]) -> None:
        """Index entries of a notebook, those after the last one that was looked at."""
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            number, indexed, sealed = self._row(shelf)
            new = [item for item in items if item.place > indexed]
            if not new:
                return
            if not number:
                row = self._base.execute(
                    "INSERT INTO notebooks (name, created, indexed, sealed) VALUES (?, ?, 0, 0)",
                    (shelf.name, shelf.created_ms),
                )
                number = row.lastrowid or 0
            for item in new:
                if item.words is not None:
                    self._add(number, item)
            self._learn({word for item in new for word in item.words or ()})
            sealed += sum(item.words is None for item in new)
            self._base.execute(
                "UPDATE notebooks SET indexed = ?, sealed = ? WHERE id = ?", (new[-1].place, sealed, number)
            )

    def search(
        self, match: str, where: Sequence[tuple[Shelf, int, int]], filters: Filters, limit: int
    ) -> list[tuple[str, int]]:
        """The notebooks and places of entries that match, the latest first, among the places `first` to `last` of each
        notebook."""
        ranges: dict[int, list[tuple[int, int]]] = {}
        for shelf, first, last in where:
            ranges.setdefault(self._row(shelf)[0], []).append((first, last))
        numbers = sorted(ranges.keys() - {0})
        if not numbers:
            return []
        among = f" AND notebook : ({' OR '.join(f'n{number}' for number in numbers)})" if len(numbers) <= _ASKED else ""
        conditions, values = ["words MATCH ?"], [f"text : ({match}){among}"]
        if filters.kinds:
            conditions.append("e.kind IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(list(filters.kinds)))
        for bound, sign in ((filters.first, ">="), (filters.last, "<=")):
            if bound:
                conditions.append(f"e.date {sign} ?")
                values.append(bound)
        rows = self._base.execute(
            "SELECT n.id, n.name, e.place FROM words JOIN entries e ON e.id = words.rowid JOIN notebooks n"
            f" ON n.id = e.notebook WHERE {' AND '.join(conditions)} ORDER BY words.rowid DESC",
            values,
        )
        seen = (
            (name, place)
            for number, name, place in rows
            if any(first <= place <= last for first, last in ranges.get(number, ()))
        )
        return list(islice(seen, limit))

    def spellings(self, word: str) -> Sequence[str]:
        """The words of the index that are meant by one: itself where it is there, else those most like it."""
        if self._base.execute("SELECT 1 FROM known WHERE word = ?", (word,)).fetchone():
            return [word]
        most = mistakes_in(word)
        if not most:
            return []
        rows = self._base.execute(
            "SELECT k.word FROM grams g JOIN known k ON k.id = g.word WHERE g.gram IN (SELECT value FROM json_each(?))"
            " GROUP BY g.word ORDER BY count(*) DESC LIMIT ?",
            (json.dumps(sorted(_grams(word))), _LOOKED_AT),
        )
        like = [(found, far) for (found,) in rows if (far := distance(word, found, most)) is not None]
        nearest = min((far for _, far in like), default=0)
        return [found for found, far in like if far == nearest][:_MAX_SPELLINGS]

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            version = base.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError("an index of another version")
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = OFF")  # what a crash of the machine spoils is made anew
            base.executescript(_TABLES)
            base.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error:
            base.close()
            raise
        return base

    def _row(self, shelf: Shelf) -> tuple[int, int, int]:
        found = self._base.execute(
            "SELECT id, indexed, sealed FROM notebooks WHERE name = ? AND created = ?", (shelf.name, shelf.created_ms)
        ).fetchone()
        return (0, 0, 0) if found is None else (int(found[0]), int(found[1]), int(found[2]))

    def _add(self, number: int, item: IndexedEntry) -> None:
        row = self._base.execute(
            "INSERT INTO entries (notebook, place, kind, date) VALUES (?, ?, ?, ?)",
            (number, item.place, item.kind, item.date),
        )
        self._base.execute(
            "INSERT INTO words (rowid, notebook, text) VALUES (?, ?, ?)",
            (row.lastrowid, f"n{number}", " ".join(item.words or ())),
        )

    def _learn(self, words: set[str]) -> None:
        """Remember how words are spelled."""
        for word in words:
            row = self._base.execute("INSERT OR IGNORE INTO known (word) VALUES (?)", (word,))
            if row.rowcount and mistakes_in(word):
                grams = [(gram, row.lastrowid) for gram in _grams(word)]
                self._base.executemany("INSERT INTO grams (gram, word) VALUES (?, ?)", grams)


def throw_away(path: Path) -> None:
    """Delete the file of an index, if it is there."""
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def _grams(word: str) -> set[str]:
    """Groups of three letters, with marks at the ends: words with few mistakes share most of them."""
    marked = f"^{word}$"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}

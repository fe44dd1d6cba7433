"""The index of notebooks' words: a SQLite file beside everything else, which is made anew where it is missing.

It holds words and no texts: they lead to places, and who searches reads the entries there. What is encrypted is not in
it.

Words of texts and of questions, in any language. What is written without spaces is cut into pairs of letters.

A word is in small letters and without accents. 数据库 is 数据, 据库 and 库: two letters are one word of the index, more
are several words in a row, and one letter is the beginning of a word.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from runtime.core.near_names import mistakes_between

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

MIN_MISTAKEN_CHARS = 4
"""Shorter words are looked for as they are spelled."""

MAX_WORD_CHARS = 64

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_FIRST_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_WORD_ASKED = re.compile(r'"([^"]*)"?|([^\s"]+)')


class Run(Struct, frozen=True):
    """Letters without a space between them. `unspaced`: of a script that has none."""

    letters: str
    unspaced: bool


def words_of(text: str) -> list[str]:
    return [word for run in _runs(text) for word in _words(run)]


def texts_in(value: Any) -> Iterator[str]:
    """Every text in JSON data, but for the names of its parts."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting.extend(reversed(found.values()))
        elif isinstance(found, list):
            waiting.extend(reversed(found))


class Phrase(Struct, frozen=True):
    """Words in a row. `begins`: the last one may go on."""

    words: tuple[str, ...]
    begins: bool = False


Meant = Sequence[Sequence[Phrase]]
"""What a question means: a text has one phrase of each part."""


def meant(asked: str, spellings: Callable[[str], Sequence[str]]) -> Meant:
    """All words of a question, and phrases as they stand in quotation marks. `spellings` gives the words that are meant
    by one."""
    return [
        part
        for phrase, word in _WORD_ASKED.findall(asked)
        for part in ([_phrase(phrase)] if phrase else [_asked_run(run, spellings) for run in _runs(word)])
        if part
    ]


def match_of(parts: Meant) -> str | None:
    """What to ask an index for; None for nothing."""
    texts = (" OR ".join(f'"{" ".join(one.words)}"{" *" if one.begins else ""}' for one in part) for part in parts)
    return " AND ".join(f"({text})" for text in texts) or None


def placed_words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of a text as `words_of` gives them, each with the place where it begins and where it ends."""
    for found in _RUN.finditer(text):
        for run in _runs(found[0]):
            start, end = found.span()
            if run.unspaced and len(run.letters) == end - start:
                yield from (
                    (run.letters[at : at + 2], start + at, min(start + at + 2, end)) for at in range(end - start)
                )
            else:
                yield from ((word, start, end) for word in _words(run))


def mistakes_in(word: str) -> int:
    """The number of mistakes that a word may have."""
    return 0 if len(word) < MIN_MISTAKEN_CHARS or not word.isalpha() else 1 if len(word) < 2 * MIN_MISTAKEN_CHARS else 2


def _runs(text: str) -> Iterator[Run]:
    for letters in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _FIRST_UNSPACED.match(letters):
            yield Run(letters, unspaced=True)
        else:
            plain = unicodedata.normalize("NFD", letters)
            kept = "".join(letter for letter in plain if not unicodedata.combining(letter))
            yield Run(kept[:MAX_WORD_CHARS], unspaced=False)


def _words(run: Run) -> list[str]:
    return [run.letters[at : at + 2] for at in range(len(run.letters))] if run.unspaced else [run.letters]


def _asked_words(run: Run) -> list[str]:
    """The words of a part of a question: without the last letter alone, which is a word only where a text ends."""
    words = _words(run)
    return words[:-1] if run.unspaced and len(words) > 1 else words


def _phrase(text: str) -> Sequence[Phrase]:
    """A phrase: its words in a row. Within it, letters without spaces may end in the middle of a longer run."""
    runs = list(_runs(text))
    words = [word for run in runs[:-1] for word in _words(run)] + (_asked_words(runs[-1]) if runs else [])
    alone = len(words) == 1 and runs[-1].unspaced and len(runs[-1].letters) == 1
    return [Phrase(tuple(words), alone)] if words else []


def _asked_run(run: Run, spellings: Callable[[str], Sequence[str]]) -> Sequence[Phrase]:
    if run.unspaced:
        return _phrase(run.letters)
    return [Phrase((word,)) for word in spellings(run.letters) or [run.letters]]


class Shelf(Struct, frozen=True):
    """A notebook, by the time at which it began: one of the same name in another database is another one."""

    name: str
    created_ms: int


class IndexedEntry(Struct, frozen=True):
    """The indexed part of an entry. `words` is None for one that is encrypted."""

    place: int
    kind: str
    date: str
    words: Sequence[str] | None


class Filters(Struct, frozen=True):
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
        self._base.close()

    def discard(self) -> None:
        self._base.close()
        throw_away(self._path)

    def shelves(self) -> list[Shelf]:
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
        like = [(found, far) for (found,) in rows if (far := mistakes_between(word, found, most)) is not None]
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
        for word in words:
            row = self._base.execute("INSERT OR IGNORE INTO known (word) VALUES (?)", (word,))
            if row.rowcount and mistakes_in(word):
                grams = [(gram, row.lastrowid) for gram in _grams(word)]
                self._base.executemany("INSERT INTO grams (gram, word) VALUES (?, ?)", grams)


def throw_away(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def _grams(word: str) -> set[str]:
    """Groups of three letters, with marks at the ends: words with few mistakes share most of them."""
    marked = f"^{word}$"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}

"""Phrases by their names, and where a text has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from runtime.language.vocabulary import matching
from runtime.language.vocabulary.notation import read_phrase
from runtime.language.vocabulary.word_list import WordList, words_of_text

FILE = Path(__file__).parent / "phrases.md"
_KEPT = 4096
"""How many answers are kept: the rules ask for the same phrase in the same sentence again and again."""


@dataclass(frozen=True, slots=True)
class PhraseEntry:
    """A phrase in the file: its section, what it is for, and its notation."""

    section: str
    about: str
    notation: str


def read_entries(text: str) -> Mapping[str, PhraseEntry]:
    """The phrases of a vocabulary by their names: below a heading each, its notation as a block that is indented."""
    found: dict[str, PhraseEntry] = {}
    section = name = ""
    about: list[str] = []
    notation: list[str] = []
    for row in (*text.splitlines(), "## "):
        if row.startswith("#"):
            if name:
                found[name] = PhraseEntry(section, " ".join(about), " ".join(notation))
            level, _, title = row.partition(" ")
            section, name = (title, "") if level == "##" else (section, title if level == "###" else "")
            about, notation = [], []
        elif row.startswith("    "):
            notation.append(row.strip())
        elif row:
            about.append(row)
    return found


ENTRIES: Mapping[str, PhraseEntry] = read_entries(FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A place of a text that is a phrase, and the texts of its named parts; "" for a part that is absent."""

    _words: WordList
    _first: int
    _behind: int
    _groups: matching.Groups

    def start(self) -> int:
        """Where its first word begins."""
        return self._place(self._first, self._behind)[0]

    def end(self) -> int:
        """Where its last word ends."""
        return self._place(self._first, self._behind)[1]

    @property
    def whole(self) -> str:
        """The text of all of it."""
        return self._words.text[self.start() : self.end()]

    @property
    def rest(self) -> str:
        """What stands behind it, without blanks at its start."""
        return self._words.text[self.end() :].lstrip()

    def __getitem__(self, name: str) -> str:
        start, end = self._place(*self._groups.get(name, (0, 0)))
        return self._words.text[start:end]

    def _place(self, first: int, behind: int) -> tuple[int, int]:
        if first < behind:
            return self._words.places[first][0], self._words.places[behind - 1][1]
        at = self._words.places[first - 1][1] if first else 0
        return at, at


class PhrasePattern:
    """What a text is asked for. It is read when it is first asked for."""

    def __init__(self, notation: str) -> None:
        self._notation = notation

    @cached_property
    def _read(self) -> tuple[matching.Part, frozenset[str] | None]:
        maker, firsts = read_phrase(self._notation, lambda name: ENTRIES[name].notation)
        return maker(matching.over), firsts

    @cached_property
    def _whole(self) -> PhrasePattern:
        return PhrasePattern(f"({self._notation}) END")

    def begins(self, text: str) -> PhraseMatch | None:
        """The phrase with which a text begins."""
        words = words_of_text(text)
        part, firsts = self._read
        if (firsts is not None and words.ended[0] not in firsts) or words.indented:
            return None
        return _begun(part, words)

    def is_all_of(self, text: str) -> PhraseMatch | None:
        """The phrase that is the whole text."""
        return self._whole.begins(text)

    def inside(self, text: str) -> PhraseMatch | None:
        """The first place of a text that is this phrase."""
        firsts = self._read[1]
        if firsts is not None and firsts.isdisjoint(words_of_text(text).words):
            return None
        return _first_inside(self, text)

    def all_inside(self, text: str) -> Iterator[PhraseMatch]:
        """The places of a text that are this phrase, from the left, none over another."""
        words = words_of_text(text)
        part, firsts = self._read
        if firsts is not None and firsts.isdisjoint(words.words):
            return
        behind = 0
        for at, word in enumerate(words.words):
            if at < behind or (firsts is not None and word not in firsts):
                continue
            groups: matching.Groups = {}
            end = part(words, at, groups)
            if end >= 0:
                behind = max(end, at + 1)
                yield PhraseMatch(words, at, end, groups)

    def without(self, text: str) -> str:
        """A text without the phrase with which it begins."""
        found = self.begins(text)
        return found.rest if found else text

    def left_out_of(self, text: str) -> str:
        """A text with a blank in place of each phrase."""
        kept, at = "", 0
        for found in self.all_inside(text):
            kept, at = f"{kept}{text[at : found.start()]} ", found.end()
        return kept + text[at:]


@lru_cache(maxsize=_KEPT)
def _begun(part: matching.Part, words: WordList) -> PhraseMatch | None:
    groups: matching.Groups = {}
    end = part(words, 0, groups)
    return PhraseMatch(words, 0, end, groups) if end >= 0 else None


@lru_cache(maxsize=_KEPT)
def _first_inside(pattern: PhrasePattern, text: str) -> PhraseMatch | None:
    return next(pattern.all_inside(text), None)


def phrase(name: str) -> PhrasePattern:
    """The phrase of the vocabulary with this name. Raises KeyError where there is none."""
    return PhrasePattern(ENTRIES[name].notation)


def phrases_of(section: str) -> Mapping[str, PhrasePattern]:
    """The phrases of a section of the vocabulary, whose names say what each is for, in their order."""
    return {name: phrase(name) for name, entry in ENTRIES.items() if entry.section == section}


def words_of(name: str) -> frozenset[str]:
    """The words and phrases of a list without any notation. Raises KeyError where there is none."""
    return frozenset(" ".join(one.split()) for one in ENTRIES[name].notation.split("|"))

"""Phrases by their names, in the notation that `phrases.md` explains, and where a text has one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.near_names import mistakes_between
from runtime.language.vocabulary import matching
from runtime.language.vocabulary.matching import Maker
from runtime.language.vocabulary.word_list import PIECE, WordList, words_of_text

FILE = Path(__file__).parent / "phrases.md"
_KEPT = 4096
"""How many answers are kept: the rules ask for the same phrase in the same sentence again and again."""

_TOKEN = re.compile(r"`[^`]+`|[*]?\w[\w'*~-]*|\.{2,3}|!\(|=\(|<\w[\w ]*>|\{\w+:|\S")
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_CLOSING = frozenset(")]}|")
_FIRSTS = {"VARIABLE": frozenset("$"), "PLACE": frozenset("$"), "QUOTATION": frozenset('"\u201c')}


class _Read(Struct, frozen=True):
    maker: Maker
    firsts: frozenset[str] | None
    """The words with which it can begin; None where these are not all known."""
    start: str = ""
    """The letters of what is only the beginning of a word: `whisper*`."""


def _read_phrase(said: str, named: Callable[[str], str]) -> _Read:
    """What matches a phrase. `named` is the notation of another phrase. Raises ValueError for what is no phrase."""
    reader = _Reader(said, named)
    read = reader.choice()
    if reader.token:
        raise ValueError(f"{reader.token!r} closes nothing in {said!r}")
    return read


def forms(said: str) -> tuple[str, ...]:
    """A word in the forms that `~` asks for: answer~s is answer and answers, choose~ing is choose and choosing."""
    stem, mark, ending = said.partition("~")
    if not mark:
        return (said,)
    vowel = stem[-2:-1] in "aeiou"
    if ending == "s":
        changed = f"{stem[:-1]}ie" if stem.endswith("y") and not vowel else stem
        return stem, f"{changed}{'es' if stem.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"
    return stem, f"{stem[:-1] if stem.endswith('e') and not stem.endswith('ee') else stem}{ending}"


class _Reader:
    def __init__(self, said: str, named: Callable[[str], str]) -> None:
        self._said = said
        self._named = named
        self._tokens = iter(_TOKEN.findall(said))
        self.token = next(self._tokens, "")

    def choice(self) -> _Read:
        """Alternatives between bars."""
        ways = [self._way()]
        while self.token == "|" and self._go_on():
            ways.append(self._way())
        if len(ways) == 1:
            return ways[0]
        if all(way.start for way in ways):
            return _Read(matching.word_beginning(tuple(way.start for way in ways)), None)
        firsts = [way.firsts for way in ways]
        known = [words for words in firsts if words is not None]
        begins = frozenset().union(*known) if len(known) == len(ways) else None
        return _Read(matching.one_of([way.maker for way in ways], firsts), begins)

    def _way(self) -> _Read:
        items: list[_Read] = []
        begins: frozenset[str] | None = frozenset()
        open_still = True
        while self.token and self.token not in _CLOSING:
            item, may_be_absent = self._item()
            items.append(item)
            if open_still:
                begins = None if begins is None or item.firsts is None else begins | item.firsts
                open_still = may_be_absent
        start = items[0].start if len(items) == 1 else ""
        return _Read(matching.in_order([item.maker for item in items]), None if open_still else begins, start)

    def _go_on(self) -> str:
        token, self.token = self.token, next(self._tokens, "")
        return token

    def _closed(self, by: str) -> _Read:
        read = self.choice()
        if self._go_on() != by:
            raise ValueError(f"{by!r} is missing in {self._said!r}")
        return read

    def _item(self) -> tuple[_Read, bool]:
        token = self._go_on()
        if token == "[":
            inner = self._closed("]")
            return _Read(matching.perhaps(inner.maker), inner.firsts), True
        if token == "(":
            inner = self._closed(")")
            if self.token == "+":
                self._go_on()
                return _Read(matching.repeated(inner.maker), inner.firsts), False
            return inner, False
        if token in ("!(", "=("):
            inner = self._closed(")")
            return _Read(matching.looking(inner.maker, fits=token == "=("), frozenset()), True
        if token in ("...", ".."):
            return _Read(matching.rest(within_a_clause=token == ".."), None), False
        if token.startswith("{"):
            inner = self._closed("}")
            return _Read(matching.named(token[1:-1], inner.maker), inner.firsts), False
        if token.startswith("<"):
            return replace(_read_phrase(self._named(token[1:-1]), self._named), start=""), False
        if token in ("BLANK", "START"):
            return _Read(matching.KINDS[token], frozenset()), True
        return _worded(token), False


def _worded(token: str) -> _Read:
    if token.isupper() and token in matching.KINDS:
        return _Read(matching.KINDS[token], _FIRSTS.get(token))
    letters = token.strip("*")
    if token.startswith("*") and letters:
        ends = matching.word_where(lambda words, at: words.words[at].endswith(letters) and words.words[at] != letters)
        return _Read(ends, None)
    if token != letters and letters:
        return _Read(matching.word_beginning((letters,)), None, letters)
    ways = [PIECE.findall(form) for form in forms(token.strip("`"))]
    words = [[matching.word(piece, joined=at > 0) for at, piece in enumerate(pieces)] for pieces in ways]
    makers, firsts = [matching.in_order(each) for each in words], [frozenset(pieces[:1]) for pieces in ways]
    maker = makers[0] if len(makers) == 1 else matching.one_of(makers, firsts)
    return _Read(maker, frozenset().union(*firsts))


class PhraseEntry(Struct, frozen=True):
    """A phrase in the file: its section, what it is for, and its notation."""

    section: str
    about: str
    notation: str


def read_entries(text: str) -> Mapping[str, PhraseEntry]:
    """The phrases of a vocabulary by their names: below a heading each, its notation as a block that is indented."""
    found: dict[str, PhraseEntry] = {}
    for part in text.split("\n## ")[1:]:
        section, *entries = part.split("\n### ")
        for name, *rows in map(str.splitlines, entries):
            about = " ".join(row for row in rows if row and not row.startswith("    "))
            notation = " ".join(row.strip() for row in rows if row.startswith("    "))
            found[name] = PhraseEntry(section.partition("\n")[0], about, notation)
    return found


ENTRIES: Mapping[str, PhraseEntry] = read_entries(FILE.read_text(encoding="utf-8"))


class PhraseMatch(Struct, frozen=True):
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
        read = _read_phrase(self._notation, lambda name: ENTRIES[name].notation)
        return read.maker(matching.over), read.firsts

    @cached_property
    def _whole(self) -> PhrasePattern:
        return PhrasePattern(f"({self._notation}) END")

    def begins(self, text: str) -> PhraseMatch | None:
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

    def between(self, text: str) -> list[str]:
        """The parts of a text before, between and behind the phrases in it."""
        found = list(self.all_inside(text))
        starts, ends = (0, *(one.end() for one in found)), (*(one.start() for one in found), len(text))
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]

    def left_out_of(self, text: str) -> str:
        """A text with a blank in place of each phrase."""
        return " ".join(self.between(text))


@lru_cache(maxsize=_KEPT)
def _begun(part: matching.Part, words: WordList) -> PhraseMatch | None:
    groups: matching.Groups = {}
    end = part(words, 0, groups)
    return PhraseMatch(words, 0, end, groups) if end >= 0 else None


@lru_cache(maxsize=_KEPT)
def _first_inside(pattern: PhrasePattern, text: str) -> PhraseMatch | None:
    return next(pattern.all_inside(text), None)


@cache
def phrase(name: str) -> PhrasePattern:
    """The phrase of the vocabulary with this name. Raises KeyError where there is none."""
    return PhrasePattern(ENTRIES[name].notation)


def phrases_of(section: str) -> Mapping[str, PhrasePattern]:
    """The phrases of a section of the vocabulary, whose names say what each is for, in their order."""
    return {name: phrase(name) for name, entry in ENTRIES.items() if entry.section == section}


@cache
def _known_words() -> frozenset[str]:
    texts = "|".join(entry.notation for entry in ENTRIES.values())
    return frozenset("".join(char if char.isalpha() else " " for char in texts).lower().split())


def probably_meant(step: str) -> str:
    """What a step probably begins with if no step is read by its first word; "" where that is not clear."""
    said = step.lower().rstrip(" .!")
    first = said.partition(" ")[0]
    for meant in sorted(words_of("often written")):
        slip = said if " " in meant else "" if first in _known_words() - _ORDINAL | words_of("no slips") else first
        begins = slip[:1] in meant[:2]  # nobody misses the first letter: "sell" is no "tell"
        if said != meant and begins and slip and mistakes_between(slip, meant, 1) is not None:
            return meant.capitalize()
    return ""


def comparison_meant(text: str, is_exact: Callable[[str], object]) -> tuple[str, str] | None:
    """A word that is probably a slip in one of comparing, and the one that is meant: with it, the text is exact."""
    for start, end in words_of_text(text).places:
        alone = text[start - 1 : start].strip() == text[end : end + 1].strip() == "" and text[start:end].isalpha()
        word = text[start:end].lower() if alone and text[:start].count('"') % 2 == 0 else ""
        for meant in sorted(words_of("often compared")) if word else ():
            near = word[0] in meant[:2] and mistakes_between(word, meant, 1) is not None
            near = near and word not in _known_words() | words_of("no slips")
            if (near or f"{word[:-1]}'t" == meant) and is_exact(f"{text[:start]}{meant}{text[end:]}"):
                return text[start:end], meant
    return None


@cache
def words_of(name: str) -> frozenset[str]:
    """The words and phrases of a list without any notation. Raises KeyError where there is none."""
    return frozenset(" ".join(one.split()) for one in ENTRIES[name].notation.split("|"))

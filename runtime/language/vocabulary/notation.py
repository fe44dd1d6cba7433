"""The notation of phrases, as `phrases.md` explains it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from runtime.language.vocabulary import matching
from runtime.language.vocabulary.matching import Maker
from runtime.language.vocabulary.word_list import PIECE

_TOKEN = re.compile(r"`[^`]+`|[*]?\w[\w'*~-]*|\.{2,3}|!\(|=\(|<\w[\w ]*>|\{\w+:|\S")
_CLOSING = frozenset(")]}|")


@dataclass(frozen=True, slots=True)
class _Read:
    maker: Maker
    firsts: frozenset[str] | None
    """The words with which it can begin; None where these are not all known."""
    start: str = ""
    """The letters of what is only the beginning of a word: `whisper*`."""


def read_phrase(said: str, named: Callable[[str], str]) -> tuple[Maker, frozenset[str] | None]:
    """What matches a phrase, and the words with which it can begin, where these are known. `named` is the notation of
    another phrase. Raises ValueError for what is no phrase."""
    reader = _Reader(said, named)
    read = reader.choice()
    if reader.token:
        raise ValueError(f"{reader.token!r} closes nothing in {said!r}")
    return read.maker, read.firsts


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
        while self.token == "|":
            self._go_on()
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
            maker, firsts = read_phrase(self._named(token[1:-1]), self._named)
            return _Read(maker, firsts), False
        if token in ("BLANK", "START"):
            return _Read(matching.KINDS[token], frozenset()), True
        return _worded(token), False


def _worded(token: str) -> _Read:
    if token.isupper() and token in matching.KINDS:
        return _Read(matching.KINDS[token], frozenset("$") if token in ("VARIABLE", "PLACE") else None)
    letters = token.strip("*")
    if token != letters and letters:
        if not token.startswith("*"):
            return _Read(matching.word_beginning((letters,)), None, letters)
        return _Read(
            matching.word_where(lambda words, at: words.words[at].endswith(letters) and words.words[at] != letters),
            None,
        )
    ways = [PIECE.findall(form) for form in forms(token.strip("`"))]
    firsts = [frozenset(pieces[:1]) for pieces in ways]
    makers = [
        matching.in_order([matching.word(piece, joined=at > 0) for at, piece in enumerate(pieces)]) for pieces in ways
    ]
    maker = makers[0] if len(makers) == 1 else matching.one_of(makers, firsts)
    return _Read(maker, frozenset().union(*firsts))

"""The notation of `conditions.grammar`, read once, and the chart parser that finds all readings of a text by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from runtime.language.instructions.conditions.tokens import ConditionToken
from runtime.language.vocabulary.phrase import words_of

FILE = Path(__file__).parent / "conditions.grammar"

Meanings = Mapping[int, tuple[Any, ...]]
"""The meanings of a part by the place behind it."""

_MOST = 6
"""The meanings of one part that are kept: more than one is already too many for a text to be exact."""


class Element(Struct, frozen=True):
    """A part of a rule: another rule, a class of phrases, a kind of token, a word or a mark."""

    name: str
    times: Literal["", "?", "*"] = ""


class RuleWay(Struct, frozen=True):
    """One way to say what a rule means, and the action that makes the meaning."""

    elements: tuple[Element, ...]
    action: str


Phrases = list[tuple[tuple[str, ...], str]]
"""The words of some phrases, each with what it stands for."""


class PhraseGrammar:
    """Rules by name, no one of them empty; classes of phrases, and the same by class and first word; and the words and
    kinds of tokens with which each rule can begin."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Raises ValueError for a line that is no rule, and for two rules of one name."""
        self.rules: dict[str, list[RuleWay]] = {}
        self.classes: dict[str, Phrases] = {}
        self.by_word: dict[tuple[str, str], Phrases] = {}
        self.firsts: dict[str, frozenset[str]] = {}
        self._starting: dict[tuple[str, str], tuple[RuleWay, ...]] = {}
        for file in files:
            self._read(file.read_text(encoding="utf-8"))
        for name, phrases in self.classes.items():
            for words, value in phrases:
                self.by_word.setdefault((name, words[0]), []).append((words, value))
        for rule in self.rules:
            self._firsts_of(rule)

    def _read(self, text: str) -> None:
        rule = ""
        for row in text.splitlines():
            line = row.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("%"):
                name, value, said = line[1:].split(maxsplit=2)
                phrases = words_of(said[1:-1]) if said[0] == "<" and said[-1] == ">" else said.split(" | ")
                self.classes.setdefault(name, []).extend((tuple(one.split()), value) for one in phrases)
                continue
            if row[0] not in " |":
                rule, _, line = line.partition(":")
                if rule in self.rules:
                    raise ValueError(f"there are two rules {rule}")
            for way in line.strip().removeprefix("|").split(" | "):
                said, arrow, action = way.partition("->")
                if not arrow:
                    raise ValueError(f"{row!r} has no action")
                self.rules.setdefault(rule, []).append(RuleWay(tuple(map(_element, said.split())), action.strip()))

    def _firsts_of(self, name: str) -> frozenset[str]:
        if name not in self.rules:
            return frozenset(words[0] for words, _ in self.classes.get(name, [((name,), "")]))
        if name not in self.firsts:
            self.firsts[name] = frozenset().union(*map(self._firsts_of_way, self.rules[name]))
        return self.firsts[name]

    def _firsts_of_way(self, way: RuleWay) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for element in way.elements:
            found |= self._firsts_of(element.name)
            if not element.times:
                break
        return found

    def starting(self, rule: str, first: str) -> tuple[RuleWay, ...]:
        """The ways of a rule that can begin with a word or a kind of token."""
        if first not in self.firsts.get(rule, ()):
            return ()
        found = self._starting.get((rule, first))
        if found is None:
            ways = (way for way in self.rules[rule] if first in self._firsts_of_way(way))
            found = self._starting[rule, first] = tuple(ways)
        return found


def condition_grammar() -> PhraseGrammar:
    return grammar_of(FILE)


@cache
def grammar_of(*files: Path) -> PhraseGrammar:
    """The rules of these files together."""
    return PhraseGrammar(files)


def _element(said: str) -> Element:
    times: Literal["", "?", "*"] = "?" if said.endswith("?") else "*" if said.endswith("*") else ""
    return Element(said.removesuffix(times).strip("'") if times else said.strip("'"), times)


class ConditionChart:
    """One text. `actions` make a meaning from those of a rule's elements, or None for what has none."""

    def __init__(
        self, grammar: PhraseGrammar, actions: Mapping[str, Callable[..., Any]], tokens: Sequence[ConditionToken]
    ) -> None:
        self._grammar = grammar
        self._actions = actions
        self._tokens = tokens
        self._words = (*["" if token.kind == "OPERAND" else token.text for token in tokens], "")
        self._begins = [one.text if one.kind in ("WORD", "MARK") else one.kind for one in tokens] + [""]
        self._kinds = [one.kind for one in tokens] + [""]
        self._known: dict[tuple[str, int], Meanings] = {}

    def meanings(self, rule: str) -> tuple[Any, ...]:
        """All different meanings of the whole text as `rule`."""
        return self.ends(rule, 0).get(len(self._tokens), ())

    def begins(self, rule: str, at: int) -> bool:
        """Whether a part that is `rule` begins at a token."""
        return bool(self.ends(rule, at))

    def ends(self, rule: str, at: int) -> Meanings:
        """The meanings of the parts that are `rule` and begin at a token, by where they end."""
        key = (rule, at)
        if key not in self._known:
            self._known[key] = {}  # a rule that begins with itself has no meaning
            found: dict[int, list[Any]] = {}
            for way in self._ways(rule, at):
                action = self._actions[way.action]
                for end, parts in self._sequence(way.elements, at):
                    meaning = action(*parts)
                    known = found.setdefault(end, [])
                    if meaning is not None and meaning not in known and len(known) < _MOST:
                        known.append(meaning)
            self._known[key] = {end: tuple(some) for end, some in found.items() if some}
        return self._known[key]

    def _ways(self, rule: str, at: int) -> tuple[RuleWay, ...]:
        begins, kind = self._begins[at], self._kinds[at]
        ways = self._grammar.starting(rule, begins)
        return ways if begins == kind else ways + self._grammar.starting(rule, kind)

    def _sequence(self, elements: Sequence[Element], at: int) -> list[tuple[int, tuple[Any, ...]]]:
        ways: list[tuple[int, tuple[Any, ...]]] = [(at, ())]
        for element in elements:
            if not ways:
                break
            often = self._repeated if element.times == "*" else self._perhaps
            found = often if element.times else self._once
            ways = [(end, (*parts, meaning)) for place, parts in ways for end, meaning in found(element, place)]
        return ways

    def _perhaps(self, element: Element, at: int) -> list[tuple[int, Any]]:
        return [(at, None), *self._once(element, at)]

    def _repeated(self, element: Element, at: int) -> list[tuple[int, Any]]:
        ways: list[tuple[int, Any]] = [(at, ())]
        for place, parts in ways:  # grows while it is walked
            ways += [(end, (*parts, meaning)) for end, meaning in self._once(element, place) if end > place]
        return ways

    def _once(self, element: Element, at: int) -> list[tuple[int, Any]]:
        if element.name in self._grammar.rules:
            firsts = self._grammar.firsts[element.name]
            if self._begins[at] not in firsts and self._kinds[at] not in firsts:
                return []
            return [(end, one) for end, some in self.ends(element.name, at).items() for one in some]
        if element.name in self._grammar.classes:
            return self._phrases(element.name, at)
        token = self._tokens[at] if at < len(self._tokens) else None
        return [] if token is None or element.name not in (token.kind, token.text) else [(at + 1, token)]

    def _phrases(self, name: str, at: int) -> list[tuple[int, str]]:
        found = self._grammar.by_word.get((name, self._words[at]))
        return [
            (at + len(words), value)
            for words, value in found or ()
            if len(words) == 1 or self._words[at : at + len(words)] == words
        ]

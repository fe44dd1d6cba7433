"""The notation of `conditions.grammar`, read once, and the chart parser that finds all readings of a text by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

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
    """One way to say what a rule means, the action that makes the meaning, and with what words or tokens it begins."""

    elements: tuple[Element, ...]
    action: str
    firsts: frozenset[str] = frozenset()


class PhraseGrammar(Struct, frozen=True):
    """Rules by name; classes of phrases, each with what it stands for, and the same by class and first word."""

    rules: Mapping[str, tuple[RuleWay, ...]]
    classes: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    by_word: Mapping[tuple[str, str], tuple[tuple[tuple[str, ...], str], ...]]
    firsts: Mapping[str, frozenset[str]]
    """The words and kinds of tokens with which each rule can begin."""
    starts: dict[tuple[str, str], tuple[RuleWay, ...]]
    """What `starting` has found."""

    def starting(self, rule: str, first: str) -> tuple[RuleWay, ...]:
        """The ways of a rule that can begin with a word or a kind of token."""
        if first not in self.firsts.get(rule, ()):
            return ()
        found = self.starts.get((rule, first))
        if found is None:
            found = self.starts[rule, first] = tuple(way for way in self.rules[rule] if first in way.firsts)
        return found


def condition_grammar() -> PhraseGrammar:
    return grammar_of(FILE)


@cache
def grammar_of(*files: Path) -> PhraseGrammar:
    """The rules of these files together. Raises ValueError for a line that is none, and for two rules of one name."""
    rules: dict[str, list[RuleWay]] = {}
    classes: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    rule = ""
    for row in "\n".join(file.read_text(encoding="utf-8") for file in files).splitlines():
        line = row.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("%"):
            name, value, phrases = line[1:].split(maxsplit=2)
            separated = words_of(phrases[1:-1]) if phrases[0] == "<" and phrases[-1] == ">" else phrases.split(" | ")
            classes.setdefault(name, []).extend((tuple(one.split()), value) for one in separated)
            continue
        if row[0] not in " |":
            rule, _, line = line.partition(":")
            if rule in rules:
                raise ValueError(f"there are two rules {rule}")
        for way in line.strip().removeprefix("|").split(" | "):
            said, arrow, action = way.partition("->")
            if not arrow:
                raise ValueError(f"{row!r} has no action")
            rules.setdefault(rule, []).append(RuleWay(tuple(map(_element, said.split())), action.strip()))
    by_word: dict[tuple[str, str], list[tuple[tuple[str, ...], str]]] = {}
    for name, listed in classes.items():
        for words, value in listed:
            by_word.setdefault((name, words[0]), []).append((words, value))
    ways = _with_firsts(rules, {name: frozenset(words[0] for words, _ in listed) for name, listed in classes.items()})
    return PhraseGrammar(
        ways,
        {name: tuple(listed) for name, listed in classes.items()},
        {key: tuple(listed) for key, listed in by_word.items()},
        {name: frozenset[str]().union(*(way.firsts for way in some)) for name, some in ways.items()},
        {},
    )


def _with_firsts(
    rules: Mapping[str, Sequence[RuleWay]], classes: Mapping[str, frozenset[str]]
) -> dict[str, tuple[RuleWay, ...]]:
    """The rules, whose ways know what they can begin with. No rule is empty."""

    @cache
    def of_rule(name: str) -> frozenset[str]:
        return frozenset().union(*(of_way(way) for way in rules[name]))

    def of_way(way: RuleWay) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for element in way.elements:
            name = element.name
            begins = of_rule(name) if name in rules else classes.get(name, frozenset({name}))
            found = found | begins if found else begins
            if not element.times:
                break
        return found

    return {name: tuple(replace(way, firsts=of_way(way)) for way in ways) for name, ways in rules.items()}


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
            found = self._element if element.times else self._once
            ways = [(end, (*parts, meaning)) for place, parts in ways for end, meaning in found(element, place)]
        return ways

    def _element(self, element: Element, at: int) -> list[tuple[int, Any]]:
        if element.times == "*":
            return self._repeated(element, at)
        found = self._once(element, at)
        return [(at, None), *found] if element.times == "?" else found

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

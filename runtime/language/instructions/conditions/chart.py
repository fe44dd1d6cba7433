"""A parser that gives every meaning of a text: each rule at each place is read once, with all the ends it can have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.language.instructions.conditions.grammar import Element, PhraseGrammar, RuleWay
from runtime.language.instructions.conditions.tokens import ConditionToken

Meanings = Mapping[int, tuple[Any, ...]]
"""The meanings of a part by the place behind it."""

_MOST = 6
"""The meanings of one part that are kept: more than one is already too many for a text to be exact."""


class ConditionChart:
    """One text. `actions` make a meaning from those of a rule's elements, or None for what has none."""

    def __init__(
        self, grammar: PhraseGrammar, actions: Mapping[str, Callable[..., Any]], tokens: Sequence[ConditionToken]
    ) -> None:
        self._grammar = grammar
        self._actions = actions
        self._tokens = tokens
        self._words = (*("" if token.kind == "OPERAND" else token.text for token in tokens), "")
        self._begins = [*(one.text if one.kind in ("WORD", "MARK") else one.kind for one in tokens), ""]
        self._kinds = [*(one.kind for one in tokens), ""]
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
        ways = self._grammar.starting.get((rule, begins), ())
        return ways if begins == kind else ways + self._grammar.starting.get((rule, kind), ())

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
        if token is None or element.name not in (token.kind, token.text):
            return []
        return [(at + 1, token)]

    def _phrases(self, name: str, at: int) -> list[tuple[int, str]]:
        found = self._grammar.by_word.get((name, self._words[at]))
        return [
            (at + len(words), value)
            for words, value in found or ()
            if len(words) == 1 or self._words[at : at + len(words)] == words
        ]

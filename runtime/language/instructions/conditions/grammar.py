"""The notation of `conditions.grammar`, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from runtime.language.vocabulary.phrase import words_of

FILE = Path(__file__).parent / "conditions.grammar"


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a rule: another rule, a class of phrases, a kind of token, a word or a mark."""

    name: str
    times: Literal["", "?", "*"] = ""


@dataclass(frozen=True, slots=True)
class RuleWay:
    """One way to say what a rule means, the action that makes the meaning, and the words and kinds of tokens with which
    it can begin."""

    elements: tuple[Element, ...]
    action: str
    firsts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PhraseGrammar:
    """Rules by name; classes of phrases, each with what it stands for, and the same by class and first word."""

    rules: Mapping[str, tuple[RuleWay, ...]]
    classes: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    by_word: Mapping[tuple[str, str], tuple[tuple[tuple[str, ...], str], ...]]
    firsts: Mapping[str, frozenset[str]]
    """The words and kinds of tokens with which each rule can begin."""
    starting: Mapping[tuple[str, str], tuple[RuleWay, ...]]
    """The ways of each rule that can begin with a word or a kind of token."""


def condition_grammar() -> PhraseGrammar:
    """The grammar of conditions."""
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
        {
            (name, first): tuple(way for way in some if first in way.firsts)
            for name, some in ways.items()
            for first in frozenset[str]().union(*(way.firsts for way in some))
        },
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
            found |= of_rule(name) if name in rules else classes.get(name, frozenset({name}))
            if not element.times:
                break
        return found

    return {name: tuple(replace(way, firsts=of_way(way)) for way in ways) for name, ways in rules.items()}


def _element(said: str) -> Element:
    times: Literal["", "?", "*"] = "?" if said.endswith("?") else "*" if said.endswith("*") else ""
    return Element(said.removesuffix(times).strip("'") if times else said.strip("'"), times)

"""The notation of `conditions.grammar`, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FILE = Path(__file__).parent / "conditions.grammar"


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a rule: another rule, a class of phrases, a kind of token, a word or a mark."""

    name: str
    times: Literal["", "?", "*"] = ""


@dataclass(frozen=True, slots=True)
class RuleWay:
    """One way to say what a rule means, and the action that makes the meaning."""

    elements: tuple[Element, ...]
    action: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name; classes of phrases, each with what it stands for; the number of words of the longest phrase."""

    rules: Mapping[str, tuple[RuleWay, ...]]
    classes: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    longest: int


@cache
def condition_grammar() -> Grammar:
    """The grammar of conditions. Raises ValueError for a line that is none, and for a name that is not declared."""
    rules: dict[str, list[RuleWay]] = {}
    classes: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    rule = ""
    for row in FILE.read_text(encoding="utf-8").splitlines():
        line = row.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("%"):
            name, value, phrases = line[1:].split(maxsplit=2)
            separated = phrases.split(" | ")
            classes.setdefault(name, []).extend((tuple(one.split()), value) for one in separated)
            continue
        if row[0] not in " |":
            rule, _, line = line.partition(":")
        for way in line.strip().removeprefix("|").split(" | "):
            said, arrow, action = way.partition("->")
            if not arrow:
                raise ValueError(f"conditions.grammar: {row!r} has no action")
            rules.setdefault(rule, []).append(RuleWay(tuple(map(_element, said.split())), action.strip()))
    longest = max(len(words) for phrases in classes.values() for words, _ in phrases)
    return Grammar(
        {name: tuple(ways) for name, ways in rules.items()},
        {name: tuple(phrases) for name, phrases in classes.items()},
        longest,
    )


def _element(said: str) -> Element:
    times: Literal["", "?", "*"] = "?" if said.endswith("?") else "*" if said.endswith("*") else ""
    return Element(said.removesuffix(times).strip("'") if times else said.strip("'"), times)

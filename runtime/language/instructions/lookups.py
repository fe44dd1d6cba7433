"""Exact calls in prose, as in `Tell the user what GetWeather($city) says`: the runtime makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.model import Ask, Condition, Jump, Loop, Meaning, Prose, Return, Say, Set, Think
from runtime.language.instructions.text import CALLED, inside_of
from runtime.language.vocabulary.phrase import phrase

PROSE_OF: Mapping[type, str] = {
    **dict.fromkeys((Say, Ask), "words"),
    **dict.fromkeys((Set, Return), "value"),
    **dict.fromkeys((Condition, Jump), "test"),
    Loop: "over",
    Think: "about",
}
"""The operand of an instruction that may be prose with calls."""

_Part = TypeVar("_Part", bound=Meaning)


class Lookup(Struct, frozen=True):
    """An exact call in `text[start:end]`, in braces or not."""

    start: int
    end: int
    call: Expression
    braced: bool


@lru_cache(maxsize=2048)
def lookups(text: str) -> tuple[Lookup, ...]:
    """The exact calls in a text, in order. Calls in quotes are words, unless they are in braces."""
    return tuple(_found(text))


def _found(text: str) -> Iterator[Lookup]:
    at = 0
    while match := CALLED.search(text, at):
        inside = inside_of(text, match.end() - 1) if all(part[0].isupper() for part in match[1].split(".")) else None
        at = match.end() + (0 if inside is None else len(inside) + 1)
        call = None if inside is None else read_expression(text[match.start() : at])
        if call is None or not call.calls:
            at = match.end()
            continue
        before, behind = text[: match.start()].rstrip(), text[at:].lstrip()
        if before.endswith("{") and behind.startswith("}"):
            yield Lookup(len(before) - 1, len(text) - len(behind) + 1, call, braced=True)
        elif before.count('"') % 2 == 0:
            yield Lookup(match.start(), at, call, braced=False)


def named_in(words: str) -> tuple[Lookup, ...]:
    """The calls whose results the words are about, rather than the calls themselves."""
    sure = not phrase("only maybe").inside(_without_calls(words))
    about, gives = phrase("about a result"), phrase("gives")
    return tuple(
        one
        for one in lookups(words)
        if one.braced or (sure and (about.inside(words[: one.start]) or gives.begins(words[one.end :].lstrip())))
    )


def _without_calls(text: str) -> str:
    for one in reversed(lookups(text)):
        text = text[: one.start] + text[one.end :]
    return text


def calls_before(part: Meaning) -> tuple[Expression, ...]:
    """The calls in an instruction's prose that are made before a model is asked."""
    prose = operand_of_part(part)
    return prose.calls if isinstance(prose, Prose) else ()


def operand_of_part(part: Meaning) -> object:
    """The one operand of an instruction that may be prose; None where there is none."""
    return getattr(part, PROSE_OF.get(type(part), ""), None)


def with_lookups(part: _Part) -> _Part:
    """An instruction that knows which calls in its prose are made before a model is asked."""
    prose = operand_of_part(part)
    if not isinstance(prose, Prose):
        return part
    text = prose.text
    made = isinstance(part, Set | Return) and not phrase("only maybe").inside(_without_calls(text))
    before = lookups(text) if made or isinstance(part, Condition | Jump | Loop) else named_in(text)
    changed: dict[str, Any] = {PROSE_OF[type(part)]: Prose(text, tuple(one.call for one in before))}
    return replace(part, **changed)

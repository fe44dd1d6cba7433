"""The tokens of a condition: a call, a list, a quotation is one, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.expression import TELEPHONE, is_unsure_number, read_expression
from runtime.language.instructions.text import TYPE, inside_of

Kind = Literal["WORD", "OPERAND", "TYPED", "CALL", "PERCENT", "MARK", "OTHER", "AGENT", "SERVER", "UNKNOWN", "END"]

_PATTERN = re.compile(
    r"""\s*(?:
      (?P<string>[fF]?"[^"\n]*"|[fF]?'[^'\n]*'(?!\w))
    | (?P<percent>\d+(?:\.\d+)?)\s?%(?!\s*[\d$(])
    | (?P<telephone>TELEPHONE)
    | (?P<number>(?:\d{1,3}(?:,\d{3})+(?!,?\w)|\d+)(?:\.\d+)?(?=x\b|\W|\Z))
    | (?P<typed>\$[^\W\d]\w*:TYPE)
    | (?P<name>\$?[^\W\d]\w*(?:'\w+)?)
    | (?P<open>[\[{])
    | (?P<mark>===|!==|==|!=|<=|>=|\*\*|//|&&|\|\||[-+*/%|<>=!(),])
    )""".replace("TYPE", TYPE).replace("TELEPHONE", TELEPHONE.replace(" ", r"\x20")),
    re.VERBOSE,
)
_PATH = re.compile(r"\.[^\W\d]\w*")
_SHORTENED = frozenset(f"{verb}n't" for verb in ("is", "are", "was", "were", "does", "do", "did", "has", "have"))
_LONGEST = 120
_ALONE: Mapping[str | None, Kind] = {"mark": "MARK", "percent": "PERCENT", "typed": "TYPED"}
"""The parts of the pattern that are a token as they are written."""


class ConditionToken(Struct, frozen=True):
    """A word (in small letters), a mark, a number of percent, a variable with its type, an operand, whose text is code,
    a call with arguments in words, other text, up to the end, or the name of an agent. `at` and `end` are its place."""

    kind: Kind
    text: str
    at: int
    end: int
    form: Literal["", "variable", "call", "literal"] = ""


def tokens_of(text: str) -> tuple[ConditionToken, ...] | None:
    """The tokens of a text; None where a part is none, or where there are too many."""
    found = leading_tokens(text)
    return None if found and found[-1].kind == "OTHER" else found


def leading_tokens(text: str) -> tuple[ConditionToken, ...]:
    """The tokens of a text up to a part that is none, or up to the largest number of them; the rest is one."""
    found: list[ConditionToken] = []
    with suppress(ValueError):  # a part that is none
        found.extend(islice(_tokens(text), _LONGEST))
    behind = found[-1].end if found else 0
    if not text[behind:].strip():
        return tuple(found)
    return (*found, ConditionToken("OTHER", text[behind:], behind, len(text)))


def _tokens(text: str) -> Iterator[ConditionToken]:
    at = 0
    while match := _PATTERN.match(text, at):
        found = list(_of(text, match, match.start(match.lastgroup or 0)))
        yield from found
        at = max(match.end(), found[-1].end)


def _of(text: str, match: re.Match[str], at: int) -> Iterator[ConditionToken]:
    kind, said, end = match.lastgroup, match[match.lastgroup or 0], match.end()
    if kind in _ALONE:
        yield ConditionToken(_ALONE[kind], said, at, end)
    elif kind == "telephone":
        yield ConditionToken("OPERAND", f'"{said}"', at, end, "literal")
    elif kind == "number":
        if is_unsure_number(said):
            raise ValueError(said)
        yield ConditionToken("OPERAND", said.replace(",", ""), at, end, "literal")
    elif kind == "open":
        end = _closed(text, at)
        filled = text[at + 2 : end - 1].isidentifier() and text[at : at + 2] == "{$"
        token = _operand(text, at + filled, end - filled, "variable" if filled else "literal")
        yield replace(token, at=at, end=end)
    elif kind == "string":
        yield _operand(text, at, _behind(text, end), "literal")
    elif said.startswith("$"):
        behind = _behind(text, end)
        alone = behind == end and "'" not in said
        yield ConditionToken("OPERAND", said, at, end, "variable") if alone else _operand(text, at, behind, "variable")
    elif (behind := _behind(text, end)) > end and ("(" in text[end:behind] or "[" in text[end:behind]):
        yield _operand(text, at, behind, "call")
    elif said.lower() in _SHORTENED:
        yield ConditionToken("WORD", said.lower().removesuffix("n't"), at, end)
        yield ConditionToken("WORD", "not", at, end)
    else:
        yield ConditionToken("WORD", said.lower(), at, end)


def _operand(text: str, at: int, end: int, form: Literal["variable", "call", "literal"]) -> ConditionToken:
    code = text[at:end]
    if read_expression(code) is None:
        if form == "call" and code.endswith(")"):
            return ConditionToken("CALL", code, at, end)
        raise ValueError(code)
    return ConditionToken("OPERAND", code, at, end, "call" if form == "variable" and "(" in code else form)


def _behind(text: str, at: int) -> int:
    """The end of an operand's fields, indexes and calls that begin at a place."""
    while at < len(text):
        if text[at] in "([":
            at = _closed(text, at)
        elif (match := _PATH.match(text, at)) is not None:
            at = match.end()
        else:
            break
    return at


def _closed(text: str, at: int) -> int:
    inside = inside_of(text, at)
    if inside is None:
        raise ValueError(text[at:])
    return at + len(inside) + 2

"""Operands out of text: variables, exact expressions or prose, conditions, words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from runtime.language.instructions.conditions.reading import read_answer, read_condition, read_worded_value
from runtime.language.instructions.expression import Expression, read_expression, read_placeholder, read_python
from runtime.language.instructions.model import Operand, Prose, Template, VariableTarget, Words
from runtime.language.instructions.text import TYPE, with_straight_quotes, without_inner_quotes
from runtime.language.instructions.values import read_value
from runtime.language.placeholders import placeholders
from runtime.language.vocabulary.phrase import phrase
from runtime.language.vocabulary.word_list import WORD

VARIABLE = re.compile(rf"\$([^\W\d]\w*)(?::({TYPE}))?")

_PATH = re.compile(r"\.(\w+)|\[([^\]]*)\]")

_CURLED = re.compile('\u2018([^\u2018\u2019"\n]*)\u2019([.!]?)\\Z')
"""A text in single typographic quotes at the end of a step."""

_OPENING, _CLOSING = ('"', "\u201c", "\u201e", "\u00ab"), ('"', "\u201d", "\u201c", "\u00bb")
_QUOTES = frozenset({*_OPENING, *_CLOSING})

_FIELD = re.compile(r"\$[^\W\d]\w*(?:\.[^\W\d]\w*(?!\w*\()|\[[^\]\n]*\])*")


def said_words(text: str, targets: Sequence[str] = ()) -> Words:
    """Exact words for a quoted text or a value, else prose. The `targets` may be named: `Tell Bob "hello"`."""
    text = text.strip()
    if targets and (told := phrase("tells a quotation").begins(text)) and _all_named(told["whom"], targets):
        return said_words(f"tell them {told['words']}")
    if (said := phrase("says a value").begins(text)) and (value := read_expression(said["value"])) is not None:
        return Template((value,))
    literal = text.removeprefix("f")
    if literal[:1] == literal[-1:] == "'" and len(literal) > 1 and {*"'{}"}.isdisjoint(literal[1:-1]):
        return template_of(literal[1:-1])
    quoted = _quoted(_CURLED.sub(r'"\1"\2', text))
    if quoted is None or not _QUOTES.isdisjoint(without_inner_quotes(quoted.replace('\\"', ""))):
        return Prose(text)
    return template_of(quoted.replace('\\"', '"'))


def _quoted(text: str) -> str | None:
    """What stands in the quotes of `Say "Hello" to the user`; None where more is said."""
    said = phrase("says exactly").without(text).lstrip()
    said = said[1:] if said[:1] in ("f", "F") else said
    end = max(map(said.rfind, _CLOSING))
    behind = said[end + 1 :].strip()
    alone = behind in ("", ".", "!") or phrase("to whom exactly").is_all_of(behind)
    return said[1:end] if said[:1] in _OPENING and end > 0 and alone else None


def _all_named(whom: str, targets: Sequence[str]) -> bool:
    names = [name for name in WORD.findall(whom.casefold()) if name != "and"]
    return sorted(names) == sorted(map(str.casefold, targets))


@lru_cache(maxsize=2048)
def template_of(text: str) -> Words:
    """A quoted text with the values of its `{expressions}` and `$variables`; prose if one of them is in words."""
    parts: list[str | Expression] = []
    at, otherwise = 0, ""
    told = f'say exactly "{text}", with what stands in braces filled in'
    for one in placeholders(text):
        expression = read_expression(one.said) or read_placeholder(one.code, one.said)
        if expression is None:
            expression, otherwise = read_python(one.said, one.code, one.variables), told
        if expression is None:
            return Prose(told)
        parts += [*_variables_in(text[at : one.start]), expression]
        at = one.end
    parts += _variables_in(text[at:])
    return Template(tuple(part for part in parts if part != ""), otherwise)


def _variables_in(text: str) -> Iterator[str | Expression]:
    at = 0
    for found in _FIELD.finditer(text):
        expression = read_expression(found[0])
        if expression is not None:
            yield text[at : found.start()]
            yield expression
            at = found.end()
    yield text[at:]


def exact(text: str) -> Expression:
    found = read_expression(text)
    assert found is not None
    return found


def operand_of(text: str) -> Operand:
    return read_value(text) or Prose(text)


def argument_operand(text: str) -> Operand:
    """An argument: exact, or words. Names of agents and people in a list are literals."""
    found = read_expression(text) or read_expression(with_straight_quotes(text)) or read_worded_value(text)
    if found is not None:
        return found
    names = [name.strip() for name in text[1:-1].split(",")] if text[:1] == "[" and text[-1] == "]" else []
    if names and all(name.replace(" ", "_").isidentifier() for name in names):
        return exact("[{}]".format(", ".join(f'"{name}"' for name in names)))
    return Prose(text)


NOT_SO = "it is not so that "
"""Words before a condition in words that deny all of it."""


def negated(test: Operand) -> Operand:
    if isinstance(test, Prose):
        return Prose(f"{NOT_SO}{test.text}")
    return read_condition(f"not ({test.source})") or Prose(f"{NOT_SO}{test.source}")


def condition_of(text: str) -> Operand:
    text = text.strip().rstrip(".:")
    if read_answer(text) is not None:
        return Prose(f"{text}, by what was asked or checked last")
    return read_condition(text) or Prose(text)


def variable_of(text: str) -> VariableTarget:
    """`$x`, `$x:int`, `$x.y[0]`."""
    found = VARIABLE.match(text.strip())
    assert found is not None, text
    path: list[str | Expression] = []
    for field, index in _PATH.findall(text.strip()[found.end() :]):
        path.append(field or read_expression(index) or index)
    return VariableTarget(found[1], found[2] or "", tuple(path))

"""`{expressions}` in descriptions and messages: their positions and kinds, without their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

from runtime.language.syntax.signature import parse_python
from runtime.language.value_types import VARIABLE, python_name

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_IN_WORDS = frozenset("_$,.'\u2019?- \t")
_SPEC = re.compile(r"(?! )(?:.?[<>=^])?[-+ ]?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%]?|[^{}]*%[A-Za-z][^{}]*")
"""A format for a value: `>9`, `.2f`, `%d.%m.%Y`."""

_DATA = (ast.Set, ast.Tuple, ast.Dict)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Placeholder(Struct, frozen=True):
    """One `{…}`: `text[start:end]` with its braces, `said` without them. `code` is its Python expression with variables
    by their plain names (`$x` is `x`); "" when it is in natural language."""

    start: int
    end: int
    said: str
    code: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables written with `$`, without it, each once."""
        return tuple(dict.fromkeys(VARIABLE.findall(self.said)))


def placeholders(text: str) -> tuple[Placeholder, ...]:
    """The placeholders of a text in order. A placeholder stands on one line and is a Python expression that has to be
    worked out, or words ("{the month in French}"); an expression may have two braces at each end. Other braces (JSON,
    sets, numbers), a brace that is never closed and everything in a fence are text."""
    return tuple(_placeholders(text))


def _placeholders(text: str) -> Iterator[Placeholder]:
    fences = [match.span() for match in _FENCE.finditer(text)]
    at = 0
    while (at := text.find("{", at)) >= 0:
        fence = next((end for start, end in fences if start <= at < end), None)
        if fence is not None:
            at = fence
        elif found := _doubled(text, at) or _single(text, at):
            yield found
            at = found.end
        else:
            at += 1


def plain_names(expression: str) -> str:
    """An expression with the Python name in place of every `$name`; quoted text stays unchanged."""
    parts: list[str] = []
    at = 0
    while at < len(expression):
        if expression[at] in "\"'":
            end = _end_of_string(expression, at)
            parts.append(expression[at:end])
        elif match := VARIABLE.match(expression, at):
            end = match.end()
            parts.append(python_name(match[1]))
        else:
            end = at + 1
            parts.append(expression[at])
        at = end
    return "".join(parts)


def _single(text: str, start: int) -> Placeholder | None:
    end = _closing(text, start)
    if end is None:
        return None
    said = text[start + 1 : end - 1].strip()
    code = _code(said)
    in_words = said[:1].isalpha() and len(said.split()) > 1 and all(one.isalnum() or one in _IN_WORDS for one in said)
    return Placeholder(start, end, said, code) if code or in_words else None


def _code(said: str) -> str:
    """The expression, or "" if there is none or it names nothing."""
    code = plain_names(said)
    try:
        body = parse_python(f"({code})").body
    except SyntaxError:
        return _formatted(code)
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or isinstance(body[0].value, _DATA):
        return ""
    worked_out = isinstance(body[0].value, ast.BinOp) or any(isinstance(node, ast.Name) for node in ast.walk(body[0]))
    return code if worked_out else ""


def _formatted(code: str) -> str:
    """`x:.2f` or `x!r` as an expression; "" for other text."""
    quotes = next((quotes for quotes in ('"""', "'''") if quotes not in code), "'")
    try:
        body = parse_python(f"f{quotes}{{{code}}}{quotes}").body
    except SyntaxError:
        return ""
    match body:
        case [ast.Expr(value=ast.JoinedStr(values=[ast.FormattedValue() as formatted]) as text)]:
            named = any(isinstance(node, ast.Name) for node in ast.walk(formatted.value))
            return ast.unparse(text) if named and _is_said_how(formatted) else ""
    return ""


def _is_said_how(formatted: ast.FormattedValue) -> bool:
    """Whether a text is a value's format and no part of other text in braces."""
    match formatted.format_spec:
        case None:
            return formatted.conversion >= 0
        case ast.JoinedStr(values=[ast.Constant(value=str(spec))]):
            return bool(spec) and _SPEC.fullmatch(spec) is not None
    return False


def _closing(text: str, start: int) -> int | None:
    """The position after the brace that closes the one at `start`; None if its line ends first."""
    wanted: list[str] = []
    at = start
    while at < len(text) and text[at] != "\n":
        char = text[at]
        if char in "\"'" and not (char == "'" and text[at - 1].isalnum()):
            at = _end_of_string(text, at)
            continue
        if char in _PAIRS:
            wanted.append(_PAIRS[char])
        elif char in _PAIRS.values():
            if wanted.pop() != char:
                return None
            if not wanted:
                return at + 1
        at += 1
    return None


def _end_of_string(text: str, start: int) -> int:
    """The position after a string literal; if its line does not end it, after its opening quote."""
    at = start + 1
    while at < len(text) and text[at] != "\n":
        if text[at] == text[start]:
            return at + 1
        at += 2 if text[at] == "\\" else 1
    return start + 1


def _doubled(text: str, start: int) -> Placeholder | None:
    """`{{expression}}`, which means the same as `{expression}`."""
    end = _closing(text, start) if text.startswith("{{", start) else None
    if end is None or not text.startswith("}}", end - 2) or _closing(text, start + 1) != end - 1:
        return None
    said = text[start + 2 : end - 2].strip()
    code = _code(said)
    return Placeholder(start, end, said, code) if code else None

"""Exact expressions: read once from a program's text, evaluated by the runtime without a model.

Literals, `$variables` with fields and indexes, arithmetic, comparison, `and/or/not`, `in`, comprehensions, a few pure
functions, and calls of playbooks. A word without `$` that is no literal is prose, never a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from runtime.language.instructions.evaluation import COMPREHENSIONS, CONSTANTS, FUNCTIONS, call_name, evaluate
from runtime.language.instructions.text import STRING
from runtime.language.placeholders import plain_names
from runtime.language.syntax.signature import parse_python
from runtime.language.value_types import MARK, VARIABLE, variable_name

MAX_SOURCE = 2_000
_MAX_DEPTH = 100
"""The nesting depth beyond which a text counts as prose."""

_DATE = re.compile(r"(?<![\w.])(?:\d+(?:-\d+)+|\d{1,2}/\d{1,2}/(?:\d{2}|\d{4}))(?![\w.])")
"""A date, or a range such as 5-10, which is no subtraction or division."""

TELEPHONE = r"(?<![\w.$/-])(?:0\d+[ /-][\d /-]*\d|\d{3}-(?:\d{3}-)?\d{4})(?![\w./-])"
_TELEPHONE = re.compile(TELEPHONE)
_WHOLE_TELEPHONE = re.compile(rf"\+\d[\d /()-]{{4,}}\d|{TELEPHONE}")
"""A number of a telephone, which is a text."""

_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!,?\w)")
"""1,500: one number to people, two in a list."""

_UNSURE = re.compile(r"(?<![\w.])[1-9]\d{0,2}\.000(?![\d.])")


_TEXT = re.compile(r"(?P<f>[fF]?)(?P<text>\"[^\"\n]*\"|'[^'\n]*')")
_FILLED_IN = re.compile(r"(?<!\{)\{(\$[^\W\d][^{}\n]*)\}(?!\})")

_METHODS = frozenset(
    {
        *("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "split", "join", "replace"),
        *("startswith", "endswith", "count", "find", "index", "isdigit", "isalpha", "isnumeric", "keys", "values"),
        *("items", "get", "copy", "splitlines", "casefold", "removeprefix", "removesuffix"),
    }
)

_PLAIN = (
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.IfExp,
    ast.Subscript,
    ast.Slice,
    ast.JoinedStr,
    ast.FormattedValue,
)

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitOr)


class Expression(Struct, frozen=True):
    """An exact operand. `source` is as the author wrote it, `names` are the variables that it reads. `calls` are the
    playbooks that it calls, each by the name of the call; their results are given to `evaluate`."""

    source: str
    tree: ast.expr
    names: frozenset[str]
    calls: tuple[ast.Call, ...] = ()

    @property
    def called(self) -> frozenset[str]:
        """The names of the playbooks it calls."""
        return frozenset(name for call in self.calls if (name := call_name(call.func)))

    def __hash__(self) -> int:
        return hash(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.source == other.source

    def evaluate(self, variables: Mapping[str, Any], results: Mapping[ast.Call, Any] | None = None) -> Any:
        """The value. `results` are the results of its calls. Raises NotComputable."""
        return evaluate(self.tree, variables, results)


@lru_cache(maxsize=4096)
def read_expression(text: str) -> Expression | None:
    """The expression in a text; None for prose."""
    source = text.strip()
    return None if not source or len(source) > MAX_SOURCE else expression_of(source, source)


@lru_cache(maxsize=4096)
def read_placeholder(code: str, said: str) -> Expression | None:
    """The expression between braces, written as `said`, in which a plain name is a variable too."""
    tree = _tree(code) if code and len(code) <= MAX_SOURCE else None
    if tree is None:
        return None
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    owners = {func.value for func in called if isinstance(func, ast.Attribute) and _is_agent(func.value)}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called | owners}
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return expression_of(said, code, frozenset(map(variable_name, read - bound - CONSTANTS.keys())))


def read_python(said: str, code: str, variables: tuple[str, ...]) -> Expression | None:
    """An expression between braces that only the agent's Python can evaluate; None for words."""
    tree = _tree(code)
    return None if tree is None else Expression(said, tree, frozenset(variables))


def _tree(code: str) -> ast.expr | None:
    try:
        return ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def expression_of(source: str, code: str, more: frozenset[str] = frozenset()) -> Expression | None:
    """The expression that is `code`, as `source` says it; `more` are names written without `$`. None for prose."""
    filled = frozenset(VARIABLE.findall("".join(_FILLED_IN.findall(code))))
    plain = _with_plain_numbers(code)
    if plain is None or has_date(plain) or _TELEPHONE.search(STRING.sub("", plain)):
        return None
    said = _TEXT.sub(_with_values, plain)
    plain, names = plain_names(said), frozenset(VARIABLE.findall(STRING.sub("", said)))
    if "$" in STRING.sub("", plain):  # it belongs to no name
        return None
    try:
        body = parse_python(f"({plain})").body
    except SyntaxError:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        return None
    tree = body[0].value
    if _depth(tree) > _MAX_DEPTH:
        return None
    reader = _Reader(names | more | filled)
    try:
        reader.check(tree, frozenset())
    except _Prose:
        return None
    return Expression(source, tree, frozenset(reader.read), tuple(reader.calls))


def has_date(code: str) -> bool:
    """Whether a date or a range stands outside of quotes."""
    return _DATE.search(_TELEPHONE.sub("", STRING.sub("", code))) is not None


def telephone_in(text: str) -> Expression | None:
    """The number of a telephone, as a text; None for any other text."""
    return Expression(text, ast.Constant(text), frozenset()) if _WHOLE_TELEPHONE.fullmatch(text) else None


def is_unsure_call(arguments: str) -> bool:
    """Whether a number among arguments has a comma that separates thousands and no arguments, as in `1,000`."""
    return any(",0" in found[0] for found in _THOUSANDS.finditer(STRING.sub("", arguments)))


def is_unsure_number(text: str) -> bool:
    """Whether a number is one to some people and a thousand to others: 1.000."""
    return _UNSURE.fullmatch(text) is not None


def _with_plain_numbers(code: str) -> str | None:
    """The code with 1500 in place of 1,500. None where a comma may separate, as in `Pay(1,000)`."""
    if _UNSURE.search(STRING.sub("", code)):
        return None
    if not _THOUSANDS.search(code):
        return code
    quoted = [found.span() for found in STRING.finditer(code)]
    pieces, at = [], 0
    for found in _THOUSANDS.finditer(code):
        if any(start < found.start() < end for start, end in quoted):
            continue
        if _in_brackets(STRING.sub(lambda one: "_" * len(one[0]), code[: found.start()])):
            if ",0" in found[0]:
                return None
            continue
        pieces += [code[at : found.start()], found[0].replace(",", "")]
        at = found.end()
    return "".join((*pieces, code[at:]))


def _in_brackets(before: str) -> bool:
    """Whether a call, a list or an index is open at the end of a text."""
    open_ones: list[bool] = []
    for at, char in enumerate(before):
        if char in "([{":
            open_ones.append(char != "(" or before[at - 1 : at].isalnum() or before[at - 1 : at] in ("_", "]", ")"))
        elif char in ")]}" and open_ones:
            open_ones.pop()
    return any(open_ones)


def _with_values(found: re.Match[str]) -> str:
    """A text with `{$x}` in it as a Python f-string; every other text unchanged."""
    pieces = _FILLED_IN.split(found["text"])
    if len(pieces) == 1:
        return found[0]
    words = pieces[::2] if found["f"] else [one.replace("{", "{{").replace("}", "}}") for one in pieces[::2]]
    values = [f"{{{plain_names(piece)}}}" for piece in pieces[1::2]]
    return "f" + "".join(piece for pair in zip(words, [*values, ""], strict=True) for piece in pair)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


class _Prose(Exception):
    """The text is no expression."""


def _is_foreign(node: ast.AST) -> bool:
    """Whether a part of valid Python has no meaning here."""
    match node:
        case ast.Attribute(attr=attr):
            return attr.startswith("_")
        case ast.Constant(value=value):
            return not isinstance(value, str | int | float | None)
        case ast.BinOp(op=op):
            return not isinstance(op, _OPERATORS)
        case ast.Set() | ast.UnaryOp(op=ast.Invert()):  # `{words}` is a placeholder or prose
            return True
    return False


class _Reader:
    """Checks a tree, and collects the names it reads and calls."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.read: set[str] = set()
        self.calls: list[ast.Call] = []

    def check(self, node: ast.AST, bound: frozenset[str]) -> None:
        if _is_foreign(node):
            raise _Prose
        match node:
            case ast.Name(id=name):
                self._name(name, bound)
            case ast.Attribute(value=value):
                self.check(value, bound)
            case ast.Call():
                self._call(node, bound)
            case _ if isinstance(node, COMPREHENSIONS):
                self._comprehension(node, bound)
            case _ if isinstance(node, _PLAIN):
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.check(child, bound)
            case _:
                raise _Prose

    def _name(self, name: str, bound: frozenset[str]) -> None:
        if name in CONSTANTS or name in bound:
            return
        if variable_name(name) not in self._names:
            raise _Prose
        self.read.add(variable_name(name))

    def _call(self, node: ast.Call, bound: frozenset[str]) -> None:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
            raise _Prose
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.check(part, bound)
        name = call_name(node.func)
        if name in FUNCTIONS:
            return
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not _is_agent(node.func.value):
            self.check(node.func.value, bound)
            return
        if name is None or bound or name.partition(".")[0] in self._names or not name[0].isalpha():
            raise _Prose
        self.calls.append(node)

    def _comprehension(self, node: Any, bound: frozenset[str]) -> None:
        for part in node.generators:
            self.check(part.iter, bound)
            bound |= {inner.id for inner in ast.walk(part.target) if isinstance(inner, ast.Name)}
            if bound & self._names:  # `[x for x in $xs if x > $x]`: which of them is meant is unclear
                raise _Prose
            for test in part.ifs:
                self.check(test, bound)
        for value in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.check(value, bound)


def _is_agent(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id[:1].isupper() and not node.id.endswith(MARK)

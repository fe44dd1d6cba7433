"""Exact expressions: read once from a program's text, evaluated by the runtime without a model.

Literals, `$variables` with fields and indexes, arithmetic, comparison, `and/or/not`, `in`, comprehensions, a few pure
functions, and calls of playbooks. A word without `$` that is no literal is prose, never a name.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runtime.language.instructions.wording import in_symbols
from runtime.language.placeholders import plain_names
from runtime.language.signature import parse_python

MAX_SIZE = 1_000_000
"""Longer texts, lists and numbers are not made by an expression."""

_MAX_SOURCE = 2_000
_MAX_POWER = 1_000

_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_NAME = re.compile(r"\$([A-Za-z_]\w*)")


class NotComputable(ValueError):
    """An expression has no value as things are: a variable is not set, or an operation does not fit its operands."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An exact operand. `source` is as the author wrote it, `names` are the variables that it reads.

    `calls` are the playbooks that it calls, each by the name of the call; their results are given to `evaluate`.
    """

    source: str
    tree: ast.expr
    names: frozenset[str]
    calls: tuple[ast.Call, ...] = ()

    @property
    def called(self) -> frozenset[str]:
        """The names of what it calls."""
        return frozenset(name for call in self.calls if (name := call_name(call.func)))

    def __hash__(self) -> int:
        return hash(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.source == other.source

    def evaluate(self, variables: Mapping[str, Any], results: Mapping[ast.Call, Any] | None = None) -> Any:
        """The value. `results` are what its calls gave. Raises NotComputable."""
        return evaluate(self.tree, variables, results)


def evaluate(tree: ast.expr, variables: Mapping[str, Any], results: Mapping[ast.Call, Any] | None = None) -> Any:
    """The value of a part of an expression. Raises NotComputable."""
    try:
        value = _value(tree, variables, results or {})
    except NotComputable:
        raise
    except KeyError as error:
        raise NotComputable(f"there is no {error.args[0]!r} in it") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise NotComputable(str(error) or type(error).__name__) from error
    return _bounded(value)


def call_name(node: ast.expr) -> str | None:
    """`Name` or `Agent.Playbook`, when a called expression is written so."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


@lru_cache(maxsize=4096)
def read_expression(text: str) -> Expression | None:
    """The expression that a text is, None where it is prose."""
    source = text.strip()
    if not source or len(source) > _MAX_SOURCE:
        return None
    return _read(source, source)


@lru_cache(maxsize=4096)
def read_condition(text: str) -> Expression | None:
    """The same for a condition, in which words such as `is at least` and `is empty` are exact too."""
    source = text.strip()
    if not source or len(source) > _MAX_SOURCE:
        return None
    return _read(source, in_symbols(source))


def _read(source: str, code: str) -> Expression | None:
    marked = _marked(code)
    if marked is None:
        return None
    plain, names = marked
    try:
        body = parse_python(f"({plain})").body
    except SyntaxError:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        return None
    tree = body[0].value
    reader = _Reader(names)
    try:
        reader.check(tree, frozenset())
    except _Prose:
        return None
    return Expression(source, tree, frozenset(reader.read), tuple(reader.calls))


def _marked(code: str) -> tuple[str, frozenset[str]] | None:
    """The code with plain names, and the names that were written with `$`; None where a `$` is no name's."""
    bare = _STRING.sub("", code)
    plain = plain_names(code)
    return None if "$" in _STRING.sub("", plain) else (plain, frozenset(_NAME.findall(bare)))


class _Prose(Exception):
    """The text is no expression."""


_CONSTANTS: Mapping[str, Any] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None, "yes": True, "no": False,
}  # fmt: skip


def _range(*args: int) -> list[int]:
    found = range(*args)
    if len(found) > MAX_SIZE:
        raise NotComputable("the range is too long")
    return list(found)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len, "str": str, "int": int, "float": float, "bool": bool, "round": round, "abs": abs, "min": min,
    "max": max, "sum": sum, "sorted": sorted, "any": any, "all": all, "list": list, "set": lambda v: list(dict.fromkeys(v)),
    "range": _range, "dict": dict, "enumerate": lambda v, start=0: [list(p) for p in enumerate(v, start)],
    "zip": lambda *v: [list(p) for p in zip(*v, strict=False)], "reversed": lambda v: list(v)[::-1],
}  # fmt: skip

_METHODS = frozenset(
    {
        *(
            "upper",
            "lower",
            "title",
            "capitalize",
            "strip",
            "lstrip",
            "rstrip",
            "split",
            "join",
            "replace",
            "startswith",
        ),
        *("endswith", "count", "find", "index", "isdigit", "isalpha", "isnumeric", "keys", "values", "items", "get"),
        *("copy", "splitlines", "casefold", "removeprefix", "removesuffix"),
    }
)

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_PLAIN = (
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Set,
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


class _Reader:
    """Checks a tree, and collects what it reads and calls."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.read: set[str] = set()
        self.calls: list[ast.Call] = []

    def check(self, node: ast.AST, bound: frozenset[str]) -> None:
        match node:
            case ast.Name(id=name):
                self._name(name, bound)
            case ast.Attribute(value=value, attr=attr):
                if attr.startswith("_"):
                    raise _Prose
                self.check(value, bound)
            case ast.Call():
                self._call(node, bound)
            case ast.Set() | ast.Constant(value=bytes()):
                raise _Prose  # `{words}` is a placeholder or prose
            case _ if isinstance(node, _COMPREHENSIONS):
                self._comprehension(node, bound)
            case _ if isinstance(node, _PLAIN):
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.check(child, bound)
            case _:
                raise _Prose

    def _name(self, name: str, bound: frozenset[str]) -> None:
        if name in self._names:
            self.read.add(name)
        elif name not in bound and name not in _CONSTANTS:
            raise _Prose

    def _call(self, node: ast.Call, bound: frozenset[str]) -> None:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
            raise _Prose
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.check(part, bound)
        name = call_name(node.func)
        if name in _FUNCTIONS:
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
            for test in part.ifs:
                self.check(test, bound)
        for value in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.check(value, bound)


def _is_agent(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id[:1].isupper()


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple | dict) and len(value) > MAX_SIZE:
        raise NotComputable("the value is too large")
    return list(value) if isinstance(value, tuple | set) else value


def _value(node: ast.expr, names: Mapping[str, Any], results: Mapping[ast.Call, Any]) -> Any:  # noqa: C901, PLR0912
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if name in names:
                return names[name]
            if name in _CONSTANTS:
                return _CONSTANTS[name]
            raise NotComputable(f"${name} is not set")
        case ast.Attribute(value=inner, attr=attr):
            return _field(_value(inner, names, results), attr)
        case ast.Subscript(value=inner, slice=key):
            return _item(_value(inner, names, results), key, names, results)
        case ast.Call():
            return _called(node, names, results)
        case ast.BoolOp(op=op, values=values):
            return _either(isinstance(op, ast.Or), values, names, results)
        case ast.UnaryOp(op=op, operand=operand):
            inner_value = _value(operand, names, results)
            return not inner_value if isinstance(op, ast.Not) else _signed(op, inner_value)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, _value(left, names, results), _value(right, names, results))
        case ast.Compare(left=left, ops=ops, comparators=rights):
            return _compared(left, ops, rights, names, results)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names, results) else orelse, names, results)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return [_value(one, names, results) for one in elts]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_value(key, names, results): _value(one, names, results) for key, one in pairs if key is not None}
        case ast.JoinedStr(values=values):
            return "".join(str(_value(one, names, results)) for one in values)
        case ast.FormattedValue(value=inner, format_spec=spec):
            form = "" if spec is None else str(_value(spec, names, results))
            return format(_value(inner, names, results), form[:50])
        case _ if isinstance(node, _COMPREHENSIONS):
            return _comprehended(node, names, results)
    raise NotComputable(f"{ast.unparse(node)} cannot be computed")


def _field(value: Any, attr: str) -> Any:
    if isinstance(value, Mapping):
        return value[attr]
    raise NotComputable(f"{type(value).__name__} has no field {attr!r}")


def _item(value: Any, key: ast.expr, names: Mapping[str, Any], results: Mapping[ast.Call, Any]) -> Any:
    if isinstance(key, ast.Slice):
        ends = [None if one is None else _value(one, names, results) for one in (key.lower, key.upper, key.step)]
        return value[slice(*ends)]
    return value[_value(key, names, results)]


def _called(node: ast.Call, names: Mapping[str, Any], results: Mapping[ast.Call, Any]) -> Any:
    if node in results:
        return results[node]
    args = [_value(arg, names, results) for arg in node.args]
    kwargs = {k.arg: _value(k.value, names, results) for k in node.keywords if k.arg}
    if isinstance(node.func, ast.Attribute):
        owner = _value(node.func.value, names, results)
        if not isinstance(owner, str | list | dict):
            raise NotComputable(f"{type(owner).__name__} has no {node.func.attr}")
        if node.func.attr in ("join", "replace") and isinstance(owner, str):
            _check_grown(owner, args)
        found = getattr(owner, node.func.attr)(*args, **kwargs)
        return found if isinstance(found, str | int | float | bool | list | dict | None) else list(found)
    name = call_name(node.func)
    if name not in _FUNCTIONS:
        raise NotComputable(f"{name} was not called")
    return _FUNCTIONS[name or ""](*args, **kwargs)


def _check_grown(owner: str, args: Sequence[Any]) -> None:
    sizes = [len(arg) for arg in args if hasattr(arg, "__len__")]
    if (len(owner) + 1) * (max(sizes, default=0) + 1) > MAX_SIZE * 10:
        raise NotComputable("the text would be too long")


def _either(first_true: bool, values: Sequence[ast.expr], names: Mapping[str, Any], results: Any) -> Any:
    value: Any = None
    for one in values:
        value = _value(one, names, results)
        if bool(value) is first_true:
            return value
    return value


def _signed(op: ast.unaryop, value: Any) -> Any:
    return -value if isinstance(op, ast.USub) else +value


def _combined(op: ast.operator, left: Any, right: Any) -> Any:
    match op:
        case ast.Add():
            if isinstance(left, str) != isinstance(right, str):  # "Total: " + 3 means what everybody reads
                return str(left) + str(right)
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            if not all(isinstance(one, int | float) for one in (left, right)):
                times, text = (left, right) if isinstance(left, int) else (right, left)
                if not isinstance(times, int) or times * len(text) > MAX_SIZE:
                    raise NotComputable("the value would be too large")
            return left * right
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right if not isinstance(left, str) else _unsupported("%")
        case ast.Pow():
            return left**right if abs(right) <= _MAX_POWER and abs(left) <= MAX_SIZE else _unsupported("**")
        case ast.BitOr() if isinstance(left, dict) and isinstance(right, dict):
            return left | right
    return _unsupported(type(op).__name__)


def _unsupported(what: str) -> Any:
    raise NotComputable(f"{what} is not supported here")


def _compared(
    left: ast.expr, ops: Sequence[ast.cmpop], rights: Sequence[ast.expr], names: Mapping[str, Any], results: Any
) -> bool:
    value = _value(left, names, results)
    for op, right in zip(ops, rights, strict=True):
        other = _value(right, names, results)
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and (value is None or other is None):
            return False
        if not _COMPARE[type(op)](value, other):
            return False
        value = other
    return True


def _comprehended(node: Any, names: Mapping[str, Any], results: Mapping[ast.Call, Any]) -> Any:
    if isinstance(node, ast.DictComp):
        found = {
            _value(node.key, scope, results): _value(node.value, scope, results)
            for scope in _scopes(node.generators, dict(names), results)
        }
        return found
    return [_value(node.elt, scope, results) for scope in _scopes(node.generators, dict(names), results)]


def _scopes(parts: Sequence[ast.comprehension], names: dict[str, Any], results: Any) -> Iterator[Mapping[str, Any]]:
    if not parts:
        yield names
        return
    first, *rest = parts
    items = list(_value(first.iter, names, results))
    if len(items) > MAX_SIZE // 10:
        raise NotComputable("there are too many items")
    for item in items:
        scope = {**names, **_bound(first.target, item)}
        if all(_value(test, scope, results) for test in first.ifs):
            yield from _scopes(rest, scope, results)


def _bound(target: ast.expr, item: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if isinstance(target, ast.Tuple | ast.List):
        names: dict[str, Any] = {}
        for inner, part in zip(target.elts, list(item), strict=True):
            names |= _bound(inner, part)
        return names
    raise NotComputable("this loop variable is not supported")

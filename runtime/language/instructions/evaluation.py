"""Evaluation of exact expressions, without a model or Python's code, within limits of cost."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from runtime.language.value_types import variable_name

MAX_SIZE = 1_000_000
"""The longest text or list that an expression may create."""

MAX_BITS = 10_000
"""The largest integer, in bits, since Python writes no longer ones in decimal."""

_MAX_ROUNDS = 50_000
"""The most items that all comprehensions of an expression may visit together."""

_MAX_POWER = 1_000

_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
_WIDEST = 3
"""The digits of a width."""
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")

CONSTANTS: Mapping[str, Any] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None, "yes": True, "no": False,
}  # fmt: skip

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: type(a) is type(b) and a == b,
    ast.IsNot: lambda a, b: type(a) is not type(b) or a != b,
}

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


class NotComputable(ValueError):
    """An expression has no value now: a variable is unset, or an operation does not fit its operands."""


class LenientNames(dict[str, Any]):
    """Names for conditions: what is unset is None. With `orders_nothing`, None is neither more nor less."""

    def __init__(self, names: Mapping[str, Any], *, orders_nothing: bool = True) -> None:
        super().__init__(names)
        self.orders_nothing = orders_nothing

    def __missing__(self, name: str) -> None:
        return None


def call_name(node: ast.expr) -> str | None:
    """`Name` or `Agent.Playbook`, if a called expression has that form."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


def evaluate(tree: ast.expr, variables: Mapping[str, Any], results: Mapping[ast.Call, Any] | None = None) -> Any:
    """The value of an expression or of a part of it. Raises NotComputable."""
    try:
        return _Evaluation(variables, results or {}, count(1)).value(tree)
    except NotComputable:
        raise
    except KeyError as error:
        raise NotComputable(f"it has no {error.args[0]!r}") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise NotComputable(str(error) or type(error).__name__) from error


def _range(*args: int) -> list[int]:
    found = range(*args)
    if len(found) > MAX_SIZE:
        raise NotComputable("the range is too long")
    return list(found)


def _round(value: Any, digits: int = 0) -> Any:
    if abs(digits) > _MAX_POWER:
        raise NotComputable("there are not that many digits")
    return round(value, digits) if digits else round(value)


def _sum(values: Any, start: Any = 0) -> Any:
    if not all(isinstance(one, int | float) for one in (start, *values)):
        raise NotComputable("only numbers have a sum")
    return sum(values, start)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len, "str": str, "int": int, "float": float, "bool": bool, "round": _round, "abs": abs, "min": min,
    "max": max, "sum": _sum, "sorted": sorted, "any": any, "all": all, "list": list,
    "set": lambda v: list(dict.fromkeys(v)),
    "range": _range, "dict": dict, "enumerate": lambda v, start=0: [list(p) for p in enumerate(v, start)],
    "zip": lambda *v: [list(p) for p in zip(*v, strict=False)], "reversed": lambda v: list(v)[::-1],
}  # fmt: skip
"""The functions that an expression may call without a playbook."""


class _Evaluation:
    """One evaluation, whose intermediate values are limited as well."""

    def __init__(self, names: Mapping[str, Any], results: Mapping[ast.Call, Any], rounds: Iterator[int]) -> None:
        """`rounds` counts the rounds of all comprehensions."""
        self._names = names
        self._lenient = isinstance(names, LenientNames)
        self._results = results
        self._rounds = rounds

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and node in self._results:
            return self._results[node]
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=inner, attr=attr):
                return self._part(self.value(inner), attr, dotted=True)
            case ast.Subscript(value=inner, slice=ast.Slice() as ends):
                places = (ends.lower, ends.upper, ends.step)
                return self.value(inner)[slice(*(None if one is None else self.value(one) for one in places))]
            case ast.Subscript(value=inner, slice=key):
                return self._part(self.value(inner), self.value(key))
            case ast.BoolOp(op=op, values=values):
                return self._either(isinstance(op, ast.Or), values)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._compared(left, ops, rights)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
        return _whole(self._made(node))

    def _made(self, node: ast.expr) -> Any:
        match node:
            case ast.Call():
                return self._called(node)
            case ast.UnaryOp(op=op, operand=operand):
                value = self.value(operand)
                return not value if isinstance(op, ast.Not) else -value if isinstance(op, ast.USub) else +value
            case ast.BinOp(left=left, op=op, right=right):
                combine = _ARITHMETIC.get(type(op), lambda *_: _unsupported(type(op).__name__))
                return combine(self.value(left), self.value(right))
        return self._collected(node)

    def _collected(self, node: ast.expr) -> Any:
        match node:
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return [self.value(one) for one in elts]
            case ast.Dict(keys=keys, values=values):
                made: dict[Any, Any] = {}
                for key, one in zip(keys, values, strict=True):
                    made |= self.value(one) if key is None else {self.value(key): self.value(one)}
                return made
            case ast.JoinedStr(values=[ast.FormattedValue(value=inner)]) if self.value(inner) is None:
                return None  # `{price:.2f}` of a price that was not given
            case ast.JoinedStr(values=values):
                return "".join(str(self.value(one)) for one in values)
            case ast.FormattedValue(value=inner, format_spec=spec):
                return _formed(self.value(inner), "" if spec is None else str(self.value(spec)))
            case ast.DictComp(key=key, value=inner):
                scopes = self._scopes(node.generators, self._names)
                return {scope.value(key): scope.value(inner) for scope in scopes}
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return [scope.value(node.elt) for scope in self._scopes(node.generators, self._names)]
        raise NotComputable(f"{ast.unparse(node)} cannot be computed")

    def _part(self, value: Any, key: Any, *, dotted: bool = False) -> Any:
        if self._lenient and (value is None or (isinstance(value, Mapping) and key not in value)):
            return None
        if dotted and not isinstance(value, Mapping):
            raise NotComputable(f"{type(value).__name__} has no field {key!r}")
        return value[key]

    def _named(self, name: str) -> Any:
        if name in CONSTANTS:
            return CONSTANTS[name]
        variable = variable_name(name)
        if variable in self._names or self._lenient:
            return self._names[variable]
        raise NotComputable(f"${variable} is not set")

    def _called(self, node: ast.Call) -> Any:
        name = call_name(node.func)
        args = [self.value(arg) for arg in node.args]
        kwargs = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if name in FUNCTIONS:
            return FUNCTIONS[name or ""](*args, **kwargs)
        if not isinstance(node.func, ast.Attribute):
            raise NotComputable(f"{name} was not called")
        owner = self.value(node.func.value)
        if not isinstance(owner, str | list | dict):
            raise NotComputable(f"{type(owner).__name__} has no {node.func.attr}")
        if isinstance(owner, str):
            _check_growth(owner, node.func.attr, args)
        found = getattr(owner, node.func.attr)(*args, **kwargs)
        return found if isinstance(found, str | int | float | list | dict | None) else list(found)

    def _either(self, first_true: bool, values: Sequence[ast.expr]) -> Any:
        value: Any = None
        for one in values:
            value = self.value(one)
            if bool(value) is first_true:
                return value
        return value

    def _compared(self, left: ast.expr, ops: Sequence[ast.cmpop], rights: Sequence[ast.expr]) -> bool:
        value = self.value(left)
        for op, right in zip(ops, rights, strict=True):
            other = self.value(right)
            if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and (value is None or other is None):
                if not getattr(self._names, "orders_nothing", True):
                    raise NotComputable("nothing is neither more nor less than a value")
                return False
            if not _COMPARE[type(op)](*_alike(value, other)):
                return False
            value = other
        return True

    def _scopes(self, parts: Sequence[ast.comprehension], names: Mapping[str, Any]) -> Iterator[_Evaluation]:
        """The rounds of a comprehension, each with its names."""
        outer = _Evaluation(names, self._results, self._rounds)
        if not parts:
            yield outer
            return
        first, *rest = parts
        for item in list(outer.value(first.iter)):
            if next(self._rounds) > _MAX_ROUNDS:
                raise NotComputable("there are too many items")
            inner = {**names, **_bound(first.target, item)}
            inner = LenientNames(inner) if self._lenient else inner
            scope = _Evaluation(inner, self._results, self._rounds)
            if all(scope.value(test) for test in first.ifs):
                yield from self._scopes(rest, inner)


def _whole(value: Any) -> Any:
    """A value as data: tuples become lists. Raises NotComputable for one that is too large."""
    match value:
        case complex():
            raise NotComputable("the value is not a real number")
        case int() if value.bit_length() > MAX_BITS:
            raise NotComputable("the number is too large")
        case str() if len(value) > MAX_SIZE:
            raise NotComputable("the text is too long")
        case list() | tuple() | dict() if size_of(value) > MAX_SIZE:
            raise NotComputable("the value is too large")
    return _as_data(value)


def size_of(value: Any) -> int:
    """The number of values and characters in a value; counting stops beyond MAX_SIZE."""
    size, pending = 0, [value]
    while pending and size <= MAX_SIZE:
        one = pending.pop()
        size += 1
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, list | tuple | dict):
            if size + len(one) > MAX_SIZE:
                return size + len(one)
            pending += [*one.keys(), *one.values()] if isinstance(one, dict) else one
    return size


def _as_data(value: Any) -> Any:
    if isinstance(value, list | tuple | set):
        return [_as_data(one) for one in value]
    return {key: _as_data(one) for key, one in value.items()} if isinstance(value, dict) else value


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values for comparison; beside a number, a numeric text counts as a number, and "yes" as true beside it."""
    return _beside(left, right), _beside(right, left)


def _beside(value: Any, other: Any) -> Any:
    if isinstance(value, str) and isinstance(other, bool):
        return _TRUTHS.get(value.strip().lower(), value)
    number = isinstance(value, str) and isinstance(other, int | float) and _NUMBER.fullmatch(value)
    return float(value) if number else value


def _formed(value: Any, form: str) -> str:
    if any(len(part) > _WIDEST for part in "".join(one if one.isdigit() else " " for one in form).split()):
        raise NotComputable(f"{form!r} is too wide")
    return "" if value is None else format(value, form)


def _check_growth(text: str, method: str, args: Sequence[Any]) -> None:
    """Raise NotComputable if a method would create a text that is too long."""
    made = 0
    if method == "join" and args and isinstance(args[0], list):
        made = sum(len(text) + len(str(one)) for one in args[0])
    elif method == "replace" and len(args) > 1:
        made = len(text) + text.count(str(args[0])) * len(str(args[1]))
    if made > MAX_SIZE:
        raise NotComputable("the text would be too long")


def _added(left: Any, right: Any) -> Any:
    if isinstance(left, str) != isinstance(right, str):  # "Total: " + 3 means what everybody reads
        return "".join("" if one is None else str(one) for one in (left, right))
    return left + right


def _multiplied(left: Any, right: Any) -> Any:
    if not all(isinstance(one, int | float) for one in (left, right)):
        times, text = (left, right) if isinstance(left, int) else (right, left)
        if not isinstance(times, int) or times * size_of(text) > MAX_SIZE:
            raise NotComputable("the value would be too large")
    return left * right


def _raised(left: Any, right: Any) -> Any:
    return left**right if abs(right) <= _MAX_POWER and abs(left) <= MAX_SIZE else _unsupported("**")


def _unsupported(what: str) -> Any:
    raise NotComputable(f"{what} is not supported here")


def _bound(target: ast.expr, item: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if isinstance(target, ast.Tuple | ast.List):
        names: dict[str, Any] = {}
        for inner, part in zip(target.elts, list(item), strict=True):
            names |= _bound(inner, part)
        return names
    raise NotComputable("this loop variable is not supported")


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _added,
    ast.Sub: operator.sub,
    ast.Mult: _multiplied,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: lambda left, right: _unsupported("%") if isinstance(left, str) else left % right,
    ast.Pow: _raised,
    ast.BitOr: lambda left, right: left | right if isinstance(left, dict) else _unsupported("|"),
}

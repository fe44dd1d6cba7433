"""The names of variables in Python, and their declared types: fitting values, and lossless conversions to them."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any

from runtime.core.files import FILE_REFERENCE

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "image": (str,),
    "file": (str,),
    "date": (str,),
    "datetime": (str,),
    "time": (str,),
}
_PLAIN_TYPES = {kind.__name__: kind for kind in (str, int, float, bool, list, dict)}
"""Types of Python whose values fit as they are."""

TIME_TYPES: dict[str, tuple[Callable[[str], object], str]] = {
    "date": (date.fromisoformat, "2026-05-01"),
    "datetime": (datetime.fromisoformat, "2026-05-01T09:30"),
    "time": (time.fromisoformat, "09:30"),
}
"""Types whose values are texts of ISO 8601: what reads one, and an example."""

FILE_TYPES = frozenset({"image", "file"})
"""Types whose values are texts that name a file."""

JSON_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
"""JSON Schema's names of the types."""

_MOST_DIGITS = 18
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_BOOLS = {"true": True, "false": False}

VARIABLE = re.compile(r"\$([^\W\d]\w*)")
MARK = "\u00b7"

_WORDS = frozenset(
    {
        *(*keyword.kwlist, *dir(builtins), "true", "false", "null", "yes", "no"),
        *("asyncio", "collections", "datetime", "functools", "itertools", "json", "math", "re"),
    }
)


def fits(value: Any, type_name: str) -> bool:
    """Whether a variable of this declared type may have the value; unknown types take everything, None always fits.
    `list[int]` and `dict[str, int]` also say what is inside, `int | str`, `Union`, `Optional` and `Literal` what else
    it may be."""
    return _fits(value, _read(type_name))


def coerced(value: Any, type_name: str) -> Any:
    """The value as one of the declared type: itself, or what says the same ("12" and 12.0 are 12, 12345 is "12345").
    Raises ValueError when something would be lost or guessed."""
    type_name = _plain(type_name)
    if _PLAIN_TYPES.get(type_name) is type(value):
        return value
    if fits(value, type_name):
        return float(value) if type_name == "float" and type(value) is int and abs(value) < 2**53 else value
    if isinstance(value, tuple) and fits(list(value), type_name):
        return list(value)
    names = [one.id for one in _choices(_read(type_name)) if isinstance(one, ast.Name)]
    found = [same for name in names if (same := _same(value, _plain(name))) is not None]
    if len(found) != 1:
        such = f", such as {TIME_TYPES[type_name][1]}" if type_name in TIME_TYPES else ""
        raise ValueError(f"is declared {type_name}{such}; {value!r} is {type(value).__name__}")
    return found[0]


def alternatives(type_name: str) -> tuple[str, ...]:
    """The alternatives of a declared type, as in `int | None`; the type itself if it has only one."""
    return tuple("Any" if one is None else ast.unparse(one) for one in _choices(_read(type_name)))


def may_be_none(type_name: str) -> bool:
    """Whether None is a value of a type, or may be: it names None, takes anything, or nobody knows it."""
    return any(_may_be_none(choice) for choice in _choices(_read(type_name)))


def _may_be_none(declared: ast.expr | None) -> bool:
    match declared:
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return any(isinstance(one, ast.Constant) and one.value is None for one in _parts(inner))
        case ast.Subscript(value=ast.Name(id=name)) | ast.Name(id=name):
            return name == "object" or _plain(name) not in _TYPES
    return True


def literals_of(type_name: str) -> tuple[Any, ...]:
    """The values of `Literal["a", "b"]`; none of any other type."""
    match _read(type_name):
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return tuple(one.value for one in _parts(inner) if isinstance(one, ast.Constant))
    return ()


@lru_cache(maxsize=1024)
def _read(type_name: str) -> ast.expr | None:
    """A type from its text; None for an unknown type, which accepts everything."""
    try:
        return ast.parse(type_name.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _fits(value: Any, declared: ast.expr | None) -> bool:
    return value is None or any(_fits_one(value, choice) for choice in _choices(declared))


def _choices(declared: ast.expr | None) -> Iterator[ast.expr | None]:
    """The alternatives of a type: one type, or those that `|`, `Union` and `Optional` name."""
    match declared:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from (*_choices(left), *_choices(right))
        case ast.Subscript(value=ast.Name(id="Optional" | "Union" as name), slice=inner):
            for one in _parts(inner):
                yield from _choices(one)
            if name == "Optional":
                yield ast.Constant(None)
        case ast.Constant(value=str(quoted)):
            yield from _choices(_read(quoted))
        case _:
            yield declared


def _parts(inner: ast.expr) -> Sequence[ast.expr]:
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]


def _fits_one(value: Any, declared: ast.expr | None) -> bool:
    match declared:
        case ast.Constant(value=None):
            return False
        case ast.Name(id=name):
            return _is_a(value, name)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            literals = [one.value for one in _parts(inner) if isinstance(one, ast.Constant)]
            return any(value == one and type(value) is type(one) for one in literals)
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _plain(name) not in _TYPES or (_is_a(value, name) and _holds(value, _parts(inner)))
    return True


def _is_a(value: Any, name: str) -> bool:
    if name in FILE_TYPES:
        return isinstance(value, str) and FILE_REFERENCE.search(value) is not None
    if name in TIME_TYPES and isinstance(value, str):
        try:
            TIME_TYPES[name][0](value.strip())
        except ValueError:
            return False
    kinds = _TYPES.get(_plain(name))
    return kinds is None or (isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds))


def _holds(value: Any, inner: Sequence[ast.expr]) -> bool:
    """Whether the content of a list or dict fits its declaration."""
    if isinstance(value, list):
        return all(_fits(one, inner[0]) for one in value)
    return not isinstance(value, dict) or len(inner) != 2 or all(_fits(one, inner[1]) for one in value.values())


def _plain(type_name: str) -> str:
    return JSON_NAMES.get(type_name, type_name)


def _is_whole(digits: str) -> bool:
    plain = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return plain and (digits == "0" or digits[0] != "0")


def _same(value: Any, type_name: str) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    match type_name:
        case "int" if _is_whole(text.removeprefix("-")):
            return int(text)
        case "int" if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        case "float" if _DECIMAL.fullmatch(text):
            return float(text)
        case "bool":
            return _BOOLS.get(text.lower())
        case "str" if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return None


def python_name(variable: str) -> str:
    """The name of a variable in Python. Names with a capital are those of agents and playbooks there."""
    return f"{variable}{MARK}" if variable in _WORDS or variable[:1].isupper() else variable


def variable_name(name: str) -> str:
    """The name of the variable that a name in Python means."""
    return name.removesuffix(MARK)

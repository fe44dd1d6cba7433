"""The declared types of variables: what fits them, and what becomes a value of them without any loss."""

from __future__ import annotations

import re
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}

JSON_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
"""How JSON Schema calls them."""

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_BOOLS = {"true": True, "false": False}


def fits(value: Any, type_name: str) -> bool:
    """Whether a variable of this declared type may have the value; unknown types take everything, None always fits.

    `list[int]` also says what is in the list.
    """
    name, _, inner = _plain(type_name).partition("[")
    kinds = _TYPES.get(name)
    if kinds is None or value is None:
        return True
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return False
    return not (isinstance(value, list) and inner) or all(fits(one, inner.removesuffix("]")) for one in value)


def coerced(value: Any, type_name: str) -> Any:
    """The value as one of the declared type: itself, or what says the same ("12" and 12.0 are 12, 12345 is "12345").

    Raises ValueError when something would be lost or guessed.
    """
    type_name = _plain(type_name)
    if fits(value, type_name):
        return float(value) if type_name == "float" and type(value) is int and abs(value) < 2**53 else value
    if isinstance(value, tuple) and fits(list(value), type_name):
        return list(value)
    found = _same(value, type_name)
    if found is None:
        raise ValueError(f"is declared {type_name}; {value!r} is {type(value).__name__}")
    return found


def _plain(type_name: str) -> str:
    return JSON_NAMES.get(type_name, type_name)


def _same(value: Any, type_name: str) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    match type_name:
        case "int" if _WHOLE.fullmatch(text):
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

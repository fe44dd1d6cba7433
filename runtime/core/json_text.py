"""JSON of others, and for others: only what every reader of JSON takes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Data as a JSON text in one line. The encoder is made once: `json.dumps` with options makes one for each text."""

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Where half a character may be, which UTF-8 cannot encode: most often it is one of two halves that belong together."""


MAX_DEPTH = 100
"""The number of lists and objects within each other in what others send: the same for all who read it later, however
deep in calls they are."""


def begins_json(text: str) -> bool:
    """Whether a text may be the beginning of a JSON object."""
    return text.lstrip()[:1] == "{" and text.lstrip()[1:].lstrip()[:1] in ('"', "")


def read_json(written: str | bytes) -> Any:
    """The data in a JSON text, which can be stored as it is.

    Raises ValueError for what is no JSON, for NaN and infinite numbers, for half a character and for deep nesting.
    """
    text = written.decode("utf-8-sig") if isinstance(written, bytes) else written
    try:
        data = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if _HALF.search(text):
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("it contains half a character") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(data):
        raise ValueError("it is nested too deeply")
    return data


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [item for one in level for item in _within(one)]
    return bool(level)


def _within(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def write_json(data: Any) -> str:
    """Data as a JSON text in one line. NaN and infinite numbers are null, as browsers write them."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_without_infinities(data), allow_nan=False, separators=(",", ":"))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _without_infinities(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return value


def plain_data(value: Struct) -> dict[str, Any]:
    """The fields of a value by their names, and so within: for JSON, or for a copy that may be changed."""
    return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return plain_data(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def with_whole_numbers(value: Any) -> Any:
    """JSON data whose whole numbers are no floats, as some protocols have them."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [with_whole_numbers(one) for one in value]
    return {name: with_whole_numbers(one) for name, one in value.items()} if isinstance(value, dict) else value

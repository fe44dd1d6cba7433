"""Payloads that no platform documents: each part of a good one replaced by what does not belong there."""

import copy
from collections.abc import Iterator
from typing import Any, Final, get_type_hints

from msgspec import Struct
from pydantic import TypeAdapter

WRONG: Final[tuple[Any, ...]] = (None, [], {}, 7, -1e300, "", True, [[]], {"a": {"b": []}}, "x" * 50_000, "\ud800")
"""Values of every type that JSON has, empty, nested, huge, and half a character."""

_DECLARED: Final[dict[type, dict[str, TypeAdapter[Any]]]] = {}


def paths_of(data: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each part of a payload is."""
    if before:
        yield before
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths_of(value, (*before, key))


def malformed(data: Any, wrong: tuple[Any, ...] = WRONG) -> Iterator[Any]:
    """The payload with each of its parts replaced by each wrong value, and without it."""
    for path in paths_of(data):
        for value in (*wrong, ...):
            changed = copy.deepcopy(data)
            at = changed
            for key in path[:-1]:
                at = at[key]
            if value is ...:
                del at[path[-1]]
            else:
                at[path[-1]] = copy.deepcopy(value)
            yield changed


def check_types(item: Any) -> None:
    """Fail unless the fields of a dataclass, and of those in it, have values of the types that it declares."""
    kind = type(item)
    if kind not in _DECLARED:
        _DECLARED[kind] = {
            name: TypeAdapter(hint, config={"arbitrary_types_allowed": True})
            for name, hint in get_type_hints(kind).items()
        }
    for name, declared in _DECLARED[kind].items():
        value = getattr(item, name)
        declared.validate_python(value, strict=True)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Struct):
                check_types(part)

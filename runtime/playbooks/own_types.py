"""Types of an author's Python that JSON does not have: dates, times, exact numbers and choices. They are texts in facts
and prompts, and themselves in the author's code."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

from runtime.core.errors import PlaybookError
from runtime.execution.frames.frame import shortened

_EXAMPLES: Mapping[Any, str] = {
    date: "a date such as 2026-05-01",
    datetime: "a time such as 2026-05-01T09:30",
    time: "a time of day such as 09:30",
    Decimal: "a number such as 12.50",
}

_QUOTED_AT_MOST = 2
"""An annotation in quotes is a text within a text where the author postpones all annotations."""


def as_text(value: Any, depth: int = 50) -> Any:
    """A value with texts in place of what JSON does not have, down to a depth."""
    if not depth:
        return value
    match value:
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Enum():
            return as_text(value.value, depth - 1)
        case list() | tuple():
            return [as_text(one, depth - 1) for one in value]
        case dict():
            return {key: as_text(one, depth - 1) for key, one in value.items()}
    return value


class OwnTypes:
    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        named = inspect.signature(function).parameters.values()
        self._types = {one.name: _annotation(one.annotation, function) for one in named}

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises PlaybookError for a text that is no such value."""
        return {name: self._read(name, value) for name, value in values.items()}

    def _read(self, param: str, value: Any) -> Any:
        try:
            return _of(self._types.get(param), value)
        except (ValueError, InvalidOperation) as error:
            wanted = _told(self._types[param])
            raise PlaybookError(f"{self._name} takes {param} as {wanted}, not {shortened(repr(value))}") from error


def _annotation(annotation: Any, function: Callable[..., Any]) -> Any:
    """An annotation that may be written as a text; None for one that nobody knows."""
    names = inspect.unwrap(function).__globals__
    for _ in range(_QUOTED_AT_MOST):
        if not isinstance(annotation, str):
            break
        try:
            annotation = eval(annotation, names)  # noqa: S307 - trusted code of the author
        except Exception:  # noqa: BLE001 - a type that is only named is none that a value is held to
            return None
    return annotation


def _of(annotation: Any, value: Any) -> Any:
    """A value as one of the annotated type. Raises ValueError or InvalidOperation."""
    outer, inner = get_origin(annotation), get_args(annotation)
    if value is None:
        return None
    if outer in (Union, types.UnionType):
        return _one_of(inner, value)
    if outer is Annotated:
        return _of(inner[0], value)
    if outer is list and inner and isinstance(value, list):
        return [_of(inner[0], one) for one in value]
    if outer is dict and inner and isinstance(value, dict):
        return {key: _of(inner[1], one) for key, one in value.items()}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _member(annotation, value)
    return _from_text(annotation, value) if isinstance(annotation, type) and annotation in _EXAMPLES else value


def _from_text(annotation: Any, value: Any) -> Any:
    if isinstance(value, str) and annotation is not Decimal:
        return annotation.fromisoformat(value.strip())
    if annotation is Decimal and isinstance(value, str | int | float) and not isinstance(value, bool):
        found = Decimal(str(value).strip())
        if found.is_finite():
            return found
    raise ValueError(value)


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    """A value as the first alternative that it is; as it stands where a plain type is another. Raises ValueError."""
    own = [choice for choice in choices if _told(choice)]
    for choice in own:
        with suppress(ValueError, InvalidOperation):
            return _of(choice, value)
    if own and not any(isinstance(value, one) for one in choices if isinstance(one, type) and one not in own):
        raise ValueError(value)
    return value


def _member(choices: type[Enum], value: Any) -> Enum:
    by_name = {name.casefold(): member for name, member in choices.__members__.items()}
    with suppress(ValueError):
        return choices(value)
    found = by_name.get(str(value).strip().casefold())
    if found is None:
        raise ValueError(value)
    return found


def _told(annotation: Any) -> str:
    """What a parameter takes, in words; "" for a type that JSON has."""
    inner = [told for one in get_args(annotation) if (told := _told(one))]
    if get_origin(annotation) in (list, dict) and inner:
        return f"a {get_origin(annotation).__name__} with {inner[-1]} in each place"
    if inner:
        return " or ".join(inner)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return f"one of {', '.join(str(as_text(member)) for member in annotation)}"
    return _EXAMPLES.get(annotation, "") if isinstance(annotation, type) else ""

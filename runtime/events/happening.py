"""The form of events: a name of `<area>.<past tense>` and flat data under the standard keys (docs/logging.md).

Each kind is a frozen dataclass of this package, a happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, dataclass_transform

Level: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Happening:
    """The content of an event; a subclass for each kind. See `happening`."""

    name: ClassVar[str] = ""
    level: ClassVar[Level] = "info"

    def data(self) -> dict[str, Any]:
        """Its fields by the standard keys. A field whose default is None is left out while it is None."""
        return {
            key: value
            for key, optional in _parts(type(self))
            if (value := getattr(self, key)) is not None or not optional
        }


Kind = TypeVar("Kind", bound=Happening)
Tell: TypeAlias = Callable[[Happening], None]
"""Publishes an event. It neither raises nor blocks."""


def unheard(_what: Happening) -> None:
    """Publishes to nobody."""


@dataclass_transform(frozen_default=True)
def happening(name: str, level: Level = "info") -> Callable[[type[Kind]], type[Kind]]:
    """Make a class the content of events of this name; the log shows them at this level."""

    def declare(declared: type[Kind]) -> type[Kind]:
        made: type[Kind] = dataclass(frozen=True, slots=True)(declared)
        made.name, made.level = name, level
        return made

    return declare


_PARTS: dict[type, tuple[tuple[str, bool], ...]] = {}


def _parts(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    known = _PARTS.get(kind)
    if known is None:
        known = _PARTS[kind] = tuple((part.name, part.default is None) for part in fields(kind))
    return known


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    return tuple(name for name, _ in _parts(kind))


@dataclass(frozen=True)
class Event:
    """One thing that happened; `at` is UTC."""

    what: Happening
    at: datetime

    @property
    def name(self) -> str:
        """The name of its kind."""
        return self.what.name

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """Its data by the standard keys."""
        return self.what.data()

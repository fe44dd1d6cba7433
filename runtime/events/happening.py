"""The form of events: a name of `<area>.<past tense>` and flat data under the standard keys.

docs/reference/logging.md lists them.
Each kind is a frozen dataclass of this package, a happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_PARTS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


@dataclass(frozen=True, slots=True)
class Happening:
    """The content of an event; a subclass for each kind. See `happening`."""

    name: ClassVar[str] = ""
    level: ClassVar[Level] = "info"

    def data(self) -> dict[str, Any]:
        """Its fields by the standard keys. A field whose default is None is left out while it is None."""
        keys, optional = _parts(type(self))
        data = {key: getattr(self, key) for key in keys}
        for key in optional:
            if data[key] is None:
                del data[key]
        return data


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


def _parts(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of all fields of a dataclass, and of those whose default is None."""
    known = _PARTS.get(kind)
    if known is None:
        of = fields(kind)
        known = _PARTS[kind] = tuple(part.name for part in of), tuple(p.name for p in of if p.default is None)
    return known


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    return _parts(kind)[0]


class BusEvent(NamedTuple):
    """One thing that happened; `at` is UTC."""

    what: Happening
    at: datetime

    @property
    def name(self) -> str:
        """The name of its kind."""
        return self.what.name

    @property
    def data(self) -> Mapping[str, Any]:
        """Its data by the standard keys."""
        return self.what.data()

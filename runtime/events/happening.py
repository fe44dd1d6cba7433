"""The form of events: a name of `<area>.<past tense>` and flat data under the standard keys.

docs/reference/logging.md lists them.
Each kind is a frozen class of this package, a happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_PARTS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


class Happening(Struct, frozen=True):
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


def happening(name: str, level: Level = "info") -> Callable[[type[Kind]], type[Kind]]:
    """Make a class the content of events of this name; the log shows them at this level."""

    def declare(declared: type[Kind]) -> type[Kind]:
        declared.name, declared.level = name, level
        return declared

    return declare


def _parts(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of all fields of a class, and of those whose default is None."""
    known = _PARTS.get(kind)
    if known is None:
        names: tuple[str, ...] = kind.__struct_fields__
        with_default = zip(reversed(names), reversed(kind.__struct_defaults__), strict=False)
        known = _PARTS[kind] = names, tuple(name for name, default in with_default if default is None)
    return known


def keys_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of a class's fields."""
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

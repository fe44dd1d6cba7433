"""The programs that a process serves now. A reload replaces them in place, and who looks again sees the new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from runtime.language.program import Program

Value = TypeVar("Value")


class ServedPrograms(Mapping[str, Program]):
    """The programs by name, as they are served now."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = dict(programs)

    def __getitem__(self, name: str) -> Program:
        return self._programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def replace(self, programs: Mapping[str, Program]) -> None:
        """Serve these from now on."""
        self._programs = dict(programs)


class AsItIsNow(Mapping[str, Value]):
    """A mapping that is made anew whenever somebody looks."""

    def __init__(self, make: Callable[[], Mapping[str, Value]]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> Value:
        return self._make()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())

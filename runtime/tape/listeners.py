"""Who hears which facts: most of those who listen to a journal act on a few kinds, and are called with these alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from runtime.tape.facts.content import Content

Listener = TypeVar("Listener", bound=Callable[..., object])

_HEARD: dict[object, tuple[type[Content], ...]] = {}


def hears(*kinds: type[Content]) -> Callable[[Listener], Listener]:
    """Have a method called with facts of these kinds alone where it subscribes to facts."""

    def declare(method: Listener) -> Listener:
        _HEARD[method] = kinds
        return method

    return declare


class FactListeners:
    """The functions to call with each fact that they hear, in the order in which they subscribed."""

    __slots__ = ("_by_kind", "_functions")

    def __init__(self) -> None:
        self._functions: tuple[Callable[[Any], object], ...] = ()
        self._by_kind: dict[type[Content], tuple[Callable[[Any], object], ...]] = {}
        """Those for a kind, looked for when the first fact of the kind comes."""

    def subscribe(self, *functions: Callable[[Any], object]) -> None:
        """Call `functions` from now on, with every fact where no `hears` says less."""
        self._functions += functions
        self._by_kind.clear()

    def tell(self, fact: Content) -> None:
        """Call all who hear it."""
        kind = type(fact)
        functions = self._by_kind.get(kind)
        if functions is None:
            functions = self._by_kind[kind] = tuple(one for one in self._functions if _does_hear(one, kind))
        for function in functions:
            function(fact)


def _does_hear(function: Callable[[Any], object], kind: type[Content]) -> bool:
    kinds = _HEARD.get(getattr(function, "__func__", function))
    return kinds is None or kind in kinds

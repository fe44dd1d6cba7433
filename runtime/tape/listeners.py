"""Subscriptions to facts by kind: most listeners act on a few kinds, and are called with those alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from runtime.tape.facts.content import Content

Listener = TypeVar("Listener", bound=Callable[..., object])

_HEARD: dict[object, tuple[type[Content], ...]] = {}


def hears(*kinds: type[Content]) -> Callable[[Listener], Listener]:
    """Declare the kinds of facts that a listener acts on. Without it, a listener hears every fact."""

    def declare(method: Listener) -> Listener:
        _HEARD[method] = kinds
        return method

    return declare


class FactListeners:
    """The functions that hear facts, called in the order in which they subscribed."""

    __slots__ = ("_by_kind", "_functions")

    def __init__(self) -> None:
        self._functions: tuple[Callable[[Any], object], ...] = ()
        self._by_kind: dict[type[Content], tuple[Callable[[Any], object], ...]] = {}
        """The listeners of each kind, computed when its first fact comes."""

    def subscribe(self, *functions: Callable[[Any], object]) -> None:
        """Call `functions` from now on, each with the facts that `hears` declares for it."""
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

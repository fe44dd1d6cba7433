"""All kinds of facts by their names on the tapes: reading what a stored fact says, the rule by which the fold applies
each kind, and who hears it. Most listeners act on a few kinds, and are called with those alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from runtime.tape.facts import frames, meetings, people, session, tasks  # noqa: F401 - their kinds
from runtime.tape.facts.content import KINDS as KINDS
from runtime.tape.facts.content import FactContent, Kind
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

Listener = TypeVar("Listener", bound=Callable[..., object])

_HEARD: dict[object, tuple[type[FactContent], ...]] = {}

Rule: TypeAlias = Callable[[SessionState, int, Kind], None]
"""What a kind of fact changes: called with the state, the fact's number, and what it says."""

RULES: dict[type[FactContent], list[Rule[Any]]] = {}


def content_of(kind: str, data: Mapping[str, Any]) -> FactContent:
    """The content of a stored fact of this kind. Raises LookupError for an unknown kind, or where a key is missing."""
    return KINDS[kind].read(data)


def read_as(fact_: Fact, wanted: type[Kind]) -> Kind | None:
    """The content of a stored fact, if it is of this kind."""
    return wanted.read(fact_.data) if fact_.kind == wanted.kind else None


def agent_of(fact: FactContent, state: SessionState) -> str:
    """The agent that a fact is about, by itself or by its frame; "" for none."""
    frame = state.frames.get(fact.frame_id() or "")
    return fact.agent_id() or (frame.agent if frame is not None else "")


def hears(*kinds: type[FactContent]) -> Callable[[Listener], Listener]:
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
        self._by_kind: dict[type[FactContent], tuple[Callable[[Any], object], ...]] = {}
        """The listeners of each kind, computed when its first fact comes."""

    def subscribe(self, *functions: Callable[[Any], object]) -> None:
        """Call `functions` from now on, each with the facts that `hears` declares for it."""
        self._functions += functions
        self._by_kind.clear()

    def tell(self, fact: FactContent) -> None:
        kind = type(fact)
        functions = self._by_kind.get(kind)
        if functions is None:
            functions = self._by_kind[kind] = tuple(
                one for one in self._functions if kind in _HEARD.get(getattr(one, "__func__", one), (kind,))
            )
        for function in functions:
            function(fact)


def rule(kind: type[Kind]) -> Callable[[Rule[Kind]], Rule[Kind]]:
    """Apply facts of this kind by a function."""

    def register(apply: Rule[Kind]) -> Rule[Kind]:
        RULES.setdefault(kind, []).append(apply)
        return apply

    return register

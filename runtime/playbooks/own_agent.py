"""`agent`, `self` and `variables` in an author's code: the agent whose playbook is running."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from runtime.language.first_implementation import instead_of
from runtime.playbooks.python_body import place_of, running


class Variables(Mapping[str, Any]):
    """`variables["name"]` in a playbook: its agent's variables at the last result."""

    def __getitem__(self, name: str) -> Any:
        return running().variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(running().variables)

    def __len__(self) -> int:
        return len(running().variables)


class State(MutableMapping[str, Any]):
    """`agent.state.total` and `agent.state["total"]`: a variable of the agent, to read and to assign.

    An assignment, and a list or dictionary that is changed in place, is journaled as a call of `Var` before the next
    call begins, and before the playbook ends.
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return running().variable(name)

    def __setitem__(self, name: str, value: Any) -> None:
        running().assign(name, value, place_of(sys._getframe(1)))

    def __delitem__(self, name: str) -> None:
        raise AttributeError(f"a variable cannot be deleted; assign None to agent.state.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(running().variables)

    def __len__(self) -> int:
        return len(running().variables)

    def __getattr__(self, name: str) -> Any:
        try:
            return running().variable(name)
        except KeyError:
            raise AttributeError(f"the agent has no variable ${name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        running().assign(name, value, place_of(sys._getframe(1)))

    def __delattr__(self, name: str) -> None:
        del self[name]


class OwnAgent:
    """`agent` in an author's code: its variables, its number and its calls, `agent.Say(…)` as well as `Say(…)`."""

    __slots__ = ("_calls", "klass", "state")

    def __init__(self, klass: str, calls: Mapping[str, Callable[..., Any]]) -> None:
        self.klass = klass
        self.state = State()
        self._calls = calls

    @property
    def id(self) -> str:
        """The number of the agent, "1000"."""
        return running().agent

    def __getattr__(self, name: str) -> Any:
        if name not in self._calls:
            raise AttributeError(f"an agent has no {name!r} in Python{instead_of(name)}")
        return self._calls[name]

"""The fold's rules, by the kind of fact that each applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from runtime.tape.facts.content import Content
from runtime.tape.state.session import SessionState

Kind = TypeVar("Kind", bound=Content)

RULES: dict[type[Content], Callable[[SessionState, int, Any], None]] = {}
"""What each kind of fact changes: called with the state, the fact's number, and what it says."""


def rule(
    kind: type[Kind],
) -> Callable[[Callable[[SessionState, int, Kind], None]], Callable[[SessionState, int, Kind], None]]:
    """Apply facts of this kind by a function."""

    def register(apply: Callable[[SessionState, int, Kind], None]) -> Callable[[SessionState, int, Kind], None]:
        RULES[kind] = apply
        return apply

    return register

"""The position of a frame while its reply is verified, and the results of verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from runtime.execution.frames.signatures import CallShape
from runtime.language.instructions.fence import FreeFence

_ADDRESSED = frozenset({"Say", "SendMessage", "CreateAgent", "IdleAgent", "CallAgent"})
"""Calls whose first argument is an agent or a person."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The reason why a statement does not run: the rule it breaks, and what is wrong."""

    rule: str
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fence, and what of the session it needs to know: `class_of` gives the agent or declared human that a target
    means by its class, None for others and for whoever has written; `owes` are variables that still lack a value."""

    fence: FreeFence
    class_of: Callable[[str], str | None]
    owes: tuple[str, ...] = ()
    made: frozenset[str] = frozenset()
    """The calls of the step's earlier turns."""

    def refuses(self, name: str, first: object) -> str | None:
        """Why a call with this first argument is not for this step; None where it is, and for what is not known."""
        text = first if isinstance(first, str) else ""
        if name == "Var":
            return self.fence.refuses_change(text.removeprefix("$"))
        klass = self.class_of(text) if name in _ADDRESSED and text else None
        return self.fence.refuses_call(name) or (self.fence.refuses_speech(klass) if klass else None)


@dataclass(slots=True)
class Position:
    """The names and calls that a statement may use where it stands.

    `steps` are the lines of the playbook with their codes, for `Step`, which says at which of them the model is.
    `types` are declared types of state variables by name, `variables` the names of all of them. `triggers` are the
    agent's, and the public ones of others, as `Agent:Playbook:T1` (the agent's own also without it), each with the name
    by which its playbook is called. `unlisted` are remote agents whose tools are not known now: their calls are not
    checked before they are made. `read_only` are names that no statement may change.
    """

    playbook: str
    steps: Mapping[str, str]
    functions: Mapping[str, CallShape]
    names: set[str]
    check_target: Callable[[str], object]
    check_source: Callable[[str], object]
    types: Mapping[str, str] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()
    triggers: Mapping[str, str] = field(default_factory=dict)
    unlisted: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    """The playbooks of other agents that are not public, as `Agent.Playbook`."""
    ended: bool = False
    may_end_program: bool = True
    """Whether the program may end here: a step that does not speak of it leaves the steps behind it to be executed."""
    read_only: frozenset[str] = frozenset()
    fenced: Fenced | None = None
    """What the step lets its statements do; None where a whole playbook is executed."""

"""Where a frame is while its reply is verified, and what comes of that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from runtime.language.flow import Flow
from runtime.language.program import Param


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a statement does not run: the rule it breaks, what is wrong, and what would have been legal."""

    rule: str
    message: str
    source: str = ""
    legal: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is wrong and what would have been legal, in one line."""
        return f"{self.message}; legal next: {', '.join(self.legal)}" if self.legal else self.message


@dataclass(frozen=True, slots=True)
class CallShape:
    """How a function may be called. `names` are its parameters in order, `required` how many must be given."""

    names: tuple[str, ...]
    required: int
    more: bool = False
    """Whether further names may be given."""

    @classmethod
    def of(cls, params: Sequence[Param]) -> CallShape:
        """The shape of a playbook with these parameters."""
        return cls(tuple(p.name for p in params), sum(p.default is None for p in params))

    def argument(self, node: ast.Call, index: int) -> ast.expr | None:
        """What a call gives for the parameter at `index`, None when that cannot be told from its text."""
        if any(isinstance(a, ast.Starred) for a in node.args[: index + 1]) or index >= len(self.names):
            return None
        if index < len(node.args):
            return node.args[index]
        return next((k.value for k in node.keywords if k.arg == self.names[index]), None)

    def mismatch(self, node: ast.Call) -> str | None:
        """What does not fit about a call, None when it fits. Calls with `*` or `**` are checked when they are made."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            return None
        if len(node.args) > len(self.names):
            return f"takes {len(self.names)} arguments ({', '.join(self.names)}), not {len(node.args)}"
        given = [*self.names[: len(node.args)], *(k.arg for k in node.keywords if k.arg)]
        for name in given:
            if name not in self.names and not self.more:
                return f"has no parameter {name!r}; it takes {', '.join(self.names) or 'nothing'}"
            if given.count(name) > 1:
                return f"is given {name!r} twice"
        missing = [name for name in self.names[: self.required] if name not in given]
        return f"needs {missing[0]!r}; it takes {', '.join(self.names)}" if missing else None


@dataclass(slots=True)
class Position:
    """Where a frame is while its reply is verified: its playbook, step and what can be named there.

    `flow` is None for a playbook without steps, `steps` are its lines with their codes. `types` are declared types of
    state variables by name, `variables` the names of all of them. `triggers` are the agent's, and the public ones of
    others, as `Agent:Playbook:T1` (the agent's own also without it), each with the name by which its playbook is
    called. `unlisted` are remote agents whose tools are not known now: their calls are not checked before they are
    made. For the contract that is demanded when `strict`: `judges` says that some triggers only a model can judge,
    `summarised` that this turn has set `$__`, `waits` that the step is one that waits and was not waited for,
    `reacts` that the playbook ends when the exit conditions hold that the model writes down.
    """

    playbook: str
    flow: Flow | None
    steps: Mapping[str, str]
    step: str | None
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
    read_only: frozenset[str] = frozenset()
    """Of the names those that no statement may change."""
    strict: bool = False
    judges: bool = False
    summarised: bool = False
    waits: bool = False
    reacts: bool = False

    def legal_steps(self) -> tuple[str, ...]:
        """The steps that may come next, as a reply names them."""
        if self.flow is None:
            return ()
        return tuple(f"{self.playbook}:{s.line}:{s.op}" for s in self.flow.legal_after(self.step))

"""The names in a frame's replies and the position of the frame, for the verifier and for running statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from runtime.core.ids import parse_agent_id
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import CallShape
from runtime.execution.free.statement import assigned_names, called_names
from runtime.execution.triggers.kinds import triggers_of
from runtime.execution.triggers.triggers import declared_types
from runtime.language.instructions.fence import FreeFence
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.language.syntax.humans import humans_of
from runtime.language.value_types import python_name
from runtime.tape.state.frames import SHARED

_ADDRESSED = frozenset({"Say", "SendMessage", "CreateAgent", "IdleAgent", "CallAgent"})
"""Calls whose first argument is an agent or a person."""


class Rejected(Struct, frozen=True):
    """The reason why a statement does not run: the rule it breaks, and what is wrong."""

    rule: str
    message: str
    source: str = ""


class Fenced(Struct, frozen=True):
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


class Position(Struct):
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


class StatementScope:
    """One frame of an LLM playbook as its statements see it: variables, arguments, locals and what can be called."""

    def __init__(
        self,
        context: ExecutionContext,
        frame: Frame,
        agent: AgentSpec,
        playbook: PlaybookSpec,
        callable_now: Callable[[], Mapping[str, CallShape]],
    ) -> None:
        self._context = context
        self._frame = frame
        self._agent = agent
        self._playbook = playbook
        self._callable_now = callable_now
        self._functions = callable_now()
        self._types = declared_types(agent)
        self._steps = {step.line: str(step.op) for step in playbook.walk_steps()}
        others = [other for other in context.program.agents if other.name != agent.name]
        self._triggers = dict(_trigger_names(agent, others))
        self._closed = frozenset(f"{o.name}.{each.name}" for o in others for each in o.playbooks if not each.public)
        self._state_params = {param.name for param in playbook.params if param.state}
        self.fence: FreeFence | None = None
        """What the one instruction that is carried out lets its statements do; None where a whole playbook is executed.
        """
        self.made: set[str] = set()
        """The calls of the instruction's earlier turns."""
        self.may_end_program = True

    def look_again(self) -> None:
        """See what can be called now: tools of remote agents come and go."""
        self._functions = self._callable_now()

    def functions(self, sources: Sequence[str]) -> frozenset[str]:
        """The functions that `sources` may call. A playbook with the name of an agent is what they call by the plain
        name.
        """
        agents = {name.partition(".")[0] for name in self._functions if "." in name}
        alike = agents & self._functions.keys()
        if not alike:
            return frozenset(self._functions) | self._remote_calls(sources)
        called = {name for source in sources for name in called_names(source)}
        plain = alike & called
        left_out = {name for name in self._functions if "." in name and name.partition(".")[0] in plain}
        return (frozenset(self._functions) - left_out - (alike - plain)) | self._remote_calls(sources)

    def _remote_calls(self, sources: Sequence[str]) -> frozenset[str]:
        """Calls of remote agents' tools, known or not: whether they can be made, their servers say."""
        remote = self._context.program.remote_agents
        called = {name for source in sources for name in called_names(source)} if remote else set()
        return frozenset(name for name in called if name.partition(".")[0] in remote and "." in name)

    def names(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The meaning of names in Python, where the agent's variables have these values."""
        state = self._frame.state
        own = {name: value for name, value in state.kwargs.items() if name not in self._state_params}
        return {python_name(name): value for name, value in {**variables, **own, **state.locals}.items()}

    def used(self, variables: Mapping[str, Any], sources: Sequence[str]) -> dict[str, Any]:
        used = {node.id for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        return {name: value for name, value in self.names(variables).items() if name in used}

    def state_names(self) -> set[str]:
        named = (set(self._types) | set(self._frame.agent.variables) | {"__"}) - set(self._frame.state.locals)
        return set(map(python_name, named))

    def _definitions(self) -> set[str]:
        return {name for source in self._frame.state.prelude for name in assigned_names(ast.parse(source))}

    def position(self) -> Position:
        frame = self._frame
        builtins = self._context.builtins
        names = set(self.names(frame.agent.variables)) | self.state_names() | self._definitions()
        program = self._context.program
        remote = (agent for agent in program.agents if agent.name in program.remote_agents)
        shared = frozenset({SHARED} if frame.state.meeting is not None and SHARED not in names else ())
        return Position(
            playbook=self._playbook.name,
            steps=self._steps,
            functions=self._functions,
            names=names | shared,
            check_target=lambda text: builtins.utterances.target(frame, text),
            check_source=lambda text: builtins.utterances.source(frame, text),
            types=self._types,
            variables=frozenset(self.state_names()),
            triggers=self._triggers,
            unlisted=frozenset(a.name for a in remote if self._context.servers.trouble(a) is not None),
            closed=self._closed,
            may_end_program=self.may_end_program,
            read_only=shared,
            fenced=self.fenced(),
        )

    def fenced(self) -> Fenced | None:
        if self.fence is None:
            return None
        values = self._frame.agent.variables
        owes = tuple(name for name in self.fence.makes if values.get(name) is None)
        return Fenced(self.fence, self.class_of, owes, frozenset(self.made))

    def class_of(self, target: str) -> str | None:
        """The class of the agent or declared human that a target means; None for others, and for who has written."""
        state, program = self._context.journal.state, self._context.program
        number = parse_agent_id(target)
        spoken_to = state.agents.get(number) if number is not None else None
        klass = spoken_to.klass if spoken_to is not None else target.strip()
        wrote = {name for message in self._frame.state.inbox for name in (message.sender_class, str(message.sender_id))}
        declared = next((human.declared for human in humans_of(program) if human.is_called(klass)), None)
        known = declared or (klass if program.agent(klass) is not None else None)
        return None if klass in wrote or number in wrote or klass == self._agent.name else known


def _trigger_names(agent: AgentSpec, others: Sequence[AgentSpec]) -> Iterator[tuple[str, str]]:
    """Every trigger by the codes that replies may use, with the name by which its playbook is called."""
    for owner, playbook, trigger in triggers_of(agent, others):
        if owner.name == agent.name:
            yield f"{playbook.name}:{trigger.code}", playbook.name
            yield f"{owner.name}:{playbook.name}:{trigger.code}", playbook.name
        else:
            yield f"{owner.name}:{playbook.name}:{trigger.code}", f"{owner.name}.{playbook.name}"

"""The host calls about other agents: making them, finding idle ones, calling one of several by its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import parse_agent_id
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments
from runtime.execution.host import Builtin
from runtime.execution.speech.targets import Population
from runtime.execution.triggers.triggers import declared_types
from runtime.language.program import Program
from runtime.language.value_types import coerced
from runtime.tape.facts.calls import CallReturned
from runtime.tape.journal import Journal

MAX_AGENTS = 1000
"""Agents of one session."""


class AgentCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, journal: Journal, population: Population, program: Program) -> None:
        self._journal = journal
        self._population = population
        self._types = {spec.name: declared_types(spec) for spec in program.agents}

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {"CreateAgent": self.create, "IdleAgent": self.idle, "CallAgent": self.call}

    async def create(self, frame: Frame, call: Call) -> None:
        """A new agent of a class, with variables; gives it as `agent 1005`."""
        klass, variables = _class_and_variables(call)
        self._note_agent(frame, call, self._made(klass, variables))

    async def idle(self, frame: Frame, call: Call) -> None:
        """An agent of a class that does nothing and was told nothing, made if there is none."""
        klass, variables = _class_and_variables(call)
        state = self._journal.state
        busy = {other.agent for other in state.frames.values()}
        agents = (a for a in state.agents.values() if a.klass == klass and a.id not in busy and not a.queue)
        found = next((agent.id for agent in agents if agent.id != frame.state.agent), None)
        self._note_agent(frame, call, found or self._made(klass, variables))

    def _made(self, klass: str, variables: Mapping[str, Any]) -> str:
        if len(self._journal.state.agents) >= MAX_AGENTS:
            raise PlaybookError(f"a session has {MAX_AGENTS:,} agents at most")
        return self._population.create(klass, dict(self._typed(klass, variables)))

    def _typed(self, klass: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The variables as they are declared. Raises PlaybookError for a value that does not fit."""
        declared = self._types.get(klass, {})
        for name, value in variables.items():
            try:
                yield name, coerced(value, declared.get(name, ""))
            except ValueError as error:
                raise PlaybookError(f"${name} of {klass} {error}") from error

    def _note_agent(self, frame: Frame, call: Call, id_: str) -> None:
        self._journal.note(CallReturned(*site(frame, call), value=f"agent {id_}"))

    async def call(self, frame: Frame, call: Call) -> None:
        """Call a public playbook of one agent, by its number; gives what the playbook gives."""
        named, playbook, arguments = call_arguments(call, "agent", "playbook", "arguments", optional=1)
        id_ = parse_agent_id(str(named))
        agent = self._journal.state.agents.get(id_ or "")
        if agent is None:
            raise UnknownTarget(f"there is no agent {named!r}")
        found = frame.host.find(frame.state.agent, f"{agent.klass}.{playbook}")
        if found is None:
            raise UnknownTarget(f"{agent.klass} has no playbook {playbook!r}")
        given = dict(arguments) if isinstance(arguments, Mapping) else {}
        args = () if arguments is None or isinstance(arguments, Mapping) else tuple(arguments)
        child = Call(call.pos, call.name, args, given, answers=call)
        await frame.host.run_child(frame, child, agent.id, found[1])


def _class_and_variables(call: Call) -> tuple[str, dict[str, Any]]:
    """`CreateAgent("Player", mark="x")`: what is not the class sets variables."""
    given = dict(call.kwargs)
    klass = call.args[0] if call.args else given.pop("klass", None)
    if klass is None or len(call.args) > 1:
        raise PlaybookError(f"{call.name} takes a class, and variables by name")
    return str(klass), {name.removeprefix("$"): value for name, value in given.items()}

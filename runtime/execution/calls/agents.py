"""The host calls about other agents: making them, finding idle ones, calling one of several by its number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import parse_agent_id
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.signatures import call
from runtime.execution.speech.targets import SessionPopulation, agent_named, names_known
from runtime.language.value_types import coerced
from runtime.tape.facts.session import AgentDismissed
from runtime.tape.journal import Journal
from runtime.tape.state.session import AgentState

MAX_AGENTS = 1000
"""Agents of one session."""


class AgentCalls(Struct, eq=False):
    _journal: Journal
    _population: SessionPopulation
    _types: Mapping[str, Mapping[str, str]]
    """The declared types of variables, by agent class."""
    _all_shown: Callable[[], Awaitable[None]]
    """Returns when nothing that was said is on its way to people."""

    @call("CreateAgent")
    def create(self, /, klass: str, **variables: Any) -> str:
        """Creates one more agent of a class, with variables; returns it as "agent 1005"."""
        return self._made(klass, variables)

    @call("IdleAgent")
    def idle(self, frame: Frame, /, klass: str, **variables: Any) -> str:
        """Returns an agent of a class that is idle and has no messages, or creates one as `CreateAgent` does."""
        state = self._journal.state
        busy = {other.agent for other in state.frames.values()}
        agents = (a for a in state.agents.values() if a.klass == klass and a.id not in busy and not a.queue)
        found = next((agent.id for agent in agents if agent.id != frame.state.agent), None)
        return self._made(klass, variables) if found is None else f"agent {found}"

    @call("DismissAgent")
    async def dismiss(self, agent: str) -> bool:
        """Removes an agent that has nothing to do, so that you can create others.

        The first agent of a class stays. So does an agent that is at work or in a meeting, or that has messages,
        reminders or tasks.
        """
        await self._all_shown()
        agents = self._journal.state.agents.values()
        known = next((one for one in agents if agent.strip() == one.klass or parse_agent_id(agent) == one.id), None)
        if known is None:
            raise UnknownTarget(f"there is no agent {agent!r}")
        why = self._needed(known)
        if why:
            raise PlaybookError(f"agent {known.id} cannot go: {why}")
        self._journal.note(AgentDismissed(known.id))
        return True

    def _needed(self, agent: AgentState) -> str:
        """Why an agent has to stay; "" where it may go."""
        state = self._journal.state
        if next(other.id for other in state.agents.values() if other.klass == agent.klass) == agent.id:
            return f"it is the first {agent.klass}, who is meant by this name"
        if any(frame.agent == agent.id for frame in state.frames.values()):
            return "it is at work"
        if agent.participant is not None:
            return "it runs in another process"
        meetings = (one for one in state.meetings.values() if one.status != "ended")
        if any(agent.id == one.host or agent.id in (*one.agents, *one.invited) for one in meetings):
            return "it is in a meeting"
        waits = bool(agent.queue) or any(page.agent == agent.id for page in state.pages.values())
        reminded = any(reminder.agent == agent.id for reminder in state.reminders.values())
        ordered = any(task.agent == agent.id and not task.over for task in state.tasks.values())
        return "something waits for it" if waits or reminded or ordered else ""

    def _made(self, klass: str, variables: Mapping[str, Any]) -> str:
        if len(self._journal.state.agents) >= MAX_AGENTS:
            raise PlaybookError(f"a session has {MAX_AGENTS:,} agents at most")
        named = {name.removeprefix("$"): value for name, value in variables.items()}
        return f"agent {self._population.create(klass, dict(self._typed(klass, named)))}"

    def _typed(self, klass: str, variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The variables as they are declared. Raises PlaybookError for a value that does not fit."""
        declared = self._types.get(klass, {})
        for name, value in variables.items():
            try:
                yield name, coerced(value, declared.get(name, ""))
            except ValueError as error:
                raise PlaybookError(f"${name} of {klass} {error}") from error

    @call("CallAgent")
    async def call(self, frame: Frame, call: FrameCall, agent: str, playbook: str, arguments: Any = ()) -> None:
        """Calls a public playbook of one agent, by its number or its class; returns what the playbook returns.

        A class means its first agent.
        """
        state = self._journal.state
        meant = agent_named(agent, state, self._population)
        if meant is None:
            names = ", ".join(names_known(state, self._population))
            raise UnknownTarget(f"there is no agent {agent!r}; known are {names}")
        known = state.agents[meant]
        found = frame.host.find(frame.state.agent, f"{known.klass}.{playbook}")
        if found is None:
            raise UnknownTarget(f"{known.klass} has no playbook {playbook!r}")
        named = isinstance(arguments, Mapping)
        child = FrameCall(
            *(call.pos, call.name),
            args=() if named else tuple(arguments),
            kwargs=dict(arguments) if named else {},
            answers=call,
        )
        await frame.host.run_child(frame, child, known.id, found[1])

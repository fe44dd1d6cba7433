"""A session that comes back to a program that was changed meanwhile: it goes on, or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.agents.library import Library
from runtime.core.errors import ProgramChanged
from runtime.execution.frame import Frame
from runtime.language.program import Program
from runtime.language.versions import differences, outline
from runtime.tape.frame_state import FrameState
from runtime.tape.journal import Journal


class Growing(Protocol):
    """The agents of a session, which may become more."""

    def grow(self) -> Sequence[str]:
        """Make the agents that exist from the beginning and are missing; returns their ids."""
        ...


class Continuity:
    """Compares what a session's frames stand on with the program as it is now."""

    def __init__(self, program: Program, library: Library, population: Growing, journal: Journal) -> None:
        self._program = program
        self._library = library
        self._population = population
        self._journal = journal

    async def go_on(self) -> None:
        """Take up the program as it is now. Called before anything is executed.

        A session of which no agent is left in the program, and that executes nothing, ends: another begins. Raises
        ProgramChanged with the reason when something that is being executed cannot go on.
        """
        state, now = self._journal.state, outline(self._program)
        if state.playbooks == now:
            return
        versions = {frame.id: await self._adopted(frame) for frame in list(state.frames.values())}
        self._check_agents()
        if not any(self._program.agent(agent.klass) for agent in state.agents.values()):
            self._journal.note("ended")
            return
        begun = {agent: len(self._library.beginning(state.agents[agent].klass)) for agent in self._begun()}
        self._journal.note(
            "adopted",
            program=self._program.digest,
            playbooks=now,
            versions=versions,
            begun=begun,
            news=differences(state.playbooks, now),
        )

    async def _adopted(self, state: FrameState) -> str:
        """The version with which a frame goes on."""
        remote, _, name = state.playbook.rpartition(".")
        executable = self._library.find(remote or self._journal.state.agents[state.agent].klass, name)
        if executable is None:
            raise ProgramChanged(f"{state.playbook} is being executed here, and is no longer in the program")
        if executable.version != state.version:
            frame = Frame(self._journal, state.id)
            try:
                await executable.adopt(frame)
            finally:
                frame.close()
        return executable.version

    def _check_agents(self) -> None:
        for agent in self._journal.state.agents.values():
            if agent.queue and self._program.agent(agent.klass) is None:
                raise ProgramChanged(f"{agent.klass} has messages to read, and is no longer in the program")

    def _begun(self) -> list[str]:
        """Agents for which the beginning is over: playbooks that were added to it are not for them."""
        state = self._journal.state
        idle = [agent for agent in state.agents.values() if agent.roots and not state.roots(agent.id)]
        return [*(agent.id for agent in idle if not agent.paused), *self._population.grow()]

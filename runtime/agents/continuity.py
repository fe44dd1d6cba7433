"""The return of a session to a changed program: it continues, or says why it cannot."""

from __future__ import annotations

from msgspec import Struct, field

from runtime.agents.library import PlaybookLibrary
from runtime.agents.loops import AgentLoops
from runtime.agents.meeting_host import MeetingHost
from runtime.core.errors import ProgramChanged
from runtime.core.ids import AgentId
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import described
from runtime.execution.host import SessionHost
from runtime.execution.session_context import SessionContext
from runtime.language.pbasm.versions import differences, outline
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.session import MessagesDropped, ProgramAdopted, SessionEnded
from runtime.tape.state.frames import FrameState


class VersionContinuity(Struct, eq=False):
    """Compares the versions that a session's frames depend on with the current program."""

    _context: SessionContext
    _library: PlaybookLibrary
    _host: SessionHost
    _loops: AgentLoops
    _meeting_host: MeetingHost
    _left_out: list[AgentId] = field(default_factory=list)
    """Guests of meetings that cannot go on in them."""

    async def go_on(self) -> None:
        """Take up the program as it is now. Called before anything is executed.

        A session of which no agent is left in the program, and that executes nothing, ends: another begins. A guest of
        a meeting whose playbook cannot go on is left out of it. Raises ProgramChanged with the reason when something
        else that is being executed cannot go on.
        """
        state, now = self._context.journal.state, outline(self._context.program)
        if state.playbooks == now:
            return
        versions = await self._versions()
        for agent in state.agents.values():
            if agent.queue and self._context.program.agent(agent.klass) is None:
                raise ProgramChanged(f"{agent.klass} has messages to read, and is no longer in the program")
        if not any(self._context.program.agent(agent.klass) for agent in state.agents.values()):
            self._context.journal.note(SessionEnded())
            return
        begun = {str(agent): len(self._library.beginning(state.agents[agent].klass)) for agent in self._begun()}
        self._context.journal.note(
            ProgramAdopted(self._context.program.digest, now, versions, begun, differences(state.playbooks, now))
        )

    def dismiss(self) -> None:
        """The others in their meetings are told who was left out. Called when the agents are there."""
        for agent in self._left_out:
            self._meeting_host.withdraw(agent, "the program was changed")
        self._left_out.clear()

    async def _versions(self) -> dict[str, str]:
        """The versions with which the frames continue, by their ids."""
        frames, versions = self._context.journal.state.frames, dict[str, str]()
        for frame in list(frames.values()):
            try:
                if frame.id in frames:
                    versions[frame.id] = await self._adopted(frame)
            except ProgramChanged as error:
                guest = self._guest(frame)
                if guest is None:
                    raise
                self._leave_out(guest, error)
        return {id_: version for id_, version in versions.items() if id_ in frames}

    def _guest(self, frame: FrameState) -> FrameState | None:
        """The playbook by which a guest takes part in a meeting, where `frame` is it, or was called by it."""
        state = self._context.journal.state
        root = state.frames[frame.id.partition(":")[0]]
        meeting = state.meetings.get(root.meeting or "")
        return None if meeting is None or meeting.host == root.agent else root

    def _leave_out(self, root: FrameState, error: ProgramChanged) -> None:
        """The guest does no more; what was said to one that is no longer in the program, nobody reads."""
        agent = self._context.journal.state.agents[root.agent]
        self._context.journal.note(FrameReturned(root.id, error=described(error)))
        if agent.queue and self._context.program.agent(agent.klass) is None:
            self._context.journal.note(MessagesDropped(agent.id, [message.id for message in agent.queue]))
        self._left_out.append(agent.id)

    async def _adopted(self, state: FrameState) -> str:
        remote, _, name = state.playbook.rpartition(".")
        executable = self._library.find(remote or self._context.journal.state.agents[state.agent].klass, name)
        if executable is None:
            raise ProgramChanged(f"{state.playbook} is being executed here, and is no longer in the program")
        if executable.version != state.version:
            frame = Frame(self._context.journal, state.id, self._host)
            try:
                await executable.adopt(frame)
            finally:
                frame.close()
        return executable.version

    def _begun(self) -> list[AgentId]:
        """Agents for which the beginning is over: playbooks that were added to it are not for them."""
        state = self._context.journal.state
        idle = [agent for agent in state.agents.values() if agent.roots and not state.roots(agent.id)]
        return [*(agent.id for agent in idle if not agent.paused), *self._loops.grow()]

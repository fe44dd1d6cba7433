"""Runs the playbooks to which people have what is said to them given, instead of the chat."""

from __future__ import annotations

from runtime.agents.library import Library
from runtime.agents.supervisor import Supervisor
from runtime.core.errors import UnknownTarget
from runtime.core.ids import AgentId
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import rebuilt
from runtime.execution.host import Executable, Host
from runtime.language.program import AgentKind, Program


class DeliveryHandlers:
    def __init__(self, program: Program, library: Library, host: Host, supervisor: Supervisor) -> None:
        self._program = program
        self._library = library
        self._host = host
        self._supervisor = supervisor

    async def hand(self, frame: Frame, call: Call, handler: str, /) -> None:
        if call.pos not in frame.state.records:
            await self._host.run_child(frame, call, *self._found(frame, handler), hidden=True)
        record = frame.state.records.get(call.pos)
        if record is not None and record.error is not None:
            raise rebuilt(record.error)

    def _found(self, frame: Frame, handler: str) -> tuple[AgentId, Executable]:
        """The agent that has the playbook, made if need be: the one that speaks, before all others."""
        owner, _, name = handler.rpartition(".")
        agents = [spec for spec in self._program.agents if spec.kind is AgentKind.AI and owner in ("", spec.name)]
        for spec in sorted(agents, key=lambda spec: spec.name != frame.agent.klass):
            if spec.playbook(name) is not None and (found := self._library.find(spec.name, name)) is not None:
                mine = spec.name == frame.agent.klass
                return frame.state.agent if mine else self._supervisor.ensure(spec.name), found
        raise UnknownTarget(f"the delivery handler {handler} is no longer in the program")

"""The servers of remote agents: one connection each, for all sessions of a node, opened on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.execution.calls.remote import RemoteTool
from runtime.language.program import AgentSpec, Program
from runtime.language.remote import RemoteSpec, remote_of
from runtime.remote.server import RemoteOptions, RemoteServer


class RemotePool:
    """See `RemoteServers`. Connections are tasks of `tasks` and end with it."""

    def __init__(self, options: RemoteOptions, clock: Clock, bus: Bus, tasks: TaskGroup) -> None:
        self._options = options
        self._clock = clock
        self._bus = bus
        self._tasks = tasks
        self._servers: dict[RemoteSpec, RemoteServer] = {}

    async def ready(self, program: Program, /) -> None:
        async with anyio.create_task_group() as waiting:
            for agent in remote_agents([program]):
                waiting.start_soon(self.ready_for, agent)

    async def ready_for(self, agent: AgentSpec, /) -> None:
        await self._server(agent).asked()

    def equipped(self, program: Program, /) -> Program:
        if not remote_agents([program]):
            return program
        return replace(program, agents=tuple(self.equipped_agent(agent) for agent in program.agents))

    def equipped_agent(self, agent: AgentSpec, /) -> AgentSpec:
        if remote_of(agent) is None:
            return agent
        tools = self._server(agent).tools or {}
        description = agent.description
        if why := self.trouble(agent):
            description = f"{description}\n(its tools are not known now: {why})".strip()
        return replace(agent, playbooks=tuple(tool.spec for tool in tools.values()), description=description)

    def trouble(self, agent: AgentSpec, /) -> str | None:
        server = self._server(agent)
        return None if server.tools is not None else server.trouble or "it was not asked for them yet"

    def tool(self, agent: AgentSpec, name: str, /) -> RemoteTool | None:
        return (self._server(agent).tools or {}).get(name)

    async def call(self, agent: AgentSpec, tool: RemoteTool, arguments: Mapping[str, Any], /, *, key: str) -> Any:
        return await self._server(agent).call(f"{agent.name}.{tool.spec.name}", tool, arguments, key)

    def _server(self, agent: AgentSpec) -> RemoteServer:
        spec = remote_of(agent)
        assert spec is not None, f"{agent.name} is not a remote agent"
        server = self._servers.get(spec)
        if server is None:
            server = self._servers[spec] = RemoteServer(agent, spec, self._options, self._clock, self._bus)
            self._tasks.start_soon(server.run)
        return server


def remote_agents(programs: Iterable[Program]) -> list[AgentSpec]:
    """The agents whose playbooks are elsewhere."""
    return [agent for program in programs for agent in program.agents if remote_of(agent) is not None]

"""The servers of remote agents: one connection each, for all sessions of a node, opened on demand, as the settings
allow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from gateway.feature import FeatureGround, ServingGround
from gateway.features.remote.tool_server import RemoteOptions, RemoteServer
from gateway.settings.tree import Settings, process_environment, remote_variables
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import RemoteUnavailable
from runtime.execution.calls.remote import RemoteServers, RemoteTool, RemoteTools
from runtime.language.program import AgentSpec, Program
from runtime.language.remote import RemoteSpec, remote_of, servers_of
from runtime.sessions.features import NodePart


class RemotePool(RemoteServers):
    """See `RemoteServers`. Connections are tasks of `tasks` and end with it."""

    def __init__(self, options: RemoteOptions, clock: Clock, bus: Bus, tasks: TaskGroup) -> None:
        self._options = options
        self._clock = clock
        self._bus = bus
        self._tasks = tasks
        self._servers: dict[RemoteSpec, RemoteServer] = {}

    async def ready(self, program: Program, /) -> None:
        async with anyio.create_task_group() as waiting:
            for agent, _ in servers_of([program]):
                waiting.start_soon(self.ready_for, agent)

    async def ready_for(self, agent: AgentSpec, /) -> None:
        await self._server(agent).asked()

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


class NodeTools(NodePart):
    """The tools of remote agents in sessions; those that keep nothing anywhere else have `tried`, or the same."""

    def __init__(self, tools: RemoteTools, tried: NodePart | None = None) -> None:
        self.tools = tools
        self._tried = tried

    @property
    def alone(self) -> NodePart:
        return self._tried or self


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    """The servers of the programs' remote agents; in a scratch room people are asked for what may change something."""
    settings, programs = ground.settings, list(ground.programs.values())
    serving.masking.hide(variables_of(settings, programs).values())
    tools = tools_of(settings, programs, ground.clock, ground.bus, serving.tasks)
    return NodeTools(tools, NodeTools(replace(tools, rules=replace(tools.rules, careful=True))))


def tools_of(
    settings: Settings, programs: Collection[Program], clock: Clock, bus: Bus, tasks: TaskGroup
) -> RemoteTools:
    """The tools of the programs' remote agents. Questions for them are on their way on return. Raises ConfigError for a
    secret that cannot be read."""
    own = settings.remote
    limits = own.connect_s, own.call_s, own.result_chars, own.commands
    options = RemoteOptions(*limits, process_environment(), variables_of(settings, programs))
    pool = RemotePool(options, clock, bus, tasks)
    for program in programs:
        tasks.start_soon(pool.ready, program)
    return RemoteTools(pool, settings.tools.as_rules)


def variables_of(settings: Settings, programs: Collection[Program]) -> Mapping[str, str]:
    """The values for the servers of the programs' remote agents, by name."""
    return remote_variables(settings, {name for _, spec in servers_of(programs) for name in spec.variables})


async def asked(settings: Settings, programs: Collection[Program]) -> str:
    """Each remote agent with its server and tools, a line each. Raises RemoteUnavailable, with all lines, for one that
    cannot be used."""
    lines, well, clock = [], True, SystemClock()
    async with anyio.create_task_group() as tasks:
        servers = tools_of(settings, programs, clock, Bus(clock), tasks).servers
        for program in programs:
            await servers.ready(program)
        for agent, spec in servers_of(programs):
            trouble = servers.trouble(agent)
            tools = ", ".join(playbook.name for playbook in servers.equipped_agent(agent).playbooks)
            lines.append(f"{agent.name} ({spec.shown}): {trouble or tools or 'no tools'}")
            well = well and trouble is None
        tasks.cancel_scope.cancel()
    if not well:
        raise RemoteUnavailable("; ".join(lines))
    return "\n".join(lines)

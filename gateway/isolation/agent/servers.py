"""The servers of remote agents as a task's process has them: its node knows their tools, and calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.isolation.forms import TOOLS
from gateway.isolation.peer import Peer
from runtime.execution.calls.remote import RemoteTool
from runtime.language.program import AgentSpec, Program
from runtime.language.remote import remote_of


@dataclass(frozen=True, slots=True)
class _Server:
    """What is known of a server: its tools by name, and why they are not known."""

    trouble: str | None = "it was not asked for them yet"
    tools: Mapping[str, RemoteTool] = field(default_factory=dict)


class NodeServers:
    """Implements `runtime.execution.calls.remote.RemoteServers` over a connection to who has them."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._known: dict[str, _Server] = {}

    async def ready(self, program: Program, /) -> None:
        for agent in program.agents:
            if remote_of(agent) is not None:
                await self.ready_for(agent)

    async def ready_for(self, agent: AgentSpec, /) -> None:
        if self.trouble(agent) is not None:
            trouble, tools = await self._peer.call("tools", agent.name)
            made = [tool.made() for tool in TOOLS.read(tools)]
            self._known[agent.name] = _Server(trouble, {tool.spec.name: tool for tool in made})

    def equipped(self, program: Program, /) -> Program:
        return replace(program, agents=tuple(self.equipped_agent(agent) for agent in program.agents))

    def equipped_agent(self, agent: AgentSpec, /) -> AgentSpec:
        if remote_of(agent) is None:
            return agent
        tools = self._server(agent).tools.values()
        why = self.trouble(agent)
        unknown = f"\n(its tools are not known now: {why})" if why else ""
        return replace(
            agent,
            playbooks=tuple(tool.spec for tool in tools),
            description=f"{agent.description}{unknown}".strip(),
        )

    def trouble(self, agent: AgentSpec, /) -> str | None:
        return self._server(agent).trouble

    def tool(self, agent: AgentSpec, name: str, /) -> RemoteTool | None:
        return self._server(agent).tools.get(name)

    async def call(self, agent: AgentSpec, tool: RemoteTool, arguments: Mapping[str, Any], /, *, key: str) -> Any:
        return await self._peer.call("call_tool", [agent.name, tool.spec.name, dict(arguments), key])

    def _server(self, agent: AgentSpec) -> _Server:
        return self._known.get(agent.name, _Server())

"""Answers to the calls by which the process of a task uses the tools of its program's servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.isolation.forms import TOOLS, Tool
from gateway.isolation.node.approvals import Approvals
from gateway.isolation.peer import Handler
from runtime.core.address import CLIENT
from runtime.core.errors import NotAllowed, PlaybookError, RemoteUnavailable, TaskRefused
from runtime.execution.calls.remote import RemoteTool
from runtime.language.program import AgentSpec
from runtime.language.remote import remote_of
from runtime.sessions.node_context import NodeContext


class ToolCalls:
    """The tools of one task: those of its program, as the settings' rules and people allow them."""

    def __init__(self, around: NodeContext, program: str, approvals: Approvals, platform: str) -> None:
        """`platform` is where people see the task, if people do."""
        self._around = around
        self._program = program
        self._approvals = approvals
        self._platform = platform

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        return {"tools": self.tools, "call_tool": self.call_tool}

    async def tools(self, data: Any) -> Any:
        """The tools of an agent's server as they are known now, and why they are not, if they are not."""
        agent = self._agent(data)
        await self._around.servers.ready_for(agent)
        servers = self._around.servers
        known = [servers.tool(agent, spec.name) for spec in servers.equipped_agent(agent).playbooks]
        return [servers.trouble(agent), TOOLS.write([Tool.of(tool) for tool in known if tool is not None])]

    async def call_tool(self, data: Any) -> Any:
        """Have the server do it, if this task may have it done; see `RemoteServers.call`."""
        name, tool_name, arguments, key = data
        agent = self._agent(name)
        await self._around.servers.ready_for(agent)
        tool = self._around.servers.tool(agent, str(tool_name))
        if tool is None:
            why = self._around.servers.trouble(agent) or "it has no such tool"
            raise RemoteUnavailable(f"{name}.{str(tool_name)[:200]}: {why}")
        given = dict(arguments)
        self._check_allowed(f"{name}.{tool.spec.name}", tool, given, str(key))
        if wrong := tool.mismatch(given):
            raise PlaybookError(f"{name}.{tool.spec.name} does not take these arguments: {wrong}")
        return await self._around.servers.call(agent, tool, given, key=str(key))

    def _check_allowed(self, name: str, tool: RemoteTool, arguments: Mapping[str, Any], key: str) -> None:
        verdict = self._around.tool_rules.verdict(name, tool, in_task=True)
        texts = self._around.texts
        asked = verdict == "ask" and self._platform != CLIENT
        if verdict == "allow" or (asked and self._approvals.allowed(name, arguments, key, texts)):
            return
        raise NotAllowed(f"{name} may not be called here: nobody has allowed it")

    def _agent(self, name: Any) -> AgentSpec:
        agents = self._around.program(self._program).agents
        found = next((agent for agent in agents if agent.name == name and remote_of(agent) is not None), None)
        if found is None:
            raise TaskRefused(f"The program has no agent {str(name)[:200]!r} on a server.")
        return found

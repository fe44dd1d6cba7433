"""Playbooks of remote agents: what execution needs of their servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

from msgspec import Struct

from runtime.core.errors import RemoteUnavailable
from runtime.language.program import AgentSpec, PlaybookSpec, Program

Verdict = Literal["allow", "ask", "deny"]


class RemoteTool(Struct, frozen=True):
    """A tool of a server as a playbook of its agent.

    `tool` is the server's own name for it, `arguments` its names for the parameters. `mismatch` says what is wrong
    with arguments by the tool's schema, None when nothing is. `repeatable`: doing it again does no harm, or the server
    does it once under one key. `only_reads`: the server says that it changes nothing.
    """

    spec: PlaybookSpec
    tool: str
    arguments: Mapping[str, str]
    mismatch: Callable[[Mapping[str, Any]], str | None]
    repeatable: bool
    only_reads: bool


class ToolRules(Struct, frozen=True):
    """The tools that programs may call, by patterns of their names, such as `Weather.*`.

    Of the patterns that fit the longest decides, of equally long ones the strictest. Where none fits a tool may be
    called, but in a task people are asked first, unless it only reads. No answer within `within_s` seconds is a no.
    `careful`: people are asked for all that may change something, also where a pattern allows it.
    """

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    within_s: float = 600.0
    careful: bool = False

    def verdict(self, name: str, tool: RemoteTool, *, in_task: bool) -> Verdict:
        rules: tuple[tuple[Verdict, tuple[str, ...]], ...] = (
            ("deny", self.deny),
            ("ask", self.ask),
            ("allow", self.allow),
        )
        asks = (in_task or self.careful) and not tool.only_reads
        fitting = [(len(one), verdict) for verdict, patterns in rules for one in patterns if fnmatchcase(name, one)]
        if fitting:
            found = max(fitting, key=lambda found: found[0])[1]
            return "ask" if found == "allow" and self.careful and asks else found
        return "ask" if asks else "allow"


class RemoteServers(Protocol):
    """The servers of remote agents, as every session of a node shares them; by default, none can be reached."""

    async def ready(self, program: Program, /) -> None:
        """Return when each server of the program was asked for its tools, in vain perhaps; within a time limit."""
        return

    async def ready_for(self, agent: AgentSpec, /) -> None:
        """Wait until one agent's server is ready."""
        return

    def equipped(self, program: Program, /) -> Program:
        """The program, its remote agents with the tools that are known now as their playbooks."""
        return program

    def equipped_agent(self, agent: AgentSpec, /) -> AgentSpec:
        """One agent with its tools; an agent with its own playbooks as it is."""
        return agent

    def trouble(self, agent: AgentSpec, /) -> str | None:
        """Why the agent's tools are not known; None when they are."""
        return "remote agents are not served here"

    def tool(self, agent: AgentSpec, name: str, /) -> RemoteTool | None:
        """The agent's playbook of this name; None while it is not known."""
        return None

    async def call(self, agent: AgentSpec, tool: RemoteTool, arguments: Mapping[str, Any], /, *, key: str) -> Any:
        """Have the server do it, under a key that is the same at every repetition; the result as JSON data.

        Raises ToolFailed, RemoteFault, RemoteTimeout and RemoteUnavailable; and OutcomeUnknown, at once and without
        repeating it, when it may or may not have happened and is not `repeatable`.
        """
        raise RemoteUnavailable(f"{agent.name}: {self.trouble(agent)}")


class RemoteTools(Struct, frozen=True):
    """What a node has of remote agents: their servers, and which of their tools may be called."""

    servers: RemoteServers
    rules: ToolRules = ToolRules()


class NoRemoteServers(RemoteServers):
    """For sessions that may reach none."""

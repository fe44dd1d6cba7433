"""Playbooks that others carry out: those of remote agents, by what execution needs of their servers, and the calls that
extensions add to every program.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import PlaybookError, RemoteUnavailable
from runtime.execution.frames.signatures import parameters, type_text
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program

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


class RemoteServers:
    """The servers of remote agents, as every session of a node shares them; by default, none can be reached."""

    async def ready(self, program: Program, /) -> None:
        """Return when each server of the program was asked for its tools, in vain perhaps; within a time limit."""

    async def ready_for(self, agent: AgentSpec, /) -> None:
        """Wait until one agent's server is ready."""

    def equipped(self, program: Program, /) -> Program:
        """The program, its remote agents with the tools that are known now as their playbooks."""
        if not program.remote_agents:
            return program
        return replace(program, agents=tuple(map(self.equipped_agent, program.agents)))

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


CALL_LIMIT_S = 60.0
"""How long a call of an extension may take unless it says otherwise."""


class ExtensionCall(Struct, frozen=True):
    """A function that programs call by its `spec`'s name. A plain one runs in a thread.

    `repeatable`: a call that a restart interrupted is made again; otherwise its outcome is unknown. `only_reads`: it
    changes nothing outside, so it is made in scratch rooms too.
    """

    spec: PlaybookSpec
    function: Callable[..., Any]
    repeatable: bool = False
    timeout_s: float = CALL_LIMIT_S
    only_reads: bool = False

    async def happen(self, arguments: Mapping[str, Any]) -> Any:
        """The function's result. Raises what it raises, and PlaybookError when it takes too long."""
        try:
            with anyio.fail_after(self.timeout_s):
                if inspect.iscoroutinefunction(self.function):
                    coroutine: Awaitable[Any] = self.function(**arguments)
                    return await coroutine
                work = partial(self.function, **arguments)
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError as error:
            raise PlaybookError(f"{self.spec.name} took longer than {self.timeout_s:g} s and was given up") from error


def call_of(
    name: str,
    function: Callable[..., Any],
    *,
    repeatable: bool = False,
    timeout_s: float = CALL_LIMIT_S,
    only_reads: bool = False,
) -> ExtensionCall:
    """A typed function as a call. Its annotations are the types of the language, its docstring is what models read.

    Raises ValueError for parameters that have no name of their own.
    """
    signature = inspect.signature(function)
    params = parameters(name, signature.parameters.values())
    returns = type_text(signature.return_annotation)
    code = inspect.unwrap(function).__code__
    span = Span(code.co_filename, code.co_firstlineno)
    description = inspect.getdoc(function) or ""
    metadata = {"pure": repeatable}
    spec = PlaybookSpec(name, "extension", span, params, returns, description, metadata)
    return ExtensionCall(spec, function, repeatable, timeout_s, only_reads)


def with_calls(program: Program, calls: Mapping[str, ExtensionCall]) -> Program:
    """The program, each of its own agents with `calls` behind its playbooks. An agent's playbook hides a call of its
    name."""
    if not calls:
        return program
    return replace(program, agents=tuple(_equipped(agent, calls) for agent in program.agents))


def _equipped(agent: AgentSpec, calls: Mapping[str, ExtensionCall]) -> AgentSpec:
    if agent.kind is not AgentKind.AI:
        return agent
    added = tuple(call.spec for name, call in calls.items() if agent.playbook(name) is None)
    return replace(agent, playbooks=(*agent.playbooks, *added))

"""The tools of servers in a talk: real ones, or those of a conversation with the results of then."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import RemoteUnavailable
from runtime.execution.calls.remote import RemoteServers, RemoteTool, RemoteTools, ToolRules
from runtime.execution.frames.outcomes import rebuilt
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program
from runtime.language.remote import is_tool, remote_of
from runtime.playbooks.remote import ASKED_FOR, REPEATABLE
from runtime.sessions.features import NodePart
from runtime.tape.facts.frames import CallReturned, EffectIntended, FrameStarted
from runtime.tape.facts.registry import read_as
from runtime.tape.tape import Fact


class KeptTool(Struct, frozen=True):
    """A tool that was called: its parameters in their order, True for those that some calls left out."""

    name: str
    params: Mapping[str, bool]
    repeatable: bool = False
    asked: bool = False


class KeptCall(Struct, frozen=True):
    """A call of a tool with its result, or its error: type and text."""

    tool: str
    arguments: Mapping[str, Any]
    value: Any = None
    error: Sequence[str] | None = None


class KeptTools(Struct, frozen=True):
    """What a conversation has called, in order. Tools are named `Agent.tool`."""

    tools: tuple[KeptTool, ...]
    calls: tuple[KeptCall, ...]


def kept_tools(program: Program, facts: Sequence[Fact]) -> KeptTools | None:
    """The tools of servers that a conversation with this program has called; None for none."""
    tools: dict[str, KeptTool] = {}
    calls: list[KeptCall] = []
    started: dict[str, FrameStarted] = {}
    under_way: set[tuple[str, str]] = set()
    for fact in facts:
        begun, intended, returned = (read_as(fact, kind) for kind in (FrameStarted, EffectIntended, CallReturned))
        if isinstance(begun, FrameStarted) and begun.version.startswith("remote "):
            started[begun.frame] = begun
        elif isinstance(intended, EffectIntended) and is_tool(program, intended.name):
            under_way.add((intended.frame, intended.pos))
        elif isinstance(returned, CallReturned) and (returned.frame, returned.pos) in under_way:
            frame = started[returned.frame]
            calls.append(KeptCall(returned.name, frame.kwargs, returned.value, returned.error))
            tools[returned.name] = _with(tools.get(returned.name), returned.name, frame)
    return KeptTools(tuple(tools.values()), tuple(calls)) if calls else None


def _with(known: KeptTool | None, name: str, frame: FrameStarted) -> KeptTool:
    given = list(frame.kwargs)
    before = dict.fromkeys(given, False) if known is None else dict(known.params)
    params = {one: left_out or one not in given for one, left_out in before.items()}
    params |= {one: True for one in given if one not in before}
    ordered = dict(sorted(params.items(), key=lambda one: one[1]))  # what may be left out comes last
    asked = ASKED_FOR in frame.args or (known is not None and known.asked)
    return KeptTool(name, ordered, REPEATABLE in frame.args, asked)


class ReplayedServers(RemoteServers, NodePart):
    """Servers that answer as they did. What was not called then, with these arguments, is a fault."""

    def __init__(self, kept: KeptTools, on_fault: Callable[[str], None]) -> None:
        self._kept = kept
        self._on_fault = on_fault
        self._results: dict[str, deque[KeptCall]] = {}
        for call in kept.calls:
            self._results.setdefault(_key(call.tool, call.arguments), deque()).append(call)
        # People are asked again where they were asked then, and nowhere else.
        rules = ToolRules(allow=("*",), ask=tuple(tool.name for tool in kept.tools if tool.asked))
        self.tools = RemoteTools(self, rules)

    def equipped_agent(self, agent: AgentSpec, /) -> AgentSpec:
        if remote_of(agent) is None:
            return agent
        return replace(agent, playbooks=tuple(tool.spec for tool in self._tools(agent)))

    def trouble(self, agent: AgentSpec, /) -> str | None:
        return None

    def tool(self, agent: AgentSpec, name: str, /) -> RemoteTool | None:
        return next((tool for tool in self._tools(agent) if tool.spec.name == name), None)

    async def call(self, agent: AgentSpec, tool: RemoteTool, arguments: Mapping[str, Any], /, *, key: str) -> Any:
        name = f"{agent.name}.{tool.spec.name}"
        results = self._results.get(_key(name, arguments))
        if not results:
            given = ", ".join(f"{one}={value!r}" for one, value in arguments.items())
            fault = f"{name} was not called with ({given}) when the talk was saved, so its result is not known"
            self._on_fault(fault)
            raise RemoteUnavailable(fault)
        found = results.popleft()
        if found.error is not None:
            raise rebuilt((found.error[0], found.error[1]))
        return found.value

    def _tools(self, agent: AgentSpec) -> list[RemoteTool]:
        prefix = f"{agent.name}."
        return [_tool(agent, kept) for kept in self._kept.tools if kept.name.startswith(prefix)]


def _tool(agent: AgentSpec, kept: KeptTool) -> RemoteTool:
    name = kept.name.partition(".")[2]
    params = tuple(Param(one, default="None" if left_out else None) for one, left_out in kept.params.items())
    spec = PlaybookSpec(name, "remote", agent.span, params, metadata={"public": True})
    same = {one: one for one in kept.params}
    return RemoteTool(spec, name, same, lambda _: None, kept.repeatable, only_reads=False)


def _key(tool: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([tool, arguments], sort_keys=True, ensure_ascii=False)

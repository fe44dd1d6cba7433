"""Python names of the language's first implementation that are missing here, with their replacements."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from runtime.language.diagnostics import Diagnostic
from runtime.language.placeholders import placeholders
from runtime.language.program import AgentSpec, PlaybookSpec, Program, PythonFence
from runtime.language.syntax.fences import is_playbook
from runtime.language.syntax.signature import parse_python

KEYWORDS: Mapping[str, Mapping[str, str]] = {
    "CreateAgent": {"agent_klass": "klass"},
    "InviteToMeeting": {"meeting_id": "meeting"},
    "LoadArtifact": {"artifact_name": "name"},
    "LoadFile": {"file_path": "path"},
    "Loadfile": {"file_path": "path"},
    "SendMessage": {"target_agent_id": "target"},
    "WaitForMessage": {"source_agent_id": "source"},
}
"""Argument names of the first implementation with the names here, by call."""

_SHARED = 'await Share("name", value) and await Shared("name")'
_NOT_NEEDED = "nothing"
_REPLACED: Mapping[str, str] = {
    "Yield": 'await WaitForMessage("user")',
    "Yld": 'await WaitForMessage("user")',
    "Return": "return",
    "Step": _NOT_NEEDED,
    "LogTrigger": _NOT_NEEDED,
    "MessageProcessingEventLoop": _NOT_NEEDED,
    "all_agents": 'the name of an agent class, as in Say("Player", …)',
    "call_stack": "arguments and variables",
    "current_meeting": _SHARED,
    "event_bus": 'await Log("text", name=value)',
    "get_or_create": 'await IdleAgent("Player")',
    "joined_meetings": _SHARED,
    "meeting_manager": "await InviteToMeeting(…) and await EndMeeting()",
    "namespace_manager": "the names of the fence itself",
    "owned_meetings": _SHARED,
    "program": "the calls, such as Say and EndProgram",
    "session_log": 'await Log("text", name=value)',
    "shared_state": _SHARED,
}
_OF_ASYNCIO: Mapping[str, str] = {
    "sleep": "await Sleep(seconds)",
    "timeout": 'a time limit of the call itself, as in await WaitForMessage("user", seconds)',
    "to_thread": "a playbook that is a plain `def`, which runs in a thread",
    "wait_for": 'a time limit of the call itself, as in await WaitForMessage("user", seconds)',
}
NAMED_IN_PLACEHOLDERS: Mapping[str, str] = {"call": "the parameters of the playbook", "timestamp": "{Now()}"}
_OWN = frozenset({"agent", "self"})
_OFFERED = frozenset({"state", "id", "klass"})


def instead_of(name: str) -> str:
    """The replacement for a name of the first implementation, as an addition to an error's text; "" for other names."""
    found = _use(_REPLACED.get(name, ""))
    return f": {found[0].lower()}{found[1:-1]}" if found else ""


def lint_of_first_implementation(program: Program, built_in: Collection[str]) -> Iterator[Diagnostic]:
    """Warnings about names in a program's Python that are missing here, each with its replacement."""
    for agent in program.agents:
        offered = {*_OFFERED, *built_in, *(playbook.name for playbook in agent.playbooks)} - _REPLACED.keys()
        for fence in agent.fences:
            yield from _Finder(program, agent, fence, offered).found()
        for playbook in agent.playbooks:
            yield from _in_placeholders(playbook)


def _in_placeholders(playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    known = {param.name for param in playbook.params}
    for placeholder in placeholders(playbook.description):
        for name, instead in NAMED_IN_PLACEHOLDERS.items():
            if name not in known and re.search(rf"\b(?<!\.){name}\.", placeholder.code):
                message = f"{{{placeholder.said}}} of {playbook.name}: {name} is not offered"
                yield Diagnostic(message, playbook.span, "", f"Use {instead}.", "warning")


def _writes_pieces(node: ast.AST) -> bool:
    """Whether a function yields text in pieces: it then runs outside its playbook, and may wait for a time."""
    return isinstance(node, ast.AsyncFunctionDef) and any(isinstance(inner, ast.Yield) for inner in ast.walk(node))


class _Finder:
    """Searches one fence."""

    def __init__(self, program: Program, agent: AgentSpec, fence: PythonFence, offered: Collection[str]) -> None:
        self._program = program
        self._agent = agent
        self._fence = fence
        self._offered = offered

    def found(self) -> Iterator[Diagnostic]:
        nodes = [*ast.walk(parse_python(self._fence.source))]
        defined = set(_defined(nodes))
        own = _OWN - defined
        writing = {inner for node in nodes if _writes_pieces(node) for inner in ast.walk(node)}
        placed = [node for node in nodes if isinstance(node, ast.expr | ast.stmt)]
        for node in sorted(placed, key=lambda node: (node.lineno, node.col_offset)):
            match node:
                case ast.Import() | ast.ImportFrom() if "playbooks" in imported(node):
                    hint = "Leave the import out: `playbook`, `agent` and the calls are there without one."
                    yield self._warning(node, "there is no package playbooks", hint)
                case ast.Attribute(value=ast.Name(id="asyncio"), attr=name) if (
                    name in _OF_ASYNCIO and node not in writing
                ):
                    instead = _OF_ASYNCIO[name]
                    yield self._warning(node, f"asyncio.{name} is refused: a restart cannot repeat it", _use(instead))
                case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in own:
                    if name not in self._offered:
                        instead = _REPLACED.get(name) or f"{owner}.state.{name} for a variable of the agent"
                        yield self._warning(node, f"{owner}.{name} is not offered", _use(instead))
                case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner not in defined:
                    yield from self._of_agent(node, owner, name)
                case ast.Call(func=ast.Name(id=name)) if name in _REPLACED and name not in defined:
                    yield self._warning(node, f"{name} is not offered", _use(_REPLACED[name]))
                case ast.FunctionDef() if any(map(is_playbook, node.decorator_list)):
                    yield from self._plain(node, own)

    def _of_agent(self, node: ast.Attribute, owner: str, name: str) -> Iterator[Diagnostic]:
        other = self._program.agent(owner)
        if other is None or other.name in self._program.remote_agents:
            return
        called = other.playbook(name)
        if called is None:
            instead = _REPLACED.get(name, "").replace("Player", owner)
            yield self._warning(node, f"{owner} has no playbook {name}", _use(instead))
        elif not called.public and other.name != self._agent.name:
            hint = f"Give {name} `public: true`, or @playbook(public=True)."
            yield self._warning(node, f"{name} of {owner} is not public", hint)

    def _plain(self, function: ast.FunctionDef, own: frozenset[str]) -> Iterator[Diagnostic]:
        """A playbook that is a plain function runs in a thread, which has no agent."""
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in own:
                message = f"{function.name} uses `{node.value.id}` and is not `async def`"
                yield self._warning(node, message, f"Write `async def {function.name}`.")
                return

    def _warning(self, node: ast.expr | ast.stmt, message: str, hint: str = "") -> Diagnostic:
        span = self._fence.span
        before = len(self._fence.source.splitlines()[node.lineno - 1].encode()[: node.col_offset].decode())
        place = replace(span, line=span.line + node.lineno - 1, column=span.column + before)
        return Diagnostic(message, place, "", hint, "warning")


def imported(node: ast.stmt) -> Iterator[str]:
    """The top-level modules that a statement imports."""
    match node:
        case ast.Import(names=names):
            yield from (one.name.partition(".")[0] for one in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]


def _use(instead: str) -> str:
    if instead == _NOT_NEEDED:
        return "Leave it out: the runtime does this."
    return f"Use {instead}." if instead else ""


def _defined(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that a fence redefines."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=given):
                yield given or name

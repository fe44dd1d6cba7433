"""Names of agents, playbooks and people in the arguments of calls."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from runtime.core.ids import is_counterpart, is_human_word, is_orderer, parse_agent_id, parse_meeting_id
from runtime.language.diagnostics import Span
from runtime.language.lint.findings import Finding, did_you_mean
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.language.syntax.humans import humans_of
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.signature import parse_python
from runtime.language.variable_names import variable_name

AGENT_ARGUMENTS: Mapping[str, tuple[str, int]] = {
    "CallAgent": ("agent", 0),
    "CreateAgent": ("klass", 0),
    "DismissAgent": ("agent", 0),
    "IdleAgent": ("klass", 0),
    "Spawn": ("agent", 0),
}
"""The parameter that names an agent, and its place, by call."""

PERSON_ARGUMENTS: Mapping[str, tuple[str, int]] = {
    "Ask": ("of", 2),
    "InviteToMeeting": ("attendees", 0),
    "Say": ("target", 0),
    "SendMessage": ("target", 0),
    "WaitForMessage": ("source", 0),
}
"""The parameter that names an agent or somebody else, and its place, by call."""

TASK_ARGUMENTS: Mapping[str, tuple[str, int]] = {
    "Cancel": ("task", 0),
    "Result": ("task", 0),
    "Tell": ("task", 0),
}
"""The parameter that names a task, and its place, by call."""

_WAITS = "WaitForMessage"
"""The one of them that a task and who has ordered one have names for."""

_TELLS = "Tell"
"""The one that takes who has ordered a task, too."""

_PLAYBOOK = ("playbook", 1)
_NAMING_A_PLAYBOOK = frozenset({"CallAgent", "Spawn"})
_ATTENDING = ("attendees", *MEETING_KEYS)
_NEAR = 0.7
_WORDS = frozenset({"", "*", "agent", "meeting", "all"})
_PERSON = "Declare it (# Name, or # Name:Human); as it is, only a person who shows this name is meant."


class CalledNames:
    """The names that calls are given, checked against those of a program. `others` are names from elsewhere."""

    def __init__(self, program: Program, others: Collection[str]) -> None:
        self._program = program
        self._agents = [agent.name for agent in program.agents]
        self._others = frozenset(others)
        self._humans = humans_of(program)
        playbooks = [(agent, one) for agent in program.agents for one in agent.playbooks if one.meeting]
        self._meetings = {name for agent, one in playbooks for name in (one.name, f"{agent.name}.{one.name}")}

    def in_fences(self, agent: AgentSpec) -> Iterator[Finding]:
        """Findings in an agent's Python; names that it defines itself are its own."""
        for fence in agent.fences:
            try:
                tree = parse_python(fence.source)
            except SyntaxError:
                continue  # said already, where the fence was read
            defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
                if called_name(call) not in defined:
                    place = replace(fence.span, line=fence.span.line + call.lineno - 1)
                    yield from self.in_call(call, place, agent, bare=False)

    def in_call(self, call: ast.Call, span: Span, agent: AgentSpec, *, bare: bool) -> Iterator[Finding]:
        """Findings in one call of `agent`, which stands at `span`. `bare`: names need no quotes, as in steps."""
        called = called_name(call)
        if called in AGENT_ARGUMENTS:
            for name in _literals(_argument(call, *AGENT_ARGUMENTS[called]), bare):
                yield from self._agent(name, span)
                if called in _NAMING_A_PLAYBOOK:
                    for playbook in _literals(_argument(call, *_PLAYBOOK), bare):
                        yield from self._playbook(name, playbook, span, agent)
        if called in TASK_ARGUMENTS:
            for task in _literals(_argument(call, *TASK_ARGUMENTS[called]), bare):
                yield from self._task(task, span, agent, orderer=called == _TELLS)
        named = (PERSON_ARGUMENTS[called],) if called in PERSON_ARGUMENTS else ()
        for key, place in named or ((key, None) for key in _ATTENDING if called in self._meetings):
            for name in _literals(_argument(call, key, place), bare):
                yield from self.in_wait(name, span) if called == _WAITS else self._person(name, span)

    def in_wait(self, source: str, span: Span) -> Iterator[Finding]:
        """Findings in whom a wait is for."""
        if "$" not in source and not is_counterpart(source):
            yield from self._person(source, span)

    def _agent(self, name: str, span: Span) -> Iterator[Finding]:
        klass = _bare(name)
        if klass not in self._agents and parse_agent_id(name) is None:
            hint = did_you_mean(klass, self._agents, cutoff=_NEAR)
            yield Finding(span, f"there is no agent {klass}", hint or f"There are: {', '.join(self._agents)}.", klass)

    def _task(self, name: str, span: Span, agent: AgentSpec, *, orderer: bool) -> Iterator[Finding]:
        """`task 7`, what a task does, and with `orderer` who has ordered it."""
        klass, _, playbook = name.partition(".")
        if playbook and klass in self._agents:
            yield from self._playbook(klass, playbook, span, agent)
        elif playbook:
            yield from self._agent(klass, span)
        elif not is_counterpart(name) or (is_orderer(name) and not orderer):
            yield Finding(span, f"there is no task {name}", 'A task is called "task 7", or "Agent.Playbook".', name)

    def _playbook(self, of: str, name: str, span: Span, agent: AgentSpec) -> Iterator[Finding]:
        other = self._program.agent(_bare(of))
        if other is None or other.kind is not AgentKind.AI:
            return
        found = other.playbook(name)
        if found is None:
            hint = did_you_mean(name, (one.name for one in other.playbooks), cutoff=_NEAR)
            yield Finding(span, f"{other.name} has no playbook {name}", hint, name)
        elif not found.public and other.name != agent.name:
            hint = f"Give {name} `public: true`, or @playbook(public=True)."
            yield Finding(span, f"{name} of {other.name} is not public", hint, name)

    def _person(self, names: str, span: Span) -> Iterator[Finding]:
        for part in names.split(","):
            name = _bare(part.strip().removeprefix("@"))
            if not self._is_known(name):
                hint = did_you_mean(name, self._agents, cutoff=_NEAR)
                what = f"there is no agent {name}" if hint else f"there is nobody called {name}"
                yield Finding(span, what, hint or _PERSON, name)

    def _is_known(self, name: str) -> bool:
        """Whether somebody has the name, or only the running program can tell."""
        lower = name.lower()
        if lower in _WORDS or is_human_word(name) or lower.startswith(("person ", "meeting ")):
            return True
        if name in self._agents or name in self._others or any(human.is_called(name) for human in self._humans):
            return True
        return parse_agent_id(name) is not None or parse_meeting_id(name) is not None


def called_name(call: ast.Call) -> str:
    """What a call calls: `Say`, `Agent.Playbook`; "" for anything else."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
    return ""


def _argument(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """The argument of a parameter; None where the call does not show it."""
    if place is not None and place < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args):
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _literals(value: ast.expr | None, bare: bool) -> Iterator[str]:
    """The names that stand in an argument as they are: texts, with `bare` names without quotes, and lists of them."""
    match value:
        case ast.Constant(value=str(text)) if not set("{$") & set(text):
            yield text
        case ast.Name(id=name) if bare and name[:1].isupper() and variable_name(name) == name:
            yield name
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _literals(part, bare)


def _bare(name: str) -> str:
    """The class in `agent TaxAgent`, else the name."""
    words = name.strip()
    is_class = words.lower().startswith("agent ") and parse_agent_id(words) is None
    return words.removeprefix(words[: len("agent ")]).strip() if is_class else words

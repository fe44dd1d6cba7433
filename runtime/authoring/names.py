"""Names of agents, playbooks and people that are probably others: in prose, below headings, and in calls' arguments."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from symtable import SymbolTable, symtable

from msgspec.structs import replace

from runtime.authoring.findings import Finding, SourceLines, did_you_mean, python_of
from runtime.core.ids import is_counterpart, is_human_word, is_orderer, parse_agent_id, parse_meeting_id
from runtime.language.diagnostics import Span
from runtime.language.first_implementation import instead_of
from runtime.language.instructions.evaluation import call_name
from runtime.language.instructions.text import unquoted
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.humans import humans_of
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.signature import agent_name, without_gaps
from runtime.language.value_types import variable_name
from runtime.language.vocabulary.phrase import phrase

_COMPOUND = re.compile(r"(?<![\w.$\"'])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b(?![\w.(])")
_SHORTEST = 4
_RECIPIENTS = frozenset({"user", "human", "meeting"})

_SURELY = 0.88
"""How near an agent's name is that is surely meant: Maria may be a person where there is an agent Mario."""
_SHOWN = "Declare it (# Name, or # Name:Human); as it is, only a person who shows this name can come."

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

TASK_ARGUMENTS: Mapping[str, tuple[str, int]] = {"Cancel": ("task", 0), "Result": ("task", 0), "Tell": ("task", 0)}
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

OFFERED_IN_PYTHON = (
    *("playbook", "Again", "variables", "agent", "self", "OutcomeUnknown", "PlaybookError", "SharedStateConflict"),
    *("UnknownTarget", "RemoteError", "NotAllowed", "ToolFailed", "RemoteFault", "RemoteTimeout", "RemoteUnavailable"),
)
"""The names in an author's Python besides calls, playbooks and agents."""
_DEFINING = frozenset({"globals", "locals", "vars", "exec", "NameError", "__dict__", "*"})
"""Names in code that may define others while it runs."""


class NameLint:
    """The names that steps use, checked against the agents and playbooks of the program."""

    def __init__(self, program: Program, built_in: Collection[str], lines: SourceLines) -> None:
        self._written = {agent.name: _heading(agent, lines) for agent in program.agents}
        people = {str(agent.metadata["name"]) for agent in program.agents if agent.metadata.get("name")}
        self._agents = {agent.name for agent in program.agents}
        public = {one.name for agent in program.agents for one in agent.playbooks if one.public}
        self._agents_in_words = {_squeezed(name) for name in (*self._agents, *people)}
        self._known = self._agents | public | set(built_in)

    def in_playbook(self, agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Finding]:
        """Findings in a playbook's steps."""
        known = self._known.union(one.name for one in agent.playbooks)
        for step, text in ((step, step.text) for step in playbook.walk_steps()):
            for match in _COMPOUND.finditer(text):
                if match[0] not in known and (hint := did_you_mean(match[0], known, cutoff=0.85)):
                    yield Finding(step.span, f"there is no agent or playbook {match[0]}", hint, match[0])
            said, _, whom = text.partition("; YLD ")[0].removeprefix("Say(").removesuffix(")").rpartition(",")
            if text.startswith('Say("') and unquoted(whom) in _RECIPIENTS and self._is_nobody(unquoted(said)):
                hint = f"The recipient comes first: Say({unquoted(whom)}, {said.strip()})."
                yield Finding(step.span, f"there is nobody called {said.strip()}", hint, said.strip())
            for said in (found["who"] for found in phrase("names somebody").all_inside(text)):
                name = self._nearly_an_agent(said) if len(said.partition(" ")[0]) >= _SHORTEST else ""
                if name:
                    word = said if " " in name else said.split()[0]
                    hint = did_you_mean(name.replace(" ", ""), self._written, cutoff=0.8)
                    yield Finding(step.span, f"there is no agent {word}", hint, word)

    def _is_nobody(self, name: str) -> bool:
        known = {"user", "human", "meeting", "all"}
        by_number = name[:1].isdigit() or name.startswith(("meeting ", "agent "))
        return _squeezed(name) not in self._agents_in_words | known and not by_number

    def _nearly_an_agent(self, said: str) -> str:
        """The part of a name that resembles an agent's; "" if an agent is named, or none is similar."""
        parts = list(dict.fromkeys((said, said.split()[0])))
        squeezed = [_squeezed(part) for part in parts]
        if any(one in self._agents_in_words or one.rstrip("s") in self._agents_in_words for one in squeezed):
            return ""
        if any(_COMPOUND.match(part) for part in parts):
            return ""
        return next((part for part in parts if did_you_mean(part.replace(" ", ""), self._agents, cutoff=0.8)), "")


def _heading(agent: AgentSpec, lines: SourceLines) -> str:
    """The agent's name as its author wrote it; its class name without source lines."""
    written = lines.get((agent.span.file, agent.span.line), "").lstrip("# ").partition(":")[0].strip()
    return written if written and agent_name(written) == agent.name else agent.name


def _squeezed(name: str) -> str:
    return without_gaps(name).casefold()


def hidden_by_built_in(playbook: PlaybookSpec, built_in: Collection[str]) -> Iterator[Finding]:
    """A playbook that no call can reach, because its name calls the built-in one."""
    if playbook.name in built_in:
        hint = "Calls by this name reach the built-in call: give the playbook another name."
        yield Finding(playbook.span, f"{playbook.name} is the name of a built-in call", hint, playbook.name)


def wrong_attendees(program: Program, playbook: PlaybookSpec) -> Iterator[Finding]:
    """Attendees of a meeting who do not exist or take part in no meetings."""
    humans = humans_of(program)
    for name in (name for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()):
        agent = program.agent(str(name))
        known = is_human_word(str(name)) or any(human.is_called(str(name)) for human in humans)
        if agent is None and not known and parse_agent_id(str(name)) is None:
            near = did_you_mean(str(name), (one.name for one in program.agents), cutoff=0.6)
            meant = did_you_mean(
                str(name), (one.name for one in program.agents if one.kind is AgentKind.AI), cutoff=_SURELY
            )
            message = f"there is no agent {name} to attend {playbook.name}"
            yield Finding(playbook.span, message, near or _SHOWN, severity="error" if meant else "warning")
        elif agent and agent.kind is AgentKind.AI and not any(one.meeting for one in agent.playbooks):
            yield Finding(
                playbook.span,
                f"{agent.name} is to attend {playbook.name} but takes part in no meetings",
                "Give it a playbook with meeting: true.",
            )


def before_joining(agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Finding]:
    """A missing playbook named for considering invitations: the agent would join all meetings."""
    name = playbook.metadata.get("before_joining")
    if name is not None and agent.playbook(str(name)) is None:
        hint = did_you_mean(str(name), (one.name for one in agent.playbooks), cutoff=0.6)
        yield Finding(playbook.span, f"{agent.name} has no playbook {name} to execute before it joins", hint)


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
        yield from self._undefined(agent)
        for fence, tree in python_of(agent):
            defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
                if call_name(call.func) not in defined:
                    place = replace(fence.span, line=fence.span.line + call.lineno - 1)
                    yield from self.in_call(call, place, agent, bare=False)

    def _undefined(self, agent: AgentSpec) -> Iterator[Finding]:
        """Names that an agent's Python reads and that nothing defines."""
        trees = [(fence, [*ast.walk(tree)]) for fence, tree in python_of(agent)]
        try:
            tables = [(*both, table) for both in trees for table in _scopes(symtable(both[0].source, "", "exec"))]
        except SyntaxError:
            return  # such as a `nonlocal` in no function: whoever executes it says so
        keys = ("id", "attr", "name")
        if any(getattr(one, key, "") in _DEFINING for _, nodes in trees for one in nodes for key in keys):
            return
        known = {*dir(builtins), *OFFERED_IN_PYTHON, *self._others, *self._agents}
        known |= {one.name for one in agent.playbooks}
        for _, _, table in tables:
            shared = [one for one in table.get_symbols() if table.get_type() == "module" or one.is_declared_global()]
            known |= {one.get_name() for one in shared if one.is_local() or one.is_assigned() or one.is_imported()}
        for fence, nodes, table in tables:
            for name in (one.get_name() for one in table.get_symbols() if one.is_global()):
                named = (one for one in nodes if isinstance(one, ast.Name) and one.id == name)
                lines = sorted(one.lineno for one in named if one.lineno >= table.get_lineno())
                if lines and name not in known and not instead_of(name) and not name.startswith("__"):
                    hint = did_you_mean(name, {*table.get_identifiers(), *known} - {name})
                    known.add(name)
                    place = replace(fence.span, line=fence.span.line + lines[0] - 1)
                    yield Finding(place, f"nothing defines {name}", hint, name)

    def in_call(self, call: ast.Call, span: Span, agent: AgentSpec, *, bare: bool) -> Iterator[Finding]:
        """Findings in one call of `agent`, which stands at `span`. `bare`: names need no quotes, as in steps."""
        called = call_name(call.func) or ""
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
        known = lower in _WORDS or is_human_word(name) or name in self._agents or name in self._others
        known = known or any(human.is_called(name) for human in self._humans)
        by_number = lower.startswith(("person ", "meeting ")) or parse_agent_id(name) or parse_meeting_id(name)
        return known or bool(by_number)


def _scopes(table: SymbolTable) -> Sequence[SymbolTable]:
    return [table, *(one for inner in table.get_children() for one in _scopes(inner))]


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

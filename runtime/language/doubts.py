"""What in a program can be read, and is probably not meant: calls of what is not there, unknown attendees, models."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.first_implementation import doubts_of_first_implementation
from runtime.language.metadata import MEETING_KEYS
from runtime.language.placeholders import plain_names
from runtime.language.program import AgentKind, AgentSpec, Op, Param, PlaybookSpec, Program, Step
from runtime.language.signature import parse_python
from runtime.language.step_doubts import doubts_of_steps

_CALLED = re.compile(r"(?<![\w.$])([A-Z]\w*[a-z]\w*(?:\.[A-Za-z_]\w*)?)\(")
_MOST_CLOSINGS = 50
_NOTE = re.compile(r"N(\d+)\b")


@dataclass(frozen=True, slots=True)
class _Callable:
    """What a name stands for when it is called; `params` is None where nobody knows them, `why` is what is wrong."""

    params: Sequence[Param] | None = None
    why: str = ""


def doubts(program: Program, built_in: Collection[str]) -> list[Diagnostic]:
    """Warnings in the order of the program. `built_in` are the names that can be called everywhere."""
    found: list[Diagnostic] = [*doubts_of_first_implementation(program, built_in)]
    everywhere = _everywhere(program, built_in)
    for agent in program.agents:
        names = {**everywhere, **_own(agent)}
        found += _models(agent)
        for playbook in agent.playbooks:
            found += _hidden(playbook, built_in)
            found += [*_attendees(program, playbook), *_before_joining(agent, playbook), *doubts_of_steps(playbook)]
            for step in playbook.walk_steps():
                found += [*_calls(step, names), *_notes(step, playbook)]
    return found


def _everywhere(program: Program, built_in: Collection[str]) -> Mapping[str, _Callable]:
    """What can be called in the steps of all agents. The tools of a server are the server's affair."""
    names = {name: _Callable() for name in (*built_in, *program.remote_agents)}
    for agent in program.agents:
        for playbook in agent.playbooks:
            closed = "" if playbook.public else f"{playbook.name} of {agent.name} is not public"
            names[f"{agent.name}.{playbook.name}"] = _Callable(_params(playbook), closed)
    return names


def _own(agent: AgentSpec) -> Mapping[str, _Callable]:
    """What else can be called in the steps of an agent: all of its playbooks, and what its Python defines."""
    own = {playbook.name: _Callable(_params(playbook)) for playbook in agent.playbooks}
    named = {f"{agent.name}.{name}": made for name, made in own.items()}
    return named | own | {name: _Callable() for name in _defined(agent)}


def _params(playbook: PlaybookSpec) -> Sequence[Param] | None:
    """The parameters of a playbook; a meeting takes attendees besides, and Python may take anything."""
    return None if playbook.kind == "python" or playbook.meeting else playbook.params


def _defined(agent: AgentSpec) -> Iterator[str]:
    """What else the agent's Python defines."""
    for fence in agent.fences:
        for node in parse_python(fence.source).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.decorator_list:
                    yield node.name
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from (name.asname or name.name for name in node.names)


def _calls(step: Step, names: Mapping[str, _Callable]) -> Iterator[Diagnostic]:
    for match in _CALLED.finditer(step.text):
        name = match[1]
        agent = name.partition(".")[0]
        called = names.get(name)
        if called is not None:
            wrong = called.why or _misfit(step.text[match.start() :], called.params)
            if wrong:
                yield _warning(step, f"{name}: {wrong}" if not called.why else wrong)
        elif agent not in names:
            yield _unknown(step, name, names)


def _unknown(step: Step, name: str, names: Mapping[str, _Callable]) -> Diagnostic:
    agent = name.rpartition(".")[0]
    agents = {known.partition(".")[0] for known in names if "." in known}
    if agent and agent not in agents:
        near = get_close_matches(agent, sorted(agents), n=1, cutoff=0.75)
        return _warning(step, f"there is no agent {agent}", f"Did you mean {near[0]}?" if near else "")
    near = get_close_matches(name, sorted(names), n=1, cutoff=0.75)
    return _warning(step, f"there is no playbook {name}", f"Did you mean {near[0]}?" if near else "")


def _misfit(text: str, params: Sequence[Param] | None) -> str:
    """What is wrong with the arguments of the call that `text` begins with; "" where they fit, or cannot be told."""
    call = _parsed_call(text)
    if params is None or call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return ""
    named = [keyword.arg for keyword in call.keywords]
    names = [param.name for param in params]
    if None in named:
        return ""
    if len(call.args) > len(names):
        return f"takes {len(names)} argument{'' if len(names) == 1 else 's'}, {len(call.args)} are given"
    unknown = [name for name in named if name not in names]
    if unknown:
        return f"has no parameter {unknown[0]!r}"
    given = {*names[: len(call.args)], *named}
    missing = [param.name for param in params if param.default is None and param.name not in given]
    return f"needs {missing[0]!r}" if missing else ""


def _parsed_call(text: str) -> ast.Call | None:
    """The call at the beginning of a text, where it is one in Python."""
    for end in (match.end() for match in islice(re.finditer(r"\)", text), _MOST_CLOSINGS)):
        try:
            body = parse_python(plain_names(text[:end])).body
        except SyntaxError:
            continue
        if len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call):
            return body[0].value
    return None


def _notes(step: Step, playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    known = {match[1] for note in playbook.notes if (match := _NOTE.match(note))}
    for number in _NOTE.findall(step.text) if step.op is Op.CHK else ():
        if number not in known:
            yield _warning(step, f"{playbook.name} has no note N{number}")


def _hidden(playbook: PlaybookSpec, built_in: Collection[str]) -> Iterator[Diagnostic]:
    """A playbook that no call comes to: by its name a built-in one is called."""
    if playbook.name in built_in:
        hint = "Calls by this name come to the built-in one: give the playbook another name."
        yield _at(playbook.span, f"{playbook.name} is the name of a built-in call", hint)


def _models(agent: AgentSpec) -> Iterator[Diagnostic]:
    """Models that a program asks for: which one executes it is the affair of whoever runs it, and pays."""
    asking: list[AgentSpec | PlaybookSpec] = [agent, *agent.playbooks]
    for one in asking:
        if "model" in one.metadata:
            message = f"`model: {one.metadata['model']}` of {one.name} is not used"
            yield _at(one.span, message, "All playbooks are executed by the model of the settings.")


def _attendees(program: Program, playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    for name in (name for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()):
        agent = program.agent(str(name))
        if agent is None:
            near = get_close_matches(str(name), [one.name for one in program.agents], n=1)
            hint = f"Did you mean {near[0]}?" if near else ""
            yield _at(playbook.span, f"there is no agent {name} to attend {playbook.name}", hint)
        elif agent.kind is AgentKind.AI and not any(one.meeting for one in agent.playbooks):
            yield _at(
                playbook.span,
                f"{agent.name} is to attend {playbook.name} and takes part in no meetings",
                "Give it a playbook with meeting: true.",
            )


def _before_joining(agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    """An agent that considers invitations by what it does not have would come to all meetings."""
    name = playbook.metadata.get("before_joining")
    if name is not None and agent.playbook(str(name)) is None:
        near = get_close_matches(str(name), [one.name for one in agent.playbooks], n=1)
        hint = f"Did you mean {near[0]}?" if near else ""
        yield _at(playbook.span, f"{agent.name} has no playbook {name} to execute before it joins", hint)


def _warning(step: Step, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(message, step.span, "", hint, "warning")


def _at(span: Span, message: str, hint: str) -> Diagnostic:
    return Diagnostic(message, span, "", hint, "warning")

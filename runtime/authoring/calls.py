"""Calls in steps that have no target, are never closed, or have unfitting arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from runtime.authoring.findings import Finding, SourceLines, as_written, did_you_mean, python_of
from runtime.authoring.names import CalledNames
from runtime.language.instructions.decode import decode
from runtime.language.instructions.evaluation import FUNCTIONS
from runtime.language.instructions.model import Call, Wait
from runtime.language.instructions.text import CALLED, QUOTED
from runtime.language.placeholders import plain_names
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program, Step
from runtime.language.syntax.signature import is_literal, parse_python
from runtime.language.value_types import coerced

_UNSEPARATED = re.compile(r"[\w.]+\((?:[^()]*,)?\s*(?:\$\w+|\"\"|\d+)\s+(?:\$\w|\"\"|\d)")
"""Two arguments without a separator: `Add($a $b)`."""
_MOST_CLOSINGS = 50


_IN_ANOTHER_FILE = "If another file has it, name both files: together they are one program."


class _Callable(Struct, frozen=True):
    """The target of a call. `params` is None where nobody knows them, `positional` is how many can be given without
    their names; `open`: further named arguments are taken. `why` says why it cannot be called."""

    params: Sequence[Param] | None = None
    positional: int = 0
    open: bool = False
    why: str = ""


class CallLint:
    """The calls of a program, checked against all that can be called."""

    def __init__(self, program: Program, built_in: Collection[str], lines: SourceLines) -> None:
        self._lines = lines
        self._everywhere = _everywhere(program, built_in)
        self._own: dict[str, Mapping[str, _Callable]] = {}
        self._agents = {agent.name for agent in program.agents} | program.remote_agents
        self._named = CalledNames(program, built_in)

    def in_fences(self, agent: AgentSpec) -> Iterator[Finding]:
        """Findings in the names that an agent's Python gives to calls."""
        return self._named.in_fences(agent)

    def in_playbook(self, agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Finding]:
        """Findings in a playbook's steps."""
        if agent.name not in self._own:
            self._own[agent.name] = _own(agent)
        own = self._own[agent.name]
        for step in playbook.walk_steps():
            yield from self._in_step(step, own)
            yield from self._in_names(step, agent)

    def _in_names(self, step: Step, agent: AgentSpec) -> Iterator[Finding]:
        """Findings in the names that a step gives to calls, as far as its author wrote them."""
        for match in CALLED.finditer(step.text):
            text = step.text[match.start() :]
            call = _parsed_call(text) or _parsed_call(f"{text.partition(',')[0]})")  # words without quotes come second
            if call is not None and self._is_written(step, match[1]):
                yield from self._named.in_call(call, step.span, agent, bare=True)
        for part in decode(step).parts:
            for source in part.sources if isinstance(part, Wait) else ():
                yield from self._named.in_wait(source, step.span)

    def _in_step(self, step: Step, own: Mapping[str, _Callable]) -> Iterator[Finding]:
        target, _, rest = step.text.partition(",")
        words = rest.rpartition(")")[0].lstrip() if target.startswith("Say(") and ")" not in target else ""
        text = words if words and words[0] not in "\"'" else step.text
        calls = {part.name for part in decode(step).parts if isinstance(part, Call)}
        executed = calls - FUNCTIONS.keys()  # by the runtime itself, whatever they look like: `print("Hello")`
        for match in CALLED.finditer(text):
            name = match[1]
            called = own.get(name) or self._everywhere.get(name)
            if called is None:
                meant = name in executed or (name[0].isupper() and not name.isupper())
                if meant and name.partition(".")[0] not in self._everywhere:  # a server checks calls of its tools
                    found = self._unknown(step, name, own)
                    yield replace(found, severity="error") if name in executed else found
            elif called.why:
                yield Finding(step.span, called.why, word=name)
            elif _never_closed(text[match.start() :]) and self._is_written(step, name):
                hint = f"Write the closing parenthesis: {name}(…)."
                yield Finding(step.span, f"the call of {name} is never closed", hint, name)
            elif name != "Say" and _UNSEPARATED.match(QUOTED.sub('""', text[match.start() :])):
                hint = f"Write a comma between them: {name}(…, …)."
                yield Finding(step.span, f"the arguments of {name} are not separated", hint, name)
            elif (wrong := _misfit(text[match.start() :], called)) and self._is_written(step, name):
                yield Finding(step.span, f"{name}: {wrong.message}", wrong.hint, wrong.word or name)

    def _is_written(self, step: Step, name: str) -> bool:
        """Whether the author wrote the call. One in words, `Get the order status`, leaves its arguments to a model."""
        written = as_written(step.span, self._lines)
        return not written or f"{name}(" in written

    def _unknown(self, step: Step, name: str, own: Mapping[str, _Callable]) -> Finding:
        agent = name.rpartition(".")[0]
        if agent and agent not in self._agents:
            hint = did_you_mean(agent, self._agents) or (_IN_ANOTHER_FILE if agent[:1].isupper() else "")
            return Finding(step.span, f"there is no agent {agent}", hint, agent)
        owner = next((one.rpartition(".")[0] for one in self._everywhere if one.endswith(f".{name}")), "")
        if owner and not agent:
            hint = f"Write it below the heading of this agent, or make it public there and call {owner}.{name}."
            return Finding(step.span, f"{name} is a playbook of {owner}", hint, name)
        hint = did_you_mean(name, {*own, *self._everywhere})
        return Finding(step.span, f"there is no playbook {name}", hint, name)


def _everywhere(program: Program, built_in: Collection[str]) -> Mapping[str, _Callable]:
    """The names that steps of all agents can call. Servers check their own tools."""
    names = {name: _Callable() for name in (*built_in, *program.remote_agents)}
    for agent in program.agents:
        for name, made in _playbooks(agent).items():
            playbook = agent.playbook(name)
            closed = playbook is not None and not playbook.public
            why = f"{name} of {agent.name} is not public" if closed else ""
            names[f"{agent.name}.{name}"] = _Callable(made.params, made.positional, made.open, why)
    return names


def _own(agent: AgentSpec) -> Mapping[str, _Callable]:
    """The further names that an agent's steps can call: its playbooks, and names from its Python."""
    own = _playbooks(agent)
    named = {f"{agent.name}.{name}": made for name, made in own.items()}
    return named | own | {name: _Callable() for name in _defined(agent)}


def _playbooks(agent: AgentSpec) -> dict[str, _Callable]:
    functions = dict(_functions(agent))
    return {one.name: _callable(one, functions.get(one.name)) for one in agent.playbooks}


def _callable(playbook: PlaybookSpec, function: ast.arguments | None) -> _Callable:
    """The parameters of a playbook; a meeting also takes attendees."""
    if playbook.meeting or (playbook.kind == "python" and function is None):
        return _Callable()
    if function is None:
        return _Callable(playbook.params, len(playbook.params))
    positional = len(function.posonlyargs) + len(function.args)
    return _Callable(playbook.params, 1_000 if function.vararg else positional, function.kwarg is not None)


def _functions(agent: AgentSpec) -> Iterator[tuple[str, ast.arguments]]:
    for node in (node for _, tree in python_of(agent) for node in tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list:
            yield node.name, node.args


def _defined(agent: AgentSpec) -> Iterator[str]:
    """The names in the agent's Python that are no playbooks."""
    for node in (node for _, tree in python_of(agent) for node in tree.body):
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.FunctionDef(name=name, decorator_list=[]) | ast.AsyncFunctionDef(name=name, decorator_list=[]):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (one.asname or one.name for one in names)


def _never_closed(text: str) -> bool:
    """Whether the parenthesis of the call at the start of `text` is still open at its end."""
    depth = 0
    for char in QUOTED.sub("", text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0 and char in ")]}":
            return False
    return depth > 0


class _Misfit(Struct, frozen=True):
    """An error in arguments; `word` is the wrong one, "" for the whole call."""

    message: str
    hint: str = ""
    word: str = ""


def _misfit(text: str, called: _Callable) -> _Misfit | None:
    """The error in the arguments of the call at the start of `text`; None if they fit, or nobody can tell."""
    call, params = _parsed_call(text), called.params
    if params is None or call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    given = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    if len(given) < len(call.keywords):
        return None
    if len(call.args) > called.positional:
        count = called.positional
        return _Misfit(f"takes {count} argument{'' if count == 1 else 's'}, {len(call.args)} are given")
    names = [param.name for param in params]
    unknown = [name for name in given if name not in names]
    if unknown and not called.open:
        return _Misfit(f"has no parameter {unknown[0]!r}", did_you_mean(unknown[0], names), unknown[0])
    values = {**dict(zip(names, call.args, strict=False)), **{one.arg: one.value for one in call.keywords if one.arg}}
    missing = [param.name for param in params if param.default is None and param.name not in values]
    if missing:
        return _Misfit(f"needs {missing[0]!r}")
    found = (_wrong_type(param, values.get(param.name), text) for param in params)
    return next((wrong for wrong in found if wrong), None)


def _wrong_type(param: Param, value: ast.expr | None, text: str) -> _Misfit | None:
    """The error in a literal argument; None for any other."""
    if param.type is None or value is None or not is_literal(value):
        return None
    literal = ast.literal_eval(value)
    try:
        coerced(literal, param.type)
    except ValueError:
        written = ast.get_source_segment(plain_names(text), value) or ""
        return _Misfit(
            f"{param.name!r} is declared {param.type}, {literal!r} is given", word=written if written in text else ""
        )
    return None


def _parsed_call(text: str) -> ast.Call | None:
    """The call at the start of a text, if it is valid Python."""
    for end in islice((at for at, char in enumerate(text, 1) if char == ")"), _MOST_CLOSINGS):
        try:
            body = parse_python(plain_names(text[:end])).body
        except SyntaxError:
            continue
        if len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call):
            return body[0].value
    return None

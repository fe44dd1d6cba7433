"""Analysis of a program's text while it is written: complaints, outline, meanings, definitions, renaming."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from gateway.assembly.checking import examined
from gateway.built_in_calls import SIGNATURES
from gateway.programs.explanation import explanation_of
from runtime.core.errors import ParleyError
from runtime.execution.free.prompt import signature
from runtime.language.compiler import CompileResult
from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.language.syntax.source import read_text

_OPENINGS = ("Ask the user ", "Tell the user ", "If $", "Otherwise", "While $", "For each $", "Return $", "End program")
"""How steps begin, as suggestions."""

_VARIABLE = re.compile(r"\$([^\W\d]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


class NotRenamed(Exception):
    """A name that cannot be given another one; the text says why."""


class OutlineEntry(Struct, frozen=True):
    """A line of the outline: an agent, or a playbook with its agent's name above it."""

    name: str
    detail: str
    line: int
    last_line: int
    inner: tuple[OutlineEntry, ...] = ()


class _Suggestion(Struct, frozen=True):
    text: str
    kind: str
    detail: str = ""


class Analysis(Struct, frozen=True):
    """One text, and what the compiler says of it. `result` is None where the program cannot be used; the one before
    may then still serve for names."""

    file: str
    rows: Sequence[str]
    complaints: Sequence[Diagnostic]
    result: CompileResult | None
    meanings: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    """The step numbers and meanings of each line, counted from 0."""

    @property
    def own(self) -> list[AgentSpec]:
        agents = () if self.result is None else self.result.program.agents
        return [agent for agent in agents if agent.span.file == self.file]

    def outline(self) -> list[OutlineEntry]:
        own = self.own
        parts = [(agent, _section_of(own, agent.span.line - 1, len(self.rows))[1]) for agent in own]
        return [
            OutlineEntry(
                agent.name, str(agent.kind), lines.start, lines.stop - 1, tuple(_playbooks(agent, lines.stop - 1))
            )
            for agent, lines in parts
        ]

    def meaning(self, line: int, character: int) -> str | None:
        """What a step does, or what a name is, as Markdown; None where there is nothing to say."""
        name = _name_at(self.rows, line, character)
        if name is not None and not name.variable:
            found = self._named(name.text, line)
            if isinstance(found, PlaybookSpec):
                return f"```\n{_written(found)}\n```\n{found.description}".rstrip()
            if isinstance(found, AgentSpec) and found.span.line - 1 != line:
                return f"**{found.name}** ({found.kind})\n\n{found.description}".rstrip()
            builtin = SIGNATURES.get(name.text)
            if builtin is not None:
                return f"```\n{signature(builtin.name, builtin.params, None)}\n```\n{builtin.does}"
        steps = self.meanings.get(line, [])
        return "\n".join(f"- `{number}` {what}" for number, what in steps) or None

    def definition(self, line: int, character: int) -> Span | EditorPlace | None:
        """Where the agent or the playbook is written, or the variable is first named."""
        name = _name_at(self.rows, line, character)
        if name is None:
            return None
        if name.variable:
            return next(self._uses(name.text, line), None)
        found = self._named(name.text, line)
        return None if found is None or found.kind == "remote" else found.span

    def references(self, line: int, character: int) -> list[EditorPlace]:
        """Where the variable at a position stands in its agent's part of the file."""
        name = _name_at(self.rows, line, character)
        return [] if name is None else list(self._uses(name.text, line))

    def renamed(self, line: int, character: int, new: str) -> list[EditorPlace]:
        """The places of a variable that another name is to stand at. Raises NotRenamed."""
        name = _name_at(self.rows, line, character)
        if name is None or not name.variable:
            raise NotRenamed("Only variables can be renamed: put the cursor on one, such as $order.")
        new = new.removeprefix("$")
        if not new.isidentifier():
            raise NotRenamed(f"{new!r} is not a name: use letters, digits and underscores, with no digit first.")
        agent, lines = self._section(line)
        if agent is None:
            raise NotRenamed("The program has errors. Mend them first.")
        callers = [one for one in agent.playbooks if one.kind == "llm"]
        owners = [one.name for one in callers if any(param.name == name.text for param in one.params)]
        if owners:
            raise NotRenamed(f"${name.text} is a parameter of {owners[0]}, whose calls name it. Change both by hand.")
        if new in variables(self.rows, lines):
            raise NotRenamed(f"{agent.name} has a variable ${new} already.")
        return list(self._uses(name.text, line))

    def suggestions(self, line: int, character: int) -> list[_Suggestion]:
        """What may stand at a position: variables behind a `$`, else calls, agents and beginnings of steps."""
        before = self.rows[line][:character] if 0 <= line < len(self.rows) else ""
        agent, lines = self._section(line)
        word = before.split(" ")[-1]
        if "$" in word:
            typed, known = word.rpartition("$")[2], variables(self.rows, lines)
            named = [name for name in known if name != typed or len(list(self._uses(name, line))) > 1]
            return [_Suggestion(f"${name}", "variable") for name in named]
        found = [_Suggestion(one.name, "call", _written(one)) for one in (() if agent is None else agent.playbooks)]
        others = [other for other in self.own if other is not agent]
        found += [_Suggestion(other.name, "agent", str(other.kind)) for other in others]
        found += [
            _Suggestion(f"{other.name}.{one.name}", "call", _written(one))
            for other in others
            for one in other.playbooks
            if one.public
        ]
        found += [_Suggestion(one.name, "call", signature(one.name, one.params, None)) for one in SIGNATURES.values()]
        if before.lstrip().rstrip("- *+") == "":
            found += [_Suggestion(opening, "step") for opening in _OPENINGS]
        return found

    def _section(self, line: int) -> tuple[AgentSpec | None, range]:
        if self.result is None:
            return None, range(len(self.rows))
        return _section_of(self.own, line, len(self.rows))

    def _uses(self, variable: str, line: int) -> Iterator[EditorPlace]:
        return uses(self.rows, self._section(line)[1], variable)

    def _named(self, name: str, line: int) -> AgentSpec | PlaybookSpec | None:
        """The playbook of this agent, else the agent, else the playbook of another one, with this name."""
        if self.result is None:
            return None
        agent, _ = self._section(line)
        own = agent.playbook(name) if agent is not None else None
        others = (other.playbook(name) for other in self.result.program.agents)
        return own or self.result.program.agent(name) or next((one for one in others if one is not None), None)


async def analyse(text: str, file: Path, calls: Collection[str] = ()) -> Analysis:
    """Compile a text by the rules, as it is in the editor; imports are read beside `file`. `calls` are those of
    extensions. Raises nothing: every failure is a complaint."""
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    try:
        found, result = await examined(read_text(text, str(file)), calls)
    except ProgramRejected as rejected:
        return Analysis(str(file), rows, rejected.diagnostics, None)
    except (ParleyError, RecursionError) as error:
        return Analysis(str(file), rows, [Diagnostic(str(error), Span(str(file), 1))], None)
    return Analysis(str(file), rows, found, result, {} if result is None else _meanings(result, str(file)))


def _meanings(result: CompileResult, file: str) -> dict[int, list[tuple[str, str]]]:
    agents = {agent.name for agent in result.program.agents if agent.span.file == file}
    found: dict[int, list[tuple[str, str]]] = {}
    for playbook in explanation_of(result.program, result.report):
        if playbook["agent"] not in agents:
            continue
        for line in playbook["lines"]:
            what = " ".join(f"*{part['kind']}:* {part['does']}" for part in line["parts"])
            found.setdefault(line["line"] - 1, []).append((line["location"], what))
    return found


def _playbooks(agent: AgentSpec, end: int) -> Iterator[OutlineEntry]:
    ordered = sorted(
        (one for one in agent.playbooks if one.span.file == agent.span.file), key=lambda one: one.span.line
    )
    for number, one in enumerate(ordered):
        last = ordered[number + 1].span.line - 2 if number + 1 < len(ordered) else end
        yield OutlineEntry(one.name, one.kind if one.kind != "llm" else _written(one), one.span.line - 1, last)


def _written(playbook: PlaybookSpec) -> str:
    """A playbook as a call: its name and parameters."""
    return signature(playbook.name, playbook.params, playbook.returns)


class EditorPlace(Struct, frozen=True):
    """A part of a line. Lines and characters count from 0; `end` is behind the last character."""

    line: int
    start: int
    end: int


class _NamedPlace(Struct, frozen=True):
    """A name at a place: a variable without its `$`, or a word that may be an agent or a playbook."""

    text: str
    variable: bool
    place: EditorPlace


def _name_at(rows: Sequence[str], line: int, character: int) -> _NamedPlace | None:
    """The name at a position; None where there is none."""
    if not 0 <= line < len(rows):
        return None
    row = rows[line]
    for match in _VARIABLE.finditer(row):
        if match.start() <= character <= match.end():
            return _NamedPlace(match[1], True, EditorPlace(line, match.start(), match.end()))
    for match in _NAME.finditer(row):
        if match.start() <= character <= match.end():
            return _NamedPlace(match[0], False, EditorPlace(line, match.start(), match.end()))
    return None


def _section_of(agents: Sequence[AgentSpec], line: int, count: int) -> tuple[AgentSpec | None, range]:
    """The agent whose part of a file with `count` lines has a line, and the lines of that part."""
    starts = sorted((agent.span.line - 1, number) for number, agent in enumerate(agents))
    above = [place for place in starts if place[0] <= line]
    if not above or line >= count:
        return None, range(0)
    start, number = above[-1]
    below = [place[0] for place in starts if place[0] > start]
    return agents[number], range(start, min(below, default=count))


def uses(rows: Sequence[str], lines: range, variable: str) -> Iterator[EditorPlace]:
    """Where a variable stands in some lines, outside of fences: with its `$`, and in braces without."""
    braced = re.compile(rf"(?<=\{{)\s*{re.escape(variable)}(?=\s*[}}.:\[!])")
    dollar = re.compile(rf"\${re.escape(variable)}(?!\w)")
    inside = ""
    for line in lines:
        fence = _FENCE.match(rows[line])
        if fence is not None and (not inside or fence[1].startswith(inside)):
            inside = "" if inside else fence[1]
            continue
        if inside:
            continue
        for match in dollar.finditer(rows[line]):
            yield EditorPlace(line, match.start() + 1, match.end())
        for match in braced.finditer(rows[line]):
            start = match.end() - len(variable)
            yield EditorPlace(line, start, match.end())


def variables(rows: Sequence[str], lines: range) -> list[str]:
    return list(dict.fromkeys(match[1] for line in lines for match in _VARIABLE.finditer(rows[line])))

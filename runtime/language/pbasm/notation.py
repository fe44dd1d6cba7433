"""PBAsm, the compiled form of a program: reading it strictly and writing it, with its steps in their tree by number."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.event_triggers import trigger_kind
from runtime.language.program import (
    NOTE,
    AgentKind,
    AgentSpec,
    OpCode,
    Param,
    PlaybookSpec,
    Program,
    PythonFence,
    Step,
    Trigger,
    TriggerKind,
    coded,
    jump_target,
)
from runtime.language.syntax.blocks import FencedBlock, HeadingLine, scan
from runtime.language.syntax.fences import is_code
from runtime.language.syntax.humans import PERSON_KEYS
from runtime.language.syntax.listing import is_item
from runtime.language.syntax.metadata import AGENT_KEYS, PLAYBOOK_KEYS, read_preamble
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

HEADER = "<!-- PBAsm 1 -->"
_COMMENT = "<!--"
_SHORT_YIELD = re.compile(r"\bYLD (?=(?:call|user|human|agent|meeting|return|exit)\b)")
_HINT = "Expected for example: 01:QUE Say(user, Greet the user). Codes: " + ", ".join(OpCode) + "."


def read(text: str, file: str) -> Program:
    """The program of a .pbasm text. Raises ProgramRejected when a code, number or jump is wrong."""
    return link(parse(read_text(text, file if file.endswith(".pbasm") else f"{file}.pbasm")))


def link(parsed: ParsedProgram) -> Program:
    """A program whose agents are all compiled, ready to run. Raises ProgramRejected."""
    problems = DiagnosticList()
    agents = tuple(read_agent(agent, problems) for agent in parsed.agents)
    problems.stop_if_any()
    return build(parsed.name, agents, parsed.metadata)


def build(name: str, agents: Sequence[AgentSpec], metadata: Mapping[str, Any]) -> Program:
    """A program of these agents, with its text and the digest of that."""
    program = Program(name, tuple(agents), "", "", dict(metadata))
    text = write(program)
    return replace(program, pbasm=text, digest=hashlib.sha256(text.encode()).hexdigest())


def read_agent(agent: ParsedAgent, problems: DiagnosticList) -> AgentSpec:
    """An agent whose steps and triggers have their codes; errors are noted."""
    playbooks = tuple(_playbook(playbook, problems) for playbook in agent.playbooks)
    return AgentSpec(
        agent.name, agent.kind, agent.span, agent.description, dict(agent.metadata), playbooks, agent.fences
    )


def _playbook(parsed: ParsedPlaybook, problems: DiagnosticList) -> PlaybookSpec:
    has_code = parsed.kind == "llm"
    triggers = [_trigger(item, number, has_code, problems) for number, item in enumerate(parsed.triggers, 1)]
    codes = Counter(trigger.code for trigger in triggers if trigger)
    for item, trigger in zip(parsed.triggers, triggers, strict=True):
        if trigger and codes[trigger.code] > 1:
            message = f"the trigger code {trigger.code} is given twice"
            problems.at_span(item.span, message, text=item.shown, word=trigger.code)
    return PlaybookSpec(
        parsed.name,
        parsed.kind,
        parsed.span,
        parsed.params,
        parsed.returns,
        parsed.description,
        dict(parsed.metadata),
        tuple(filter(None, triggers)),
        read_steps(parsed.steps, problems),
        number_notes(parsed.notes),
    )


def coded_trigger(item: ListItem) -> Trigger | None:
    """The trigger of an item with number and code; None without them, or with an unknown code."""
    found = _coded_trigger(item.text)
    known = found is not None and found[1] in TriggerKind.__members__
    return Trigger(found[0], TriggerKind(found[1]), found[2], item.span) if found and known else None


def _coded_trigger(text: str) -> tuple[str, str, str] | None:
    """The number, the code and the words of `T1:EVT When …`, whether there is such a code or not."""
    found = coded(text[1:]) if text.startswith("T") else None
    return (f"T{found[0]}", *found[1:]) if found and found[1].isupper() and found[2] and "." not in found[0] else None


def check_trigger_codes(agents: Sequence[ParsedAgent], problems: DiagnosticList) -> None:
    """Note triggers with a number and an unknown code, in agents that are not compiled yet: `T1:EVNT When asked`."""
    for playbook in (playbook for agent in agents if not agent.compiled for playbook in agent.playbooks):
        for number, item in enumerate(playbook.triggers, 1):
            if _coded_trigger(item.text):
                _trigger(item, number, has_code=True, problems=problems)


def _trigger(item: ListItem, number: int, has_code: bool, problems: DiagnosticList) -> Trigger | None:
    if trigger := coded_trigger(item):
        return trigger
    found = _coded_trigger(item.text)
    if not has_code and not found:
        return Trigger(f"T{number}", trigger_kind(item.text), item.text, item.span)
    kinds = ", ".join(TriggerKind)
    near = get_close_matches(found[1], TriggerKind, n=1) if found else []
    hint = f"Did you mean {near[0]}? " if near else ""
    hint += f"Expected for example: T{number}:EVT When the user asks for help. Codes: {kinds}."
    message = f"there is no trigger code {found[1]}" if found else "a trigger needs its number and code"
    problems.at_span(item.span, message, text=item.shown, hint=hint, word=found[1] if found else "")
    return None


def number_notes(notes: Sequence[ListItem]) -> tuple[str, ...]:
    """The notes with their codes: "N1 text"."""
    return tuple(
        item.text if NOTE.match(item.text) else f"N{number} {item.text}" for number, item in enumerate(notes, 1)
    )


def write(program: Program) -> str:
    """The text of a program; reading it gives the same program, except for the places."""
    front = f"---\n{_yaml(program.metadata)}---\n" if program.metadata else ""
    return front + "\n".join([f"{HEADER}\n", *(write_agent(agent) for agent in program.agents)])


def write_agent(agent: AgentSpec) -> str:
    """The text of one agent."""
    kind = "" if agent.kind is AgentKind.AI else f":{agent.kind}"
    keys = PERSON_KEYS if agent.kind is AgentKind.HUMAN else AGENT_KEYS
    parts = [f"# {agent.name}{kind}\n{_preamble(agent.metadata, agent.description, keys)}"]
    parts += [_fence(fence) for fence in agent.fences]
    parts += [_write_playbook(playbook) for playbook in agent.playbooks if playbook.kind == "llm"]
    return "\n".join(parts)


def signature(playbook: PlaybookSpec | ParsedPlaybook) -> str:
    """`Name($a:int = 1) -> str`."""
    returns = f" -> {playbook.returns}" if playbook.returns else ""
    return f"{playbook.name}({', '.join(_param(param) for param in playbook.params)}){returns}"


def _param(param: Param) -> str:
    text = f"{'$' if param.state else ''}{param.name}"
    if param.type is not None:
        text += f":{param.type}"
    return text if param.default is None else f"{text} = {param.default}"


def _write_playbook(playbook: PlaybookSpec) -> str:
    keys = PLAYBOOK_KEYS
    listed = not playbook.steps and is_item(playbook.description.partition("\n")[0])
    parts = [f"## {signature(playbook)}\n{_preamble(playbook.metadata, playbook.description, keys, quoted=listed)}"]
    if playbook.triggers:
        rows = [f"- {trigger.code}:{trigger.kind} {trigger.text}\n" for trigger in playbook.triggers]
        parts.append("### Triggers\n" + "".join(rows))
    if playbook.steps:
        parts.append("### Steps\n" + "".join(_write_steps(playbook.steps, 0)))
    if playbook.notes:
        parts.append("### Notes\n" + "".join(f"- {note}\n" for note in playbook.notes))
    return "".join(parts)


def _write_steps(steps: Sequence[Step], depth: int) -> Iterator[str]:
    for step in steps:
        yield f"{'  ' * depth}- {step.line}:{step.op} {step.text}".rstrip() + "\n"
        yield from _write_steps(step.children, depth + 1)


def _fence(fence: PythonFence) -> str:
    mark = "```"
    while mark in fence.source:
        mark += "`"
    return f"{mark}python\n{fence.source}{'' if not fence.source else chr(10)}{mark}\n"


def _metadata(metadata: Mapping[str, Any]) -> str:
    if not metadata:
        return ""
    rows = "".join(f"  {row}\n" for row in _yaml(metadata).splitlines())
    return f"metadata:\n{rows}---\n"


def _preamble(metadata: Mapping[str, Any], description: str, keys: frozenset[str], *, quoted: bool = False) -> str:
    """Metadata and description; a description that would not be read as prose becomes metadata."""
    if not description:
        return _metadata(metadata)
    if quoted or not _is_prose(description, keys):
        return _metadata({**metadata, "description": description})
    return f"{_metadata(metadata)}{description}\n"


def _is_prose(text: str, keys: frozenset[str]) -> bool:
    problems = DiagnosticList()
    blocks = scan([SourceLine(row, "", number) for number, row in enumerate(text.split("\n"), 1)], problems)
    if any(isinstance(block, HeadingLine) or (isinstance(block, FencedBlock) and is_code(block)) for block in blocks):
        return False
    preamble = read_preamble(blocks, keys, problems)
    return not preamble.metadata and preamble.description == text and not preamble.described and not problems


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines on one line and quoted, so that nothing in them looks like Markdown."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if "\n" in value or _COMMENT in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _yaml(values: Mapping[str, Any]) -> str:
    text = yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30)
    return text.replace(_COMMENT, r"<\x21--")


class _Node(Struct):
    line: str
    op: OpCode
    text: str
    item: ListItem
    children: list[_Node] = field(default_factory=list)

    def frozen(self) -> Step:
        return Step(self.line, self.op, self.text, self.item.span, tuple(child.frozen() for child in self.children))


def is_coded(item: ListItem) -> bool:
    """Whether an item of a list is a step of PBAsm, with number and code."""
    found = coded(item.text)
    return found is not None and found[1] in OpCode.__members__


def given_steps(items: Sequence[ListItem], problems: DiagnosticList) -> tuple[Step, ...] | None:
    """The steps of a list that is PBAsm already, each item of it; None for one in prose. Where each item has the form
    of a step and the code of one is unknown, that is noted."""
    every = [inner for item in items for inner in item.walk()]
    if not all(coded(item.text) for item in every) or not any(map(is_coded, every)):
        return None
    return read_steps(items, problems)


def read_steps(items: Sequence[ListItem], problems: DiagnosticList) -> tuple[Step, ...]:
    """The tree of steps. Errors are noted: a bad code, a number twice or without its parent, a jump to nowhere."""
    roots: list[_Node] = []
    chain: list[_Node] = []
    seen: dict[str, ListItem] = {}
    for item in (inner for outer in items for inner in outer.walk()):
        node = _node(item, problems)
        if node is None:
            continue
        if node.line in seen:
            _note(
                problems, item, f"step {node.line} is given twice", f"It is also at {seen[node.line].span}.", node.line
            )
        seen[node.line] = item
        parent = node.line.rpartition(".")[0]
        while chain and chain[-1].line != parent:
            chain.pop()
        if parent and not chain:
            message = f"step {node.line} is not below a step {parent}"
            _note(problems, item, message, f"Put {parent} before it.", node.line)
        (chain[-1].children if chain else roots).append(node)
        chain.append(node)
    steps = tuple(node.frozen() for node in roots)
    _check_jumps(steps, seen, problems)
    return steps


def _node(item: ListItem, problems: DiagnosticList) -> _Node | None:
    found = coded(item.text)
    if found is None:
        _note(problems, item, "a step needs its number and code", _HINT)
        return None
    line, code, text = found
    if code not in OpCode.__members__:
        near = get_close_matches(code.upper(), OpCode, n=1)
        hint = f"Did you mean {near[0]}? {_HINT}" if near else _HINT
        _note(problems, item, f"there is no operation {code}", hint, code)
        return None
    return _Node(line, OpCode(code), waiting_in_full(code, text), item)


def waiting_in_full(code: str, text: str) -> str:
    """The text of a step, with `YLD for call` for the `YLD call` of older compilers."""
    return _SHORT_YIELD.sub("YLD for ", f"{code} {text}")[len(code) :].strip()


def _check_jumps(steps: Sequence[Step], items: Mapping[str, ListItem], problems: DiagnosticList) -> None:
    for step in (step for outer in steps for step in outer.walk()):
        target = jump_target(step)
        if step.op is OpCode.JMP and target not in items:
            named = f"step {target}, which does not exist" if target else "no step"
            hint = "Name one of " + ", ".join(sorted(items)[:12]) + "."
            _note(problems, items[step.line], f"this jumps to {named}", hint, f"JMP {step.text}".strip())


def _note(problems: DiagnosticList, item: ListItem, message: str, hint: str, word: str = "") -> None:
    problems.at_span(item.span, message, text=item.shown, hint=hint, word=word)

"""The reading of PBAsm that a lowerer wrote, held against its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from runtime.core.errors import CompileError
from runtime.language.diagnostics import DiagnosticList, ProgramRejected
from runtime.language.event_triggers import trigger_kind
from runtime.language.instructions.text import CALL, CALLED
from runtime.language.lowering.checks.lost_words import lost_clauses, stands_in
from runtime.language.lowering.messages import without_going_on
from runtime.language.lowering.phrases import PBASM, VARIABLE, plain
from runtime.language.pbasm.notation import given_steps, read_agent, signature
from runtime.language.program import NOTE, AgentSpec, OpCode, PlaybookSpec, Step, TriggerKind, jump_target
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.language.vocabulary.word_list import words_of_text

_SETTLED = frozenset({OpCode.YLD, OpCode.RET, OpCode.JMP, OpCode.CHK})
"""Instructions that replace all words of a step."""
_BECOME_CODES = frozenset({"EndProgram", "Return", "Yld"})


def compare(source: ParsedAgent, compiled: Sequence[AgentSpec]) -> list[str]:
    """The differences in agents, playbooks, signatures, triggers, steps, notes and Python, as sentences."""
    if [agent.name for agent in compiled] != [source.name]:
        found = ", ".join(agent.name for agent in compiled) or "none"
        return [f"expected the one agent {source.name}, found {found}"]
    agent = compiled[0]
    differences = []
    if agent.kind is not source.kind:
        differences.append(f"{source.name} is of type {source.kind}, not {agent.kind}")
    if [fence.source for fence in agent.fences] != [fence.source for fence in source.fences]:
        differences.append("the python fences must be copied byte for byte, all of them and in order")
    wanted = {playbook.name: playbook for playbook in source.playbooks if playbook.kind == "llm"}
    found_names = [playbook.name for playbook in agent.playbooks if playbook.kind == "llm"]
    there = frozenset(found_names)
    differences += [f"the playbook {name} is missing" for name in wanted if name not in there]
    differences += [f"there is no playbook {name} in the source" for name in found_names if name not in wanted]
    if not differences and found_names != list(wanted):
        differences.append(f"the playbooks must be in the order of the source: {', '.join(wanted)}")
    for playbook in agent.playbooks:
        if playbook.kind == "llm" and playbook.name in wanted:
            differences += _compare_playbook(wanted[playbook.name], playbook)
    return differences


def _compare_playbook(source: ParsedPlaybook, compiled: PlaybookSpec) -> list[str]:
    differences = []
    if signature(source) != signature(compiled):
        differences.append(f"the signature must be {signature(source)}, not {signature(compiled)}")
    for what, before, after in (
        ("triggers", len(source.triggers), len(compiled.triggers)),
        ("notes", len(source.notes), len(compiled.notes)),
    ):
        if before != after:
            differences.append(f"{source.name} has {before} {what} in the source, {after} in the compiled text")
    for number, (item, trigger) in enumerate(zip(source.triggers, compiled.triggers, strict=False), 1):
        text = _without_code(item.text)
        if _words(text) != _words(trigger.text):
            differences.append(f"{source.name}: the text of trigger T{number} must be the author's: {text}")
        elif trigger_kind(text) is TriggerKind.BGN is not trigger.kind:
            differences.append(f"{source.name}: trigger T{number} is the beginning: its code is BGN")
    for number, (item, note) in enumerate(zip(source.notes, compiled.notes, strict=False), 1):
        text = _without_code(item.text)
        if _words(text) != _words(_without_code(note)):
            differences.append(f"{source.name}: the text of note N{number} must be the author's: {text}")
    return differences + _compare_steps(source, compiled)


def _without_code(text: str) -> str:
    """A trigger or a note without `T1:EVT`, `CND:` or `N1` before it."""
    code, _, said = text.partition(" ")
    bare, words = code.rstrip(":.-"), said.lstrip(" :.-")
    return words if words and (NOTE.fullmatch(bare) or bare.rpartition(":")[2] in TriggerKind.__members__) else text


def _compare_steps(source: ParsedPlaybook, compiled: PlaybookSpec) -> list[str]:
    given = given_steps(source.steps, DiagnosticList())
    if given is not None:
        same = _lines(given) == _lines(compiled.steps)
        return [] if same else [f"the steps of {source.name} are PBAsm already: copy them"]
    differences = []
    before, after = len(source.steps), len(compiled.steps)
    if before != after:
        differences.append(f"{source.name} has {before} top-level steps in the source, {after} in the compiled text")
    for item, step in zip(source.steps, compiled.steps, strict=False):
        differences += _compare_step(source.name, item, step)
    return differences


def _lines(steps: Sequence[Step]) -> list[tuple[str, str, str]]:
    return [(inner.line, inner.op, inner.text) for step in steps for inner in step.walk()]


def _words(text: str) -> list[str]:
    """The author's own words for comparison: without case, and without the marks between them."""
    return [word for word in words_of_text(text).words if word == "$" or word.isalnum() or "_" in word]


def _compare_step(playbook: str, item: ListItem, step: Step) -> list[str]:
    """Compare a step, which may fold its details into one line or spell out its sentence, within reason."""
    if not item.children and not step.children:
        return [f"{playbook}:{step.line} has lost {lost} of the source" for lost in _lost(item, step)]
    most = sum(1 for inner in item.walk() if not inner.children)
    after = sum(1 for inner in step.walk() if not inner.children)
    clauses = sum(inner.text.count(mark) for inner in item.walk() for mark in (";", ",", " and ", " then ")) + 3
    if after > most * 2 + clauses:
        return [f"{playbook}:{step.line} has {after} instructions for {most} steps of the source; invent none"]
    return [f"{playbook}:{step.line} has lost {lost} of the source" for lost in _lost(item, step)]


def _lost(item: ListItem, step: Step) -> list[str]:
    """The variables, calls and clauses of a source step that its compiled form lacks."""
    before, after = ("\n".join(inner.text for inner in whole.walk()) for whole in (item, step))
    said = (PBASM.sub(r"\2", plain(inner.text)) for inner in item.walk())
    texts = [without_going_on(text, in_a_loop=False) for text in said]
    rows = [f"{inner.op} {inner.text}" for inner in step.walk()]
    worded = len(texts) > 1 or not (step.op in _SETTLED or is_call(step))
    clauses = [f'"{lost}"' for text in texts for lost in lost_clauses(text, rows) if worded or lost != text]
    return lost_names(before, after) or clauses


def is_call(step: Step) -> bool:
    """Whether a step calls the built-in that the words mean: "Wait five minutes" is Sleep(300)."""
    called = CALL.match(step.text)
    return step.op is OpCode.QUE and called is not None and called[1] != "Say"


def lost_names(said: str, compiled: str) -> list[str]:
    """The variables, with their types, and the calls in an author's text that a compiled one lacks."""
    if ("$" not in said and "(" not in said) or stands_in(said, compiled):
        return []
    before, after = said.replace("self.", ""), compiled.replace("self.", "")
    kept = {*_names(after), *_BECOME_CODES}
    kept |= {name.partition(":")[0] for name in kept}
    lost = dict.fromkeys(_names(before))
    return [name for name in lost if name not in kept and name.lower() != "say"]


def _names(text: str) -> Iterator[str]:
    yield from (found[0] for found in VARIABLE.finditer(text))
    yield from CALLED.findall(text)


def relocate(source: ParsedAgent, compiled: AgentSpec) -> AgentSpec:
    """The compiled agent with the places of its source, and with the parts of the source that are not lowered."""
    wanted = {playbook.name: playbook for playbook in source.playbooks}
    return replace(
        compiled,
        span=source.span,
        description=source.description,
        metadata=dict(source.metadata),
        fences=source.fences,
        playbooks=tuple(_relocate_playbook(wanted[playbook.name], playbook) for playbook in compiled.playbooks),
    )


def _relocate_playbook(source: ParsedPlaybook, compiled: PlaybookSpec) -> PlaybookSpec:
    triggers = tuple(
        replace(trigger, span=item.span) for trigger, item in zip(compiled.triggers, source.triggers, strict=True)
    )
    return replace(
        compiled,
        span=source.span,
        description=source.description,
        metadata=dict(source.metadata),
        triggers=triggers,
        steps=given_steps(source.steps, DiagnosticList()) or _relocate_steps(source.steps, compiled.steps, None),
    )


def _goes_back(step: Step) -> bool:
    """Whether a step is the JMP at the end of a loop, back to the line of that loop."""
    return step.op is OpCode.JMP and not step.children and jump_target(step) == step.line.rpartition(".")[0]


def _relocate_steps(items: Sequence[ListItem], steps: Sequence[Step], parent: ListItem | None) -> tuple[Step, ...]:
    """Move each step to the place of its item; one without (a JMP, a clause of the same sentence) to its parent's."""
    extra = max(0, len(steps) - len(items)) if parent is not None else 0
    skipped = extra - 1 if extra and _goes_back(steps[-1]) else extra
    placed = []
    for index, step in enumerate(steps):
        own = items[index - skipped] if 0 <= index - skipped < len(items) else None
        item = own or parent
        children = _relocate_steps(own.children if own else (), step.children, item)
        placed.append(Step(step.line, step.op, step.text, item.span if item else step.span, children))
    return tuple(placed)


def read_lowered(text: str, agent: ParsedAgent) -> AgentSpec:
    """The agent that a lowerer wrote, with the places of its source. Raises CompileError with all differences."""
    try:
        parsed = parse(read_text(text, f"{agent.name}.pbasm"))
        problems = DiagnosticList()
        specs = [read_agent(each, problems) for each in parsed.agents]
        problems.stop_if_any()
    except ProgramRejected as error:
        raise CompileError(f"{agent.name} was compiled to something that is not PBAsm:\n{error}") from error
    differences = compare(agent, specs)
    if differences:
        raise CompileError(f"{agent.name} was compiled to something else:\n" + "\n".join(differences))
    return relocate(agent, specs[0])

"""The use and the making of locked steps: readings of a model in the place of free steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from runtime.events.happening import Tell
from runtime.language.diagnostics import DiagnosticList, Span
from runtime.language.instructions.decode import decode
from runtime.language.instructions.fence import is_named
from runtime.language.instructions.model import Ask, Free, Instruction, Say
from runtime.language.instructions.uses import calls
from runtime.language.locking.decisions import decisions_on
from runtime.language.locking.lock_file import SUFFIX, LockedStep, Locks, digest_of
from runtime.language.lowering import phrases
from runtime.language.lowering.checks.lost_words import lost_clauses
from runtime.language.lowering.checks.source_check import lost_names, relocated, strays
from runtime.language.lowering.lowerer import LoweredAgent, LoweringReport, UnclassifiedStep
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import read_steps, signature
from runtime.language.program import AgentKind, AgentSpec, OpCode, Step, coded, jump_target
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.language.vocabulary.phrase import PhrasePattern, phrase
from runtime.language.vocabulary.subjects import speaks_of_ending
from runtime.llm.client import LLMClient

_EVERYWHERE = phrases.RESULTLESS | {"Sleep"}
_REASONS: Mapping[OpCode, PhrasePattern] = {
    OpCode.TNK: phrase("reason to think"),
    OpCode.RET: phrase("reason to return"),
    OpCode.JMP: phrase("reason to jump"),
    OpCode.CND: phrase("reason for a condition"),
}
"""Words that give a reason for a code."""


def normalised(text: str) -> str:
    """A step's words with single blanks."""
    return " ".join(text.split())


def context_of(playbook: ParsedPlaybook, line: int) -> str | None:
    """The digest of a step's heading, the steps it belongs to, itself and the one before, if `line` begins one."""
    found = next(_ways(playbook.steps, line, ()), None)
    return None if found is None else digest_of(map(normalised, (signature(playbook), *found)))[:16]


def _ways(items: tuple[ListItem, ...], line: int, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    before = ""
    for item in items:
        if item.span.line == line:
            yield (*above, before, item.text)
        yield from _ways(item.children, line, (*above, item.text))
        before = item.text


class LockedProgram(Struct, frozen=True):
    """What locks are after a model was asked: all entries that hold, by file, and the steps that stay free."""

    locks: Locks
    free: tuple[UnclassifiedStep, ...]


def with_locked(
    lowered: LoweredAgent, source: ParsedAgent, program: ParsedProgram, locks: Locks
) -> tuple[LoweredAgent, tuple[LockedStep, ...]]:
    """An agent with the locked readings in the place of its free steps, and the entries that were used."""
    free: list[UnclassifiedStep] = []
    decided: list[UnclassifiedStep] = []
    used: list[LockedStep] = []
    if not any(note.span.file in locks for note in lowered.report.unclassified):
        return lowered, ()
    spec = lowered.spec
    for note in lowered.report.unclassified:
        playbook = source.playbook(note.playbook)
        entry = None if playbook is None else _entry(note, source.name, playbook, locks.get(note.span.file, ()))
        taken = None if entry is None else with_reading(spec, note, _steps(entry, note.line), source, program)
        if entry is None or taken is None:
            free.append(note)
            continue
        spec = taken
        decided.append(note)
        used.append(entry)
    return LoweredAgent(spec, LoweringReport(tuple(free), tuple(decided))), tuple(used)


async def ask_for_locks(program: ParsedProgram, locks: Locks, llm: LLMClient, tell: Tell, today: date) -> LockedProgram:
    """Ask a model, in one request, for the steps that stay free. Entries that hold stay, others go."""
    rules = RulesLowerer()
    found: dict[str, list[LockedStep]] = {}
    free: list[tuple[ParsedAgent, UnclassifiedStep]] = []
    specs: dict[str, AgentSpec] = {}
    for agent in program.agents:
        if agent.kind is not AgentKind.AI or agent.compiled:
            continue
        lowered, used = with_locked(await rules.lower(agent, program), agent, program, locks)
        specs[agent.name] = lowered.spec
        free += [(agent, note) for note in lowered.report.unclassified]
        for entry in used:
            found.setdefault(entry.place.file.removesuffix(SUFFIX), []).append(entry)
    decisions = await decisions_on([(one.name, note) for one, note in free], program, llm, tell) if free else {}
    left: list[UnclassifiedStep] = []
    for agent, note in free:
        steps = decisions.get((agent.name, note.playbook, note.line), ())
        taken = with_reading(specs[agent.name], note, steps, agent, program) if steps else None
        playbook = agent.playbook(note.playbook)
        rows = tuple(_rows(steps[0], note.line)) if taken and steps else ()
        context = context_of(playbook, note.span.line) if playbook and rows else None
        if taken is None or context is None:
            left.append(note)
            continue
        specs[agent.name] = taken
        name = f"{agent.name}.{note.playbook}"
        entry = LockedStep(name, normalised(note.text), context, rows, llm.model, today, rules.fingerprint)
        found.setdefault(note.span.file, []).append(entry)
    return LockedProgram(found, tuple(left))


def unused_entries(locks: Locks, used: Collection[LockedStep]) -> Iterator[LockedStep]:
    """The entries that no step of the program uses."""
    places = {entry.place for entry in used}
    return (entry for entries in locks.values() for entry in entries if entry.place not in places)


def _entry(
    note: UnclassifiedStep, agent: str, playbook: ParsedPlaybook, entries: Sequence[LockedStep]
) -> LockedStep | None:
    wanted = f"{agent}.{note.playbook}", normalised(note.text)
    found = [entry for entry in entries if (entry.playbook, entry.text) == wanted]
    context = context_of(playbook, note.span.line) if found else None
    return next((entry for entry in found if entry.context == context), None)


def _steps(entry: LockedStep, line: str) -> tuple[Step, ...]:
    """The steps of an entry, numbered below a line; none where its rows are no PBAsm."""
    items = []
    for row in entry.pbasm:
        step = coded(f"{line}{row}")
        if step is None:
            return ()
        number, code, text = step
        text = text.replace("@", line, 1) if code == OpCode.JMP else text
        items.append(ListItem(f"{number}:{code} {text}", Span("lock", entry.place.line)))
    return read_steps(items, DiagnosticList())  # whole agents are checked afterwards; this is a part of one


def _rows(step: Step, line: str) -> Iterator[str]:
    for one in step.walk():
        text = one.text
        if one.op is OpCode.JMP and (text == line or text.startswith((f"{line}.", f"{line} "))):
            text = f"@{text.removeprefix(line)}"
        yield f"{one.line.removeprefix(line)}:{one.op} {text}"


def with_reading(
    spec: AgentSpec, note: UnclassifiedStep, steps: Sequence[Step], source: ParsedAgent, program: ParsedProgram
) -> AgentSpec | None:
    """The agent with a model's steps in place of a free one; None if they are not what its author wrote."""
    playbook = spec.playbook(note.playbook)
    old = playbook.step(note.line) if playbook else None
    if playbook is None or old is None or len(steps) != 1 or not _names_are_known(steps[0], note, source, program):
        return None
    if (old.children and steps[0].children) or not _has_reasons(steps[0], note.text):
        return None
    new = replace(steps[0], children=steps[0].children or old.children)
    rows = [f"{inner.op} {inner.text}" for inner in new.walk()]
    stays_free = new.op is OpCode.EXE or (new.op is not OpCode.CHK and isinstance(decode(new).head, Free))
    if stays_free or lost_clauses(note.text, rows) or lost_names(note.text, "\n".join(rows)):
        return None
    parsed = source.playbook(note.playbook)
    at = int(note.line.partition(".")[0]) - 1
    item = parsed.steps[at : at + 1] if parsed else ()
    placed = [
        *playbook.steps[:at],
        *relocated(item, _with(playbook.steps[at : at + 1], new), None),
        *playbook.steps[at + 1 :],
    ]
    if strays(item[0], placed[at]) or not _is_in_order(placed):
        return None
    changed = replace(playbook, steps=tuple(placed))
    return replace(spec, playbooks=tuple(changed if one is playbook else one for one in spec.playbooks))


def _is_in_order(steps: Sequence[Step]) -> bool:
    """Whether each step has a number of its own below that of the step above it, and jumps go to one of them."""
    every = [inner for step in steps for inner in step.walk()]
    lines = {step.line for step in every}
    below = all(child.line.rpartition(".")[0] == step.line for step in every for child in step.children)
    jumps = all(jump_target(step) in lines for step in every if step.op is OpCode.JMP)
    return len(lines) == len(every) and below and jumps


def _with(steps: tuple[Step, ...], new: Step) -> tuple[Step, ...]:
    return tuple(new if step.line == new.line else replace(step, children=_with(step.children, new)) for step in steps)


def _names_are_known(step: Step, note: UnclassifiedStep, source: ParsedAgent, program: ParsedProgram) -> bool:
    """Whether steps call and address only names that the program has."""
    done = [decode(inner) for inner in step.walk()]
    people = {"user", "meeting", *program.names}
    heard = {name for one in done for name in _heard(one)} - people
    if any(not name.startswith("$") or name not in note.text for name in heard):
        return False
    own = {playbook.name for playbook in source.playbooks if is_named(note.text, playbook.name)}
    called = frozenset[str]().union(*map(calls, done)) - own - _EVERYWHERE
    return all(
        f"{name}(" in note.text or (program.has_playbook(agent, playbook) and is_named(note.text, playbook))
        for name, agent, _, playbook in ((name, *name.rpartition(".")) for name in called)
    )


def _heard(done: Instruction) -> Iterator[str]:
    """Whom an instruction speaks to or waits for."""
    for part in done.parts:
        whom = (*getattr(part, "targets", ()), *getattr(part, "sources", ()))
        yield from (one.removeprefix("agent ") for one in whom)


def _has_reasons(step: Step, text: str) -> bool:
    """Whether the author's words give a reason for the model's version: losing no word is not enough."""
    for one in step.walk():
        speaks = any(isinstance(part, Say | Ask) for part in decode(one).parts)
        reason = phrase("reason to speak") if speaks else _REASONS.get(one.op)
        ends = "YLD for exit" in f"{one.op} {one.text}" and not speaks_of_ending(text, ())
        goes_round = one.op is OpCode.JMP and one.text.strip() == step.line
        if not goes_round and (ends or not (reason is None or reason.inside(text))):
            return False
    return True

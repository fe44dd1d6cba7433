"""The use and the making of locked steps: readings of a model in the place of free steps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from runtime.events.happening import Tell
from runtime.language.diagnostics import Span
from runtime.language.locking.acceptance import with_reading
from runtime.language.locking.context import context_of, normalised
from runtime.language.locking.decisions import decisions_on
from runtime.language.locking.lock_file import SUFFIX, LockedStep, Locks
from runtime.language.lowering.lowerer import Lowered, LoweringReport, Unclassified
from runtime.language.lowering.read_back import read_lowered
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.pbasm.notation import write_agent
from runtime.language.pbasm.step_lines import read_steps
from runtime.language.problems import Problems
from runtime.language.program import AgentKind, AgentSpec, Op, Step
from runtime.language.syntax.nodes import ListItem, ParsedAgent, ParsedPlaybook, ParsedProgram
from runtime.llm.client import LLMClient

_ROW = re.compile(r"((?:\.\d+)*):([A-Z]{3}) ?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LockedProgram:
    """What locks are after a model was asked: all entries that hold, by file, and the steps that stay free."""

    locks: Locks
    free: tuple[Unclassified, ...]


def with_locked(
    lowered: Lowered, source: ParsedAgent, program: ParsedProgram, locks: Locks
) -> tuple[Lowered, tuple[LockedStep, ...]]:
    """An agent with the locked readings in the place of its free steps, and the entries that were used."""
    free: list[Unclassified] = []
    decided: list[Unclassified] = []
    used: list[LockedStep] = []
    if not any(note.span.file in locks for note in lowered.report.unclassified):
        return lowered, ()
    spec = read_lowered(lowered.pbasm, source)
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
    return Lowered(write_agent(spec), LoweringReport(tuple(free), tuple(decided))), tuple(used)


async def ask_for_locks(program: ParsedProgram, locks: Locks, llm: LLMClient, tell: Tell, today: date) -> LockedProgram:
    """Ask a model, in one request, for the steps that stay free. Entries that hold stay, others go.

    Raises ProgramRejected, CompileError and the model's exceptions.
    """
    rules = RulesLowerer()
    found: dict[str, list[LockedStep]] = {}
    free: list[tuple[ParsedAgent, Unclassified]] = []
    specs: dict[str, AgentSpec] = {}
    for agent in program.agents:
        if agent.kind is not AgentKind.AI or agent.compiled:
            continue
        lowered, used = with_locked(await rules.lower(agent, program), agent, program, locks)
        specs[agent.name] = read_lowered(lowered.pbasm, agent)
        free += [(agent, note) for note in lowered.report.unclassified]
        for entry in used:
            found.setdefault(entry.place.file.removesuffix(SUFFIX), []).append(entry)
    decisions = await decisions_on([(one.name, note) for one, note in free], program, llm, tell) if free else {}
    left: list[Unclassified] = []
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
    note: Unclassified, agent: str, playbook: ParsedPlaybook, entries: Sequence[LockedStep]
) -> LockedStep | None:
    name, text = f"{agent}.{note.playbook}", normalised(note.text)
    return next(
        (
            entry
            for entry in entries
            if (entry.playbook, entry.text) == (name, text) and entry.context == context_of(playbook, note.span.line)
        ),
        None,
    )


def _steps(entry: LockedStep, line: str) -> tuple[Step, ...]:
    """The steps of an entry, numbered below a line; none where its rows are no PBAsm."""
    items = []
    for row in entry.pbasm:
        match = _ROW.fullmatch(row)
        if match is None:
            return ()
        below, code, text = match.groups()
        if code == Op.JMP:
            text = text.replace("@", line, 1)
        items.append(ListItem(f"{line}{below}:{code} {text}", Span("lock", entry.place.line)))
    return read_steps(items, Problems())  # whole agents are checked afterwards; this is a part of one


def _rows(step: Step, line: str) -> Iterator[str]:
    for one in step.walk():
        text = one.text
        if one.op is Op.JMP and (text == line or text.startswith((f"{line}.", f"{line} "))):
            text = f"@{text.removeprefix(line)}"
        yield f"{one.line.removeprefix(line)}:{one.op} {text}"

"""A program line by line: the author's words, what the runtime does alone, and what it asks a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from runtime.authoring.explain import PartKind, StepPart, as_worded, explain
from runtime.authoring.unfinished import defined_in
from runtime.execution.triggers.kinds import judged_by_model
from runtime.language.diagnostics import Span
from runtime.language.instructions.decode import decode_playbook
from runtime.language.instructions.uses import sets_texts
from runtime.language.lowering.lowerer import LoweringReport
from runtime.language.program import AgentSpec, PlaybookSpec, Program, Trigger, TriggerKind
from runtime.language.syntax.listing import is_item, item_parts

Line = dict[str, Any]


def explanation_of(program: Program, report: LoweringReport | None = None) -> list[dict[str, Any]]:
    """Each playbook with its lines, as JSON data.

    A line has its location, its file and number, the author's words ("" where a line before has them), who compiled it
    ("rules", or "model" for those that it decided by the `report`) and its parts: the kind ("alone", "words", "value",
    "choice", "free"), what is done, and for a free one why, as the report says it.
    """
    _rows.cache_clear()  # files may have been saved since the last time
    told = report or LoweringReport()
    by_model = {step.span for step in told.decided}
    reasons = {step.span: step.reason for step in told.unclassified if step.reason}
    return [
        {
            "agent": agent.name,
            "playbook": playbook.name,
            "mode": playbook.mode if playbook.kind == "llm" else playbook.kind,
            "lines": [*_triggers(program, agent, playbook), *_steps(program, agent, playbook, by_model, reasons)],
        }
        for agent in program.agents
        for playbook in agent.playbooks
    ]


def _triggers(program: Program, agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Line]:
    for trigger in playbook.triggers:
        yield _line(f"{trigger.code}:{trigger.kind}", trigger.span, trigger.text, [_trigger(agent, playbook, trigger)])


def _trigger(agent: AgentSpec, playbook: PlaybookSpec, trigger: Trigger) -> StepPart:
    if trigger.kind is TriggerKind.BGN:
        return StepPart(PartKind.ALONE, f"Execute {playbook.name} when the program begins.")
    if judged_by_model(agent, agent, playbook, trigger):
        return StepPart(PartKind.CHOICE, f"Whether this is true; then {playbook.name} is executed.")
    return StepPart(PartKind.ALONE, f"Execute {playbook.name} when this is true.")


def _steps(
    program: Program,
    agent: AgentSpec,
    playbook: PlaybookSpec,
    by_model: Collection[Span],
    reasons: Mapping[Span, str],
) -> Iterator[Line]:
    if not playbook.walked:
        for step in playbook.walk_steps():
            why = f"the playbook is executed in {playbook.mode} mode, where steps are guidance"
            parts = [StepPart(PartKind.FREE, "Carry out with statements.", why)]
            yield _line(f"{step.line}:{step.op}", step.span, step.text, parts)
        return
    required, defined = _required(program, agent), frozenset(defined_in(agent))
    shown_before: set[Span] = set()
    spans = {step.line: step.span for step in playbook.walk_steps()}
    nodes = decode_playbook(playbook).nodes
    texts = {param.name for param in playbook.params if param.type == "str"}.union(
        *(sets_texts(node.instruction) for node in nodes.values())
    )
    for line, node in nodes.items():
        span, instruction = spans[line], node.instruction
        meant, reason = explain(as_worded(instruction, defined, texts), required), reasons.get(span)
        parts = [replace(one, why=reason) if reason and one.kind is PartKind.FREE else one for one in meant]
        shown = _line(instruction.location, span, instruction.text, parts)
        if span in shown_before:
            shown["words"] = ""
        if span in by_model:
            shown["by"] = "model"
        shown_before.add(span)
        yield shown


def _line(location: str, span: Span, text: str, parts: Sequence[StepPart]) -> Line:
    return {
        "location": location,
        "file": span.file,
        "line": span.line,
        "words": _author_words(span.file, span.line) or text,
        "by": "rules",
        "parts": [
            {"kind": str(part.kind), "does": part.text, **({"why": part.why} if part.why else {})} for part in parts
        ],
    }


def _required(program: Program, agent: AgentSpec) -> dict[str, list[str]]:
    """The required parameters of the playbooks that an agent can call, by the names that the agent uses."""
    return {
        prefix + playbook.name: [param.name for param in playbook.params if param.default is None]
        for owner in program.agents
        for prefix in ((f"{owner.name}.",) if owner is not agent else ("", f"{owner.name}."))
        for playbook in owner.playbooks
        if not playbook.meeting
    }


def _author_words(file: str, line: int) -> str:
    """A step as its author wrote it, with continuation lines; "" if the file cannot be read."""
    rows = _rows(file)
    if not 0 < line <= len(rows):
        return ""
    item = item_parts(rows[line - 1].expandtabs(4))
    words = [item[2] if item is not None else rows[line - 1].strip()]
    for row in rows[line:]:
        if not row[:1].isspace() or not row.strip() or is_item(row.expandtabs(4)):
            break
        words.append(row.strip())
    return " ".join(words)


def row_of(line: Line) -> str:
    """The row of the file in which a line begins; "" if it cannot be read."""
    rows, number = _rows(line["file"]), line["line"]
    return rows[number - 1] if 0 < number <= len(rows) else ""


@lru_cache(maxsize=64)
def _rows(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def leads_back(line: Line) -> bool:
    """Whether a line only leads back to the beginning of its loop, and its author wrote none."""
    above = line["location"].rpartition(".")[0]
    return not line["words"] and [part["does"] for part in line["parts"]] == [f"Go to {above}."]

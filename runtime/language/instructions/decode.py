"""Decoding: each step of a compiled program becomes an instruction, once, when the program is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from runtime.language.diagnostics import Span
from runtime.language.instructions.actions import DONE, WAITS, actions_of, return_of, thinking_of, waiting_of
from runtime.language.instructions.control import control_of, jump_of
from runtime.language.instructions.lookups import with_lookups
from runtime.language.instructions.model import (
    Free,
    Instruction,
    InstructionNode,
    Leave,
    Meaning,
    PlaybookCode,
    Prose,
    StepGroup,
)
from runtime.language.instructions.steps.course import course_of
from runtime.language.instructions.text import clauses_of
from runtime.language.program import NOTE, OpCode, PlaybookSpec, Step

_ALONE = frozenset({OpCode.JMP, OpCode.RET, OpCode.YLD, OpCode.TNK, OpCode.QUE, OpCode.EXE})
"""The codes of steps with the same meaning everywhere."""


def decode_playbook(playbook: PlaybookSpec) -> PlaybookCode:
    """The instructions of a playbook's steps."""
    return _decoded(playbook.steps, playbook.notes)


@lru_cache(maxsize=1024)
def _decoded(steps: tuple[Step, ...], notes: tuple[str, ...]) -> PlaybookCode:
    """The decoded steps, cached, because a program's sessions share them."""
    code = PlaybookCode({}, steps[0].line if steps else None)
    _place(steps, None, code, {found[1]: note[found.end() :].lstrip() for note in notes if (found := NOTE.match(note))})
    return code


def _place(steps: Sequence[Step], parent: str | None, code: PlaybookCode, notes: dict[str, str]) -> None:
    beside = tuple(step.line for step in steps)
    for step in steps:
        below = tuple(child.line for child in step.children)
        code.nodes[step.line] = InstructionNode(decode(step, notes), parent, below, beside)
        _place(step.children, step.line, code, notes)


def decode(step: Step, notes: dict[str, str] | None = None) -> Instruction:
    """The instructions of one step."""
    parts = _parts_alone(step.op, step.text) if step.op in _ALONE else _looked_up(_parts(step, notes or {}))
    if step.children and len(parts) == 1 and isinstance(parts[0], Free):
        parts = (StepGroup(step.text),)
    return Instruction(step.line, step.op.value, step.text, parts)


@lru_cache(maxsize=4096)
def _parts_alone(op: OpCode, text: str) -> tuple[Meaning, ...]:
    """The parts of a step that follow from its code and text alone; cached, because they are used several times."""
    return _looked_up(_parts(Step("", op, text, Span("", 0)), {}))


def _looked_up(parts: Iterable[Meaning]) -> tuple[Meaning, ...]:
    return tuple(with_lookups(part) for part in parts)


def decode_text(op: OpCode, text: str) -> Instruction:
    """The instructions of a single step with this code and text."""
    return decode(Step("01", op, text, Span("", 0)))


def _yielding(text: str) -> tuple[Meaning, ...]:
    clauses = clauses_of(text)
    if any(map(DONE.begins, clauses)):
        return tuple(actions_of(f"YLD {text}"))
    reasons = [clause.removeprefix("YLD ").strip() for clause in clauses]
    if not all(map(WAITS.match, reasons)):
        return (Free(Prose(text), "it contains more than the wait"),)
    return tuple(waiting_of(reasons)) or (Free(Prose(text)),)


def _parts(step: Step, notes: dict[str, str]) -> tuple[Meaning, ...]:
    text = step.text.strip()
    match step.op:
        case OpCode.CND | OpCode.LOP | OpCode.ELS:
            return (control_of(step),)
        case OpCode.JMP:
            return (jump_of(text),)
        case OpCode.RET:
            return return_of(text)
        case OpCode.YLD:
            return _yielding(text)
        case OpCode.CHK:
            number = NOTE.match(text)
            note = notes.get(number[1], "") if number else ""
            return (Free(Prose(f"Apply the note: {note}" if note else text), "it applies a note"),)
        case OpCode.TNK:
            return (thinking_of(text),)
    course = course_of(text)
    if course is not None and isinstance(course.does, Leave):
        return (course.does,)
    return (
        (StepGroup(""),) if text.rstrip(".").lower() == "do nothing" else tuple(actions_of(text)) or (StepGroup(text),)
    )

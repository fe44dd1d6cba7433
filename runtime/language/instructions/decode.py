"""Decoding: each step of a compiled program becomes an instruction, once, when the program is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from runtime.language.diagnostics import Span
from runtime.language.instructions.actions import actions_of, may_wait_for, return_of, thinking_of, waiting_of
from runtime.language.instructions.lookups import with_lookups
from runtime.language.instructions.model import (
    Action,
    BranchSide,
    Condition,
    Free,
    Instruction,
    InstructionNode,
    Jump,
    Leave,
    Loop,
    LoopKind,
    Meaning,
    PlaybookCode,
    Prose,
    StepGroup,
)
from runtime.language.instructions.operands import condition_of, negated
from runtime.language.instructions.steps.course import course_of
from runtime.language.instructions.steps.repeating import branch_of, loop_again, loop_of
from runtime.language.instructions.text import clauses_of
from runtime.language.program import NOTE, OpCode, PlaybookSpec, Step
from runtime.language.vocabulary.phrase import phrase
from runtime.language.vocabulary.subjects import speaks_of_failure

_ALONE = frozenset({OpCode.JMP, OpCode.RET, OpCode.YLD, OpCode.TNK, OpCode.QUE, OpCode.EXE})
"""The codes of steps with the same meaning everywhere."""

_JUMPS_IF = ("if", "unless", "until", "while", "as long as")


def jump_of(text: str) -> Action:
    line, word, condition = _target(text)
    if not line:
        return Free(Prose(text), "it goes to a line without a name")
    return Jump(line, condition_of(condition), unless=word in ("unless", "until")) if word else Jump(line)


def _target(text: str) -> tuple[str, str, str]:
    """The line of a jump ("" for none), and the word and the text of its condition: `02.01 unless $done`."""
    said = text.strip()
    for start in ("to ", "step "):
        said = said[len(start) :].lstrip() if said.lower().startswith(start) else said
    line, *behind = said.split(maxsplit=1)[:2] or [""]
    rest = behind[0].lstrip(",; ") if behind else ""
    word = next((one for one in _JUMPS_IF if rest.lower().startswith(f"{one} ")), "")
    named = all(part.isdecimal() for part in line.rstrip(",;").split(".")) and (word or not rest)
    return (line.rstrip(",;"), word, rest[len(word) :].strip()) if named else ("", "", "")


_SOURCES = ("meeting", "user")


def control_of(step: Step) -> Meaning:
    loops = step.op is OpCode.LOP or any(
        child.op is OpCode.JMP and _target(child.text)[0] == step.line for child in step.children
    )
    return _control(step.op, step.text.strip(), loops=loops, below=bool(step.children))


@lru_cache(maxsize=4096)
def _control(op: OpCode, text: str, *, loops: bool, below: bool) -> Meaning:
    """What a line means that `loops`, as one below goes back to it, or that has others `below`; read several times."""
    words, waits = _without_wait(text)
    branch = branch_of(text)
    loop = loop_of(words) if branch is None else loop_again(branch) if loops else None
    if loop is not None:
        return replace(loop, waits=waits)
    if branch is None:
        if op is OpCode.LOP:
            return Loop(LoopKind.WHILE, condition_of(text))
        if op is OpCode.ELS:
            return Condition(BranchSide.ELSE, None)
        return Condition(BranchSide.IF, condition_of(text), speaks_of_failure(text))
    if branch.side is BranchSide.ELSE:
        return Condition(BranchSide.ELSE, None)
    if not below:
        return Free(Prose(text), "it is a condition whose consequence is in the same sentence")
    test = negated(condition_of(branch.test)) if branch.denied else condition_of(branch.test)
    return Condition(BranchSide.ELSE_IF if op is OpCode.ELS else branch.side, test, speaks_of_failure(branch.test))


def _without_wait(text: str) -> tuple[str, str]:
    """A heading without the wait with which each round of its loop begins, and for whom that is; "" for none."""
    words, wait, whom = text.rstrip(".").rpartition("; YLD for ")
    known = wait and (whom in _SOURCES or (whom.startswith("agent ") and whom.removeprefix("agent ").isidentifier()))
    return (words.rstrip(), whom) if known else (text, "")


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
    parts = _parts_alone(step.op, step.text) if step.op in _ALONE else with_all_lookups(_parts(step, notes or {}))
    if step.children and len(parts) == 1 and isinstance(parts[0], Free):
        parts = (StepGroup(step.text),)
    return Instruction(step.line, step.op.value, step.text, parts)


@lru_cache(maxsize=4096)
def _parts_alone(op: OpCode, text: str) -> tuple[Meaning, ...]:
    """The parts of a step that follow from its code and text alone; cached, because they are used several times."""
    return with_all_lookups(_parts(Step("", op, text, Span("", 0)), {}))


def with_all_lookups(parts: Iterable[Meaning]) -> tuple[Meaning, ...]:
    """Instructions that know which calls in their prose are made before a model is asked."""
    return tuple(with_lookups(part) for part in parts)


def work_of(clause: str) -> tuple[Meaning, ...]:
    """What a clause does, as its author wrote it."""
    return _parts_alone(OpCode.EXE, clause)


def _yielding(text: str) -> tuple[Meaning, ...]:
    clauses = clauses_of(text)
    if any(map(phrase("done when").begins, clauses)):
        return tuple(actions_of(f"YLD {text}"))
    reasons = [clause.removeprefix("YLD ").strip() for clause in clauses]
    if not all(map(may_wait_for, reasons)):
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

"""Waits of loops that last as long as a meeting: each round waits for the meeting, unless all its paths wait anyway."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import (
    Ask,
    BranchSide,
    Condition,
    End,
    Free,
    Instruction,
    Jump,
    Leave,
    Loop,
    LoopKind,
    Meaning,
    Return,
    Wait,
)
from runtime.language.instructions.steps.course import begins_to_wait
from runtime.language.instructions.uses import calls
from runtime.language.lowering.instruction import meaning_of
from runtime.language.program import PlaybookSpec, PythonFence, Step
from runtime.language.syntax.signature import parse_python
from runtime.language.vocabulary.phrase import phrase

_WAITING_CALLS = frozenset({"Ask", "WaitForMessage", "Result", "Sleep"})
"""Built-in calls that take as long as somebody else does."""


class MeetingWaits:
    """Knows the playbooks of one agent, those with steps as they are lowered."""

    def __init__(self, playbooks: Sequence[PlaybookSpec], fences: Sequence[PythonFence]) -> None:
        self._playbooks = {playbook.name: playbook for playbook in playbooks if playbook.kind == "llm"}
        self._functions = _functions(fences)
        self._looking: set[str] = set()

    def added(self, playbook: PlaybookSpec) -> PlaybookSpec:
        """The playbook, with a wait in each loop that needs one."""
        return replace(playbook, steps=tuple(map(self._step, playbook.steps))) if playbook.meeting else playbook

    def waits(self, call: str) -> bool:
        """Whether a call waits for somebody on all its paths."""
        if call in _WAITING_CALLS or call in self._looking:
            return call in _WAITING_CALLS
        self._looking.add(call)
        playbook, function = self._playbooks.get(call), self._functions.get(call)
        found = (playbook is not None and self._steps_wait(playbook)) or (
            function is not None and self._code_waits(function)
        )
        self._looking.discard(call)
        return found

    def _steps_wait(self, playbook: PlaybookSpec) -> bool:
        course = _Course(self, "")
        return bool(playbook.steps) and course.through(playbook.steps, False) is not False and all(course.ends)

    def _code_waits(self, body: Sequence[ast.stmt]) -> bool:
        for statement in body:
            if self._statement_waits(statement):
                return True
            if any(isinstance(node, ast.Return | ast.Break | ast.Continue) for node in ast.walk(statement)):
                return False
        return False

    def _statement_waits(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.If(body=body, orelse=otherwise):
                return self._code_waits(body) and self._code_waits(otherwise)
            case ast.While(test=ast.Constant(value=True), body=body) | ast.Try(body=body) | ast.AsyncWith(body=body):
                return self._code_waits(body)
            case ast.While() | ast.For() | ast.AsyncFor() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return False
        return any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.waits(node.func.id)
            for node in ast.walk(statement)
        )

    def _step(self, step: Step) -> Step:
        step = replace(step, children=tuple(map(self._step, step.children)))
        head = meaning_of(step).head
        lasts = isinstance(head, Loop) and head.kind in (LoopKind.WHILE, LoopKind.UNTIL) and not head.waits
        if not lasts or not phrase("while active").inside(step.text) or self._each_round_waits(step):
            return step
        return replace(step, text=f"{step.text}; YLD for meeting")

    def _each_round_waits(self, loop: Step) -> bool:
        course = _Course(self, loop.line)
        return course.through(loop.children, False) is not False and all(course.rounds)


@dataclass
class _Course:
    """The paths through a loop or playbook, and whether each has waited; where several meet, the one that has not."""

    waits: MeetingWaits
    loop: str
    rounds: list[bool] = field(default_factory=list)
    """Of each path that begins the next round early."""
    ends: list[bool] = field(default_factory=list)
    """Of each path that ends the playbook."""
    left: list[bool] = field(default_factory=list)
    """Of each path that leaves an inner loop."""

    def through(self, steps: Sequence[Step], waited: bool | None, *, inner: bool = False) -> bool | None:
        """The paths behind a list of steps; `inner` where it is in an inner loop."""
        at = 0
        while at < len(steps) and waited is not None:
            instruction = meaning_of(steps[at])
            if isinstance(instruction.head, Condition):
                sides = 1 + sum(1 for _ in _other_sides(steps[at + 1 :]))
                waited = self._branches(steps[at : at + sides], waited, inner=inner)
                at += sides
                continue
            if isinstance(instruction.head, Loop):
                waited = self._inner_loop(instruction.head, steps[at], waited)
            else:
                waited = self._parts(instruction, waited, inner=inner)
                waited = self.through(steps[at].children, waited, inner=inner)
            at += 1
        return waited

    def _branches(self, sides: Sequence[Step], waited: bool, *, inner: bool) -> bool | None:
        behind = [self.through(side.children, waited, inner=inner) for side in sides]
        last = meaning_of(sides[-1]).head
        if not (isinstance(last, Condition) and last.side is BranchSide.ELSE):
            behind.append(waited)
        return _least(behind)

    def _inner_loop(self, head: Loop, step: Step, waited: bool) -> bool | None:
        before, self.left = self.left, []
        behind = self.through(step.children, waited or bool(head.waits), inner=True)
        left, self.left = self.left, before
        sure = head.body_first or (head.kind is LoopKind.TIMES and not _is_name(head.over))
        return _least([behind, *left]) if sure else waited

    def _parts(self, instruction: Instruction, waited: bool | None, *, inner: bool) -> bool | None:
        if any(self.waits.waits(name) for name in calls(instruction)):
            waited = True
        for part in instruction.parts:
            waited = self._part(part, waited, inner=inner) if waited is not None else None
        return waited

    def _part(self, part: Meaning, waited: bool, *, inner: bool) -> bool | None:
        match part:
            case Wait() | Ask():
                return True
            case Free(text=text):
                return waited or begins_to_wait(text.text)
            case Return() | End():
                self.ends.append(waited)
                return None
            case Leave(next_round=False):
                self.left.append(waited)
                return None
            case Leave() if inner:
                return None
            case Leave():
                self.rounds.append(waited)
                return None
            case Jump(line=line, test=test):
                if line == self.loop or line.startswith(f"{self.loop}."):
                    self.rounds.append(waited)
                return waited if test is not None else None
        return waited


def _least(paths: Sequence[bool | None]) -> bool | None:
    """All of several paths as one."""
    alive = [path for path in paths if path is not None]
    return all(alive) if alive else None


def _other_sides(steps: Sequence[Step]) -> Sequence[Step]:
    found = []
    for step in steps:
        head = meaning_of(step).head
        if not (isinstance(head, Condition) and head.side is not BranchSide.IF):
            break
        found.append(step)
    return found


def _is_name(over: object) -> bool:
    return not (isinstance(over, Expression) and isinstance(over.tree, ast.Constant))


def _functions(fences: Sequence[PythonFence]) -> dict[str, Sequence[ast.stmt]]:
    """The bodies of the Python playbooks, by name."""
    found: dict[str, Sequence[ast.stmt]] = {}
    for fence in fences:
        try:
            code = parse_python(fence.source).body
        except SyntaxError:
            continue
        found |= {node.name: node.body for node in code if isinstance(node, ast.AsyncFunctionDef)}
    return found

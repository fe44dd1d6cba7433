"""Control flow from one instruction of a playbook to the next, and the rounds in which nobody was waited for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from runtime.core.errors import PlaybookError
from runtime.core.ids import ORDERER
from runtime.language.instructions import model as steps
from runtime.language.instructions.conditions.meanings import MEETING_ACTIVE
from runtime.language.instructions.expression import Expression
from runtime.language.vocabulary.subjects import speaks_of_others

LoopChanges = Mapping[str, Mapping[str, Any] | None]
"""The changes of loops, by line: their new state, or None for those that are left."""

IDLE_ROUNDS = 2
"""After this many rounds that waited for nobody, others cannot have ended the loop."""

JUDGED_ROUNDS = 100
"""A model judges at most this many rounds in a row that waited for nobody."""


class Going(Struct, frozen=True):
    """The next position of control; `line` is None at the end of the playbook."""

    line: str | None
    loops: LoopChanges = field(default_factory=dict)


class Course:
    def __init__(self, code: steps.PlaybookCode) -> None:
        self._nodes = code.nodes
        self.first = code.first

    def node(self, line: str) -> steps.InstructionNode:
        return self._nodes[line]

    def instructions(self) -> Iterator[steps.Instruction]:
        return (node.instruction for node in self._nodes.values())

    def hears_words(self) -> bool:
        return any(_hears_words(part) for instruction in self.instructions() for part in instruction.parts)

    def into(self, line: str) -> Going:
        below = self._nodes[line].below
        return Going(below[0]) if below else self.after(line)

    def after(self, line: str) -> Going:
        node = self._nodes[line]
        at = node.beside.index(line) + 1
        if isinstance(node.instruction.head, steps.Condition):
            while at < len(node.beside) and self._is_otherwise(node.beside[at]):
                at += 1
        return self._to(node, at)

    def otherwise(self, line: str) -> Going:
        """A condition does not hold: go to the other side, or past the condition."""
        node = self._nodes[line]
        at = node.beside.index(line) + 1
        return self._to(node, at)

    def _to(self, node: steps.InstructionNode, at: int) -> Going:
        if at < len(node.beside):
            return Going(node.beside[at])
        if node.parent is None:
            return Going(None)
        if isinstance(self._nodes[node.parent].instruction.head, steps.Loop):
            return Going(node.parent)
        return self.after(node.parent)

    def past_loop(self, line: str) -> Going:
        return Going(self.after(line).line, {line: None, **self.rounds_below(line)})

    def jump(self, line: str, target: str) -> Going:
        """Jump to a line. Loops that do not contain it are left."""
        if target not in self._nodes:
            return self.after(line)
        holding = self._holding(target)
        left = {known: None for known in self._holding(line) if known not in holding}
        return Going(target, left)

    def loop_of(self, line: str) -> str | None:
        return next((loop for loop, _ in self._loops(line)), None)

    def _loops(self, line: str) -> Iterator[tuple[str, steps.Loop]]:
        """The loops that contain a line, the innermost first."""
        for around in self._holding(line):
            head = self._nodes[around].instruction.head
            if around != line and isinstance(head, steps.Loop):
                yield around, head

    def past_meeting(self, line: str) -> Going | None:
        """A wait has heard nothing but the end of its meeting: the loop that goes on while the meeting does is left,
        for the rest of its round would deal with what nobody has said. None where there is no such loop."""
        for loop, head in self._loops(line):
            if isinstance(head.over, Expression) and MEETING_ACTIVE in head.over.names:
                return self.past_loop(loop)
        return None

    def tests_of(self, line: str) -> list[steps.Operand]:
        """The tests that can end a loop, or keep a jump from going back: its own, else those of the conditions in the
        loop, or around the jump."""
        head = self._nodes[line].instruction.head
        own = head.over if isinstance(head, steps.Loop) else head.test if isinstance(head, steps.Jump) else None
        if own is not None and not (isinstance(own, Expression) and not (own.names or own.calls)):
            return [own]
        near = self._below(line) if isinstance(head, steps.Loop) else self._holding(line)
        heads = [self._nodes[one].instruction.head for one in near]
        return [one.test for one in heads if isinstance(one, steps.Condition | steps.Jump) and one.test is not None]

    def goes_back(self, line: str, target: str) -> bool:
        """Whether a jump repeats steps, and is no loop's own jump to its next round."""
        lines = list(self._nodes)
        return lines.index(target) <= lines.index(line) and not line.startswith(f"{target}.")

    def _below(self, line: str) -> list[str]:
        return [known for known in self._nodes if known.startswith(f"{line}.")]

    def _holding(self, line: str) -> list[str]:
        """A line and those that contain it, the innermost first."""
        parent = self._nodes[line].parent
        return [line, *(self._holding(parent) if parent is not None else ())]

    def rounds_below(self, line: str) -> dict[str, None]:
        return {
            known: None
            for known in self._below(line)
            if isinstance(self._nodes[known].instruction.head, steps.Loop | steps.Jump)
        }

    def _is_otherwise(self, line: str) -> bool:
        head = self._nodes[line].instruction.head
        return isinstance(head, steps.Condition) and head.side is not steps.BranchSide.IF


def _hears_words(part: steps.Meaning) -> bool:
    sources = part.sources if isinstance(part, steps.Wait | steps.Ask) else ()
    waits = any(source == ORDERER or source.startswith(("$", "task ", "*")) for source in sources)
    return waits or (isinstance(part, steps.Call) and part.name == "WaitForMessage")


def counted(state: Mapping[str, Any] | None) -> dict[str, int]:
    """The counts of a round that begins, by the `state` of the one before; None for the first."""
    before = state or {}
    return {count: before.get(count, 0) + 1 for count in ("idle", "same")}


def check_round(tests: Sequence[steps.Operand], state: Mapping[str, Any], step: str, *, meeting: bool) -> None:
    """Raises PlaybookError where the next round of a loop, which ends by one of `tests`, would lead nowhere.

    Tests that the runtime computes are left alone: what they read may come from anywhere. `step` names the
    loop, with its words.
    """
    why = _in_circles(tests, state)
    if why:
        whom = "meeting" if meeting else "user"
        raise PlaybookError(
            f"{step} {why}. Let each round wait, such as \u201cWait for the {whom}\u201d, or say how often "
            "it goes round at most: \u201c\u2026, at most 5 times\u201d."
        )


def _in_circles(tests: Sequence[steps.Operand], state: Mapping[str, Any]) -> str:
    idle, same = state.get("idle", 0), state.get("same", 0)
    for_others_to_say = all(isinstance(test, steps.Prose) or MEETING_ACTIVE in test.names for test in tests)
    if idle < IDLE_ROUNDS or not for_others_to_say:
        return ""
    judged = [test.text for test in tests if isinstance(test, steps.Prose) and "$" not in test.text]
    if any(isinstance(test, Expression) for test in tests) or any(map(speaks_of_others, judged)):
        return "went round twice without waiting for anybody, and only others can end it"
    if same >= IDLE_ROUNDS:
        return "went round twice without waiting for anybody, and nothing has changed"
    if tests and idle >= JUDGED_ROUNDS:
        return f"went round {idle} times without waiting for anybody, and a model still says that it goes on"
    return ""

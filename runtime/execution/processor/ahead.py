"""Looking ahead: the questions that can share a reply with the present one, in the order of the program.

Nothing is done here. The way ahead ends where a call or a wait must come in between. A condition that an answer decides
is followed on both sides; what stands there is asked under that condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from runtime.execution.processor.course import Course, Going
from runtime.execution.processor.scope import Lenient
from runtime.execution.questions.question import Question
from runtime.language.instructions.expression import Expression, NotComputable
from runtime.language.instructions.model import (
    Ask,
    Condition,
    Group,
    Jump,
    Loop,
    LoopKind,
    Meaning,
    Prose,
    Return,
    Say,
    Set,
    Side,
    Template,
    Think,
)

MAX_QUESTIONS = 6
"""One reply answers at most this many questions."""

MAX_STEPS = 40
"""So many instructions ahead are looked at."""


class Questions(Protocol):
    """Makes the questions that instructions ask. `names` are values as they will be then, as far as is known."""

    def words(self, line: str, part: Say | Ask, names: Mapping[str, Any]) -> Question | None: ...

    def value(self, line: str, part: Set | Return, names: Mapping[str, Any]) -> Question | None: ...

    def thought(self, line: str, part: Think, names: Mapping[str, Any]) -> Question | None: ...

    def test(self, line: str, part: Condition | Loop | Jump, names: Mapping[str, Any]) -> Question | None: ...


class Ahead:
    """Walks on from an instruction without doing anything."""

    def __init__(self, course: Course, questions: Questions, with_when: Callable[[Question, str], Question]) -> None:
        self._course = course
        self._questions = questions
        self._with_when = with_when

    def follow(
        self, going: Going, names: Mapping[str, Any], unknown: frozenset[str], asked: list[Question], when: str = ""
    ) -> None:
        """Add the questions from where control goes next to `asked`. `unknown` are variables that an answer sets."""
        walk = _Walk(self, asked, {question.key for question in asked})
        walk.go(going.line, dict(names), set(unknown), when, MAX_STEPS)


class _Walk:
    def __init__(self, ahead: Ahead, asked: list[Question], keys: set[tuple[str, str]]) -> None:
        self._course = ahead._course
        self._questions = ahead._questions
        self._with_when = ahead._with_when
        self._asked = asked
        self._keys = keys

    def go(self, line: str | None, names: dict[str, Any], unknown: set[str], when: str, steps: int) -> None:
        """Walk from a line to where something must come in between."""
        while line is not None and steps > 0 and len(self._asked) < MAX_QUESTIONS:
            steps -= 1
            node = self._course.node(line)
            if len(node.instruction.parts) > 1:
                return
            part = node.instruction.head
            if isinstance(part, Condition):
                following = self._branch(line, part, names, unknown, when, steps)
            elif isinstance(part, Loop):
                following = self._loop(line, part, names, unknown)
            elif isinstance(part, Jump) and part.test is None:
                following = self._course.jump(line, part.line).line
            elif self._passes(line, part, names, unknown, when):
                following = self._course.into(line).line
            else:
                return
            if following is None or following == line:
                return
            line = following

    def _ask(self, question: Question | None, when: str) -> bool:
        """Add a question; False when it stands there already: control has come round."""
        if question is None or question.key in self._keys:
            return False
        self._keys.add(question.key)
        self._asked.append(self._with_when(question, when))
        return True

    def _passes(self, line: str, part: Meaning, names: dict[str, Any], unknown: set[str], when: str) -> bool:
        """Whether control goes on behind an instruction without anything in between."""
        match part:
            case Say(words=Prose()):
                return self._ask(self._questions.words(line, part, names), when)
            case Say(words=Template()) | Group():
                return True
            case Ask(words=Prose()):
                self._ask(self._questions.words(line, part, names), when)
                return False
            case Set(value=Prose()):
                unknown |= {variable.name for variable in part.variables}
                return self._ask(self._questions.value(line, part, names), when)
            case Set(value=Expression() as value) if not value.calls:
                self._assign(part, value, names, unknown)
                return True
            case Return(value=Prose()):
                self._ask(self._questions.value(line, part, names), when)
                return False
            case Think():
                return self._ask(self._questions.thought(line, part, names), when)
        return False

    def _assign(self, part: Set, value: Expression, names: dict[str, Any], unknown: set[str]) -> None:
        assigned = {variable.name for variable in part.variables}
        simple = len(part.variables) == 1 and not part.variables[0].path and not part.operator
        if not simple or value.names & unknown:
            unknown |= assigned
            return
        try:
            names[part.variables[0].name] = value.evaluate(names)
            unknown -= assigned
        except NotComputable:
            unknown |= assigned

    def _branch(
        self, line: str, part: Condition, names: dict[str, Any], unknown: set[str], when: str, steps: int
    ) -> str | None:
        """Where a condition leads; both sides are followed where an answer decides it."""
        if part.side is not Side.IF and part.test is None:
            return self._course.into(line).line
        decided = self._decided(part.test, names, unknown)
        if decided is not None:
            return (self._course.into(line) if decided else self._course.otherwise(line)).line
        if isinstance(part.test, Prose) and not self._ask(self._questions.test(line, part, names), when):
            return None
        said = part.test.text if isinstance(part.test, Prose) else part.test.source if part.test else ""
        for going, holds in ((self._course.into(line), True), (self._course.otherwise(line), False)):
            condition = _both(when, said if holds else f"not: {said}")
            self.go(going.line, dict(names), set(unknown), condition, steps // 2)
        return None

    def _loop(self, line: str, part: Loop, names: dict[str, Any], unknown: set[str]) -> str | None:
        """The beginning of a loop, where it can be told; its rounds are not counted."""
        if part.kind in (LoopKind.EACH, LoopKind.TIMES) or part.body_first or part.at_most is not None:
            return None
        decided = self._decided(part.over, names, unknown)
        if decided is None:
            return None
        enters = decided is (part.kind is LoopKind.WHILE)
        return (self._course.into(line) if enters else self._course.past_loop(line)).line

    def _decided(self, test: object, names: Mapping[str, Any], unknown: set[str]) -> bool | None:
        if not isinstance(test, Expression) or test.calls or test.names & unknown:
            return None
        try:
            return bool(test.evaluate(Lenient(names)))
        except NotComputable:
            return False


def _both(first: str, second: str) -> str:
    return f"{first}, and {second}" if first else second

"""Looking ahead: the questions that can share a reply with the present one, in the order of the program.

Nothing is done here. The way ahead ends where a call or a wait must come in between. A condition that an answer decides
is followed on both sides; what stands there is asked under that condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.execution.processor.course import Course, Going
from runtime.execution.processor.questioner import Questioner, conditional
from runtime.execution.processor.work import Work
from runtime.execution.questions.form import Key, OutcomeChoice, Question, WordsQuestion
from runtime.language.instructions import model as steps
from runtime.language.instructions.evaluation import LenientNames, NotComputable
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.uses import calls

MAX_QUESTIONS = 6
"""The most questions in one reply."""

MAX_STEPS = 40
"""The number of instructions that are examined ahead."""


class Ahead:
    """Follows the program from an instruction, without any effect."""

    def __init__(self, course: Course, questioner: Questioner, work: Work) -> None:
        self._course = course
        self._questioner = questioner
        self._work = work

    def planned(
        self, first: Question, unknown: frozenset[str], going: Going | None = None, when: str = ""
    ) -> Callable[[], list[Question]]:
        """A question, and those that can be asked with it, starting where control goes next."""

        def plan() -> list[Question]:
            asked = [first]
            line = self._work.frame.state.at
            assert line is not None
            if len(self._course.node(line).instruction.parts) == 1:
                self._follow(going or self._course.into(line), self._work.names(), unknown, asked, when)
            return asked

        return plan

    def tested(
        self, first: Question, line: str, part: steps.Condition | steps.Loop | steps.Jump
    ) -> Callable[[], list[Question]]:
        """A condition in words, and the questions on both of its sides."""

        def plan() -> list[Question]:
            asked = [first]
            if isinstance(part, steps.Jump):
                return asked
            names = self._work.names()
            if isinstance(part, steps.Condition):
                assert part.test is not None
                walk = _Walk(self._course, self._questioner, asked)
                way, behind = _Way(dict(names), set(), ""), self._course.after(line).line
                if walk.sides(line, part.test, way, behind):
                    walk.go(behind, way)
                return asked
            enters = part.kind is steps.LoopKind.WHILE
            if part.waits:
                return asked
            self._follow(self._course.into(line), names, frozenset(), asked, said_of(part.over, enters))
            self._follow(self._course.past_loop(line), names, frozenset(), asked, said_of(part.over, not enters))
            return asked

        return plan

    def _follow(
        self, going: Going, names: Mapping[str, Any], unknown: frozenset[str], asked: list[Question], when: str = ""
    ) -> None:
        """Add the questions from where control goes next to `asked`. `unknown` are variables that an answer sets."""
        walk = _Walk(self._course, self._questioner, asked)
        walk.go(going.line, _Way(dict(names), set(unknown), when))


class _Way(Struct):
    """The known state on a way ahead: values, variables that answers set, the condition under which it is taken."""

    names: dict[str, Any]
    unknown: set[str]
    when: str
    steps: int = MAX_STEPS

    def side(self, condition: str) -> _Way:
        when = f"{self.when}, and {condition}" if self.when else condition
        return _Way(dict(self.names), set(self.unknown), when, self.steps // 2)


class _Walk(Struct):
    _course: Course
    _questioner: Questioner
    _asked: list[Question]

    def go(self, line: str | None, way: _Way, until: str | None = None) -> bool:
        """Follow the program from a line until an effect must come in between; True if control reaches `until` before
        that.
        """
        while line is not None and way.steps > 0 and len(self._asked) < MAX_QUESTIONS:
            if line == until:
                return True
            way.steps -= 1
            node = self._course.node(line)
            if len(node.instruction.parts) > 1 or calls(node.instruction):
                return False
            part = node.instruction.head
            if isinstance(part, steps.Condition):
                following = self._branch(line, part, way)
            elif isinstance(part, steps.Loop):
                following = self._loop(line, part, way)
            elif isinstance(part, steps.Jump) and part.test is None:
                following = self._course.jump(line, part.line).line
            elif self._passes(line, part, way):
                following = self._course.into(line).line
            else:
                return False
            if following is None or following == line:
                return False
            line = following
        return False

    def _ask(self, question: Question | None, when: str) -> bool:
        """Add a question; False if it is already there, because control has gone round."""
        if question is None or any(question.key == one.key for one in self._asked):
            return False
        self._asked.append(conditional(question, when))
        return True

    def _passes(self, line: str, part: steps.Meaning, way: _Way) -> bool:
        """Whether control passes an instruction without an effect."""
        names, when = way.names, way.when
        match part:
            case steps.Say(words=steps.Prose()):
                return self._ask(self._questioner.words(line, part, names), when)
            case steps.Say(words=steps.Template()) | steps.StepGroup():
                return True
            case steps.Ask(words=steps.Prose()):
                self._ask(self._questioner.words(line, part, names), when)
                return False
            case steps.Set(value=steps.Prose()):
                way.unknown |= {variable.name for variable in part.variables}
                return self._ask(self._questioner.value(line, part, names), when)
            case steps.Set(value=Expression() as value):
                self._assign(part, value, way)
                return True
            case steps.Return(value=steps.Prose()):
                self._ask(self._questioner.value(line, part, names), when)
                return False
            case steps.Think():
                return self._ask(self._questioner.thought(line, part, names), when)
        return False

    @staticmethod
    def _assign(part: steps.Set, value: Expression, way: _Way) -> None:
        assigned = {variable.name for variable in part.variables}
        simple = len(part.variables) == 1 and not part.variables[0].path and not part.operator
        if not simple or value.names & way.unknown:
            way.unknown |= assigned
            return
        try:
            way.names[part.variables[0].name] = value.evaluate(way.names)
            way.unknown -= assigned
        except NotComputable:
            way.unknown |= assigned

    def _branch(self, line: str, part: steps.Condition, way: _Way) -> str | None:
        """Follow a condition; where an answer decides it, both sides are followed, then what comes after both."""
        if part.test is None:
            return (self._course.into(line) if part.side is steps.BranchSide.ELSE else self._course.after(line)).line
        decided = self._decided(part.test, way)
        if decided is not None:
            return (self._course.into(line) if decided else self._course.otherwise(line)).line
        if isinstance(part.test, steps.Prose) and not self._ask(self._questioner.test(line, part, way.names), way.when):
            return None
        behind = self._course.after(line).line
        return behind if self.sides(line, part.test, way, behind) else None

    def sides(self, line: str, test: steps.Operand, way: _Way, behind: str | None) -> bool:
        """Follow both sides of a condition; True if control may reach `behind` from one of them."""
        meets, tells = False, dict[Key, str]()
        for going, holds in ((self._course.into(line), True), (self._course.otherwise(line), False)):
            side = way.side(said_of(test, holds))
            at = len(self._asked)
            meets = self.go(going.line, side, behind) or meets
            if (
                at < len(self._asked)
                and isinstance(self._asked[at], WordsQuestion)
                and self._asked[at].when == side.when
            ):
                tells[self._asked[at].key] = "yes" if holds else "no"
            way.unknown |= side.unknown | {name for name, value in side.names.items() if way.names.get(name) != value}
        if len(tells) == 2:  # whichever is said first, tells the side
            self._asked[:] = [
                replace(one, told_by=tells) if isinstance(one, OutcomeChoice) and one.key == (line, "test") else one
                for one in self._asked
            ]
        return meets

    def _loop(self, line: str, part: steps.Loop, way: _Way) -> str | None:
        """Follow a loop or pass it; its rounds are not counted."""
        counted = part.kind in (steps.LoopKind.EACH, steps.LoopKind.TIMES) or part.at_most is not None
        if counted or part.body_first or part.waits:
            return None
        enters = part.kind is steps.LoopKind.WHILE
        decided = self._decided(part.over, way)
        if decided is not None:
            return (self._course.into(line) if decided is enters else self._course.past_loop(line)).line
        if isinstance(part.over, steps.Prose) and not self._ask(self._questioner.test(line, part, way.names), way.when):
            return None
        self.go(self._course.into(line).line, way.side(said_of(part.over, enters)))
        self.go(self._course.past_loop(line).line, way.side(said_of(part.over, not enters)))
        return None

    @staticmethod
    def _decided(test: object, way: _Way) -> bool | None:
        if not isinstance(test, Expression) or test.names & way.unknown:
            return None
        try:
            return bool(test.evaluate(LenientNames(way.names)))
        except NotComputable:
            return None


def said_of(test: steps.Operand, holds: bool) -> str:
    text = test.text if isinstance(test, steps.Prose) else test.source
    return text if holds else f"not: {text}"

"""Looking ahead: the questions that can share a reply with the present one, in the order of the program.

Nothing is done here. The way ahead ends where a call or a wait must come in between. A condition that an answer decides
is followed on both sides; what stands there is asked under that condition.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.execution.processor.course import Course
from runtime.execution.processor.questioner import Questioner
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


class _Way(Struct):
    """The known state on a way ahead: values, variables that answers set, the condition under which it is taken. All
    ways share the questions that are `asked`."""

    names: dict[str, Any]
    asked: list[Question]
    unknown: set[str]
    when: str
    steps_left: int = MAX_STEPS

    def side(self, condition: str) -> _Way:
        when = f"{self.when}, and {condition}" if self.when else condition
        return _Way(dict(self.names), self.asked, set(self.unknown), when, self.steps_left // 2)

    def ask(self, question: Question) -> bool:
        """Add a question; False if it is already there, because control has gone round."""
        if any(question.key == one.key for one in self.asked):
            return False
        self.asked.append(replace(question, when=self.when) if self.when else question)
        return True

    def assign(self, part: steps.Set, value: Expression) -> None:
        [variable, *more] = part.variables
        exact = not (more or variable.path or part.operator or value.names & self.unknown)
        try:
            if exact:
                self.names[variable.name] = value.evaluate(self.names)
        except NotComputable:
            exact = False
        assigned = {variable.name for variable in part.variables}
        self.unknown = self.unknown - assigned if exact else self.unknown | assigned

    def decided(self, test: object) -> bool | None:
        if not isinstance(test, Expression) or test.names & self.unknown:
            return None
        try:
            return bool(test.evaluate(LenientNames(self.names)))
        except NotComputable:
            return None


class Ahead(Struct, eq=False):
    """Follows the program from an instruction, without any effect."""

    _course: Course
    _questioner: Questioner
    _work: Work

    def planned(self, first: Question, unknown: frozenset[str] = frozenset(), when: str = "") -> list[Question]:
        """A question, and those that can be asked with it, starting where control goes next. `unknown` are variables
        that the answer sets."""
        way, line = _Way(self._work.names(), [first], set(unknown), when), self._work.frame.state.at
        assert line is not None
        if len(self._course.node(line).instruction.parts) == 1:
            self._go(self._course.into(line).line, way)
        return way.asked

    def tested(self, first: Question, line: str, part: steps.Condition | steps.Loop | steps.Jump) -> list[Question]:
        """A condition in words, and the questions on both of its sides."""
        way = _Way(self._work.names(), [first], set(), "")
        if isinstance(part, steps.Condition) and part.test is not None:
            self._go(self._behind(line, part.test, way), way)
        elif isinstance(part, steps.Loop) and not part.waits:
            self._rounds(line, part, way)
        return way.asked

    def _go(self, line: str | None, way: _Way, until: str | None = None) -> bool:
        """Follow the program from a line until an effect must come in between; True if control reaches `until` before
        that.
        """
        while line is not None and way.steps_left > 0 and len(way.asked) < MAX_QUESTIONS:
            if line == until:
                return True
            way.steps_left -= 1
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
            else:
                following = self._course.into(line).line if self._passes(line, part, way) else None
            if following == line:
                return False
            line = following
        return False

    def _passes(self, line: str, part: steps.Meaning, way: _Way) -> bool:
        """Whether control passes an instruction without an effect."""
        match part:
            case steps.Say(words=steps.Template()) | steps.StepGroup():
                return True
            case steps.Say(words=steps.Prose()):
                return way.ask(self._questioner.words(line, part, way.names))
            case steps.Ask(words=steps.Prose()):
                way.ask(self._questioner.words(line, part, way.names))
            case steps.Set(value=Expression() as value):
                way.assign(part, value)
                return True
            case steps.Set():
                way.unknown |= {variable.name for variable in part.variables}
                return way.ask(self._questioner.value(line, part, way.names))
            case steps.Return(value=steps.Prose()):
                way.ask(self._questioner.value(line, part, way.names))
            case steps.Think():
                return way.ask(self._questioner.thought(line, part, way.names))
        return False

    def _branch(self, line: str, part: steps.Condition, way: _Way) -> str | None:
        """Follow a condition; where an answer decides it, both sides are followed, then what comes after both."""
        if part.test is None:
            return (self._course.into(line) if part.side is steps.BranchSide.ELSE else self._course.after(line)).line
        decided = way.decided(part.test)
        if decided is not None:
            return (self._course.into(line) if decided else self._course.otherwise(line)).line
        if isinstance(part.test, steps.Prose) and not way.ask(self._questioner.test(line, part, way.names)):
            return None
        return self._behind(line, part.test, way)

    def _behind(self, line: str, test: steps.Operand, way: _Way) -> str | None:
        """Follow both sides of a condition; where control goes behind them, if it may get there from one of them."""
        meets, tells, behind = False, dict[Key, str](), self._course.after(line).line
        for going, holds in ((self._course.into(line), True), (self._course.otherwise(line), False)):
            side = way.side(said_of(test, holds))
            at = len(way.asked)
            meets = self._go(going.line, side, behind) or meets
            first = way.asked[at] if at < len(way.asked) else None
            if isinstance(first, WordsQuestion) and first.when == side.when:
                tells[first.key] = "yes" if holds else "no"
            way.unknown |= side.unknown | {name for name, value in side.names.items() if way.names.get(name) != value}
        if len(tells) == 2:  # whichever is said first, tells the side
            way.asked[:] = [
                replace(one, told_by=tells) if isinstance(one, OutcomeChoice) and one.key == (line, "test") else one
                for one in way.asked
            ]
        return behind if meets else None

    def _loop(self, line: str, part: steps.Loop, way: _Way) -> str | None:
        """Follow a loop or pass it; its rounds are not counted."""
        counted = part.kind in (steps.LoopKind.EACH, steps.LoopKind.TIMES) or part.at_most is not None
        if counted or part.body_first or part.waits:
            return None
        decided = way.decided(part.over)
        if decided is not None:
            enters = decided is (part.kind is steps.LoopKind.WHILE)
            return (self._course.into(line) if enters else self._course.past_loop(line)).line
        if not isinstance(part.over, steps.Prose) or way.ask(self._questioner.test(line, part, way.names)):
            self._rounds(line, part, way)
        return None

    def _rounds(self, line: str, part: steps.Loop, way: _Way) -> None:
        """Follow the first round of a loop, and what comes after the loop."""
        enters = part.kind is steps.LoopKind.WHILE
        self._go(self._course.into(line).line, way.side(said_of(part.over, enters)))
        self._go(self._course.past_loop(line).line, way.side(said_of(part.over, not enters)))


def said_of(test: steps.Operand, holds: bool) -> str:
    text = test.text if isinstance(test, steps.Prose) else test.source
    return text if holds else f"not: {text}"

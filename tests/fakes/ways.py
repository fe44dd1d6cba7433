"""The ways of control through a playbook: which steps may come after which."""

from collections.abc import Iterator

from runtime.execution.processor.course import Course
from runtime.language.instructions.decode import decode_playbook
from runtime.language.instructions.model import Condition, End, Jump, Leave, Loop, Return
from runtime.language.program import PlaybookSpec


def reached(playbook: PlaybookSpec) -> set[str]:
    """The lines of all steps that control can come to."""
    course = Course(decode_playbook(playbook))
    found, ahead = set[str](), [course.first]
    while ahead:
        line = ahead.pop()
        if line is not None and line not in found:
            found.add(line)
            ahead += _following(course, line)
    return found


def _following(course: Course, line: str) -> Iterator[str | None]:
    match course.node(line).instruction.parts[-1]:
        case Condition():
            yield from (course.into(line).line, course.otherwise(line).line)
        case Loop():
            yield from (course.into(line).line, course.past_loop(line).line)
        case Jump(line=target, test=test):
            yield from (course.jump(line, target).line, course.after(line).line if test is not None else None)
        case Leave(next_round=again):
            loop = course.loop_of(line)
            yield loop if again or loop is None else course.past_loop(loop).line
        case Return() | End():
            return
        case _:
            yield course.into(line).line

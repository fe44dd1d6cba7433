"""The control flow that the code and the words of a step state."""

from __future__ import annotations

from runtime.language.program import OpCode, Step
from runtime.language.vocabulary.phrase import phrase


def is_loop(step: Step) -> bool:
    """Whether a step repeats the steps below it: by its words, or by a jump back from there."""
    if step.op is OpCode.LOP:
        return True
    if step.op is not OpCode.CND:
        return False
    if phrase("a loop by its words").begins(step.text.lstrip()):
        return True
    return any(inner.op is OpCode.JMP and jump_target(inner) == step.line for inner in step.walk())


def is_else(step: Step) -> bool:
    """Whether a step is the other side of the previous condition."""
    return step.op is OpCode.ELS or (
        step.op is OpCode.CND and phrase("else by its words").begins(step.text.lstrip()) is not None
    )


def jump_target(step: Step) -> str | None:
    """The line that a JMP goes to; None if it names none."""
    line = next((word for word in step.text.lower().split() if word not in ("to", "step")), "").rstrip(",;:.")
    return line if all(part.isdecimal() for part in line.split(".")) else None

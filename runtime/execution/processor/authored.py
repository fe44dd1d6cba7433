"""Names from the agent's own Python in the words of steps, as in `{date.today():%Y}`."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeVar

from runtime.execution.frames.frame import FrameCall as HostCall
from runtime.execution.frames.outcomes import site
from runtime.execution.free.placeholders import Description
from runtime.execution.processor.work import Work
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Ask, Prose, Say, Template
from runtime.tape.facts.calls import CallReturned

Spoken = TypeVar("Spoken", bound=Say | Ask)


class Authored:
    """The values that one frame's exact words have from the agent's Python. Each is on the tape, so that a restart says
    the same."""

    def __init__(self, work: Work, description: Description) -> None:
        self._work = work
        self._description = description

    async def filled(self, part: Spoken) -> Spoken:
        """An instruction with those values in its words. Raises the author's exceptions."""
        words = part.words
        if not isinstance(words, Template):
            return part
        known = self._work.names().keys()
        theirs = [
            one
            for one in words.parts
            if isinstance(one, Expression) and (words.otherwise or one.called or not one.names <= known)
            if self._description.is_the_authors(ast.unparse(one.tree))
        ]
        if words.otherwise and not theirs:
            return replace(part, words=Prose(words.otherwise))
        if not theirs:
            return part
        pieces = [
            await self._value(one) if isinstance(one, Expression) and one in theirs else one for one in words.parts
        ]
        return replace(part, words=Template(tuple(pieces)))

    async def _value(self, expression: Expression) -> str:
        pos = self._work.position()
        record = self._work.record(pos)
        if record is not None:
            return str(record.value)
        value = await self._description.in_python(ast.unparse(expression.tree), f"{pos}.")
        self._work.context.journal.note(CallReturned(*site(self._work.frame, HostCall(pos, "Python")), value))
        return value

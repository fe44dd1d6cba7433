"""The effects of a frame's instructions: values and calls, each with its position on the tape."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from runtime.core.errors import JournalError, ParleyError, PlaybookError, StorageError
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.drive import check_call, performed
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.frame import FrameCall as HostCall
from runtime.execution.frames.outcomes import failed_call, result_of, site
from runtime.execution.free.placeholders import PlaybookDescription
from runtime.execution.prompt.situation import shown_value
from runtime.language.instructions.conditions.meanings import MEETING_ACTIVE
from runtime.language.instructions.evaluation import LenientNames, NotComputable, call_name, evaluate
from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.model import Ask, Prose, Say, Set, Template, VariableTarget
from runtime.language.program import PlaybookSpec
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import CallReturned, Loops, StepReached
from runtime.tape.state.frames import CallRecord

Spoken = TypeVar("Spoken", bound=Say | Ask)


class Work:
    """The deeds of one frame's instructions, numbered in each from 0. What is on the tape is not done again."""

    def __init__(self, context: ExecutionContext, frame: Frame, playbook: PlaybookSpec) -> None:
        self.context = context
        self.frame = frame
        self.interrupts: Callable[[], Awaitable[None]] = checkpoint
        """Awaited before a call begins: a reply that is being read ends there."""
        self._state_params = frozenset(param.name for param in playbook.params if param.state)
        self._number = 0
        self.notes: list[str] = []
        """The current instruction's information for the model, which goes along with the next step."""
        self.said: list[str] = []
        """The texts of its messages."""

    # -- the instruction

    def begin(self) -> None:
        self._number, self.notes, self.said = 0, [], []

    def note_step(self, at: str, op: str, *, loops: Loops = NOTHING, heard: str | None = None) -> None:
        """Control reaches an instruction; the deeds of the one before it go along."""
        self.context.journal.note(StepReached(self.frame.id, at, op, loops, heard, *self.told()))

    def told(self) -> tuple[Sequence[str], Sequence[str]]:
        """The instruction's information for the model, and the texts of its messages, each once."""
        told = self.notes, self.said
        self.notes, self.said = [], []
        return told

    def position(self) -> str:
        self._number += 1
        return str(self._number - 1)

    @property
    def upcoming(self) -> str:
        return str(self._number)

    def record(self, pos: str) -> CallRecord | None:
        return self.frame.state.records.get(pos)

    async def settled(self, pos: str) -> CallRecord:
        if not self.frame.alive:
            await anyio.sleep_forever()  # stopped meanwhile: whoever did that cancels us
        record = self.frame.state.records[pos]
        result_of(record)
        return record

    # -- names and values

    def names(self) -> dict[str, Any]:
        """Every name with its value: the agent's variables, overridden by the playbook's parameters."""
        frame = self.frame
        own = {name: value for name, value in frame.state.kwargs.items() if name not in self._state_params}
        return {**frame.agent.variables, **own, **frame.state.locals, MEETING_ACTIVE: self._in_meeting()}

    def _in_meeting(self) -> bool:
        """Whether the frame's meeting, or any where it has none, is active with its agent in it."""
        meetings, own = self.context.journal.state.meetings, self.frame.state.meeting
        meant = [meetings[own]] if own in meetings else meetings.values()
        return any(one.status != "ended" and self.frame.state.agent in one.joined for one in meant)

    async def holds(self, test: Expression, *, waits: bool = False) -> bool:
        """Whether an exact condition is true; an unset variable is None. `waits` is for what may be set later, as in a
        loop: what is unset is neither more nor less than a value.

        Raises NotComputable where values cannot be compared: then nobody knows whether it is true.
        """
        names = LenientNames(self.names(), orders_nothing=waits)
        try:
            return bool(test.evaluate(names, await self._results(test)))
        except NotComputable as error:
            unset = [f"${name}" for name in sorted(test.names) if names[name] is None]
            why = f"{' and '.join(unset)} {'is' if len(unset) == 1 else 'are'} not set" if unset else str(error)
            raise NotComputable(f'"{test.source}" cannot be computed: {why}') from error

    async def evaluate(self, expression: Expression) -> Any:
        """The value of an exact operand. Raises NotComputable."""
        results = await self._results(expression)
        return expression.evaluate(self.names(), results)

    async def _results(self, expression: Expression) -> dict[ast.Call, Any]:
        results: dict[ast.Call, Any] = {}
        for node in expression.calls:
            names = self.names()
            args = [evaluate(argument, names, results) for argument in node.args]
            kwargs = {k.arg: evaluate(k.value, names, results) for k in node.keywords if k.arg}
            results[node] = await self.call(call_name(node.func) or "", args, kwargs)
        return results

    async def give(self, part: Set, value: Any) -> None:
        if len(part.variables) > 1:
            values = list(value) if isinstance(value, list | str) else []
            if len(values) != len(part.variables):
                raise NotComputable(f"{len(part.variables)} variables cannot be set from {shown_value(value, 80)}")
            for variable, one in zip(part.variables, values, strict=True):
                await self.assign(variable, one)
            return
        [variable] = part.variables
        await self.assign(variable, self._combined(variable, part.operator, value) if part.operator else value)

    def _combined(self, variable: VariableTarget, operator: str, value: Any) -> Any:
        old = _at(self.names().get(variable.name), [self._step_of(step) for step in variable.path])
        if old is None and operator == "+":
            old = [] if isinstance(value, list) else "" if isinstance(value, str) else 0
        if isinstance(old, list) and not isinstance(value, list) and operator in ("+", "-"):
            value = [value]
        if isinstance(old, list) and operator == "-":
            return _without(old, value)
        combined = read_expression(f"$old {operator} $new")
        assert combined is not None
        return combined.evaluate({"old": old, "new": value})

    def _step_of(self, step: str | Expression) -> Any:
        return step.evaluate(self.names()) if isinstance(step, Expression) else step

    async def assign(self, variable: VariableTarget, value: Any) -> None:
        """Set a variable, or a part of it; triggers that become true are executed before this returns."""
        if variable.path:
            value = _changed(self.names().get(variable.name), [self._step_of(step) for step in variable.path], value)
        own = self.frame.state.kwargs
        if variable.name in own and variable.name not in self._state_params:
            raise PlaybookError(
                f"{self.frame.place}: {variable.name} is a parameter; a variable of another name is set"
            )
        call = HostCall(self.position(), "Var", (variable.name, value))
        if self.record(call.pos) is None:
            try:
                await self.context.builtins.variables.update(self.frame, call, variable.name, value)
            except (StorageError, JournalError):
                raise
            except ParleyError as error:
                self.context.journal.note(failed_call(self.frame, call, error))
        await self.settled(call.pos)

    # -- calls

    async def call(self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Call a playbook or a built-in and wait for its result. Raises what it raised."""
        call = HostCall(self.position(), name, tuple(args), dict(kwargs or {}))
        check_call(self.frame, call)
        if self.record(call.pos) is None:
            await self.interrupts()
            await performed(self.frame, call)
        return (await self.settled(call.pos)).value


def _at(value: Any, path: Sequence[Any]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def _without(old: list[Any], gone: Sequence[Any]) -> list[Any]:
    """A list without the first item that equals each of these."""
    left = list(old)
    for one in gone:
        if one in left:
            left.remove(one)
    return left


def _changed(value: Any, path: Sequence[Any], new: Any) -> Any:
    """A value with one part changed. Raises NotComputable."""
    if not path:
        return new
    step, *rest = path
    if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
        changed = list(value)
        changed[step] = _changed(value[step], rest, new)
        return changed
    if value is None or isinstance(value, Mapping):
        known = dict(value or {})
        return {**known, str(step): _changed(known.get(str(step)), rest, new)}
    raise NotComputable(f"{shown_value(value, 80)} has no part {step!r}")


class Authored:
    """The values that one frame's exact words have from the agent's Python. Each is on the tape, so that a restart says
    the same."""

    def __init__(self, work: Work, description: PlaybookDescription) -> None:
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

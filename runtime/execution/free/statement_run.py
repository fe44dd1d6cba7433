"""Execution of a turn's accepted statements, each against its journal, with a record of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from runtime.core.errors import NoWorker, PlaybookError, SandboxError, UnknownTarget
from runtime.core.plain_text import error_text
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.drive import drive
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import failed_call, rebuilt, unwrapped
from runtime.execution.free.scope import Fenced, StatementScope
from runtime.execution.free.statement import (
    MAX_MESSAGES,
    WAITS_FOR_NOBODY,
    LoweredStatement,
    SnippetBody,
    control_value,
    lower,
    with_variables,
)
from runtime.language.value_types import variable_name
from runtime.sandbox.executor import CodeSnippet, HostCall, SnippetEvaluation
from runtime.tape.facts.frames import EndReached, StatementAccepted, StatementDone, StatementFailed
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState

MAX_FAILURES = 3
"""The number of failures of a turn's code from which its playbook fails."""

_IMPORTED = ("import asyncio",)
"""Modules that code may use without importing them."""

Refused = Callable[[str, str], None]
"""Reports a failed statement: the rule, and how."""


class StatementRun(Struct, eq=False):
    """`fenced` is what the present step lets its statements do, None where it does not say."""

    _context: ExecutionContext
    _frame: Frame
    _scope: StatementScope
    _fenced: Callable[[], Fenced | None]
    _on_failure: Refused

    async def accept(self, source: str, remarks: Sequence[str] = ()) -> None:
        self._context.journal.note(StatementAccepted(self._frame.id, source, list(remarks)))
        await self.execute(len(self._frame.state.statements) - 1)

    async def execute(self, index: int) -> None:
        """Run one statement of the turn. The model sees its failure.

        Raises NoWorker, and the failure when the turn has failed too often.
        """
        frame = self._frame
        state = frame.state
        statement = state.statements[index]
        if self._context.watcher is not None:
            await self._context.watcher.about_to_run(frame, statement.source)
        functions = self._scope.functions([statement.source, *state.prelude])
        known = self._scope.names(statement.variables).keys() | self._scope.state_names()
        lowered = lower(with_variables(statement.source, known, functions), self._scope.state_names(), functions)
        snippet = CodeSnippet(
            source=lowered.source,
            names=self._scope.used(statement.variables, [lowered.source, *state.prelude]),
            functions=functions,
            prelude=(*_IMPORTED, *state.prelude) if "asyncio" in lowered.source else tuple(state.prelude),
            keep=lowered.keep,
        )
        async with self._context.sandbox.evaluate(snippet) as evaluation:
            body = SnippetBody(evaluation, index)
            try:
                await drive(frame, body, _Within(self._context.journal, body, self._fenced()), prefix=f"{index}.")
            except NoWorker:
                raise
            except SandboxError as error:
                self._note_failure("SandboxError", str(error))
                return
            if body.control is not None:
                self._note_end(body.control)
            elif evaluation.error is not None:
                self._note_failure(evaluation.error.type, evaluation.error.text)
            else:
                self._note_done(lowered, evaluation)

    def _note_done(self, lowered: LoweredStatement, evaluation: SnippetEvaluation) -> None:
        try:
            kept = {variable_name(name): value for name, value in evaluation.kept.items()}
        except SandboxError as error:
            self._note_failure("SandboxError", str(error))
            return
        prelude = [lowered.source] if lowered.definition else []
        try:
            self._context.journal.note(StatementDone(self._frame.id, names=kept, prelude=prelude))
        except ValueError as error:
            self._note_failure("SandboxError", f"The statement's variables cannot be kept: {error}")

    def _note_end(self, control: HostCall) -> None:
        if control.name == "Return":
            value = control_value(control, "value")
            self._context.journal.note(EndReached(self._frame.id, "return", value=value))
            return
        source = str(control_value(control, "source", "user"))
        returns = source.strip().lower() == "return"
        if source.strip().lower() not in WAITS_FOR_NOBODY:
            try:
                self._context.builtins.utterances.source(self._frame, source)
            except UnknownTarget as error:
                self._note_failure("UnknownTarget", error_text(error))
                return
        ended = EndReached(self._frame.id, "return") if returns else EndReached(self._frame.id, "yield", source)
        self._context.journal.note(ended)

    def _note_failure(self, type_name: str, text: str) -> None:
        frame = self._frame
        type_name, text = unwrapped(frame, type_name, text)
        self._context.journal.note(StatementFailed(frame.id, (type_name, text)))
        self._on_failure("raised", f"{type_name}: {text}")
        failures = sum(1 for statement in frame.state.statements if statement.error)
        if failures >= MAX_FAILURES:
            raise rebuilt((type_name, text))


def calls_made(state: FrameState) -> set[str]:
    made = ((pos, record) for pos, record in state.records.items() if "." in pos and ":" not in pos)
    return {record.name for _, record in made if record.error is None}


class _Within(Struct, frozen=True):
    """The calls of one statement: those that its step allows, and a limited number of messages."""

    journal: Journal
    body: SnippetBody
    fenced: Fenced | None
    begun: dict[str, str] = field(default_factory=dict)
    """The calls of the statement by their positions."""

    def start(self, frame: Frame, call: FrameCall, /) -> None:
        first = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
        refused = self.fenced.refuses(call.name, first) if self.fenced is not None else None
        if refused is None and self.fenced is not None and call.pos not in frame.state.records:
            refused = self.fenced.fence.refuses_again(call.name) if self._was_made(frame.state, call.name) else None
        if call.pos in self.body.too_many:
            refused = f"one statement sends at most {MAX_MESSAGES} messages; this one was not sent"
        if refused is None:
            self.begun[call.pos] = call.name
            frame.host.start(frame, call)
            return
        error = PlaybookError(refused)
        self.journal.note(failed_call(frame, call, error))

    def _was_made(self, state: FrameState, name: str) -> bool:
        """Whether the step has called this before, without a failure, or is calling it."""
        calling = {made for pos, made in self.begun.items() if pos not in state.records}
        made = self.fenced.made if self.fenced is not None else frozenset[str]()
        return name in made | calling | calls_made(state)

    async def give_up(self, frame: Frame, call: FrameCall, /) -> None:
        await frame.host.give_up(frame, call)

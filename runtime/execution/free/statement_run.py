"""Execution of a turn's statements, each against its journal, with a record of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from runtime.core.errors import NoWorker, PlaybookError, SandboxError, UnknownTarget
from runtime.core.plain_text import error_text
from runtime.events.frames import StepRejected
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.drive import drive
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import at_work, failed_call, rebuilt, unwrapped
from runtime.execution.free.scope import Fenced, Position, StatementScope
from runtime.execution.free.statement import (
    MAX_MESSAGES,
    WAITS_FOR_NOBODY,
    LoweredStatement,
    SnippetBody,
    control_value,
    lower,
    with_variables,
)
from runtime.execution.speech.live_stream import LiveStream
from runtime.language.value_types import variable_name
from runtime.sandbox.executor import CodeSnippet, HostCall, SnippetEvaluation
from runtime.tape.facts.frames import EndReached, StatementAccepted, StatementDone, StatementFailed
from runtime.tape.journal import Journal
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import SessionState

MAX_FAILURES = 3
"""The number of failures of a turn's code from which its playbook fails."""

_IMPORTED = ("import asyncio",)
"""Modules that code may use without importing them."""


class StatementRun(Struct, eq=False):
    """`handles` says that the frame is of the built-in playbook for messages that no other waits for."""

    _context: ExecutionContext
    _frame: Frame
    _scope: StatementScope
    handles: bool

    def position(self) -> Position:
        return self._scope.position()

    def value_of(self, name: str) -> Any:
        """A variable as the next statement sees it. Raises KeyError."""
        return self._scope.names(self._frame.agent.variables)[name]

    @property
    def halted(self) -> bool:
        """Whether the last statement ended the turn or failed: nothing more of this reply runs."""
        state = self._frame.state
        if state.ending is not None or self._context.steering(self._frame.agent):
            return True
        return bool(state.statements and state.statements[-1].error)

    async def open_stream(self, target: str) -> LiveStream | None:
        if self._context.watcher is not None:
            await self._context.watcher.about_to_say(self._frame)
        utterances = self._context.builtins.utterances
        return await utterances.open_stream(self._frame, utterances.target(self._frame, target))

    async def say_plainly(self, text: str) -> None:
        """A reply without statements is what the model says: to the meeting, to who wrote, else to the people here."""
        partner = partner_of(self._context.journal.state, self._frame.state)
        await self.accept(f"await Say({partner!r}, {text!r})")
        if self.halted:
            return
        fenced = self._scope.fenced()
        ends = (fenced is not None and not fenced.owes) or self.handles
        await self.accept("await Return()" if ends else f"await Yld({partner!r})")

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
                await drive(frame, body, _Within(self._context.journal, body, self._scope.fenced()), prefix=f"{index}.")
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
        self._context.bus.publish(
            StepRejected(*at_work(self._context.journal.session, frame), "raised", f"{type_name}: {text}")
        )
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


def partner_of(state: SessionState, frame: FrameState) -> str:
    """Who is answered: the meeting, people who wrote, the agent that wrote, else the people here."""
    if frame.meeting is not None:
        return "meeting"
    others = state.agents.keys() - {frame.agent}  # a reminder comes from the agent itself
    sender = next((m for m in reversed(frame.inbox) if m.sender_id in others), None)
    wrote = any(m.from_human for m in frame.inbox)
    return "user" if sender is None or wrote else f"agent {sender.sender_id}"

"""Fetch, decode, verify, execute: one frame of natural language on a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from runtime.core.errors import ContextTooLong, LLMError, NoUsableAnswer, NoWorker, VerificationError
from runtime.events.frames import LLMFailed, SandboxFailed, StepRejected, TurnCompleted
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import RecordedError, rebuilt
from runtime.execution.frames.signatures import CallShape
from runtime.execution.free.placeholders import AuthorsPython, PlaybookDescription
from runtime.execution.free.prompt import build_prompt, heard_text, results_text, said_text
from runtime.execution.free.raw import answer_raw
from runtime.execution.free.reply_run import ReplyRun
from runtime.execution.free.scope import Rejected, StatementScope
from runtime.execution.free.statement_run import StatementRun, calls_made
from runtime.execution.model_calls import ModelCalls, TranscriptCompaction
from runtime.execution.prompt.step_words import shown_step
from runtime.execution.triggers.kinds import HANDLER
from runtime.language.instructions.fence import FreeFence
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.llm.client import CompletionRequest
from runtime.tape.facts import frames as facts
from runtime.tape.rules.frames import TURN
from runtime.tape.state.frames import CallKey

MAX_REJECTIONS = 2
"""A turn's reply is refused at most this often: the model gets one corrective turn."""

MAX_SOURCE_CHARS = 500
"""The length to which a refused statement is kept."""

MAX_BREAKS = 2
"""A reply that breaks off in the middle is asked for again at most this often in a row."""

MAX_TURNS = 200
"""A playbook that takes more turns without waiting for anybody is taken to go in circles."""

MAX_ROUNDS = 50
"""Likewise for one without steps, whose end depends on the model alone."""

MAX_IDLE_TURNS = 5
"""A playbook with this many equal turns in a row that do nothing counts as standing still."""

_WAITS_FOR_NOBODY = frozenset({"call"})
_EXIT = "exit"


class FreeInterpreter:
    """Has a model execute a frame with statements, turn by turn, live and after a restart alike: a playbook without
    steps, or one instruction of a playbook whose steps the processor walks (its `fence`)."""

    def __init__(
        self,
        context: ExecutionContext,
        frame: Frame,
        agent: AgentSpec,
        playbook: PlaybookSpec,
        callable_now: Callable[[], Mapping[str, CallShape]],
        python: AuthorsPython,
    ) -> None:
        self._context = context
        self._frame = frame
        self._agent = agent
        self._agent_id = frame.state.agent
        self._playbook = playbook
        self._scope = StatementScope(context, frame, agent, playbook, callable_now)
        self._statements = StatementRun(context, frame, self._scope, playbook.name == HANDLER.name)
        self._fence: str | None = None
        """The task of the instruction to which the statements are fenced."""
        self._unwaited = 0
        """Steps that were taken before the fenced one without waiting for anybody."""
        self._calls = ModelCalls(context, frame)
        self.description = PlaybookDescription(context, frame, self._scope, python, playbook.description)
        self._compaction = TranscriptCompaction(context, frame, self._calls)

    async def run(self) -> Any:
        """Execute the frame to its value. Raises VerificationError or the last failure of a statement when it fails."""
        while self._frame.alive:
            if self._compaction.due:
                await self._compaction.shorten()
            await self._hear()
            await self._turn()
            ending = self._frame.state.ending
            if ending is None:
                continue
            self._calls.publish(TurnCompleted(*self._calls.at))
            if ending.kind == "return":
                return ending.value
            await self._yield(str(ending.value))
        return None

    async def carry_out(self, task: str, fence: FreeFence, *, may_end_program: bool) -> None:
        """Carry out one instruction to its end, within its fence. Raises as `run`."""
        self._fence, scope = task, self._scope
        scope.fence, scope.made, scope.may_end_program = fence, set(), may_end_program
        self._unwaited, turns = self._frame.state.unwaited, 0
        while self._frame.alive:
            await self._hear()
            if turns >= MAX_TURNS:
                raise VerificationError(f"a step of {self._playbook.name} did not end in {MAX_TURNS} turns")
            await self._turn()
            ending = self._frame.state.ending
            if ending is None:
                continue
            turns += 1
            self._calls.publish(TurnCompleted(*self._calls.at))
            exits = str(ending.value).strip().lower() == _EXIT
            if ending.kind == "return" or (exits and not may_end_program):
                return
            await self._yield(str(ending.value))

    async def _hear(self) -> None:
        """Wait for the messages that the last turn yielded for."""
        if self._frame.state.waits_for is None:
            return
        journal = self._context.journal
        key = CallKey(self._frame.id, TURN)
        if key not in journal.state.waits:
            journal.note(facts.WaitBegun(self._frame.id, TURN, "Yld", "", self._frame.state.waits_for, None))
        taken = await self._context.builtins.receive(self._frame, TURN)
        mids = [message.id for message in taken or ()]
        journal.note(facts.WaitEnded(self._frame.id, TURN, messages=mids))
        await journal.commit()

    async def _yield(self, source: str) -> None:
        """End the turn: what was left unsaid is closed, the journal collapses to locals and transcript."""
        frame, journal = self._frame, self._context.journal
        word = source.strip().lower()
        if word == _EXIT:
            await self._context.builtins.end()
            return
        waits = None if word in _WAITS_FOR_NOBODY else self._context.builtins.utterances.source(frame, source)
        await self._context.pages.close_own(frame.id)
        state = frame.state
        if waits is None and self._stands_still():
            raise VerificationError(f"{self._playbook.name} continued {MAX_IDLE_TURNS} times without doing anything")
        most = MAX_TURNS if self._playbook.steps else MAX_ROUNDS
        if waits is None and state.unwaited - self._unwaited >= most:
            raise VerificationError(f"{self._playbook.name} continued for {most} turns without waiting for anybody")
        self._scope.made |= calls_made(state)
        journal.note(
            facts.TurnEnded(
                frame.id, heard=heard_text(state), said=said_text(state), gave=results_text(state), waits=waits
            )
        )
        if waits is None and (steering := self._context.steering(frame.agent)):
            journal.note(facts.FrameSteered(frame.id, [message.id for message in steering]))
            self._context.builtins.forget(self._agent_id, steering)

    def _stands_still(self) -> bool:
        """Whether the model only continues, as in the turns before."""
        state = self._frame.state
        before = [past["said"] for past in state.transcript[1 - MAX_IDLE_TURNS :]]
        return not state.order and before == [said_text(state)] * (MAX_IDLE_TURNS - 1)

    async def _turn(self) -> None:
        """Take the turn to its end, or to what has to be waited out until somebody writes."""
        try:
            await self.description.resolve()
            if self._playbook.mode == "raw" and self._fence is None:
                await self._answer()
            else:
                await self._work()
        except NoWorker as error:
            await self._calls.park(SandboxFailed, error)

    async def _answer(self) -> None:
        try:
            await answer_raw(self._calls, self._context.journal, self._frame, self._agent, self._playbook)
        except LLMError as error:
            await self._calls.park(LLMFailed, error)

    async def _work(self) -> None:
        """Run what is left of the turn's statements, then ask the model, until the turn has ended."""
        for index, statement in enumerate(self._frame.state.statements):
            if not statement.done:
                await self._statements.execute(index)
        breaks = 0
        while self._frame.state.ending is None:
            if self._cut():
                return
            run = self._reply_run()
            try:
                await self._ask(run)
            except LLMError as error:
                if isinstance(error, RecordedError):  # of a call in the statements: the model has answered
                    raise
                if isinstance(error, ContextTooLong):
                    self._calls.broke_off(error)
                    if await self._compaction.shorten():
                        continue
                breaks += 1
                if not run.said_anything or breaks > MAX_BREAKS:
                    await self._calls.park(LLMFailed, error)
                    return
                self._calls.broke_off(error)

    def _cut(self) -> bool:
        """End the turn behind the last statement, so that the next one sees what was said meanwhile."""
        state = self._frame.state
        done = state.statements and state.statements[-1].done and not state.statements[-1].error
        if not done or not self._context.steering(self._frame.agent):
            return False
        self._context.journal.note(facts.EndReached(self._frame.id, "yield", value="call"))
        return True

    def _reply_run(self) -> ReplyRun:
        state = self._frame.state
        error = state.statements[-1].error if state.statements else None
        failure = f"{error[0]}: {error[1]}" if error else None
        may_end = self._fence is not None or self._statements.handles
        return ReplyRun(self._statements, [s.source for s in state.statements], failure, may_end=may_end)

    async def _ask(self, run: ReplyRun) -> None:
        """One reply of the model: executed as it comes, up to its end or to what is wrong with it."""
        context, frame = self._context, self._frame
        self._scope.look_again()
        program = context.servers.equipped(context.program)
        recall, heard = context.told, heard_text(frame.state)
        remembered = None if recall is None else await recall(frame.state, heard, self._fence or "")
        prompt = build_prompt(program, self._agent, context.journal.state, frame.state, self._told(), remembered)
        request = self._calls.addressed(CompletionRequest(prompt))
        await self._calls.begin(request)
        try:
            with context.pages.presence.working(self._agent_id, self._doing()):
                async with self._calls.answer(request) as completion:
                    async for piece in completion:
                        self._calls.heard(piece, completion.usage)
                        await run.feed(piece)
                        self._calls.reads_on()
                        if run.over:
                            break
                    if not run.over:
                        await run.close()
        finally:
            with anyio.CancelScope(shield=True):  # a stream completes, also when its frame is stopped
                await context.builtins.utterances.drop_stream(frame.id, "the reply broke off")
        self._calls.end(completion)
        if run.rejected is not None:
            if context.watcher is not None:
                await context.watcher.refused(frame, run.rejected.rule, run.rejected.message)
            self._reject(run.rejected)

    def _told(self) -> str | None:
        fence = self._scope.fence
        return f"{self._fence} ({fence.may_call()})" if fence is not None and fence.others else self._fence

    def _doing(self) -> str | None:
        line = (self._frame.state.step or "").split(":")
        step = self._playbook.step(line[1]) if len(line) > 1 else None
        return shown_step(step, self._context.pages.texts) if step is not None else None

    def _reject(self, rejected: Rejected) -> None:
        frame = self._frame
        fact = facts.StatementRejected(frame.id, rejected.rule, rejected.message, rejected.source[:MAX_SOURCE_CHARS])
        self._context.journal.note(fact)
        self._calls.publish(StepRejected(*self._calls.at, rejected.rule, rejected.message))
        if len(frame.state.rejections) < MAX_REJECTIONS:
            return
        error = frame.state.statements[-1].error if rejected.rule == "failed" else None
        if error is not None:  # one cause is told, however many playbooks it goes through
            raise rebuilt(error)
        raise NoUsableAnswer(f"the model's reply was refused twice{self._called()}: {rejected.message}")

    def _called(self) -> str:
        """The owner of the playbook, for one that another one called."""
        caller = self._frame.state.caller
        if caller is None:
            return ""
        by = self._context.journal.state.frames[caller.frame].agent
        owner = "" if by == self._agent_id else f"{self._agent.name}."
        return f" in {owner}{self._playbook.name}"

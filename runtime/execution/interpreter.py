"""Fetch, decode, verify, execute: one frame of natural language on a language model."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio

from runtime.core.errors import ContextTooLong, LLMError, NoWorker, PlaybookError, SandboxError, VerificationError
from runtime.core.message import Message, MessageType
from runtime.execution.compaction import Compaction
from runtime.execution.doing import doing_step
from runtime.execution.drive import drive
from runtime.execution.frame import Frame
from runtime.execution.host import RaisedByPlaybook
from runtime.execution.machine import Machine
from runtime.execution.prompt import build_prompt, heard_text, rejection_data, results_text, said_text
from runtime.execution.reply_run import ReplyRun
from runtime.execution.statement import Lowered, SnippetBody, assigned_names, called_names, control_value, lower
from runtime.execution.utterances import LiveStream
from runtime.execution.verifier import CallShape, Position, Rejected, step_line
from runtime.language.flow import Flow
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.llm.client import CompletionRequest, Usage
from runtime.sandbox.executor import Evaluation, HostCall, Snippet
from runtime.tape.frame_rules import TURN

MAX_REJECTIONS = 2
"""A turn's reply is refused at most this often: the model gets one corrective turn."""

MAX_BREAKS = 2
"""A reply that breaks off in the middle is asked for again at most this often in a row."""

MAX_FAILURES = 3
"""A turn's code may fail at most this often before its playbook does."""

MAX_TURNS = 200
"""A playbook that takes more turns without waiting for anybody is taken to go in circles."""

_WAITS_FOR_NOBODY = frozenset({"call"})


class Interpreter:
    """Executes one frame of an LLM playbook, turn by turn, live and after a restart alike."""

    def __init__(
        self,
        machine: Machine,
        frame: Frame,
        agent: AgentSpec,
        playbook: PlaybookSpec,
        callable_now: Callable[[], Mapping[str, CallShape]],
        state_types: Mapping[str, str],
    ) -> None:
        self._machine = machine
        self._frame = frame
        self._agent = agent
        self._agent_id = frame.state.agent
        self._playbook = playbook
        self._callable_now = callable_now
        self._functions = callable_now()
        self._types = state_types
        self._flow = Flow(playbook) if playbook.steps else None
        self._steps = {step.line: str(step.op) for step in playbook.walk_steps()}
        self._compaction = Compaction(machine.journal, machine.llm, machine.transcript_chars)
        self._state_params = {param.name for param in playbook.params if param.state}

    async def run(self) -> Any:
        """Execute the frame to its value. Raises VerificationError or RaisedByPlaybook when it fails."""
        while self._frame.alive:
            if self._compaction.due(self._frame.state):
                await self._compact()
            await self._hear()
            await self._turn()
            ending = self._frame.state.ending
            if ending is None:
                continue
            if ending.kind == "return":
                return ending.value
            await self._yield(str(ending.value))
        return None

    async def _hear(self) -> None:
        """Wait for the messages that the last turn yielded for."""
        if self._frame.state.waits_for is None:
            return
        journal = self._machine.journal
        key = f"{self._frame.id}|{TURN}"
        if key not in journal.state.waits:
            journal.note(
                "wait", f=self._frame.id, pos=TURN, name="Yld", dig="", source=self._frame.state.waits_for, due=None
            )
        taken = await self._machine.builtins.receive(self._frame, TURN)
        mids = [message.id for message in taken or ()]
        journal.note("took", f=self._frame.id, pos=TURN, mids=mids)
        await journal.commit()

    async def _yield(self, source: str) -> None:
        """End the turn: what was left unsaid is closed, the journal collapses to locals and transcript."""
        frame, journal = self._frame, self._machine.journal
        word = source.strip().lower()
        if word == "exit":
            await self._machine.builtins.end()
            return
        waits = None if word in _WAITS_FOR_NOBODY else self._machine.builtins.source(frame, source)
        await self._machine.pages.close_own(frame.id)
        state = frame.state
        if waits is None and state.turn >= MAX_TURNS:
            raise VerificationError(f"{self._playbook.name} went on for {MAX_TURNS} turns without waiting for anybody")
        journal.note(
            "turn",
            f=frame.id,
            heard=heard_text(state),
            said=said_text(state),
            gave=results_text(state),
            waits=waits,
        )
        if waits is None and (steering := self._steering()):
            journal.note("steer", f=frame.id, mids=[message.id for message in steering])
            self._machine.builtins.forget(self._agent_id, steering)
        self._publish("turn.completed")

    async def _turn(self) -> None:
        """Take the turn to its end, or to what has to be waited out until somebody writes."""
        try:
            await self._work()
        except NoWorker as error:
            await self._park("sandbox.failed", error)

    async def _work(self) -> None:
        """Run what is left of the turn's statements, then ask the model, until the turn has ended."""
        for index, statement in enumerate(self._frame.state.statements):
            if not statement.done:
                await self._execute(index)
        breaks = 0
        while self._frame.state.ending is None:
            if self._cut():
                return
            run = self._reply_run()
            try:
                await self._ask(run)
            except LLMError as error:
                if isinstance(error, ContextTooLong) and await self._compact():
                    continue
                breaks += 1
                if not run.said_anything or breaks > MAX_BREAKS:
                    await self._park("llm.failed", error)
                    return

    async def _compact(self) -> bool:
        """Shorten what the model is told of earlier turns; False when that cannot be."""
        person = self._frame.agent.person or self._machine.journal.state.person
        if await self._machine.may_ask(person) is not None:
            return False
        usage = await self._compaction.shorten(self._frame.state)
        if usage is not None:
            self._answered(usage, person)
        return usage is not None

    def _answered(self, usage: Usage, person: str | None) -> None:
        self._publish(
            "llm.answered",
            tokens_in=usage.input_tokens,
            tokens_out=usage.output_tokens,
            cost_usd=usage.cost_usd,
            conversation=self._machine.pages.address.key,
            participant_id=person,
        )

    def _steering(self) -> list[Message]:
        """What people said to the agent while it worked, when that is for the work to see."""
        if not self._machine.steers:
            return []
        return [m for m in self._frame.agent.queue if m.from_human and m.type != MessageType.CHOICE]

    def _cut(self) -> bool:
        """End the turn behind the last statement, so that the next one sees what people said meanwhile."""
        state = self._frame.state
        done = state.statements and state.statements[-1].done and not state.statements[-1].error
        if not done or not self._steering():
            return False
        self._machine.journal.note("end", f=self._frame.id, how="yield", val="call")
        return True

    def _reply_run(self) -> ReplyRun:
        state = self._frame.state
        error = state.statements[-1].error if state.statements else None
        failure = f"{error[0]}: {error[1]}" if error else None
        return ReplyRun(self, [s.source for s in state.statements], state.turn_steps, failure)

    async def _ask(self, run: ReplyRun) -> None:
        """One reply of the model: executed as it comes, up to its end or to what is wrong with it."""
        machine, frame = self._machine, self._frame
        person = frame.agent.person or machine.journal.state.person
        refused = await machine.may_ask(person)
        if refused is not None:
            raise PlaybookError(refused)
        self._publish("llm.requested", model=machine.llm.model)
        self._functions = self._callable_now()
        program = machine.servers.equipped(machine.program)
        request = CompletionRequest(build_prompt(program, self._agent, machine.journal.state, frame.state))
        try:
            with machine.pages.presence.working(self._agent_id, self._doing()):
                async with machine.llm.stream(request) as completion:
                    async for piece in completion:
                        await run.feed(piece)
                        if run.over:
                            break
                    if not run.over:
                        await run.close()
                    usage = completion.usage
        finally:
            with anyio.CancelScope(shield=True):  # a stream completes, also when its frame is stopped
                await machine.builtins.utterances.drop_stream(frame.id, "the reply broke off")
        self._answered(usage, person)
        if run.rejected is not None:
            self._reject(run.rejected)

    def _doing(self) -> str | None:
        """The step that is executed, in the words of the program."""
        line = (self._frame.state.step or "").split(":")
        step = self._playbook.step(line[1]) if len(line) > 1 else None
        return doing_step(step.text, self._machine.pages.texts) if step is not None else None

    def _reject(self, rejected: Rejected) -> None:
        frame = self._frame
        self._machine.journal.note("rej", f=frame.id, **rejection_data(rejected))
        self._publish("step.rejected", rule=rejected.rule, error=rejected.message)
        if len(frame.state.rejections) >= MAX_REJECTIONS:
            raise VerificationError(f"the model's reply was refused twice: {rejected.message} (rule: {rejected.rule})")

    async def accept(self, source: str) -> None:
        """Write down a verified statement and run it."""
        self._machine.journal.note("stmt", f=self._frame.id, src=source)
        await self._execute(len(self._frame.state.statements) - 1)

    async def _execute(self, index: int) -> None:
        """Run one statement of the turn against its journal; its failure is for the model to see."""
        frame = self._frame
        state = frame.state
        statement = state.statements[index]
        functions = frozenset(self._functions) | self._remote_calls([statement.source, *state.prelude])
        lowered = lower(statement.source, self._state_names(), functions)
        snippet = Snippet(
            source=lowered.source,
            names=_used(self._names(statement.variables), [lowered.source, *state.prelude]),
            functions=functions,
            prelude=tuple(state.prelude),
            keep=lowered.keep,
        )
        async with self._machine.sandbox.evaluate(snippet) as evaluation:
            body = SnippetBody(evaluation, index)
            try:
                await drive(frame, body, self._machine.host, prefix=f"{index}.")
            except NoWorker:
                raise
            except SandboxError as error:
                self._note_failure("SandboxError", str(error))
                return
            if body.control is not None:
                self._note_ending(body.control)
            elif evaluation.error is not None:
                self._note_failure(evaluation.error.type, evaluation.error.text)
            else:
                self._note_done(lowered, evaluation)

    def _remote_calls(self, sources: Sequence[str]) -> frozenset[str]:
        """Calls of remote agents' tools, known or not: whether they can be made, their servers say."""
        remote = self._machine.program.remote_agents
        called = {name for source in sources for name in called_names(source)} if remote else set()
        return frozenset(name for name in called if name.partition(".")[0] in remote and "." in name)

    def _note_done(self, lowered: Lowered, evaluation: Evaluation) -> None:
        try:
            kept = dict(evaluation.kept)
        except SandboxError as error:
            self._note_failure("SandboxError", str(error))
            return
        prelude = [lowered.source] if lowered.definition else []
        self._machine.journal.note("done", f=self._frame.id, loc=kept, prelude=prelude)

    def _note_ending(self, control: HostCall) -> None:
        if control.name == "Return":
            value = control_value(control, "value")
            self._machine.journal.note("end", f=self._frame.id, how="return", val=value)
            return
        source = str(control_value(control, "source", "user"))
        kind = "return" if source.strip().lower() == "return" else "yield"
        value = None if kind == "return" else source
        self._machine.journal.note("end", f=self._frame.id, how=kind, val=value)

    def _note_failure(self, type_name: str, text: str) -> None:
        frame = self._frame
        self._machine.journal.note("failed", f=frame.id, exc=[type_name, text])
        self._publish("step.rejected", rule="raised", error=f"{type_name}: {text}")
        failures = sum(1 for statement in frame.state.statements if statement.error)
        if failures >= MAX_FAILURES:
            raise RaisedByPlaybook(type_name, text)

    async def _park(self, event: str, error: LLMError | NoWorker) -> None:
        """Say what is wrong, and try again when somebody writes: nothing of the frame is lost."""
        self._publish(event, error=f"{type(error).__name__}: {error}")
        await self._machine.builtins.notice(self._frame, self._machine.pages.texts("session.trouble", error=error))
        self._machine.journal.note("park", f=self._frame.id, waits={"human": True})

    async def open_stream(self, target: str) -> LiveStream | None:
        """Begin to show what is said to `target`."""
        utterances = self._machine.builtins.utterances
        return await utterances.open_stream(self._frame, utterances.target(self._frame, target))

    @property
    def halted(self) -> bool:
        """Whether the last statement ended the turn or failed: nothing more of this reply runs."""
        state = self._frame.state
        if state.ending is not None or bool(self._steering()):
            return True
        return bool(state.statements and state.statements[-1].error)

    @property
    def half_said(self) -> bool:
        """Whether people see the beginning of something that is not finished."""
        pages = self._machine.journal.state.pages.values()
        return any(p.frame == self._frame.id and p.status == "open" and p.opened for p in pages)

    def value_of(self, name: str) -> Any:
        """The value of a plain name as the next statement would see it. Raises KeyError."""
        return self._names(self._frame.agent.variables)[name]

    def position(self) -> Position:
        """Where the frame is now, for the verifier."""
        frame = self._frame
        builtins = self._machine.builtins
        position = Position(
            playbook=self._playbook.name,
            flow=self._flow,
            steps=self._steps,
            step=None,
            functions=self._functions,
            names=set(self._names(frame.agent.variables)) | self._state_names() | self._definitions(),
            check_target=lambda text: builtins.utterances.target(frame, text),
            check_source=lambda text: builtins.source(frame, text),
            types=self._types,
            triggers=frozenset(f"{p.name}:{t.code}" for p in self._agent.playbooks for t in p.triggers),
            unlisted=self._unlisted(),
        )
        if frame.state.step is not None:
            position.step = step_line(frame.state.step, position)
        return position

    def _unlisted(self) -> frozenset[str]:
        machine = self._machine
        agents = (a for a in machine.program.agents if a.name in machine.program.remote_agents)
        return frozenset(agent.name for agent in agents if machine.servers.trouble(agent) is not None)

    def _names(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        state = self._frame.state
        own = {name: value for name, value in state.kwargs.items() if name not in self._state_params}
        return {**variables, **own, **state.locals}

    def _state_names(self) -> set[str]:
        return (set(self._types) | set(self._frame.agent.variables) | {"__"}) - set(self._frame.state.locals)

    def _definitions(self) -> set[str]:
        return {name for source in self._frame.state.prelude for name in assigned_names(ast.parse(source))}

    def _publish(self, name: str, **data: Any) -> None:
        self._machine.bus.publish(
            name,
            session_id=self._machine.journal.session,
            agent_id=self._frame.state.agent,
            playbook=self._playbook.name,
            **data,
        )


def _used(names: Mapping[str, Any], sources: Sequence[str]) -> dict[str, Any]:
    used = {node.id for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return {name: value for name, value in names.items() if name in used}

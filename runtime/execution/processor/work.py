"""What an instruction does, each deed with its place on the tape: calls, values, answers of the model, what is heard."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio

from runtime.core.errors import JournalError, LLMError, ParleyError, PlaybookError, StorageError
from runtime.core.message import Message, MessageType, message_from_data, message_to_data
from runtime.execution.compaction import Compaction, transcript_chars
from runtime.execution.frames.drive import check_call
from runtime.execution.frames.frame import Call as HostCall
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import described, rebuilt, site
from runtime.execution.frames.signatures import SIGNATURES
from runtime.execution.frames.step_watcher import StepWatcher
from runtime.execution.machine import Machine
from runtime.execution.processor.prompt import build_prompt, heard_text
from runtime.execution.processor.questioner import Questioner
from runtime.execution.processor.scope import in_meeting, names_of
from runtime.execution.prompt.situation import shown_value
from runtime.execution.questions.asking import Asking, Plan
from runtime.execution.questions.question import Value
from runtime.execution.questions.spoken import Spoken, spoken
from runtime.language.instructions.evaluation import Lenient, NotComputable, call_name, evaluate
from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.model import Argument, Call, Operand, Prose, Set, Template, Variable
from runtime.language.program import AgentSpec, Param, PlaybookSpec
from runtime.tape.frame_rules import TURN, call_key
from runtime.tape.frame_state import CallRecord

MAX_NOTE_CHARS = 600
"""What a call gave is told to the model up to here; its variables say the rest."""

SUMMARY = "__"

_READING = frozenset({"Now", "Random", "ReadFile", "LoadFile", "LoadArtifact", "Shared", "Log"})
"""Built-in calls that change nothing."""


class Work:
    """The deeds of one frame's instructions, numbered in each from 0. What is on the tape is not done again."""

    def __init__(
        self,
        machine: Machine,
        frame: Frame,
        playbook: PlaybookSpec,
        system: Callable[[], str],
        doing: Callable[[], str | None],
        place: Callable[[], str],
    ) -> None:
        self.machine = machine
        self.frame = frame
        self._playbook = playbook
        self._system = system
        self._place = place
        self._state_params = frozenset(param.name for param in playbook.params if param.state)
        self._number = 0
        self._notes: list[str] = []
        self._said: list[str] = []
        self.asking = Asking(
            machine, frame, self._prompt, parked=self._park, shortened=self._shorten, place=place, doing=doing
        )
        self._compaction = Compaction(machine.journal, machine.llm, self.asking.calls, machine.transcript_chars)

    # -- the instruction

    def begin(self) -> None:
        """An instruction is executed from its beginning, or again."""
        self._number, self._notes, self._said = 0, [], []

    def note_step(self, kind: str, **data: Any) -> None:
        """Control comes to an instruction; what the one before it did goes along."""
        self.machine.journal.note(kind, f=self.frame.id, **self._told(), **data)

    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self._notes:
            told["notes"] = self._notes
        if self._said:
            told["said"] = self._said
        self._notes, self._said = [], []
        return told

    def remember(self, note: str) -> None:
        """Tell the model of something with its next question."""
        self._notes.append(note)

    def _position(self) -> str:
        self._number += 1
        return str(self._number - 1)

    def _record(self, pos: str) -> CallRecord | None:
        return self.frame.state.records.get(pos)

    # -- names and values

    def names(self) -> dict[str, Any]:
        """What names mean now."""
        return names_of(self.machine.journal.state, self.frame, self._state_params)

    async def holds(self, test: Expression) -> bool:
        """Whether an exact condition holds; a variable that is not set is None."""
        results = await self._results(test)
        try:
            return bool(test.evaluate(Lenient(self.names()), results))
        except NotComputable:
            return False

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

    async def evaluate_or_ask(self, operand: Operand, what: str, kind: str, line: str) -> Any:
        """The value of an operand; one in words is asked for."""
        if isinstance(operand, Expression):
            return await self.evaluate(operand)
        question = Value((line, "operand"), f"Give {what}: {operand.text}.", {"value": kind})
        return (await self.answer(lambda: [question]))["value"]

    async def give(self, part: Set, value: Any) -> None:
        """Set the variables of an exact assignment."""
        if len(part.variables) > 1:
            values = list(value) if isinstance(value, list | str) else []
            if len(values) != len(part.variables):
                raise NotComputable(f"{len(part.variables)} variables cannot be set from {shown_value(value, 80)}")
            for variable, one in zip(part.variables, values, strict=True):
                await self.assign(variable, one)
            return
        [variable] = part.variables
        await self.assign(variable, self._combined(variable, part.operator, value) if part.operator else value)

    def _combined(self, variable: Variable, operator: str, value: Any) -> Any:
        old = _at(self.names().get(variable.name), [self._step_of(step) for step in variable.path])
        if old is None and operator == "+":
            old = [] if isinstance(value, list) else "" if isinstance(value, str) else 0
        combined = read_expression(f"$old {operator} $new")
        assert combined is not None
        if isinstance(old, list) and not isinstance(value, list) and operator == "+":
            value = [value]
        return combined.evaluate({"old": old, "new": value})

    def _step_of(self, step: str | Expression) -> Any:
        return step.evaluate(self.names()) if isinstance(step, Expression) else step

    async def assign(self, variable: Variable, value: Any) -> None:
        """Set a variable, or a part of it; triggers that become true are executed before this returns."""
        if variable.path:
            value = _changed(self.names().get(variable.name), [self._step_of(step) for step in variable.path], value)
        own = self.frame.state.kwargs
        if variable.name in own and variable.name not in self._state_params:
            raise PlaybookError(f"{self._place()}: {variable.name} is a parameter; a variable of another name is set")
        await self._update(variable.name, value)

    async def _update(self, name: str, value: Any) -> None:
        pos = self._position()
        record = self._record(pos)
        if record is None:
            call = HostCall(pos, "Var", (name, value))
            update = self.machine.builtins.on_variable
            assert update is not None
            try:
                await update(self.frame, call, name, value)
            except (StorageError, JournalError):
                raise
            except ParleyError as error:
                self.machine.journal.note("res", **site(self.frame, call), exc=described(error))
            record = await self._settled(pos)
        _raise_if_failed(record)

    async def _settled(self, pos: str) -> CallRecord:
        if not self.frame.alive:
            await anyio.sleep_forever()  # stopped meanwhile: whoever did that cancels us
        return self.frame.state.records[pos]

    # -- calls

    async def call(self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Call a playbook or a built-in and wait for its result. Raises what it raised."""
        call = HostCall(self._position(), name, tuple(args), dict(kwargs or {}))
        check_call(self.frame, call)
        if self._record(call.pos) is None:
            await self.asking.close()
            self.frame.expect_change()
            self.machine.host.start(self.frame, call)
            while self.frame.alive and self._record(call.pos) is None:
                await self.frame.change()
                self.frame.expect_change()
        record = await self._settled(call.pos)
        _raise_if_failed(record)
        return record.value

    async def call_step(self, line: str, part: Call, questioner: Questioner, *, handles_failure: bool) -> None:
        """A step that calls something: its arguments, the call, what becomes of the result."""
        args, kwargs = await self._arguments(line, part, questioner)
        if part.instruction and "instruction" not in kwargs and self._params(part.name) is None:
            self.remember(f"(For {part.name}: {part.instruction})")
        try:
            value = await self.call(part.name, args, kwargs)
        except (StorageError, JournalError):
            raise
        except Exception as error:
            if not handles_failure:
                raise
            self.remember(f"({part.name} failed: {str(error)[:MAX_NOTE_CHARS]})")
            value = None
        else:
            self._remember_result(part, args, kwargs, value)
        if part.result is not None:
            await self.assign(part.result, value)

    def _remember_result(self, part: Call, args: Sequence[Any], kwargs: Mapping[str, Any], value: Any) -> None:
        if part.name in SIGNATURES and part.result is None:
            return
        given = ", ".join(
            [shown_value(one, 80) for one in args] + [f"{k}={shown_value(v, 80)}" for k, v in kwargs.items()]
        )
        summary = self.frame.agent.variables.get(SUMMARY) if self._is_llm(part.name) else None
        did = f"; what it did: {summary}" if summary else ""
        self.remember(f"({part.name}({given}) gave {shown_value(value, MAX_NOTE_CHARS)}{did})")

    def is_pure(self, name: str) -> bool:
        """Whether calling it again does no harm: it says so, or it only reads."""
        found = self._spec(name)
        return name in _READING if found is None else bool(found.metadata.get("pure"))

    def _is_llm(self, name: str) -> bool:
        found = self._spec(name)
        return found is not None and found.kind == "llm"

    async def _arguments(self, line: str, part: Call, questioner: Questioner) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call: exact ones evaluated, the others asked for together."""
        params = self._params(part.name)
        given = [(self._parameter(index, argument, params), argument) for index, argument in enumerate(part.arguments)]
        wanted: dict[str, tuple[str, str]] = {}
        values: dict[str, Any] = {}
        for name, argument in given:
            if isinstance(argument.value, Prose):
                wanted[name] = (argument.value.text, _type_of(params, name))
            else:
                values[name] = await self.evaluate(argument.value)
        missing = [param for param in params or () if param.default is None and param.name not in (*values, *wanted)]
        known = self.names()
        for param in missing:
            if param.name in known:
                values[param.name] = known[param.name]
            else:
                wanted[param.name] = (part.instruction or f"what {param.name} is by the conversation", param.type or "")
        if wanted:
            question = questioner.arguments(line, part.name, wanted, known)
            values |= await self.answer(lambda: [question])
        if params is None:
            args = [values[name] for name, argument in given if not argument.name]
            return args, {name: values[name] for name, argument in given if argument.name}
        return [], values

    @staticmethod
    def _parameter(index: int, argument: Argument, params: Sequence[Param] | None) -> str:
        if argument.name:
            return argument.name
        return params[index].name if params is not None and index < len(params) else f"argument_{index + 1}"

    def _params(self, name: str) -> Sequence[Param] | None:
        """The parameters of a playbook; None for a built-in, and where nobody knows them."""
        found = self._spec(name)
        if found is None or name in SIGNATURES or found.meeting:
            return None
        return found.params

    def _spec(self, name: str) -> PlaybookSpec | None:
        owner, _, playbook = name.rpartition(".")
        program = self.machine.servers.equipped(self.machine.program)
        agent: AgentSpec | None = program.agent(owner or self.frame.agent.klass)
        return agent.playbook(playbook) if agent is not None else None

    # -- the model

    async def answer(
        self, plan: Plan, load: Callable[[Any], Any] = lambda data: data, store: Callable[[Any], Any] = lambda a: a
    ) -> Any:
        """The model's checked answer to the first question of a plan."""
        pos = self._position()
        record = self._record(pos)
        if record is not None:
            return load(record.value)
        self._steer()
        answer = await self.asking.answer(plan)
        if not self.frame.alive:
            await anyio.sleep_forever()
        call = HostCall(pos, "Answer")
        self.machine.journal.note("res", **site(self.frame, call), val=store(answer))
        return answer

    def _prompt(self, asked: str) -> Any:
        journal = self.machine.journal
        return build_prompt(self._system(), journal.state, self._with_told(), self.names(), asked)

    def _with_told(self) -> Any:
        """The frame as the model is to see it, with what the present instruction did so far."""
        state = self.frame.state
        if not (self._notes or self._said):
            return state
        return _Seen(state, [*state.notes, *self._notes], [*state.said, *self._said])

    def _steer(self) -> None:
        """Show what people said to the agent while it worked, when that is for the work to see."""
        if not self.machine.steers:
            return
        agent = self.frame.agent
        steering = [m for m in agent.queue if m.from_human and m.type != MessageType.CHOICE]
        if steering:
            heard = heard_text(self.machine.journal.state, steering)
            self.machine.journal.note("steer", f=self.frame.id, mids=[m.id for m in steering], heard=heard)
            self.machine.builtins.forget(agent.id, steering)

    async def _park(self, error: LLMError) -> None:
        """Say what is wrong, and wait until somebody writes: nothing of the frame is lost."""
        machine = self.machine
        self.asking.calls.publish("llm.failed", error=f"{type(error).__name__}: {error}")
        await machine.builtins.notice(self.frame, machine.pages.texts("session.trouble", error=error))
        machine.journal.note("park", f=self.frame.id, waits={"human": True})
        await self._receive({"human": True}, None)

    async def _shorten(self) -> bool:
        return await self._compaction.shorten(self.frame.state, self._fits_chars())

    def _fits_chars(self) -> int | None:
        told = transcript_chars(self.frame.state.transcript)
        return self.machine.window.past_chars(max(0, self.asking.prompt_chars - told))

    # -- speaking and hearing

    async def say_exactly(self, target: str, text: str) -> str:
        """Say a text as it is; returns what was said."""
        if self._is_over(target):
            return ""
        await self.call("Say", (target, text))
        self._keep_said(target, text)
        return text

    async def say_words(self, target: str, plan: Plan, *, may_be_silent: bool = False) -> str:
        """Have the model word a message, shown while it is written; returns what was said."""
        if self._is_over(target):
            return ""
        pos = self._position()
        record = self._record(pos)
        if record is None:
            self._steer()
            utterances = self.machine.builtins.utterances
            utterances.target(self.frame, target)  # an unknown one is an error before the model is asked

            async def say(pieces: AsyncIterator[str]) -> None:
                pieces = pieces if self.machine.watcher is None else self._watched(pieces, self.machine.watcher)
                words = spoken(pieces, Spoken(self._filled, self.frame.agent.klass), may_be_silent=may_be_silent)
                await utterances.say(self.frame, HostCall(pos, "Say", (target, words)))

            await self.asking.words(plan, say)
            record = await self._settled(pos)
        _raise_if_failed(record)
        text = record.text or ""
        self._keep_said(target, text)
        return text

    async def _watched(self, pieces: AsyncIterator[str], watcher: StepWatcher) -> AsyncIterator[str]:
        """The pieces of a text that begins to be shown only when the watcher lets it."""
        begun = False
        async for piece in pieces:
            if not begun:
                await watcher.about_to_say(self.frame)
            begun = True
            yield piece

    def keep_spoken(self) -> None:
        """What the statements of a free step have said becomes a part of the exchange."""
        records = self.frame.state.records
        for pos in self.frame.state.order:
            if records[pos].name == "Say" and records[pos].text:
                self._said.append(str(records[pos].text))

    def _filled(self, name: str) -> str | None:
        expression = read_expression(f"${name}")
        if expression is None:
            return None
        try:
            value = expression.evaluate(self.names())
        except NotComputable:
            return None
        return value if isinstance(value, str) else shown_value(value)

    def _keep_said(self, target: str, text: str) -> None:
        if not text:
            return
        human = target.lower() in ("user", "human")
        self._said.append(text if human or target.startswith("meeting") else f"(To {target}:) {text}")

    def _is_over(self, target: str) -> bool:
        """Whether a text is for a meeting that has ended: then nobody hears it."""
        meeting = self.frame.state.meeting
        return target == "meeting" and meeting is not None and not in_meeting(self.machine.journal.state, self.frame)

    def rendered(self, template: Template) -> str:
        """Exact words with their values. Raises NotComputable."""
        return "".join(part if isinstance(part, str) else self._shown(part) for part in template.parts)

    def _shown(self, part: Expression) -> str:
        value = part.evaluate(self.names())
        return value if isinstance(value, str) else shown_value(value)

    def target_of(self, target: str) -> str:
        """Whom a step names, a variable by its value. Raises NotComputable."""
        expression = read_expression(target) if target.startswith("$") else None
        return str(expression.evaluate(self.names())) if expression is not None else target

    async def hear(self, source: str) -> list[Message]:
        """Wait for messages of a source; what was said before goes into the past."""
        pos = self._position()
        record = self._record(pos)
        if record is not None:
            return [message_from_data(data) for data in record.value]
        await self.asking.close()
        words = self.target_of(source)
        resolved = None if self._waiting() else self.machine.builtins.source(self.frame, words)
        taken = await self._receive(resolved, pos)
        if self._compaction.due(self.frame.state, self._fits_chars()) and await self.asking.calls.allowed():
            await self._shorten()
        return taken

    def _waiting(self) -> bool:
        return call_key(self.frame.id, TURN) in self.machine.journal.state.waits

    async def _receive(self, source: Any, pos: str | None) -> list[Message]:
        journal, frame = self.machine.journal, self.frame
        await self.machine.pages.close_own(frame.id)
        if not self._waiting():
            journal.note("wait", f=frame.id, pos=TURN, name="Yld", dig="", source=source, due=None)
        taken = await self.machine.builtins.receive(frame, TURN) or []
        asides = frame.agent.asides
        record = {} if pos is None else {"as": pos, "val": [message_to_data(message) for message in taken]}
        heard = heard_text(journal.state, [*asides, *taken])
        mids = [message.id for message in taken]
        journal.note("took", f=frame.id, pos=TURN, mids=mids, heard=heard, **record, **self._told())
        self.asking.calls.publish("turn.completed")
        await journal.commit()
        return taken


class _Seen:
    """A frame's state with more notes and words than the tape has of it yet."""

    def __init__(self, state: Any, notes: list[str], said: list[str]) -> None:
        self._state = state
        self.notes = notes
        self.said = said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


def _raise_if_failed(record: CallRecord) -> None:
    if record.error is not None:
        raise rebuilt(record.error)


def _type_of(params: Sequence[Param] | None, name: str) -> str:
    return next((param.type or "" for param in params or () if param.name == name), "")


def _at(value: Any, path: Sequence[Any]) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def _changed(value: Any, path: Sequence[Any], new: Any) -> Any:
    """A value with a part of it changed. Raises NotComputable."""
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

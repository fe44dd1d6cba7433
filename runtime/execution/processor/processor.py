"""The processor of one frame: it fetches and executes instructions until the playbook returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from runtime.core.errors import PlaybookError
from runtime.core.prompt_forms import LineForm, foreign
from runtime.events.frames import StepExecuted
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import at_work
from runtime.execution.free.interpreter import FreeInterpreter
from runtime.execution.processor.ahead import Ahead
from runtime.execution.processor.calls import StepCalls, handles_failure
from runtime.execution.processor.course import Course, Going, check_round, counted
from runtime.execution.processor.exchange import Exchange, heard_text, system_text
from runtime.execution.processor.questioner import Questioner, expression_text
from runtime.execution.processor.talk import AgentFacts, Correction, FrameTalk, Withdrawn
from runtime.execution.processor.understanding import Understanding
from runtime.execution.processor.work import Authored, Work
from runtime.execution.prompt.step_words import shown_words
from runtime.language.instructions import model as steps
from runtime.language.instructions.decode import decode_playbook
from runtime.language.instructions.evaluation import NotComputable
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.fence import fence_of
from runtime.language.program import AgentSpec, PlaybookSpec, TriggerKind
from runtime.language.syntax.signature import spaced
from runtime.language.value_types import coerced
from runtime.language.vocabulary.subjects import speaks_of_ending
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import Loops, StepReturned

STEPS_AT_ONCE = 50
"""After this many steps others are let work, and what was noted is written."""

MAX_STEPS = 10_000
"""A playbook that takes more steps without waiting for anybody is taken to go in circles."""


class Returned(Struct, frozen=True):
    value: Any = None


Outcome = Going | Returned | None
"""Where control goes by an instruction; None goes on behind it."""


class StepProcessor:
    """Executes the steps of one frame, live and after a restart alike.

    What an instruction did is on the tape by the calls that it made, in their order: one that was broken off is
    executed again and is given what its calls came to.
    """

    def __init__(
        self,
        context: ExecutionContext,
        frame: Frame,
        agent: AgentSpec,
        playbook: PlaybookSpec,
        known: AgentFacts,
        interpreter: FreeInterpreter,
    ) -> None:
        self._context = context
        self._frame = frame
        self._playbook = playbook
        self._agent = agent
        self._course = Course(decode_playbook(playbook))
        self._questioner = Questioner(
            known.types, playbook.returns, spaced(agent.name) if context.alone else "", lambda: frame.state.heard
        )
        self._interpreter = interpreter
        self._work = Work(context, frame, playbook)
        self._authored = Authored(self._work, interpreter.description)
        self._ahead = Ahead(self._course, self._questioner, self._work)
        hears = self._course.hears_words()
        self._exchange = Exchange(self._work, self._system, self._doing, hears_words=hears)
        self._calls = StepCalls(self._exchange, self._questioner)
        understanding = Understanding(self._exchange, self._questioner, self._ahead, known.patterns)
        self._talk = FrameTalk(
            self._exchange, self._calls, self._questioner, self._course, known, self._ahead, understanding
        )

    async def run(self) -> Any:
        """Execute the frame to its value. Raises PlaybookError when a step fails."""
        try:
            await self._begin()
            while self._lives() and self._frame.state.at is not None:
                if self._frame.state.unwaited % STEPS_AT_ONCE == 0:
                    self._context.journal.hurry()
                    await checkpoint()
                outcome = await self._execute()
                if not self._lives():
                    break
                if isinstance(outcome, Returned) or not self._go(outcome):
                    await self._exchange.asking.close()
                    return self._typed(outcome.value if isinstance(outcome, Returned) else None)
        finally:
            with anyio.CancelScope(shield=True):
                await self._exchange.asking.close(ended=False)
        return None

    def _lives(self) -> bool:
        return self._frame.alive

    async def _begin(self) -> None:
        await self._interpreter.description.resolve()
        state = self._frame.state
        if state.at is None and self._course.first is not None:
            heard = heard_text(self._context.journal.state, state.inbox)
            begins = any(trigger.kind is TriggerKind.BGN for trigger in self._playbook.triggers)
            if begins and not heard and state.caller is None:
                heard = str(self._frame.agent.variables.get("startup_message") or "")
            self._step(self._course.first, heard=heard)

    def _step(self, line: str, *, loops: Loops = NOTHING, heard: str | None = None) -> None:
        op = self._course.node(line).instruction.op
        self._work.note_step(line, op, loops=loops, heard=heard)
        at = at_work(self._context.journal.session, self._frame)
        self._context.bus.publish(StepExecuted(*at, self._frame.state.step))

    def _go(self, outcome: Going | None) -> bool:
        """Control goes to the next instruction; False when there is none."""
        at = self._frame.state.at
        assert at is not None
        going = self._course.into(at) if outcome is None else outcome
        if going.line is None:
            return False
        if self._frame.state.unwaited > MAX_STEPS:
            raise PlaybookError(f"{self._playbook.name} took {MAX_STEPS:,} steps without waiting for anybody")
        loops = {
            line: loop for line, loop in going.loops.items() if loop is not None or line in self._frame.state.loops
        }
        self._step(going.line, loops=loops)
        return True

    async def _execute(self) -> Outcome:
        line = self._frame.state.at
        assert line is not None
        instruction = self._course.node(line).instruction
        self._work.begin()
        if self._context.watcher is not None:
            await self._context.watcher.about_to_step(self._frame)
        outcome: Outcome = None
        try:
            for part in instruction.parts:
                outcome = await _HANDLERS[type(part)](self, line, part)
                if outcome is not None or not self._frame.alive:
                    break
            if outcome is None and self._frame.alive:
                await self._talk.judge(line, instruction)
        except Correction as correction:
            line, _ = self._frame.state.trail[correction.index]
            op, (notes, said) = self._course.node(line).instruction.op, self._work.told()
            self._context.journal.note(StepReturned(self._frame.id, correction.index, op, notes=notes, said=said))
            return await self._execute()
        except Withdrawn:
            return Returned()
        except NotComputable as error:
            raise PlaybookError(f"{self._frame.place}: {error}") from error
        return outcome

    # -- what instructions do

    async def _speak(self, line: str, part: steps.Say | steps.Ask) -> Outcome:
        past_meeting = self._course.past_meeting(line)
        if past_meeting is not None and self._exchange.is_over(part.targets):
            return past_meeting
        part = await self._authored.filled(part)
        if isinstance(part, steps.Say):
            await self._talk.say(line, part)
            return None
        return past_meeting if await self._talk.ask(line, part) else None

    async def _wait(self, line: str, part: steps.Wait) -> Outcome:
        return await self._speak(line, steps.Ask((), None, part.sources))

    async def _set(self, line: str, part: steps.Set) -> Outcome:
        if isinstance(part.value, steps.Prose):
            part = await self._calls.informed(part)
            question = self._questioner.value(line, part, self._work.names())
            values = await self._exchange.answer(*self._ahead.planned(question, frozenset(question.types)))
            for variable in part.variables:
                await self._work.assign(variable, values[variable.name])
            return None
        value = await self._work.evaluate(part.value)
        await self._work.give(part, value)
        return None

    async def _call(self, line: str, part: steps.Call) -> Outcome:
        await self._calls.execute(line, part, handles_failure=handles_failure(self._course, self._playbook.notes, line))
        return None

    async def _think(self, line: str, part: steps.Think) -> Outcome:
        part = await self._calls.informed(part)
        question = self._questioner.thought(line, part, self._work.names())
        thought = await self._exchange.answer(*self._ahead.planned(question))
        self._work.notes.append(f"{LineForm.THOUGHT} {foreign(str(thought)[:1000])})")
        return None

    async def _condition(self, line: str, part: steps.Condition) -> Outcome:
        if part.test is None:
            holds = part.side is steps.BranchSide.ELSE
            return self._course.into(line) if holds else self._course.after(line)
        holds = await self._holds(line, part, part.test)
        return self._course.into(line) if holds else self._course.otherwise(line)

    async def _holds(self, line: str, part: steps.Condition | steps.Loop | steps.Jump, test: steps.Operand) -> bool:
        if isinstance(test, Expression):
            return await self._work.holds(test, waits=not isinstance(part, steps.Condition))
        part = await self._calls.informed(part)
        question = self._questioner.test(line, part, self._work.names())
        answer = await self._exchange.answer(*self._ahead.tested(question, line, part))
        return question.holds(answer)

    async def _loop(self, line: str, part: steps.Loop) -> Outcome:
        state = self._frame.state.loops.get(line)
        number = 0 if state is None else state["n"] + 1
        if part.at_most is not None and number >= part.at_most:
            return self._course.past_loop(line)
        if part.kind is steps.LoopKind.EACH:
            return await self._each(line, part, state, number)
        if part.kind is steps.LoopKind.TIMES:
            most = await self._count(part) if state is None else state["of"]
            return self._round(line, number, of=most) if number < most else self._course.past_loop(line)
        if number or not part.body_first:
            holds = await self._holds(line, part, part.over)
            if holds is not (part.kind is steps.LoopKind.WHILE):
                return self._course.past_loop(line)
        if part.waits and await self._talk.ask(line, steps.Ask((), None, (part.waits,))):
            return self._course.past_loop(line)  # nothing was heard but the end of the meeting
        if part.at_most is None:
            self._check_round(line, state)
        return self._round(line, number, **counted(state))

    def _round(self, line: str, number: int, **more: Any) -> Going:
        below = self._course.into(line)
        return Going(below.line, {**self._course.rounds_below(line), line: {"n": number, **more}})

    def _check_round(self, line: str, state: Mapping[str, Any] | None) -> None:
        words = f"{self._frame.place}: \u201c{self._doing() or ''}\u201d"
        check_round(self._course.tests_of(line), state or {}, words, meeting=self._frame.state.meeting is not None)

    async def _count(self, part: steps.Loop) -> int:
        value = await self._calls.evaluate_or_ask(part.over, "how many times", "int", self._frame.state.at or "")
        if not isinstance(value, int | float):
            raise PlaybookError(f"{self._frame.place}: {value!r} is not a number of rounds")
        return int(value)

    async def _each(self, line: str, part: steps.Loop, state: Mapping[str, Any] | None, number: int) -> Outcome:
        if state is None:
            items = await self._calls.items(part, line)
            items = list(items) if isinstance(items, list | dict | str) else None
            if items is None:
                raise PlaybookError(f"{self._frame.place}: {expression_text(part.over)} is not a list")
        else:
            items = state["items"]
        if number >= len(items):
            return self._course.past_loop(line)
        if part.variable is not None:
            await self._work.assign(part.variable, items[number])
        return self._round(line, number, **({"items": items} if state is None else {}))

    async def _jump(self, line: str, part: steps.Jump) -> Outcome:
        if part.test is not None and await self._holds(line, part, part.test) is part.unless:
            return self._course.after(line)
        going = self._course.jump(line, part.line)
        if going.line != part.line or not self._course.goes_back(line, part.line):
            return going
        state = self._frame.state.loops.get(line)
        self._check_round(line, state)
        return Going(going.line, {**going.loops, line: counted(state)})

    async def _leave(self, line: str, part: steps.Leave) -> Outcome:
        loop = self._course.loop_of(line)
        if loop is None:
            return None
        return self._course.jump(line, loop) if part.next_round else self._course.past_loop(loop)

    async def _return(self, line: str, part: steps.Return) -> Outcome:
        if part.value is None:
            return Returned()
        if isinstance(part.value, Expression):
            return Returned(await self._work.evaluate(part.value))
        part = await self._calls.informed(part)
        question = self._questioner.value(line, part, self._work.names())
        return Returned((await self._exchange.answer(*self._ahead.planned(question)))["result"])

    async def _end(self, _line: str, _part: steps.End) -> Outcome:
        await self._exchange.asking.close()
        await self._context.builtins.end()
        return Returned()

    async def _carry_out(self, line: str, part: steps.Free) -> Outcome:
        await self._exchange.asking.close()
        ends = speaks_of_ending(part.text.text, self._playbook.notes) or self._course.after(line).line is None
        told = self._questioner.told(part.text.text, self._work.names())
        program = self._context.servers.equipped(self._context.program)
        fence = fence_of(part.text.text, self._playbook.notes, self._agent, program, self._talk.triggered)
        await self._interpreter.carry_out(told, fence, may_end_program=ends)
        records = [self._frame.state.records[pos] for pos in self._frame.state.order]
        self._work.said += [str(record.text) for record in records if record.name == "Say" and record.text]
        return None

    async def _pass(self, _line: str, _part: steps.StepGroup) -> Outcome:
        return None

    # -- places and values

    def _system(self) -> str:
        described = self._frame.state.description or self._playbook.description
        told = not self._context.alone  # a small model says lines of the script that it is not asked for
        return system_text(self._context.program, self._agent, self._playbook, described, with_script=told)

    def _typed(self, value: Any) -> Any:
        """The playbook's value, held to its declared type. Raises PlaybookError."""
        declared = self._playbook.returns
        if declared is None or (value is None and declared.strip() in ("None", "")):
            return value
        try:
            return coerced(value, declared)
        except ValueError as error:
            raise PlaybookError(f"the result of {self._playbook.name} {error}") from error

    def _doing(self) -> str | None:
        line = self._frame.state.at
        step = self._playbook.step(line) if line is not None else None
        return shown_words(step) if step is not None else None


_HANDLERS: Mapping[type, Callable[[StepProcessor, str, Any], Awaitable[Outcome]]] = {
    steps.Say: StepProcessor._speak,
    steps.Ask: StepProcessor._speak,
    steps.Wait: StepProcessor._wait,
    steps.Set: StepProcessor._set,
    steps.Call: StepProcessor._call,
    steps.Think: StepProcessor._think,
    steps.Condition: StepProcessor._condition,
    steps.Loop: StepProcessor._loop,
    steps.Jump: StepProcessor._jump,
    steps.Leave: StepProcessor._leave,
    steps.Return: StepProcessor._return,
    steps.End: StepProcessor._end,
    steps.Free: StepProcessor._carry_out,
    steps.StepGroup: StepProcessor._pass,
}

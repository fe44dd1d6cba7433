"""Model calls and characters of a conversation, and the time of a step: `python -m benchmarks.programs.execution`.

Prompts and replies are counted in characters: the same on every machine, and about four to a token.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.programs.plain_bot import Exchange, plain_bot
from benchmarks.table import Row, show
from evals.conversation import Stage, run_once
from evals.record import Record
from evals.talks import Expected, Line, Talk
from gateway.observability.debugger.server import DebugAddress, SessionDebugger
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import OpCode, PlaybookSpec, Program, Step
from runtime.llm.client import CompletionRequest, LLMClient, Usage
from runtime.sandbox.executor import CodeSnippet
from runtime.sandbox.monty import MontySandbox
from tests.fakes.models.answers import Answers, Prompt, Rules, answer_with
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions import programs as small

EXAMPLES = Path(__file__).parents[2] / "examples"

STATEMENTS = 200
ROUNDS = 500
MESSAGES = 300
FEW, MANY = 100, 800
WAITING = 2000
CALLS, TRIES = 1500, 3

SAYS = ("43345678", "no")
"""What the person writes after the greeting."""

RULES: Rules = {
    "say: .*Welcome the user": "Welcome! I can look up orders for you.",
    "say: .*Ask the user for their order id": "What is the number of your order?",
    "understand: .*another order": answer_with(wants_more=False),
    "understand: .*order id": answer_with(order_id="43345678"),
    "say: .*the status of order": "Your order is shipped and arrives on 2 August.",
    "say: .*another order": "Is there another order that I may look up?",
    "say: .*Thank the user": "Thank you, and goodbye!",
}
"""The order helper's model."""


class _Writes(LLMClient):
    """A model that answers by rules, a character at a time. `prompts` are what it was asked."""

    model = "scripted"

    def __init__(self, rules: Rules) -> None:
        self._answers = Answers(rules)
        self.prompts: list[str] = []

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Characters]:
        """See `LLMClient`."""
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        self.prompts.append("\n".join(message["content"] for message in messages))
        yield _Characters(self._answers.reply(Prompt.read(messages)))


class _Characters:
    usage = Usage()

    def __init__(self, text: str) -> None:
        self._text = text

    async def __aiter__(self) -> AsyncIterator[str]:
        for character in self._text:
            await asyncio.sleep(0)
            yield character


@dataclass(frozen=True)
class Held:
    """One conversation: what happened, and all that its model was told."""

    record: Record
    prompts: Sequence[str]

    @property
    def cacheable(self) -> float:
        """Which part of the prompts is the beginning of the one before, so that a provider need not read it again."""
        shared = sum(_same(one, two) for one, two in pairwise(self.prompts))
        return shared / sum(map(len, self.prompts[1:]))

    @property
    def unseen(self) -> Sequence[int]:
        """How much the model wrote before people saw the first character of an answer, for each thing they said."""
        return self.record.cost.unseen_chars


def _same(one: str, two: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (mine, other) in pairs if mine != other), min(len(one), len(two)))


def program(name: str) -> Program:
    """One of the examples."""
    return asyncio.run(compile_program([EXAMPLES / f"{name}.pb"], lowerer=RulesLowerer())).program


async def order_helper_talk() -> Held:
    """The greeting and two messages, held in memory."""
    model = _Writes(RULES)
    made = (await compile_program([EXAMPLES / "order_helper.pb"], lowerer=RulesLowerer())).program
    talk = Talk(title="", lines=[Line(text=text) for text in SAYS], expect=Expected())
    async with MontySandbox(max_workers=1) as sandbox:
        record = await run_once(made, talk, model, Stage(sandbox, SystemClock()))
    return Held(record, model.prompts)


def bare(held: Held) -> Exchange:
    """The same words said by a plain bot with a tool."""
    shown = [
        "\n".join(one.text for one in held.record.shown if one.line == line and one.speaker != "Parley")
        for line in range(len(SAYS) + 1)
    ]
    return plain_bot((EXAMPLES / "order_helper.pb").read_text(), SAYS, shown)


def counts() -> list[Row]:
    """The rows of the order helper's conversation."""
    held = in_frames(order_helper_talk())
    cost, floor, bot = held.record.cost, "a plain bot with a tool", bare(held)
    what = "order_helper, greeting and two messages"
    return [
        Row(f"model calls, {what}", cost.calls, "calls", bot.calls, floor, "<= 4"),
        Row("characters in", cost.chars_in, "chars", bot.chars_in, floor, "<= 12,000"),
        Row("characters written", cost.chars_out, "chars", cost.chars_shown, "shown", "<= 1.6 of it"),
        Row("written before the first visible one, greeting", held.unseen[0], "chars", target="<= 12"),
        Row("the same after a message, at most", max(held.unseen), "chars", bot.unseen, floor, "<= 12"),
        Row("cacheable share of its prompts", 100 * held.cacheable, "%"),
    ]


async def step_us() -> float:
    """An exact step of a loop that counts, in microseconds of the processor, its part of the tape included."""

    def step(line: str, op: OpCode, text: str, *below: Step) -> Step:
        return Step(line, op, text, small.SPAN, children=below)

    add = step("02.01", OpCode.EXE, "Set $n to $n + 1")
    loop = step("02", OpCode.CND, f"While $n < {ROUNDS}", add, step("02.02", OpCode.JMP, "02"))
    begins = small.triggers("BGN When program starts")
    steps = (step("01", OpCode.EXE, "Set $n to 0"), loop)
    main = PlaybookSpec("Main", "llm", small.SPAN, triggers=begins, steps=steps)
    made = small.program(small.agent("Counter", main))
    async with MontySandbox(max_workers=1) as sandbox, talking(made, Model(), sandbox) as talk:
        started = time.process_time()
        await talk.say("go")
        taken = time.process_time() - started
        executed = len(talk.named("step.executed"))
        assert executed > 3 * ROUNDS
        return taken / executed * 1e6


async def hop_us() -> float:
    """A message of a Python playbook to another agent, who waits for it, in microseconds of the processor."""
    sends = f"""
async def Main():
    for number in range({MESSAGES}):
        await Say("Clerk", str(number))
    await EndProgram()
"""
    hears = """
async def Listen():
    while True:
        await WaitForMessage("*")
"""
    begin = "BGN When program starts"
    made = small.program(
        small.agent("Main", small.python("Main", trigger=begin), code=sends),
        small.agent("Clerk", small.python("Listen", trigger=begin), code=hears),
    )
    async with MontySandbox(max_workers=1) as sandbox, talking(made, Model(), sandbox) as talk:
        started = time.process_time()
        await talk.say("go")
        return (time.process_time() - started) / MESSAGES * 1e6


async def sandbox_us() -> float:
    """Running one statement in the sandbox, in microseconds, when its workers are warm."""
    async with MontySandbox(max_workers=1) as sandbox:
        for number in range(STATEMENTS + 10):
            if number == 10:
                started = time.perf_counter()
            async with sandbox.evaluate(CodeSnippet("y = x + 1", {"x": number}, keep=("y",))) as evaluation:
                await evaluation.start()
                assert evaluation.kept["y"] == number + 1
        return (time.perf_counter() - started) / STATEMENTS * 1e6


async def agent_us(count: int) -> float:
    """Making one of so many agents, and ending them all, in microseconds of the processor."""
    code = f"""
async def Main():
    for _ in range({count}):
        await CreateAgent("Player")
    await EndProgram()
"""
    main = small.agent("Main", small.python("Main", trigger="BGN When program starts"), code=code)
    players = small.agent("Player", small.python("Move"), code="async def Move():\n    pass\n")
    made = small.program(main, players)
    async with MontySandbox(max_workers=1) as sandbox, talking(made, Model(), sandbox) as talk:
        started = time.process_time()
        await talk.say("go")
        return (time.process_time() - started) / count * 1e6


async def waiting_us(count: int) -> float:
    """Making one of so many agents and having it wait for a message, in microseconds of the processor."""
    code = f"""
async def Main():
    for _ in range({count}):
        await CreateAgent("Listener")
    await EndProgram()
"""
    begin = "BGN When program starts"
    waits = 'async def Listen():\n    await WaitForMessage("agent 1000")\n'
    main = small.agent("Main", small.python("Main", trigger=begin), code=code)
    made = small.program(main, small.agent("Listener", small.python("Listen", trigger=begin), code=waits))
    async with MontySandbox(max_workers=1) as sandbox, talking(made, Model(), sandbox) as talk:
        started = time.process_time()
        await talk.say("go")
        return (time.process_time() - started) / count * 1e6


async def call_us(*, debugged: bool) -> float:
    """A host call of a playbook in Python, in microseconds of the processor; `debugged` with a debug server to which
    nobody is attached, else with none."""
    code = f"async def Main():\n    for _ in range({CALLS}):\n        await Now()\n    await EndProgram()\n"
    made = small.program(small.agent("Main", small.python("Main", trigger="BGN When program starts"), code=code))
    async with MontySandbox(max_workers=1) as sandbox:
        debugger = SessionDebugger(DebugAddress("127.0.0.1", 0), {made.name: made}, sandbox, Bus(SystemClock()))
        watch = debugger.watch if debugged else None
        async with talking(made, Model(), sandbox, debugger=watch) as talk:
            started = time.process_time()
            await talk.say("go")
            return (time.process_time() - started) / CALLS * 1e6


def in_frames(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives on the loop that python playbooks need."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(work)


def run() -> list[Row]:
    """The rows of this benchmark."""
    rows = counts()
    rows.append(Row("an exact step", min(in_frames(step_us()) for _ in range(TRIES)), "µs", target="<= 100 µs"))
    hop = min(in_frames(hop_us()) for _ in range(TRIES))
    rows.append(Row("a message from a Python playbook to another agent", hop, "µs", target="<= 200 µs"))
    rows.append(Row("running a statement in the sandbox", asyncio.run(sandbox_us()), "µs"))
    few, many = in_frames(agent_us(FEW)), in_frames(agent_us(MANY))
    rows.append(Row(f"making one of {MANY} agents", many, "µs", few, f"one of {FEW}"))
    few, many = in_frames(waiting_us(FEW)), in_frames(waiting_us(WAITING))
    rows.append(Row(f"having one of {WAITING} agents wait", many, "µs", few, f"one of {FEW}"))
    without = min(in_frames(call_us(debugged=False)) for _ in range(TRIES))
    watched = min(in_frames(call_us(debugged=True)) for _ in range(TRIES))
    rows.append(Row("a host call under a debug server", watched, "µs", without, "without one"))
    return rows


if __name__ == "__main__":
    print(show(run()))

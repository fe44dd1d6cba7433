"""What a model is told, and what executing its replies costs besides it: `python -m benchmarks.execution`.

Prompts are counted in characters: the same on every machine, and about four to a token.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from runtime.execution.free.contract import Contract

from benchmarks.table import Row, show
from gateway.observability.debugger.server import DebugAddress, Debugger
from runtime.agents.library import call_shapes
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from runtime.execution.free.position import Position
from runtime.execution.free.prompt import build_prompt
from runtime.execution.free.verifier import verify
from runtime.execution.triggers.handling import HANDLER
from runtime.execution.triggers.triggers import declared_types
from runtime.language.compiler import compile_program
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.language.rules import RulesLowerer
from runtime.sandbox.executor import Snippet
from runtime.sandbox.monty import MontySandbox
from runtime.tape.frame_state import FrameState
from runtime.tape.state import AgentState, SessionState
from tests.fakes.talk import Model, talking
from tests.unit.runtime.sessions import programs as small

EXAMPLES = Path(__file__).parents[1] / "examples"
UPSTREAM_SYSTEM_CHARS = 21_000
"""The system prompt of playbooks 0.7.4, the first implementation of the language; it stands before every request.

Taken as it was measured. Nothing else of that layout is counted against it, not what it says of its own calls and state
in every request: program, past and situation are as long as here.
"""

TURNS = 8
REPEATS = 300
STATEMENTS = 200
FEW, MANY = 100, 800
CALLS, TRIES = 1500, 3

_HEARD = "Message from Ada (user): Then let us take the second one, please. Can you also tell me when it will be here?"


@dataclass(frozen=True)
class Told:
    """The prompts of one conversation. `upstream` is what its layout needs at least: its system prompt, the same
    program, the same past, and what is true now in the same words; not what is said here of our own rules."""

    ours: Sequence[str]
    upstream: Sequence[int]

    @property
    def cacheable(self) -> float:
        """Which part of a prompt is the beginning of the one before it, so that a provider need not read it again."""
        return statistics.fmean(_same(one, two) / len(two) for one, two in pairwise(self.ours))


def _same(one: str, two: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (mine, other) in pairs if mine != other), min(len(one), len(two)))


def program(name: str) -> Program:
    """One of the examples."""
    return asyncio.run(compile_program([EXAMPLES / f"{name}.pb"], lowerer=RulesLowerer())).program


def reply(playbook: PlaybookSpec, turn: int) -> str:
    """A reply of the usual length."""
    steps = list(playbook.walk_steps())
    step = steps[turn % len(steps)]
    return "\n".join(
        [
            "```python",
            f'await Step("{playbook.name}:{step.line}:{step.op}")',
            'await Say("user", "I see. That one is in stock, and it will be with you on Tuesday or Wednesday.")',
            'await Yld("user")',
            "```",
        ]
    )


def conversation(made: Program) -> Told:
    """What a model is told turn by turn; the same is said in every program."""
    agent, playbook = _first(made)
    state = SessionState(agents={"1000": AgentState("1000", agent.name, {"order_id": "43345678", "wants_more": True})})
    frame = state.frames["1000.0"] = FrameState("1000.0", "1000", playbook.name, [], {}, "llm - -")
    ours, upstream = [], []
    for turn in range(TURNS):
        frame.turn = turn
        messages = build_prompt(made, agent, state, frame)
        ours.append("\n".join(message.content for message in messages))
        upstream.append(len(ours[-1]) - _own_rules(messages[0].content) + UPSTREAM_SYSTEM_CHARS)
        frame.transcript.append({"heard": _HEARD, "said": reply(playbook, turn)})
    return Told(ours, upstream)


def _own_rules(system: str) -> int:
    """How many characters of a system prompt are not the program: the rules before it, the built-in playbook after."""
    contract, _, rest = system.partition("The program:")
    return len(contract) + len(rest) - len(rest.rpartition(f"{HANDLER.name} is built in.")[0])


def _first(made: Program) -> tuple[AgentSpec, PlaybookSpec]:
    agent = made.agents[0]
    return agent, next(playbook for playbook in agent.playbooks if playbook.steps)


def _position(made: Program) -> Position:
    agent, playbook = _first(made)
    return Position(
        playbook=playbook.name,
        steps={step.line: str(step.op) for step in playbook.walk_steps()},
        functions=call_shapes(made, agent),
        names={"order_id", "order"},
        check_target=lambda text: text,
        check_source=lambda text: text,
        types=declared_types(agent),
    )


def verification_us(made: Program) -> float:
    """Verifying one statement that was not seen before, in microseconds."""
    _, playbook = _first(made)
    first = next(playbook.walk_steps())
    step = f"{playbook.name}:{first.line}:{first.op}"
    here = _position(made)
    numbers = iter(range(REPEATS))

    def once() -> None:
        number = next(numbers)
        for line in (
            f'await Step("{step}")  # {number}',
            f'await Say("user", f"Order {number}: {{order_id}} is {{order}} and will be with you soon.")',
            f'await Var("order_id", "{number}")',
            f'total{number} = sum(len(part) for part in order_id.split("-"))',
        ):
            assert verify(line, here) is None

    return _us(once, REPEATS) / 4


def parsing_us() -> float:
    """Only parsing the same statements: what verification cannot be below."""
    source = 'await Say("user", f"Your order {order_id} is {order} and will be with you soon.")'
    return _us(lambda: compile(source, "", "exec", flags=_PARSE), REPEATS)


_PARSE = 0x400 | 0x2000  # ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _us(work: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times * 1e6


async def sandbox_us() -> float:
    """Running one statement in the sandbox, in microseconds, when its workers are warm."""
    async with MontySandbox(max_workers=1) as sandbox:
        for number in range(STATEMENTS + 10):
            if number == 10:
                started = time.perf_counter()
            async with sandbox.evaluate(Snippet("y = x + 1", {"x": number}, keep=("y",))) as evaluation:
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


async def call_us(*, debugged: bool) -> float:
    """A host call of a playbook in Python, in microseconds of the processor; `debugged` with a debug server to which
    nobody is attached, else with none."""
    code = f"async def Main():\n    for _ in range({CALLS}):\n        await Now()\n    await EndProgram()\n"
    made = small.program(small.agent("Main", small.python("Main", trigger="BGN When program starts"), code=code))
    async with MontySandbox(max_workers=1) as sandbox:
        debugger = Debugger(DebugAddress("127.0.0.1", 0), {made.name: made}, sandbox, Bus(SystemClock()))
        watch = debugger.watch if debugged else None
        async with talking(made, Model(), sandbox, debugger=watch) as talk:
            started = time.process_time()
            await talk.say("go")
            return (time.process_time() - started) / CALLS * 1e6


def in_frames(work: Coroutine[Any, Any, float]) -> float:
    """What a coroutine gives on the loop that python playbooks need."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(work)


def run() -> list[Row]:
    """The rows of this benchmark."""
    rows = []
    programs = {name: program(name) for name in ("hello", "order_helper", "two_agents")}
    for name, made in programs.items():
        told = conversation(made)
        ours, theirs = statistics.fmean(map(len, told.ours)), statistics.fmean(told.upstream)
        rows.append(Row(f"prompt a turn, {name}", ours, "chars", theirs, "upstream's layout", "<= 0.5 of it"))
        rows.append(Row(f"cacheable share of a prompt, {name}", 100 * told.cacheable, "%"))
    made = programs["order_helper"]
    agent, _ = _first(made)
    state = SessionState(agents={"1000": AgentState("1000", agent.name)})
    frame = FrameState("1000.0", "1000", "Main", [], {}, "llm - -")
    rows.append(Row("building a prompt", _us(lambda: build_prompt(made, agent, state, frame), REPEATS), "µs"))
    rows.append(Row("verifying a statement", verification_us(made), "µs", parsing_us(), "parsing it"))
    rows.append(Row("running a statement in the sandbox", asyncio.run(sandbox_us()), "µs"))
    few, many = in_frames(agent_us(FEW)), in_frames(agent_us(MANY))
    rows.append(Row(f"making one of {MANY} agents", many, "µs", few, f"one of {FEW}"))
    without = min(in_frames(call_us(debugged=False)) for _ in range(TRIES))
    watched = min(in_frames(call_us(debugged=True)) for _ in range(TRIES))
    rows.append(Row("a host call under a debug server", watched, "µs", without, "without one"))
    return rows


if __name__ == "__main__":
    print(show(run()))

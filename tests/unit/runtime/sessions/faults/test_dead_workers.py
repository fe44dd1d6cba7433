"""A worker of the sandbox is killed while a statement runs: the turn goes on, and the model hears of its own faults."""

import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from runtime.core.errors import NoWorker
from runtime.language.program import Program
from runtime.sandbox.executor import CodeSnippet
from runtime.sandbox.monty import MontyEvaluation, MontySandbox, SandboxLimits
from tests.fakes.people.talk import Model, block, talking
from tests.sampling import sample
from tests.unit.runtime.sessions.programs import agent, llm, program, python

COUNT = "for _ in range(40000): pass"

CODE = """
async def Pay(amount):
    await Var("paid", (variables.get("paid") or 0) + amount)
    return amount
"""

WORK = (
    'await Step("Main:01:QUE")',
    "total = 0",
    f"for n in range(1, 4):\n    {COUNT}\n    total += await Pay(n)",
    f'{COUNT}\nawait Say("user", f"paid {{total}} of {{paid}}")',
    f"import asyncio\n{COUNT}\na, b = await asyncio.gather(Pay(10), Pay(20))\n{COUNT}",
    'await Say("user", f"then {a + b} of {paid}")',
    'await Yld("user")',
)


def working() -> Program:
    main = llm("Main", "01:QUE Work", "02:YLD for user", begins=True)
    return program(agent("Main", main, python("Pay", "amount"), code=CODE))


class Killing(MontySandbox):
    """Kills the worker at work in chosen turns of statements."""

    def __init__(self, turns: set[int]) -> None:
        super().__init__(max_workers=1, limits=SandboxLimits(feed_s=30))
        self._turns_to_die = turns
        self.turns = self.kills = 0

    @asynccontextmanager
    async def evaluate(self, snippet: CodeSnippet, /) -> AsyncIterator[MontyEvaluation]:
        async with super().evaluate(snippet) as evaluation, anyio.create_task_group() as tasks:
            turn = evaluation._turn

            async def deadly(begin: object) -> None:
                self.turns += 1
                if self.turns in self._turns_to_die:
                    tasks.start_soon(self._kill)
                await turn(begin)  # type: ignore[arg-type]

            evaluation._turn = deadly  # type: ignore[method-assign]
            yield evaluation
            tasks.cancel_scope.cancel()

    async def _kill(self) -> None:
        for pid in worker_pids():
            os.kill(pid, signal.SIGKILL)
            self.kills += 1


def worker_pids() -> list[int]:
    """The workers of this process."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "monty"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


async def test_workers_killed_at_any_turn_of_any_statement_change_nothing() -> None:
    async with Killing(set()) as calm, talking(working(), Model(block(*WORK)), calm) as talk:
        assert await talk.say("go") == ["paid 6 of 6", "then 30 of 26"]
    for turn in sample().of(range(1, calm.turns + 1)):
        async with Killing({turn}) as sandbox, talking(working(), Model(block(*WORK)), sandbox) as talk:
            assert await talk.say("go") == ["paid 6 of 6", "then 30 of 26"], turn
            assert sandbox.kills == 1
            assert not [fact for fact in talk.world.facts if fact.kind == "failed"]


async def test_workers_killed_again_and_again_at_random_change_nothing() -> None:
    for seed in sample().of(range(8)):
        turns = set(random.Random(seed).sample(range(1, 18), 6))
        async with Killing(turns) as sandbox, talking(working(), Model(block(*WORK)), sandbox) as talk:
            assert await talk.say("go") == ["paid 6 of 6", "then 30 of 26"], seed
            assert sandbox.kills > 1


async def test_the_model_hears_of_a_statement_that_takes_too_long_and_mends_it() -> None:
    endless = ('await Step("Main:01:QUE")', 'await Say("user", "one moment")', "while True: pass")
    mended = ("# resume: 3", 'await Say("user", "here it is")', 'await Yld("user")')
    model = Model(block(*endless), block(*mended))
    limits = SandboxLimits(feed_s=1.0)
    async with MontySandbox(max_workers=1, limits=limits) as sandbox, talking(working(), model, sandbox) as talk:
        assert await talk.say("go") == ["one moment", "here it is"]
    assert "failed: TimeoutError" in model.told(1)


async def test_a_statement_that_ends_every_worker_fails_and_the_model_is_told() -> None:
    greedy = ('await Step("Main:01:QUE")', "x = [0] * 10 ** 9")
    mended = ("# resume: 2", 'await Say("user", "smaller then")', 'await Yld("user")')
    model = Model(block(*greedy), block(*mended))
    async with MontySandbox(max_workers=1) as sandbox, talking(working(), model, sandbox) as talk:
        assert await talk.say("go") == ["smaller then"]
    assert "failed: MemoryError" in model.told(1)


class Empty(MontySandbox):
    """Has no worker for a while."""

    empty = False

    @asynccontextmanager
    async def evaluate(self, snippet: CodeSnippet, /) -> AsyncIterator[MontyEvaluation]:
        if self.empty:
            raise NoWorker("The sandbox has no worker process: fork failed")
        async with super().evaluate(snippet) as evaluation:
            yield evaluation


async def test_without_any_worker_people_are_told_and_the_statement_runs_when_they_write() -> None:
    model = Model(block(*WORK), block("# resume: 1", *WORK[1:]))
    async with Empty(max_workers=1) as sandbox, talking(working(), model, sandbox) as talk:
        sandbox.empty = True
        assert await talk.say("go") == ["⚠️ The sandbox has no worker process: fork failed"]
        sandbox.empty = False
        assert await talk.say("again") == ["paid 6 of 6", "then 30 of 26"]
        assert len(talk.named("sandbox.failed")) == 1


async def test_a_guest_reads_that_nothing_can_go_on_and_not_why() -> None:
    async with Empty(max_workers=1) as sandbox, talking(working(), Model(block(*WORK)), sandbox) as talk:
        sandbox.empty = True
        [told] = await talk.say("go", by_guest=True)
        assert told.startswith("⚠️ I cannot continue right now. Your message is kept.")

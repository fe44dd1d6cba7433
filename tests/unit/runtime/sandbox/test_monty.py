"""Statements in real worker processes: calls, results, errors, and what is left behind."""

import random
import subprocess
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.built_in_calls import SIGNATURES
from runtime.core.errors import SandboxError
from runtime.sandbox.executor import CallOutcome, CodeSnippet, HostCall, Sandbox, SnippetEvaluation
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from runtime.sandbox.wrapping import WorkerWrapper, wrap_worker
from tests.unit.runtime.sandbox.hostile import HOSTILE

FUNCTIONS = frozenset({"Say", "Step", "Agent.Play"})


@pytest.fixture
async def sandbox() -> AsyncIterator[MontySandbox]:
    async with MontySandbox(max_workers=2, limits=SandboxLimits(feed_s=1.0, suspensions=200)) as started:
        yield started


def snippet(source: str, *, keep: Sequence[str] = (), names: Mapping[str, Any] | None = None) -> CodeSnippet:
    return CodeSnippet(source, names=names or {}, functions=FUNCTIONS, keep=keep)


def positions(calls: Sequence[HostCall]) -> list[tuple[int, str]]:
    return [(call.number, call.name) for call in calls]


def has_ended(evaluation: SnippetEvaluation) -> bool:
    return evaluation.ended


async def run_to_end(evaluation: SnippetEvaluation, most: int = 300) -> list[HostCall]:
    """Start it and answer every call with its number, in order."""
    made: list[HostCall] = []
    await evaluation.start()
    while not has_ended(evaluation) and len(made) < most:
        calls = list(evaluation.take_calls())
        assert calls, "quiet, not ended, and waiting for nothing"
        made += calls
        for call in calls:
            await evaluation.resolve(call.number, CallOutcome(call.number))
    return made + list(evaluation.take_calls())


def worker_processes() -> list[int]:
    """Sandbox workers among the children of this process, found without any library."""
    children = [pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
    return [int(pid) for pid in children if is_worker(pid)]


def is_worker(pid: str) -> bool:
    """Whether a process executes the program of that name, and not merely has it among its arguments."""
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return False
    return any(part.endswith(b"/monty") for part in parts)


async def test_call_reaches_the_host_and_its_result_the_statement(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("x = await Say('user', text=name)", keep=["x"], names={"name": "Ada"})) as it:
        await it.start()
        assert it.take_calls() == [HostCall(0, "Say", ("user",), {"text": "Ada"})]
        assert it.take_calls() == []
        assert not has_ended(it)
        await it.resolve(0, CallOutcome({"id": [1, 2]}))
        assert has_ended(it)
        assert it.error is None
        assert it.kept == {"x": {"id": [1, 2]}}


async def test_dotted_function_is_called_by_its_dotted_name(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("x = await Agent.Play(1)\ny = await Agent.Play(x)", keep=["y"])) as it:
        await it.start()
        assert positions(it.take_calls()) == [(0, "Agent.Play")]
        await it.resolve(0, CallOutcome("one"))
        assert it.take_calls() == [HostCall(1, "Agent.Play", ("one",), {})]
        await it.resolve(1, CallOutcome("two"))
        assert it.kept == {"y": "two"}


async def test_function_passed_around_is_still_the_host_function(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("f = Agent.Play\nfor g in [f, Say]: await g(1)")) as it:
        assert [call.name for call in await run_to_end(it)] == ["Agent.Play", "Say"]


@pytest.mark.parametrize("source", ["await Nope(1)", "x = Nope", "await Step.Nope()"])
async def test_unknown_name_is_an_error_of_the_statement(sandbox: Sandbox, source: str) -> None:
    async with sandbox.evaluate(snippet(source)) as it:
        await it.start()
        assert it.error is not None
        assert it.error.type in {"NameError", "AttributeError"}
        assert "Nope" in it.error.text


async def test_unawaited_call_reaches_the_host_and_holds_the_end_open(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("x = 3\nSay('user', 'a')\nSay('user', 'b')", keep=["x"])) as it:
        await it.start()
        assert positions(it.take_calls()) == [(0, "Say"), (1, "Say")]
        await it.resolve(1, CallOutcome())
        assert not has_ended(it)
        await it.resolve(0, CallOutcome())
        assert has_ended(it)
        assert it.kept == {"x": 3}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
async def test_gather_takes_results_in_any_order(sandbox: Sandbox, order: list[int]) -> None:
    source = "import asyncio\nx = await asyncio.gather(Say(0), Agent.Play(1), Step(2))"
    async with sandbox.evaluate(snippet(source, keep=["x"])) as it:
        await it.start()
        assert positions(it.take_calls()) == [(0, "Say"), (1, "Agent.Play"), (2, "Step")]
        for number in order:
            assert not has_ended(it)
            await it.resolve(number, CallOutcome(number * 10))
        assert has_ended(it)
        assert it.kept == {"x": [0, 10, 20]}


async def test_order_of_results_decides_what_runs_next(sandbox: Sandbox) -> None:
    source = (
        "import asyncio\nasync def branch(n):\n    await Say(n)\n    await Step(n)\n"
        "await asyncio.gather(branch('a'), branch('b'))"
    )
    async with sandbox.evaluate(snippet(source)) as it:
        await it.start()
        assert [call.args for call in it.take_calls()] == [("a",), ("b",)]
        await it.resolve(1, CallOutcome())
        assert it.take_calls() == [HostCall(2, "Step", ("b",), {})]
        await it.resolve(0, CallOutcome())
        assert it.take_calls() == [HostCall(3, "Step", ("a",), {})]


async def test_same_statement_makes_the_same_calls_each_time(sandbox: Sandbox) -> None:
    source = "import random\nfor x in [random.random(), random.choice('abc')]: await Say(x, {1, 2} == {2, 1})"
    runs = []
    for _ in range(5):
        async with sandbox.evaluate(snippet(source)) as it:
            runs.append(await run_to_end(it))
    assert len(runs[0]) == 2
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize(
    ("error", "caught"),
    [
        (("ValueError", "bad"), "ValueError: bad"),
        (("TimeoutError", "late"), "TimeoutError: late"),
        (("PlaybookError", "no stock"), "RuntimeError: PlaybookError: no stock"),
        (("SystemExit", "x"), "RuntimeError: SystemExit: x"),
    ],
)
async def test_error_outcome_is_caught_by_the_statement(sandbox: Sandbox, error: tuple[str, str], caught: str) -> None:
    source = "try:\n    await Say(1)\nexcept Exception as e:\n    got = f'{type(e).__name__}: {e}'"
    async with sandbox.evaluate(snippet(source, keep=["got"])) as it:
        await it.start()
        await it.resolve(0, CallOutcome(error=error))
        assert it.kept == {"got": caught}


async def test_error_that_nobody_catches_ends_the_statement(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("x = 1\n\nawait Say(1)")) as it:
        await it.start()
        await it.resolve(0, CallOutcome(error=("ValueError", "bad")))
        assert has_ended(it)
        assert it.error is not None
        assert (it.error.type, it.error.text) == ("ValueError", "bad")


async def test_error_inside_an_earlier_definition_is_the_statements(sandbox: Sandbox) -> None:
    failing = CodeSnippet("y = 1\nhalf(0)", prelude=["import math\n\n\ndef half(x):\n    return 1 / x"])
    async with sandbox.evaluate(failing) as it:
        await it.start()
        assert it.error is not None
        assert it.error.type == "ZeroDivisionError"


async def test_definitions_cannot_call_the_host(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(
        CodeSnippet("x = 1", functions=FUNCTIONS, prelude=["def f(x=Say('user', 'x')): pass"])
    ) as it:
        await it.start()
        assert it.take_calls() == []
        assert it.error is not None


async def test_missing_names_are_not_kept_and_data_is_made_plain(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("a = (1, {2: None})\nb = 1.5", keep=["a", "b", "c", "no name"])) as it:
        await it.start()
        assert it.kept == {"a": [1, {"2": None}], "b": 1.5}


@pytest.mark.parametrize("value", ["lambda: 1", "{1, 2}", "b'x'", "Say('user', 'x')", "10**5000", "Agent", "type(1)"])
async def test_value_that_is_not_data_cannot_be_kept(sandbox: Sandbox, value: str) -> None:
    async with sandbox.evaluate(
        snippet(f"good = 1\nthing = {value}\nawait Agent.Play()", keep=["good", "thing"])
    ) as it:
        await run_to_end(it)
        assert it.error is None
        with pytest.raises(SandboxError, match="'thing'"):
            _ = it.kept


async def test_result_that_is_not_data_is_an_error_in_the_statement(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("await Say(1)")) as it:
        await it.start()
        await it.resolve(0, CallOutcome(object()))
        assert it.error is not None
        assert it.error.type == "TypeError"


async def test_call_is_resolved_once_only(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("await Say(1)\nawait Say(2)")) as it:
        await it.start()
        with pytest.raises(SandboxError, match="Call 1"):
            await it.resolve(1, CallOutcome())
        await it.resolve(0, CallOutcome())
        with pytest.raises(SandboxError, match="Call 0"):
            await it.resolve(0, CallOutcome())


async def test_statement_that_holds_too_much_across_a_call_is_ended() -> None:
    holding = snippet("x = list(range(200000))\nawait Say(1)")
    limits = SandboxLimits(parked_bytes=100_000)
    async with MontySandbox(limits=limits) as sandbox, sandbox.evaluate(holding) as it:
        await it.start()
        assert it.error is not None
        assert it.error.type == "MemoryError"


async def test_hostile_statement_is_contained_even_without_the_policy(sandbox: Sandbox, tmp_path: Path) -> None:
    """Every one runs as if the policy had let it through; then the next statement must work as ever."""
    secret = tmp_path / "secret"
    secret.write_text("the-secret-text")
    escaped = []
    for title, source, rule in HOSTILE:
        prelude = ["import asyncio"] if "gather" in source else []
        functions = FUNCTIONS | SIGNATURES.keys()
        hostile = CodeSnippet(source.replace("LOOT", str(secret)), prelude=prelude, functions=functions, keep=["loot"])
        async with sandbox.evaluate(hostile) as it:
            seen = repr([call.args for call in await run_to_end(it)])
            try:
                seen += repr(it.kept)
            except SandboxError as error:
                seen += str(error)
            if "the-secret-text" in seen or "PATH" in seen or (rule is None and it.error is None):
                escaped.append((title, seen[:200]))
        async with sandbox.evaluate(snippet("x = 1 + 1\nawait Say(x)", keep=["x"])) as it:
            await it.start()
            await it.resolve(0, CallOutcome())
            if it.error is not None or it.kept != {"x": 2}:
                escaped.append((f"the statement after {title}", str(it.error)))
    assert escaped == []
    assert secret.read_text() == "the-secret-text"


async def test_waiting_statements_hold_no_worker(sandbox: Sandbox) -> None:
    """Twenty wait for their calls at once on two workers; were they to hold one each, the third would never start."""
    async with anyio.create_task_group() as tasks:
        everyone_waits = anyio.Event()
        waiting = 0

        async def one(number: int) -> None:
            nonlocal waiting
            async with sandbox.evaluate(snippet("x = await Say(n)", keep=["x"], names={"n": number})) as it:
                await it.start()
                assert it.take_calls()[0].args == (number,)
                waiting += 1
                if waiting == 20:
                    everyone_waits.set()
                await everyone_waits.wait()
                await it.resolve(0, CallOutcome(number))
                assert it.kept == {"x": number}

        for number in range(20):
            tasks.start_soon(one, number)
    assert waiting == 20


async def test_cancelled_evaluation_frees_its_worker() -> None:
    async with MontySandbox(max_workers=1, limits=SandboxLimits(feed_s=30)) as sandbox:
        for source in ["await Say(1)", "while True: pass"]:
            with anyio.move_on_after(0.05) as scope:
                async with sandbox.evaluate(snippet(source)) as it:
                    await it.start()
                    await anyio.sleep_forever()
            assert scope.cancelled_caught
        async with sandbox.evaluate(snippet("x = 1", keep=["x"])) as it:
            await it.start()
            assert it.kept == {"x": 1}


async def test_evaluation_that_waits_for_a_worker_can_be_cancelled() -> None:
    async with (
        MontySandbox(max_workers=1, limits=SandboxLimits(feed_s=0.5)) as sandbox,
        anyio.create_task_group() as tasks,
    ):

        async def busy() -> None:
            async with sandbox.evaluate(snippet("while True: pass")) as it:
                await it.start()
                assert it.error is not None
                assert it.error.type == "TimeoutError"

        tasks.start_soon(busy)
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0.01) as scope:
            async with sandbox.evaluate(snippet("x = 1")) as it:
                await it.start()
        assert scope.cancelled_caught


async def test_evaluations_that_are_cancelled_at_any_moment_cost_no_worker() -> None:
    draw = random.Random(3)
    async with MontySandbox(max_workers=2) as sandbox:

        async def evaluated() -> None:
            async with sandbox.evaluate(snippet("x = await Say(1)", keep=["x"])) as it:
                await it.start()
                await it.resolve(0, CallOutcome(5))
                assert it.kept == {"x": 5}

        async def two() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(evaluated)
                tasks.start_soon(evaluated)

        for _ in range(60):
            with anyio.move_on_after(draw.uniform(0, 0.004)):
                await two()
            with anyio.fail_after(60):
                await two()


async def test_worker_that_died_while_idle_is_replaced_unnoticed(sandbox: Sandbox) -> None:
    async with sandbox.evaluate(snippet("x = 1", keep=["x"])) as it:
        await it.start()  # from now on there is a worker
    killed = worker_processes()
    for pid in killed:
        subprocess.run(["kill", "-9", str(pid)], check=True)  # noqa: ASYNC221 - takes a millisecond
    async with sandbox.evaluate(snippet("x = 1", keep=["x"])) as it:
        await it.start()
        assert it.kept == {"x": 1}
    assert killed
    assert not set(worker_processes()) & set(killed)


_AT_WORK_TICKS = 5
"""Of a hundredth of a second each; a worker that only waits uses none."""


async def kill_the_one_at_work(killed: Collection[int] = ()) -> list[int]:
    """Kill the worker that computes, as soon as it does, and not one that was killed before."""
    while not (found := [pid for pid in worker_processes() if pid not in killed and _ticks(pid) >= _AT_WORK_TICKS]):
        await anyio.lowlevel.checkpoint()
    for pid in found:
        subprocess.run(["kill", "-9", str(pid)], check=True)  # noqa: ASYNC221 - takes a millisecond
    return found


def _ticks(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    except OSError:
        return 0


async def test_statement_whose_worker_is_killed_is_run_by_another_as_if_nothing_had_happened() -> None:
    source = "before = await Lookup(1)\nn = 0\nwhile n < 2000000:\n    n += 1\nafter = await Lookup(before)"
    async with MontySandbox(max_workers=1, limits=SandboxLimits(feed_s=30)) as sandbox:
        it_is = CodeSnippet(source, functions=frozenset({"Lookup"}), keep=["after"])
        async with sandbox.evaluate(it_is) as it:
            await it.start()
            (first,) = it.take_calls()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(it.resolve, first.number, CallOutcome(7))
                await kill_the_one_at_work()
            (second,) = it.take_calls()
            assert second.args == (7,)
            await it.resolve(second.number, CallOutcome("found"))
            assert it.error is None
            assert it.kept == {"after": "found"}


async def test_worker_that_dies_at_work_again_is_an_error_of_its_statement_only() -> None:
    async with MontySandbox(max_workers=1, limits=SandboxLimits(feed_s=30)) as sandbox:
        async with anyio.create_task_group() as tasks, sandbox.evaluate(snippet("while True: pass")) as it:
            tasks.start_soon(it.start)
            await kill_the_one_at_work(await kill_the_one_at_work())
        assert it.error is not None
        assert "ended with its process" in it.error.text
        async with sandbox.evaluate(snippet("x = 1", keep=["x"])) as it:
            await it.start()
            assert it.kept == {"x": 1}


async def test_two_hundred_evaluations_leave_no_process() -> None:
    before = set(worker_processes())
    async with MontySandbox(max_workers=2) as sandbox:
        for number in range(200):
            async with sandbox.evaluate(snippet("await Say(n)", names={"n": number})) as it:
                await it.start()
                if number % 2:
                    await it.resolve(0, CallOutcome())
        assert 1 <= len(set(worker_processes()) - before) <= 2
    assert set(worker_processes()) - before == set()


async def test_wrapped_worker_runs_statements_or_the_reason_is_told(tmp_path: Path) -> None:
    wrapping = await wrap_worker(tmp_path)
    assert wrapping.reason
    before = set(worker_processes())
    calling = snippet("x = await Say(1)", keep=["x"])
    async with MontySandbox(max_workers=1, wrapping=wrapping) as sandbox, sandbox.evaluate(calling) as it:
        await it.start()
        await it.resolve(0, CallOutcome("one"))
        assert it.kept == {"x": "one"}
    assert set(worker_processes()) - before == set()


async def test_worker_that_cannot_start_is_told() -> None:
    with pytest.raises(SandboxError, match="could not start"):
        async with MontySandbox(wrapping=WorkerWrapper(Path("/no/such/worker"), "")):
            pass

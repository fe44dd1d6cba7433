"""Tasks that go on beside a block of code."""

from contextvars import ContextVar

import anyio
import pytest

from runtime.core.background import OnDemand, beside


async def test_what_goes_on_beside_a_block_ends_with_it() -> None:
    ended: list[str] = []

    async def go_on() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("beside")

    async with beside() as tasks:
        tasks.start_soon(go_on)
        await anyio.lowlevel.checkpoint()
    assert ended == ["beside"]


async def test_an_exception_of_the_block_leaves_as_itself() -> None:
    wrong = ValueError("wrong")

    async def block() -> None:
        async with beside() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            raise wrong

    with pytest.raises(ValueError, match="wrong") as raised:
        await block()
    assert raised.value is wrong


async def test_a_task_that_fails_ends_the_block() -> None:
    async def fail() -> None:
        raise ValueError("wrong")

    async def block() -> None:
        async with beside() as tasks:
            tasks.start_soon(fail)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await block()
    assert raised.group_contains(ValueError)


async def test_a_task_may_end_the_block_without_an_error() -> None:
    async with beside() as tasks:
        tasks.start_soon(_cancel, tasks.cancel_scope)
        await anyio.sleep_forever()
    assert tasks.cancel_scope.cancelled_caught


async def test_being_cancelled_from_outside_is_not_swallowed() -> None:
    with anyio.CancelScope() as outside:
        async with beside() as tasks:
            tasks.start_soon(_cancel, outside)
            await anyio.sleep_forever()
    assert outside.cancelled_caught


async def _cancel(scope: anyio.CancelScope) -> None:
    scope.cancel()


class Work:
    """What is done on demand: each turn waits until it is let go."""

    def __init__(self) -> None:
        self.turns = 0
        self.error: Exception | None = None
        self.go = anyio.Event()

    async def __call__(self) -> None:
        self.turns += 1
        await self.go.wait()
        if self.error is not None:
            raise self.error


async def _all_ended() -> int:
    await anyio.wait_all_tasks_blocked()
    return len(anyio.get_running_tasks())


async def test_work_on_demand_has_no_task_while_there_is_nothing_to_do() -> None:
    work = Work()
    async with anyio.create_task_group() as tasks:
        on_demand, before = OnDemand(work), await _all_ended()
        on_demand.start(tasks)
        assert (work.turns, await _all_ended()) == (0, before)
        on_demand.wake()
        assert (await _all_ended(), work.turns) == (before + 1, 1)
        work.go.set()
        assert await _all_ended() == before


async def test_what_is_wanted_during_the_work_is_done_once_more_after_it() -> None:
    work = Work()
    async with anyio.create_task_group() as tasks:
        on_demand = OnDemand(work)
        on_demand.start(tasks)
        on_demand.wake()
        await anyio.wait_all_tasks_blocked()
        on_demand.wake()
        on_demand.wake()
        await anyio.wait_all_tasks_blocked()
        assert work.turns == 1
        work.go.set()
    assert work.turns == 2


async def test_what_is_wanted_before_the_start_is_done_at_the_start_and_nothing_after_the_end() -> None:
    work = Work()
    work.go.set()
    on_demand = OnDemand(work)
    on_demand.wake()
    async with anyio.create_task_group() as tasks:
        on_demand.start(tasks)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    on_demand.wake()
    assert work.turns == 1


async def test_work_that_fails_ends_its_group_and_is_not_begun_again() -> None:
    work = Work()
    work.go.set()
    work.error = ValueError("wrong")
    on_demand = OnDemand(work)

    async def begin() -> None:
        async with anyio.create_task_group() as tasks:
            on_demand.start(tasks)
            on_demand.wake()

    with pytest.raises(ExceptionGroup) as raised:
        await begin()
    on_demand.wake()
    assert (list(raised.value.exceptions), work.turns) == ([work.error], 1)


async def test_work_is_done_in_the_context_of_its_start_whoever_wants_it() -> None:
    whose: ContextVar[str] = ContextVar("whose", default="nobody's")
    seen: list[str] = []

    async def look() -> None:
        seen.append(whose.get())

    async with anyio.create_task_group() as tasks:
        on_demand = OnDemand(look)
        on_demand.start(tasks)
        whose.set("a playbook's")
        on_demand.wake()
    assert seen == ["nobody's"]


async def test_work_that_is_asked_for_again_and_again_is_waited_for_until_enough_is_done() -> None:
    done: list[int] = []

    async def do() -> None:
        await anyio.lowlevel.checkpoint()
        done.append(len(done))
        work.wake()

    work = OnDemand(do)
    async with beside() as tasks:
        work.start(tasks)
        with anyio.fail_after(5):
            await work.until(lambda: len(done) > 1)

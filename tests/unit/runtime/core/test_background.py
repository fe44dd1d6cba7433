"""Tasks that go on beside a block of code."""

from __future__ import annotations

import anyio
import pytest

from runtime.core.background import beside

pytestmark = pytest.mark.anyio


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

"""Waiting for what another task does."""

from __future__ import annotations

import anyio
import pytest

from runtime.core.signals import WakeSignal

pytestmark = pytest.mark.anyio


async def test_a_signal_wakes_all_who_wait_and_nobody_who_comes_later() -> None:
    signal, woken = WakeSignal(), list[str]()

    async def wait(name: str) -> None:
        await signal.wait()
        woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "one")
        tasks.start_soon(wait, "two")
        await anyio.wait_all_tasks_blocked()
        signal.send()
        tasks.start_soon(wait, "late")
        await anyio.wait_all_tasks_blocked()
        assert sorted(woken) == ["one", "two"]
        tasks.cancel_scope.cancel()


async def test_who_is_cancelled_while_it_waits_leaves_the_others_waiting() -> None:
    signal, woken, gone = WakeSignal(), list[str](), anyio.CancelScope()

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            await signal.wait()
            woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "gone", gone)
        tasks.start_soon(wait, "there", anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        gone.cancel()
        await anyio.wait_all_tasks_blocked()
        signal.send()
    assert woken == ["there"]

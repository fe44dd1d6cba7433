"""Whether the gateway says that it is ready."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from anyio.abc import TaskGroup

from gateway.service import GatewayService, ServedPlatform
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import AuthFailed
from runtime.llm.client import LLMClient
from runtime.llm.models import NoModelClient
from tests.fakes.crashes.world import TurboClock

pytestmark = pytest.mark.anyio


class Warming:
    """A model that is got ready when the test says so."""

    model = "openai/test"

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.warm = anyio.Event()

    async def warm_up(self) -> None:
        self.asked.set()
        await self.warm.wait()


def service() -> GatewayService:
    unused = cast("Any", None)
    return GatewayService(unused, unused, {}, Bus(SystemClock()), SystemClock())


async def test_it_is_not_ready_before_its_model_is() -> None:
    made, model = service(), Warming()
    before = list(made.not_ready())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.warm_up, cast("LLMClient", model))
        await model.asked.wait()
        assert list(made.not_ready()) == ["the process that asks openai/test is being started", *before]
        model.warm.set()
    assert list(made.not_ready()) == before


async def test_without_a_model_there_is_nothing_to_wait_for() -> None:
    made = service()
    before = list(made.not_ready())
    await made.warm_up(NoModelClient("set one"))
    assert list(made.not_ready()) == before


class Ear:
    """A router that is to fail some times, and then listens."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.listens = anyio.Event()

    async def run(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.listens.set()
        await anyio.sleep_forever()


async def test_a_fault_of_one_platform_ends_neither_it_nor_the_others() -> None:
    ears = {"one": Ear(ValueError("badly stored"), KeyError("badly stored")), "two": Ear()}
    off = {"three": Ear(AuthFailed("the token is refused"))}
    clock, unused = TurboClock(), cast("Any", None)
    platforms = {
        name: ServedPlatform(unused, unused, cast("Any", ear), exclusive=False) for name, ear in (ears | off).items()
    }
    told: list[str] = []
    bus = Bus(clock)
    bus.subscribe("adapter.broke", lambda event: told.append(event.data["platform"]))
    made = GatewayService(cast("Any", Member()), unused, platforms, bus, clock)
    async with anyio.create_task_group() as tasks:
        await made.start(tasks, None)
        for ear in ears.values():
            await ear.listens.wait()
        assert list(made.not_ready())[1].startswith("three is off")
        tasks.cancel_scope.cancel()
    assert told == ["one", "one"]


class Member:
    async def run(self, _tasks: TaskGroup) -> None:
        """Nothing is served."""

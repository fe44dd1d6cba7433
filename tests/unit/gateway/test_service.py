"""Whether the gateway says that it is ready."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from gateway.service import Service
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.llm.client import LLMClient
from runtime.llm.local import NoModelClient

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


def service() -> Service:
    unused = cast("Any", None)
    return Service(unused, unused, {}, Bus(SystemClock()))


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

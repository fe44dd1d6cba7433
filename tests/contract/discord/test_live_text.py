"""Texts that grow on Discord under its rate limits: each shown whole and once, and no call too many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import anyio
import pytest

from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.presenter import PagePresenter
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import Address, Speaker
from runtime.core.page import PageSpec
from runtime.events.happening import Happening
from tests.contract.discord.speaking import general, private
from tests.fakes.clock import FakeClock
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import TOKEN, DiscordPlatform, serving
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

STEP_S = 0.1
_Result = TypeVar("_Result")


class WatchedAdapter(DiscordAdapter):
    """An adapter whose calls can be waited for: they take the machine's time, of which the clock knows nothing."""

    _on_the_way = 0
    _landed = anyio.Event()

    async def send(self, *args: Any, **named: Any) -> str:
        return await self._watched(lambda: super(WatchedAdapter, self).send(*args, **named))

    async def edit(self, *args: Any, **named: Any) -> None:
        await self._watched(lambda: super(WatchedAdapter, self).edit(*args, **named))

    async def answered(self) -> None:
        while self._on_the_way:
            await self._landed.wait()

    async def _watched(self, call: Callable[[], Awaitable[_Result]]) -> _Result:
        self._on_the_way += 1
        try:
            return await call()
        finally:
            self._on_the_way -= 1
            self._landed.set()
            self._landed = anyio.Event()


class Stage:
    """Agents who speak at the same time."""

    def __init__(self, platform: DiscordPlatform, clock: FakeClock, adapter: WatchedAdapter, tasks: Any) -> None:
        self.platform, self.clock, self.adapter, self.tasks = platform, clock, adapter, tasks
        self.presenter = PagePresenter(
            adapter, EditScheduler(adapter.capabilities.total_budget, clock, tasks), clock, on_event=self._hear
        )
        self.events: list[str] = []
        self.finished: dict[str, bool] = {}

    def page(self, name: str, to: Address) -> Page:
        return self.presenter.page(PageSpec(name, to, Speaker("1000", name)), UNRECORDED)

    async def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            await self.clock.advance(STEP_S)
            await self.adapter.answered()

    def finish(self, page: Page, text: str) -> None:
        self.tasks.start_soon(self._finish, page, text)

    async def _finish(self, page: Page, text: str) -> None:
        self.finished[page.spec.id] = await page.finish(text)

    def _hear(self, what: Happening) -> None:
        self.events.append(what.name)


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    clock = FakeClock()
    platform = DiscordPlatform(limits=DiscordLimits(), clock=clock)
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10")
        made = WatchedAdapter(TOKEN, clock=clock, marks=MemoryRecords(), posts=MemoryRecords(), options=options)
        async with aclosing(made) as adapter, anyio.create_task_group() as tasks:
            yield Stage(platform, clock, adapter, tasks)
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("place", [private, general])
@pytest.mark.parametrize("trouble", [False, True])
async def test_growing_texts_keep_the_limits_and_stand_there_once_whole(
    place: Callable[[DiscordPlatform], Address], trouble: bool
) -> None:
    async with staged() as stage:
        world, to = stage.platform.world, place(stage.platform)
        channel = world.private() if place is private else world.general
        kinds = ("send", "edit") if place is private else ("hook_send", "hook_edit")
        pages = {name: stage.page(name, to) for name in ("Writer", "Critic")}
        texts = dict.fromkeys(pages, "")
        for number in range(250):
            for name, page in pages.items():
                texts[name] += f"{name[0]}{number:04d} "
                page.update(texts[name])
            if trouble and number % 10 == 0 and not stage.platform.in_trouble:
                stage.platform.fail(kinds[number % 20 > 0], "bad_gateway", applied=number % 40 < 20)
            await stage.pass_time(STEP_S)
        for name, page in pages.items():
            stage.finish(page, texts[name])
        await stage.pass_time(60)
        calls = stage.platform.calls
        said = world.messages(channel)
    assert stage.finished == {"Writer": True, "Critic": True}
    for name in texts:
        shown = " ".join(each.text for each in said if each.text.startswith(name[0]))
        assert shown.split() == texts[name].split()
    assert [call for call in calls if call.status == 429] == []
    assert stage.events == ["page.checked"] * 2
    assert any(call.status == 502 for call in calls) == trouble
    assert len([call for call in calls if call.operation == kinds[1]]) >= 6

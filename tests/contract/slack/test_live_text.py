"""Texts that grow on Slack under its rate limits: each shown whole and once, and no call too many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
import pytest

from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.presenter import PagePresenter
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import Address, Speaker
from runtime.core.page import PageSpec
from tests.contract.slack.speaking import thread
from tests.contract.stands.stand import COMMANDS
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.people import CHANNEL
from tests.fakes.slack.platform import APP_TOKEN, BOT_TOKEN, SlackPlatform
from tests.fakes.slack.server import serving

pytestmark = pytest.mark.anyio

STEP_S = 0.1


class WatchedAdapter(SlackAdapter):
    """An adapter whose calls can be waited for: they take the machine's time, of which the clock knows nothing."""

    _running = 0
    _changed = anyio.Event()

    async def send(self, *args: Any, **named: Any) -> str:
        with self._call():
            return await super().send(*args, **named)

    async def edit(self, *args: Any, **named: Any) -> None:
        with self._call():
            await super().edit(*args, **named)

    async def open_stream(self, *args: Any, **named: Any) -> str:
        with self._call():
            return await super().open_stream(*args, **named)

    async def append(self, *args: Any, **named: Any) -> None:
        with self._call():
            await super().append(*args, **named)

    async def close_stream(self, *args: Any, **named: Any) -> None:
        with self._call():
            await super().close_stream(*args, **named)

    async def answered(self) -> None:
        while self._running:
            await self._changed.wait()

    @contextmanager
    def _call(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._changed.set()
            self._changed = anyio.Event()


class Stage:
    """Agents that speak at the same time, each in a thread of its own."""

    def __init__(
        self, adapter: WatchedAdapter, platform: SlackPlatform, clock: FakeClock, tasks: anyio.abc.TaskGroup
    ) -> None:
        self.adapter, self.platform, self.clock, self.tasks = adapter, platform, clock, tasks
        scheduler = EditScheduler(adapter.capabilities.total_budget, clock, tasks)
        self.presenter = PagePresenter(adapter, scheduler, clock)
        self.results: dict[str, bool] = {}

    async def pages(self, *names: str, heard: bool) -> list[Page]:
        """A text of each name, in a thread of its own; only where somebody was heard there Slack streams."""
        threads = [thread(self.platform.mention("go on")) for _ in names]
        if heard:
            async with self.adapter.connect() as inbound:
                for _ in names:
                    await anext(inbound)
        return [
            self.presenter.page(PageSpec(name, to, Speaker(name, name)), UNRECORDED)
            for name, to in zip(names, threads, strict=True)
        ]

    async def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            await self.clock.advance(STEP_S)
            await self.adapter.answered()

    async def finish(self, page: Page, text: str) -> None:
        self.results[page.spec.id] = await page.finish(text)

    def said(self, to: Address) -> str:
        """What people read in a thread of the app's messages."""
        return "".join(message.shown for message in self.platform.messages(CHANNEL) if message.thread_ts == to.thread)


@pytest.fixture
def platform(anyio_backend: str, clock: FakeClock) -> SlackPlatform:
    return SlackPlatform(clock=clock, limited=True)


@pytest.fixture
async def stage(platform: SlackPlatform, clock: FakeClock) -> AsyncIterator[Stage]:
    async with serving(platform) as address:
        options = SlackOptions(base_url=f"{address}/api/", commands={name: name for name in COMMANDS})
        made = WatchedAdapter(SlackKeys(BOT_TOKEN, APP_TOKEN), clock=clock, marks=MemoryRecords(), options=options)
        async with aclosing(made) as adapter, anyio.create_task_group() as tasks:
            yield Stage(adapter, platform, clock, tasks)
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("trouble", [False, True])
@pytest.mark.parametrize("streams", [False, True])
async def test_growing_texts_keep_the_limits_and_stand_there_once_whole(
    stage: Stage, trouble: bool, streams: bool
) -> None:
    pages = await stage.pages("Writer", "Critic", "Host", heard=streams)
    first, more = ("chat.startStream", "chat.appendStream") if streams else ("chat.postMessage", "chat.update")
    texts = [""] * len(pages)
    for number in range(200):
        for index, page in enumerate(pages):
            texts[index] += f"w{index}{number:04d} " * (3 if index == 2 else 1)
            page.update(texts[index])
        if trouble and number % 10 == 0:
            method = first if number % 20 == 0 else more
            stage.platform.fail(method, "bad_gateway", applied=number % 40 < 20)
        await stage.pass_time(STEP_S)
    for page, text in zip(pages, texts, strict=True):
        stage.tasks.start_soon(stage.finish, page, text)
    await stage.pass_time(60)
    assert stage.results == {"Writer": True, "Critic": True, "Host": True}
    shown = ["".join(stage.said(page.spec.address).split()) for page in pages]
    assert shown == ["".join(text.split()) for text in texts]
    assert [call for call in stage.platform.calls if call.status == 429] == []
    assert len(stage.platform.calls_of(more)) > (2 if trouble and streams else 12)
    assert not any(message.streaming for message in stage.platform.messages())
    assert any(call.status == 502 for call in stage.platform.calls) == trouble
    assert {message.username for message in stage.platform.messages()} == {"Writer", "Critic", "Host"}

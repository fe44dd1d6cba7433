"""Threads that the app opens and reads back on Slack, and texts that grow there under its rate limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
import pytest

from adapters.decoding import GONE
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.presenter import PagePresenter
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError, OutcomeUncertain
from runtime.core.page import PageSpec
from tests.contract.slack.speaking import ADA, US, send, thread
from tests.contract.stands.stand import COMMANDS
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import CHANNEL, FRIEND
from tests.fakes.slack.platform import APP_TOKEN, BOT_TOKEN, SlackPlatform
from tests.fakes.slack.server import serving

pytestmark = pytest.mark.anyio


async def test_a_thread_begins_with_a_message_that_names_it(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    [root] = platform.messages()
    assert (root.shown, root.thread_ts, opened) == ("Another way", None, thread(root.ts))


async def test_a_thread_whose_opening_was_not_answered_is_found(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.open_thread(US, "Another way", nonce="f.1")
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    [root] = platform.messages()
    assert opened == thread(root.ts)


async def test_a_direct_conversation_has_threads(adapter: SlackAdapter) -> None:
    opened = await adapter.open_thread(ADA, "Another way", nonce="f.1")
    assert opened is not None
    assert (opened.conversation, opened.thread is not None) == (ADA.conversation, True)


async def test_where_the_app_may_not_post_no_thread_is_opened(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "refuse", error="restricted_action")
    assert await adapter.open_thread(US, "Another way", nonce="f.1") is None


async def test_the_link_is_the_one_that_slack_tells(adapter: SlackAdapter) -> None:
    opened = await adapter.open_thread(US, "Another way", nonce="f.1")
    assert opened is not None
    assert opened.thread is not None
    assert (
        await adapter.link(opened)
        == f"https://engines.slack.example/archives/{CHANNEL}/p{opened.thread.replace('.', '')}"
    )
    assert await adapter.link(US) is None


async def test_a_thread_is_told_from_its_beginning_with_names_bots_and_as_it_is_now(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("the site is down")
    reply = platform.say("since when?", thread=root, person=FRIEND)
    platform.rewrite(reply, "since when exactly?")
    await send(adapter, "Build 7 failed", to=thread(root))
    asked = platform.mention("sum this up", thread=root)
    platform.say("later", thread=root)
    earlier = await adapter.earlier(thread(root), asked, at_most=50)
    assert [(one.person_id, one.person_name, one.text) for one in earlier] == [
        (f"slack:{TEAM}:U0ADA", "Ada Lovelace", "the site is down"),
        (f"slack:{TEAM}:{FRIEND}", "Bob", "since when exactly?"),
        ("", "Host", "Build 7 failed"),
    ]
    assert all(one.address == thread(root) and not one.addressed for one in earlier)


async def test_of_a_long_thread_the_beginning_and_the_latest_are_told(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("start")
    for number in range(9):
        platform.say(str(number), thread=root)
    asked = platform.mention("and?", thread=root)
    earlier = await adapter.earlier(thread(root), asked, at_most=4)
    assert [one.text for one in earlier] == ["start", "6", "7", "8"]


async def test_a_mention_that_begins_a_thread_has_no_past_and_a_refusal_is_an_adapters_error(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    asked = platform.mention("hello")
    assert await adapter.earlier(thread(asked), asked, at_most=50) == []
    root = platform.say("start")
    platform.fail("conversations.replies", "bad_gateway", times=9)
    with pytest.raises(AdapterError):
        await adapter.earlier(thread(root), platform.mention("and?", thread=root), at_most=50)


async def test_one_message_that_is_not_understood_takes_nothing_from_the_others_and_a_deleted_beginning_is_said(
    adapter: SlackAdapter, platform: SlackPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = platform.say("start")
    odd = platform.say("odd", thread=root, person=FRIEND)
    platform.say("even", thread=root, person=FRIEND)
    asked = platform.mention("and?", thread=root)
    replies = platform.conversations.replies

    def told(params: Mapping[str, Any]) -> dict[str, Any]:
        answer = replies(params)
        changed = {
            root: {"user": "USLACKBOT", "subtype": "tombstone", "text": "This message was deleted."},
            odd: {"files": [{"name": "without an id"}]},
        }
        return answer | {"messages": [one | changed.get(one["ts"], {}) for one in answer["messages"]]}

    monkeypatch.setattr(platform.conversations, "replies", told)
    earlier = await adapter.earlier(thread(root), asked, at_most=50)
    assert [(one.person_id, one.text) for one in earlier] == [("", GONE), (f"slack:{TEAM}:{FRIEND}", "even")]


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

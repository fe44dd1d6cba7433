"""Extensions add listeners of their own to Bolt's app, beside Parley's: none is taken away, and none ends another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace
from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from adapters.adapter import Inbound
from adapters.slack.adapter import SlackAdapter, SlackOptions
from adapters.slack.inbound import bolt
from tests.contract.slack.test_bolt import Way, made_for, posts_to
from tests.fakes.clock import FakeClock
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import DIRECT, PERSON
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio

Extended = Callable[[Callable[[AsyncApp], None]], Any]


@pytest.fixture(params=["socket", "http"])
def way(request: pytest.FixtureRequest) -> Way:
    return "socket" if request.param == "socket" else "http"


@pytest.fixture
def extended(way: Way, options: SlackOptions, platform: SlackPlatform, clock: FakeClock) -> Extended:
    """Connects an adapter whose app an extension has got."""

    @asynccontextmanager
    async def connected(add: Callable[[AsyncApp], None]) -> AsyncIterator[AsyncIterator[Inbound]]:
        async def hand_over(app: AsyncApp) -> None:
            add(app)

        adapter: SlackAdapter = made_for(way, replace(options, hands_over=hand_over), clock)
        async with aclosing(adapter):
            if way == "http":
                posts_to(adapter, platform, clock)
            async with adapter.connect() as inbound:
                yield inbound

    return connected


def shortcut(platform: SlackPlatform, name: str) -> str:
    """A person chooses a shortcut."""
    return platform.events.put_payload(
        "interactive",
        {
            "type": "shortcut",
            "callback_id": name,
            "trigger_id": platform.surfaces.trigger(),
            "team": {"id": TEAM},
            "user": {"id": PERSON},
        },
    )


async def test_shortcut_of_an_extension_opens_a_form_with_its_client(
    extended: Extended, platform: SlackPlatform
) -> None:
    def add(app: AsyncApp) -> None:
        @app.shortcut("note")
        async def note(ack: Callable[[], Awaitable[None]], body: dict[str, Any], client: Any) -> None:
            await ack()
            title = {"type": "plain_text", "text": "Note"}
            await client.views_open(trigger_id=body["trigger_id"], view={"type": "modal", "title": title, "blocks": []})

    async with extended(add):
        event = platform.events.events[shortcut(platform, "note")]
        await platform.until(event.done.is_set)
    [view] = platform.surfaces.views
    assert view["title"]["text"] == "Note"


async def test_event_is_heard_by_parley_and_by_an_extension(extended: Extended, platform: SlackPlatform) -> None:
    heard: list[str] = []

    def add(app: AsyncApp) -> None:
        @app.message("hi")
        async def greeted(message: dict[str, Any]) -> None:
            heard.append(message["text"])

    async with extended(add) as inbound:
        platform.say("hi", channel=DIRECT)
        platform.say("next", channel=DIRECT)
        assert [(await anext(inbound)).text for _ in range(2)] == ["hi", "next"]
        await platform.until(lambda: len(platform.events.pending) == 1)
    assert heard == ["hi"]


async def test_listener_that_raises_ends_nothing_and_the_stored_event_is_acknowledged(
    extended: Extended, platform: SlackPlatform
) -> None:
    def add(app: AsyncApp) -> None:
        @app.event("message")
        async def broken() -> None:
            raise KeyError("of the extension")

    async with extended(add) as inbound:
        for text in ("one", "two", "three"):
            platform.say(text, channel=DIRECT)
        assert [(await anext(inbound)).text for _ in range(3)] == ["one", "two", "three"]
        await platform.until(lambda: len(platform.events.pending) == 1)


async def test_listener_that_never_returns_holds_back_neither_messages_nor_their_receipts(
    extended: Extended, platform: SlackPlatform
) -> None:
    ended: list[str] = []

    def add(app: AsyncApp) -> None:
        @app.event("message")
        async def waits(message: dict[str, Any]) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(message["text"])

    async with extended(add) as inbound:
        for text in ("one", "two", "three"):
            platform.say(text, channel=DIRECT)
        assert [(await anext(inbound)).text for _ in range(3)] == ["one", "two", "three"]
        await platform.until(lambda: len(platform.events.pending) == 1)
    assert ended[:2] == ["one", "two"]


async def test_the_time_of_listeners_begins_when_the_event_arrives_and_not_when_it_is_stored(
    extended: Extended, platform: SlackPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bolt, "LISTENERS_WITHIN_S", 0.05)
    left_s: list[float] = []

    def add(app: AsyncApp) -> None:
        @app.event("message")
        async def notes(message: dict[str, Any]) -> None:
            left_s.append(anyio.current_effective_deadline() - anyio.current_time())

    async with extended(add) as inbound, anyio.create_task_group() as tasks:
        platform.say("one", channel=DIRECT)
        await anext(inbound)
        arrived_at = anyio.current_time()
        while anyio.current_time() < arrived_at + 0.05:
            await anyio.lowlevel.checkpoint()
        tasks.start_soon(anext, inbound)  # only now it is stored
        await platform.until(lambda: bool(left_s))
        tasks.cancel_scope.cancel()
    assert left_s[0] <= 0


async def test_listener_that_raises_is_not_acknowledged_where_nothing_was_stored(
    extended: Extended, platform: SlackPlatform, way: Way
) -> None:
    def add(app: AsyncApp) -> None:
        @app.shortcut("note")
        async def broken() -> None:
            raise KeyError("of the extension")

    async with extended(add) as inbound:
        event = platform.events.events[shortcut(platform, "note")]
        platform.say("next", channel=DIRECT)
        assert (await anext(inbound)).text == "next"
        await platform.until(lambda: bool(event.deliveries) and (way == "socket" or bool(event.statuses)))
    assert not event.done.is_set()
    assert event.statuses == ([500] if way == "http" else [])


async def test_listener_takes_no_command_press_or_form_of_parleys(extended: Extended, platform: SlackPlatform) -> None:
    taken: list[str] = []

    def add(app: AsyncApp) -> None:
        async def take(ack: Callable[[], Awaitable[None]]) -> None:
            taken.append("taken")
            await ack()

        app.command("/parley")(take)
        app.view("parley_new")(take)

    async with extended(add) as inbound:
        platform.command("start")
        platform.command("stop", channel=DIRECT)
        assert (await anext(inbound)).command == "stop"
        platform.submit("a long story")
        assert (await anext(inbound)).text == "a long story"
    assert taken == []


async def test_error_handler_of_an_extension_acknowledges_nothing_that_is_not_stored(
    extended: Extended, platform: SlackPlatform
) -> None:
    told: list[str] = []

    def add(app: AsyncApp) -> None:
        @app.error
        async def fine(error: Exception) -> BoltResponse:
            told.append(repr(error))
            return BoltResponse(status=200)

    async with extended(add) as inbound:
        platform.events.put({"type": "team_join"})
        platform.say("precious", channel=DIRECT)
        await anext(inbound)
        [_, event] = platform.events.events.values()
        done = event.done.is_set()
    assert (done, event.done.is_set(), set(event.statuses) <= {503}) == (False, False, True)
    assert told == []


async def test_stored_event_is_acknowledged_whatever_an_extension_answers(
    extended: Extended, platform: SlackPlatform
) -> None:
    def add(app: AsyncApp) -> None:
        @app.event("message")
        async def refuses() -> BoltResponse:
            return BoltResponse(status=400)

    async with extended(add) as inbound:
        platform.say("precious", channel=DIRECT)
        platform.say("next", channel=DIRECT)
        await anext(inbound)
        await anext(inbound)
        await platform.until(lambda: len(platform.events.pending) == 1)


@pytest.mark.parametrize("way", ["socket"])
async def test_words_of_an_extension_that_look_like_data_end_no_socket(
    extended: Extended, platform: SlackPlatform
) -> None:
    def add(app: AsyncApp) -> None:
        @app.command("/note")
        async def note(ack: Callable[[str], Awaitable[None]]) -> None:
            await ack("{name} is noted")

    async with extended(add) as inbound:
        noted = {"command": "/note", "channel_id": DIRECT, "user_id": PERSON, "team_id": TEAM, "text": ""}
        event = platform.events.events[platform.events.put_payload("slash_commands", noted)]
        await platform.until(event.done.is_set)
        platform.say("next", channel=DIRECT)
        assert (await anext(inbound)).text == "next"
    assert event.words == {"text": "{name} is noted"}


async def test_lazy_listener_ends_with_the_connection(extended: Extended, platform: SlackPlatform) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    def add(app: AsyncApp) -> None:
        async def take(ack: Callable[[], Awaitable[None]]) -> None:
            await ack()

        async def work() -> None:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()

        app.shortcut("note")(ack=take, lazy=[work])

    async with extended(add):
        event = platform.events.events[shortcut(platform, "note")]
        await platform.until(event.done.is_set)
        await begun.wait()
    assert ended.is_set()

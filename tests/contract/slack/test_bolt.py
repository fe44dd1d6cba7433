"""Every kind of request goes through Bolt, over both ways, and is acknowledged once it is stored and not before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal, cast
from urllib.parse import parse_qs

import anyio
import pytest

from adapters.adapter import HttpRequest, Inbound
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from adapters.slack.inbound.oauth import AppKeys
from adapters.slack.manifest import SCOPES
from runtime.core.message import Choice
from tests.architecture.source_tree import ROOT
from tests.contract.slack.speaking import HOST, send, thread
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack import http as slack_http
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import DIRECT, OTHER_TEAM, OTHER_TOKEN
from tests.fakes.slack.platform import (
    APP_TOKEN,
    BOT_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    SIGNING_SECRET,
    SlackPlatform,
)

pytestmark = pytest.mark.anyio

Way = Literal["socket", "http"]


@pytest.fixture(params=["socket", "http"])
def way(request: pytest.FixtureRequest) -> Way:
    return cast("Way", request.param)


def made_for(
    way: Way, options: SlackOptions, clock: FakeClock, *, installations: MemoryRecords | None = None
) -> SlackAdapter:
    """An adapter that hears one way; with `installations` for the workspaces there."""
    keys = SlackKeys(
        bot_token=BOT_TOKEN if installations is None else None,
        app_token=APP_TOKEN if way == "socket" else None,
        signing_secret=SIGNING_SECRET if way == "http" else None,
        app=None if installations is None else AppKeys(CLIENT_ID, CLIENT_SECRET),
        installations=installations,
    )
    return SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)


def posts_to(adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock, **more: str) -> None:
    """Let the platform send by HTTP, with more headers."""

    async def send(headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        given = {**headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        answer = await adapter.receive(HttpRequest("POST", "/events", {}, given, body))
        return answer.status, answer.body

    platform.events.post = slack_http.posting(clock, send)


@pytest.fixture
async def adapter(
    way: Way, options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> AsyncIterator[SlackAdapter]:
    async with aclosing(made_for(way, options, clock)) as made:
        if way == "http":
            posts_to(made, platform, clock)
        yield made


async def acknowledged_after(inbound: AsyncIterator[Inbound], platform: SlackPlatform, event_id: str) -> Inbound:
    """What the delivery brings, which is acknowledged when the next is asked for and not before."""
    event = platform.events.events[event_id]
    heard = await anext(inbound)
    assert not event.done.is_set()
    platform.say("next", channel=DIRECT)
    await anext(inbound)
    await platform.until(event.done.is_set)
    return heard


async def test_event_is_acknowledged_once_it_is_stored(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        platform.say("hi", channel=DIRECT)
        [event_id] = platform.events.events
        assert (await acknowledged_after(inbound, platform, event_id)).text == "hi"


async def test_command_is_answered_with_words_once_it_is_stored(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        event_id = platform.command("stop", channel=DIRECT)
        assert (await acknowledged_after(inbound, platform, event_id)).command == "stop"
    assert platform.events.events[event_id].words["response_type"] == "ephemeral"


async def test_press_is_acknowledged_once_it_is_stored(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        root = platform.mention("hello")
        await anext(inbound)
        ts = await send(adapter, "May I?", to=thread(root))
        await adapter.offer(thread(root), ts, "May I?", [Choice("q1.no", "No")], speaker=HOST, nonce="page.0")
        event_id = platform.press("No", platform.messages()[0])
        assert (await acknowledged_after(inbound, platform, event_id)).choice == "q1.no"


async def form_opened(inbound: AsyncIterator[Inbound], platform: SlackPlatform) -> None:
    platform.command("start")
    platform.say("opened", channel=DIRECT)
    assert (await anext(inbound)).text == "opened"


async def test_refused_form_says_why_in_the_form(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        await form_opened(inbound, platform)
        platform.fail("chat.postMessage", "refuse", error="not_in_channel")
        event = platform.events.events[platform.submit("a long story")]
        platform.say("next", channel=DIRECT)
        await anext(inbound)
        await platform.until(event.done.is_set)
    assert event.words["response_action"] == "errors"
    assert "not_in_channel" in event.words["errors"]["text"]


async def test_form_is_acknowledged_once_it_is_stored(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        await form_opened(inbound, platform)
        event_id = platform.submit("a long story")
        assert (await acknowledged_after(inbound, platform, event_id)).text == "a long story"


async def test_form_that_was_opened_before_a_restart_is_heard_after_it(
    way: Way, options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    for _ in range(2):
        async with aclosing(made_for(way, options, clock)) as made:
            if way == "http":
                posts_to(made, platform, clock)
            async with made.connect() as inbound:
                if not platform.surfaces.views:
                    await form_opened(inbound, platform)
                    continue
                event = platform.events.events[platform.submit("a long story")]
                while (await anext(inbound)).text != "a long story":
                    """What the first process heard last, and did not store, comes once more."""
                assert not event.done.is_set()
                platform.say("next", channel=DIRECT)
                await anext(inbound)
                await platform.until(event.done.is_set)


async def test_workspace_that_installs_is_heard_and_one_that_leaves_is_forgotten(
    way: Way, options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    platform.conversations.open("D0EVE", team=OTHER_TEAM)
    platform.tokens.clear()
    records = MemoryRecords()
    async with aclosing(made_for(way, options, clock, installations=records)) as adapter:
        if way == "http":
            posts_to(adapter, platform, clock)
        begun = await adapter.receive(HttpRequest("GET", "/install", {}, {}, b""))
        cookie = begun.headers["set-cookie"].partition(";")[0]
        query = {"state": cookie.partition("=")[2], "code": platform.install(team=OTHER_TEAM, token=OTHER_TOKEN)}
        done = await adapter.receive(HttpRequest("GET", "/oauth", query, {"cookie": cookie}, b""))
        assert (begun.status, done.status, list(records.records)) == (302, 200, [OTHER_TEAM])
        async with adapter.connect() as inbound:
            platform.say("from there", channel="D0EVE")
            assert (await anext(inbound)).space == OTHER_TEAM
            platform.uninstall(OTHER_TEAM)
            await platform.until(lambda: len(platform.events.pending) == 1)
    assert records.records == {}


async def of_two(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> SlackAdapter:
    """An adapter that two workspaces have let in, and knows neither yet."""
    records = MemoryRecords()
    platform.conversations.open("D0EVE", team=OTHER_TEAM)
    for team, token in ((TEAM, BOT_TOKEN), (OTHER_TEAM, OTHER_TOKEN)):
        platform.tokens[token] = team
        await records.put(team, f'{{"team": "{team}", "token": "{token}"}}')
    monkeypatch.setattr(platform.conversations, "history", lambda _params: {"messages": []})
    return made_for("socket", options, clock, installations=records)


async def test_messages_of_a_workspace_keep_their_order_while_it_is_looked_up(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aclosing(await of_two(options, platform, clock, monkeypatch)) as adapter:
        said = [(f"{number}", DIRECT if number % 3 else "D0EVE") for number in range(12)]
        for text, channel in said:
            platform.say(text, channel=channel)
        async with adapter.connect() as inbound:
            heard = [await anext(inbound) for _ in said]
        for space, channel in ((TEAM, DIRECT), (OTHER_TEAM, "D0EVE")):
            assert [one.text for one in heard if one.space == space] == [text for text, at in said if at == channel]


async def test_a_workspace_that_is_slow_to_be_found_holds_no_other(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, found = MemoryRecords.get, anyio.Event()

    async def slow(records: MemoryRecords, key: str) -> str | None:
        if key == OTHER_TEAM:
            await found.wait()
        return await get(records, key)

    monkeypatch.setattr(MemoryRecords, "get", slow)
    async with aclosing(await of_two(options, platform, clock, monkeypatch)) as adapter:
        platform.say("slow", channel="D0EVE")
        platform.say("quick", channel=DIRECT)
        async with adapter.connect() as inbound:
            assert (await anext(inbound)).text == "quick"
            found.set()
            assert (await anext(inbound)).text == "slow"


async def test_what_is_not_stored_comes_again_whatever_is_wrong(
    adapter: SlackAdapter, platform: SlackPlatform, way: Way
) -> None:
    platform.say("precious", channel=DIRECT)
    [event] = platform.events.events.values()
    async with adapter.connect() as inbound:
        await anext(inbound)
    await platform.until(lambda: len(event.deliveries) > 1 or way == "socket")
    assert not event.done.is_set()
    assert set(event.statuses) <= {503}


async def test_header_by_which_bolt_calls_itself_skips_no_listener(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    async with aclosing(made_for("http", options, clock)) as adapter:
        posts_to(adapter, platform, clock, x_slack_bolt_lazy_only="1", x_slack_bolt_lazy_function_name="take")
        async with adapter.connect() as inbound:
            event_id = platform.command("stop", channel=DIRECT)
            assert (await acknowledged_after(inbound, platform, event_id)).command == "stop"


async def test_what_bolt_would_read_from_the_environment_changes_nothing(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("BOT_TOKEN", "SIGNING_SECRET", "CLIENT_ID", "CLIENT_SECRET", "VERIFICATION_TOKEN")
    for name in names:
        monkeypatch.setenv(f"SLACK_{name}", "of another app")
    async with aclosing(made_for("http", options, clock)) as adapter:
        posts_to(adapter, platform, clock)
        async with adapter.connect() as inbound:
            platform.say("hi", channel=DIRECT)
            [event_id] = platform.events.events
            assert (await acknowledged_after(inbound, platform, event_id)).text == "hi"


async def test_neither_the_environment_nor_a_link_to_us_changes_what_slack_is_asked_to_install(
    options: SlackOptions, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REDIRECT_URI", "SCOPES", "USER_SCOPES", "CLIENT_ID"):
        monkeypatch.setenv(f"SLACK_{name}", "of-another-app")
    async with aclosing(made_for("http", options, clock, installations=MemoryRecords())) as adapter:
        query = {"team": "T1&client_id=of-another-app\r\nx: y"}
        begun = await adapter.receive(HttpRequest("GET", "/install", query, {}, b""))
    assert begun.status == 302
    assert begun.headers["location"].isprintable()
    asked = parse_qs(begun.headers["location"].partition("?")[2])
    assert (asked["client_id"], asked["scope"], "redirect_uri" in asked) == ([CLIENT_ID], [",".join(SCOPES)], False)


@pytest.mark.parametrize("do", [lambda p: p.say("secret", channel=DIRECT), lambda p: p.events.put({"type": "secret"})])
async def test_contents_are_not_logged(
    adapter: SlackAdapter,
    platform: SlackPlatform,
    caplog: pytest.LogCaptureFixture,
    do: Callable[[SlackPlatform], Any],
) -> None:
    caplog.set_level("DEBUG")
    async with adapter.connect() as inbound:
        do(platform)
        platform.say("next", channel=DIRECT)
        await anext(inbound)
    assert [record.name for record in caplog.records if "secret" in str(vars(record))] == []


def test_bolt_is_loaded_only_where_slack_is_on() -> None:
    program = "import gateway.assembly.app, sys; print({'slack_bolt', 'slack_sdk'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert loaded.stdout == "set()\n"

"""Slack's requests: signed, taken once, and answered only when what they bring is safe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from slack_sdk.signature import SignatureVerifier

from adapters.adapter import AnswersHttp, HttpAnswer, HttpRequest
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from adapters.slack.inbound import bolt
from tests.contract.slack.speaking import ADA
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack import http as slack_http
from tests.fakes.slack.people import DIRECT
from tests.fakes.slack.platform import BOT_TOKEN, SIGNING_SECRET, SlackPlatform

pytestmark = pytest.mark.anyio


@pytest.fixture
async def adapter(options: SlackOptions, platform: SlackPlatform, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    """An adapter that Slack reaches by HTTP."""
    keys = SlackKeys(bot_token=BOT_TOKEN, signing_secret=SIGNING_SECRET)
    async with aclosing(SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)) as made:

        async def send(headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
            answer = await made.receive(HttpRequest("POST", "/events", {}, headers, body))
            return answer.status, answer.body

        platform.events.post = slack_http.posting(clock, send)
        yield made


async def _receive(adapter: SlackAdapter, clock: FakeClock, body: dict[str, Any], **changed: str) -> HttpAnswer:
    headers, raw = slack_http.request(clock, "events_api", body)
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    return await adapter.receive(HttpRequest("POST", "/events", {}, headers, raw))


async def test_it_answers_http_and_opens_no_socket(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    assert isinstance(adapter, AnswersHttp)
    async with adapter.connect() as inbound:
        root = platform.say("hi", channel=DIRECT)
        heard = await anext(inbound)
    assert (heard.text, heard.address) == ("hi", replace(ADA, thread=root))
    assert platform.calls_of("apps.connections.open") == []


async def test_address_is_verified_with_its_challenge(adapter: SlackAdapter, clock: FakeClock) -> None:
    answer = await _receive(adapter, clock, {"type": "url_verification", "challenge": "3eZ"})
    assert (answer.status, answer.body) == (200, b'{"challenge": "3eZ"}')


@pytest.mark.parametrize("header", ["x_slack_signature", "x_slack_request_timestamp"])
@pytest.mark.parametrize("value", ["", "v0=0", "nonsense", "1", "v0=\u00e9"])
async def test_request_that_slack_did_not_sign_is_refused(
    adapter: SlackAdapter, clock: FakeClock, header: str, value: str
) -> None:
    answer = await _receive(adapter, clock, {"type": "url_verification", "challenge": "3eZ"}, **{header: value})
    assert answer.status == 401


async def test_request_that_is_more_than_five_minutes_old_is_refused(adapter: SlackAdapter, clock: FakeClock) -> None:
    headers, raw = slack_http.request(clock, "events_api", {"type": "url_verification", "challenge": "3eZ"})
    request = HttpRequest("POST", "/events", {}, headers, raw)
    await clock.advance(300)
    assert (await adapter.receive(request)).status == 200
    await clock.advance(1)
    assert (await adapter.receive(request)).status == 401


async def test_changed_body_is_refused(adapter: SlackAdapter, clock: FakeClock) -> None:
    headers, raw = slack_http.request(clock, "events_api", {"type": "url_verification", "challenge": "3eZ"})
    assert (await adapter.receive(HttpRequest("POST", "/events", {}, headers, raw + b" "))).status == 401
    assert (await adapter.receive(HttpRequest("POST", "/events", {}, headers, b"\xff"))).status == 400
    assert (await adapter.receive(HttpRequest("GET", "/events", {}, headers, raw))).status == 405
    assert (await adapter.receive(HttpRequest("POST", "/elsewhere", {}, headers, raw))).status == 404


async def test_signed_nonsense_is_refused(adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock) -> None:
    assert (await _receive(adapter, clock, {"type": "event_callback"})).status == 200
    for view in ("x", 1, ["id"]):
        signed, body = slack_http.request(clock, "interactive", {"type": "view_submission", "view": view})
        assert (await adapter.receive(HttpRequest("POST", "/events", {}, signed, body))).status == 200
    headers, raw = slack_http.request(clock, "interactive", {})
    deep = b"[" * 100_000 + b"]" * 100_000
    for kind, body in (("interactive", b"payload=%7B"), ("interactive", b"payload=1"), ("events_api", deep)):
        signed, _ = slack_http.request(clock, kind, {})
        verifier = SignatureVerifier(SIGNING_SECRET)
        stamp = signed["x-slack-request-timestamp"]
        signed["x-slack-signature"] = verifier.generate_signature(timestamp=stamp, body=body) or ""
        assert (await adapter.receive(HttpRequest("POST", "/events", {}, signed, body))).status == 400
    assert (await adapter.receive(HttpRequest("POST", "/events", {}, headers, raw))).status == 200


async def test_event_is_answered_only_when_the_next_is_asked_for(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    async with adapter.connect() as inbound:
        platform.say("one", channel=DIRECT)
        await anext(inbound)
        [event] = platform.events.events.values()
        assert event.statuses == []
        platform.say("two", channel=DIRECT)
        await anext(inbound)
        await platform.until(lambda: event.statuses == [200])


async def test_event_that_is_not_safe_in_time_comes_again_and_once(
    adapter: SlackAdapter, platform: SlackPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bolt, "SAFE_WITHIN_S", 0.05)
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:
        platform.say("slowly", channel=DIRECT)
        assert (await anext(inbound)).text == "slowly"
        [event] = platform.events.events.values()
        await platform.until(lambda: event.statuses[:1] == [503])
        platform.say("next", channel=DIRECT)
        tasks.start_soon(platform.until, lambda: 200 in event.statuses or event.given_up)
        assert (await anext(inbound)).text == "next"
    assert event.statuses[0] == 503


async def test_event_is_left_to_slack_while_nobody_listens(
    adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    platform.say("hello?", channel=DIRECT)
    [event] = platform.events.events.values()
    await platform.until(lambda: event.statuses == [503, 503])
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:
        tasks.start_soon(clock.advance, 60.0)
        assert (await anext(inbound)).text == "hello?"


async def test_event_whose_consumer_stopped_is_left_to_slack(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        platform.say("precious", channel=DIRECT)
        await anext(inbound)
    [event] = platform.events.events.values()
    await platform.until(lambda: event.statuses[:1] == [503])


async def test_repeated_event_that_is_safe_already_is_answered_at_once(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    async with adapter.connect() as inbound:
        platform.say("once", channel=DIRECT)
        await anext(inbound)
        [first] = platform.events.events
        platform.say("twice", channel=DIRECT)
        await anext(inbound)
        platform.events.again(first)
        event = platform.events.events[first]
        await platform.until(lambda: len(event.acknowledged) == 2)
        platform.say("thrice", channel=DIRECT)
        assert (await anext(inbound)).text == "thrice"


async def test_commands_and_presses_come_the_same_way(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        event_id = platform.command("stop", channel=DIRECT)
        platform.say("next", channel=DIRECT)
        heard = {(await anext(inbound)).command for _ in range(2)}
        platform.say("last", channel=DIRECT)
        await anext(inbound)
        await platform.until(lambda: platform.events.events[event_id].statuses == [200])
    assert heard == {"stop", None}
    assert platform.events.events[event_id].words["response_type"] == "ephemeral"

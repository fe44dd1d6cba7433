"""One app in several workspaces: let in by OAuth, each spoken to with its own token, and forgotten when it leaves."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from adapters.adapter import HttpAnswer, HttpRequest
from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions, keys_missing
from adapters.slack.inbound.oauth import AppKeys
from runtime.core.address import Address
from runtime.core.errors import NotDelivered, RateLimited
from tests.contract.slack.speaking import ADA, send
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import DIRECT, OTHER_TEAM, OTHER_TOKEN
from tests.fakes.slack.platform import APP_TOKEN, BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, SlackPlatform

pytestmark = pytest.mark.anyio

EVE = Address("slack", f"{OTHER_TEAM}:D0EVE")


@pytest.fixture
def records() -> MemoryRecords:
    return MemoryRecords()


@pytest.fixture
async def adapter(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, records: MemoryRecords
) -> AsyncIterator[SlackAdapter]:
    """An app of which nobody has heard yet."""
    platform.conversations.open("D0EVE", team=OTHER_TEAM)
    platform.tokens.clear()
    platform.bot_token = "xoxb-none"
    keys = SlackKeys(app_token=APP_TOKEN, app=AppKeys(CLIENT_ID, CLIENT_SECRET), installations=records)
    async with aclosing(SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)) as made:
        yield made


async def _get(adapter: SlackAdapter, path: str, cookie: str = "", **query: str) -> HttpAnswer:
    return await adapter.receive(HttpRequest("GET", path, query, {"cookie": cookie}, b""))


async def _begun(adapter: SlackAdapter) -> tuple[str, str]:
    """A browser on its way to Slack: its state and its cookie."""
    answer = await _get(adapter, "/install")
    assert answer.status == 302
    [state] = parse_qs(urlsplit(answer.headers["location"]).query)["state"]
    return state, answer.headers["set-cookie"].partition(";")[0]


async def _install(adapter: SlackAdapter, platform: SlackPlatform, team: str, token: str) -> HttpAnswer:
    state, cookie = await _begun(adapter)
    code = platform.install(team=team, token=token)
    return await _get(adapter, "/oauth", cookie, state=state, code=code)


async def test_browser_is_sent_to_slack_with_what_the_app_needs(adapter: SlackAdapter, options: SlackOptions) -> None:
    answer = await _get(adapter, "/install")
    place = urlsplit(answer.headers["location"])
    query = parse_qs(place.query)
    assert place.netloc == urlsplit(options.base_url or "").netloc
    assert (place.path, query["client_id"]) == ("/oauth/v2/authorize", [CLIENT_ID])
    assert "chat:write" in query["scope"][0].split(",")
    assert "HttpOnly" in answer.headers["set-cookie"]


async def test_each_workspace_is_heard_and_spoken_to_with_its_own_token(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    for team, token in ((TEAM, BOT_TOKEN), (OTHER_TEAM, OTHER_TOKEN)):
        assert (await _install(adapter, platform, team, token)).status == 200
    here, there = platform.say("from here", channel=DIRECT), platform.say("from there", channel="D0EVE")
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(2)]
        for one in heard:
            await send(adapter, f"you are {one.space}", to=one.address, nonce=one.event_id)
    assert {one.address for one in heard} == {replace(ADA, thread=here), replace(EVE, thread=there)}
    assert [m.shown for m in platform.messages(DIRECT)] == [f"you are {TEAM}"]
    assert [m.shown for m in platform.messages("D0EVE")] == [f"you are {OTHER_TEAM}"]
    assert await adapter.check() == "installed in Analytical Engines, Difference Engines"


async def test_installation_outlives_the_process(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock, records: MemoryRecords
) -> None:
    await _install(adapter, platform, OTHER_TEAM, OTHER_TOKEN)
    keys = SlackKeys(app_token=APP_TOKEN, app=AppKeys(CLIENT_ID, CLIENT_SECRET), installations=records)
    async with aclosing(SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)) as restarted:
        await send(restarted, "still here", to=EVE)
    assert len(platform.messages("D0EVE")) == 1


async def test_workspace_that_has_not_let_the_app_in_is_told_how(adapter: SlackAdapter) -> None:
    with pytest.raises(NotDelivered, match="/hooks/slack/install"):
        await send(adapter, "hi", to=EVE)
    assert "/hooks/slack/install" in await adapter.check()


async def test_workspace_that_takes_the_app_out_is_forgotten(
    adapter: SlackAdapter, platform: SlackPlatform, records: MemoryRecords
) -> None:
    await _install(adapter, platform, TEAM, BOT_TOKEN)
    await _install(adapter, platform, OTHER_TEAM, OTHER_TOKEN)
    await send(adapter, "hi", to=EVE)
    platform.uninstall(OTHER_TEAM)
    platform.say("next", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "next"
    assert list(records.records) == [TEAM]
    with pytest.raises(NotDelivered, match="not installed"):
        await send(adapter, "hi again", to=EVE, nonce="other")


async def test_new_token_of_a_workspace_is_found_when_the_old_one_is_refused(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock, records: MemoryRecords
) -> None:
    await _install(adapter, platform, OTHER_TEAM, OTHER_TOKEN)
    await send(adapter, "hi", to=EVE)
    platform.tokens.clear()
    keys = SlackKeys(app_token=APP_TOKEN, app=AppKeys(CLIENT_ID, CLIENT_SECRET), installations=records)
    async with aclosing(SlackAdapter(keys, clock=clock, marks=MemoryRecords(), options=options)) as other_node:
        await _install(other_node, platform, OTHER_TEAM, "xoxb-2-new")
    with pytest.raises(RateLimited):
        await send(adapter, "again", to=EVE, nonce="again")
    await send(adapter, "again", to=EVE, nonce="again")
    assert [m.shown for m in platform.messages("D0EVE")] == ["hi", "again"]


async def test_token_that_is_refused_for_good_is_not_tried_for_ever(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    await _install(adapter, platform, OTHER_TEAM, OTHER_TOKEN)
    await send(adapter, "hi", to=EVE)
    platform.tokens.clear()
    with pytest.raises(RateLimited):
        await send(adapter, "again", to=EVE, nonce="again")
    for _ in range(2):
        with pytest.raises(NotDelivered, match="install again"):
            await send(adapter, "again", to=EVE, nonce="again")


async def test_state_of_another_browser_is_refused(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    state, cookie = await _begun(adapter)
    code = platform.install()
    other, _ = await _begun(adapter)
    forged = f"{state.rpartition('.')[0]}.{'0' * 64}"
    for given, kept in ((other, cookie), (state, ""), (forged, f"parley_slack_state={forged}"), ("", "")):
        assert (await _get(adapter, "/oauth", kept, state=given, code=code)).status == 400
    assert platform.calls_of("oauth.v2.access") == []


async def test_state_expires(adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock) -> None:
    state, cookie = await _begun(adapter)
    await clock.advance(601)
    assert (await _get(adapter, "/oauth", cookie, state=state, code=platform.install())).status == 400


async def test_refusal_at_slack_is_shown_and_harmless(
    adapter: SlackAdapter, platform: SlackPlatform, records: MemoryRecords
) -> None:
    state, cookie = await _begun(adapter)
    denied = await _get(adapter, "/oauth", cookie, state=state, error="<script>access_denied")
    wrong = await _get(adapter, "/oauth", cookie, state=state, code="used up")
    assert (denied.status, wrong.status, records.records) == (400, 502, {})
    assert b"&lt;script&gt;access_denied" in denied.body


async def test_tokens_are_never_logged(
    adapter: SlackAdapter, platform: SlackPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await _install(adapter, platform, OTHER_TEAM, OTHER_TOKEN)
    await send(adapter, "hi", to=EVE)
    platform.fail("chat.postMessage", "refuse", error="not_in_channel")
    with pytest.raises(NotDelivered) as refused:
        await send(adapter, "hi", to=EVE, nonce="other")
    seen = caplog.text + str(refused.value) + answer.body.decode()
    assert OTHER_TOKEN not in seen
    assert CLIENT_SECRET not in seen


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        (SlackKeys(bot_token=BOT_TOKEN), "slack.app_token"),
        (SlackKeys(app_token=APP_TOKEN), "slack.bot_token"),
        (SlackKeys(signing_secret="s"), "slack.client_id"),
    ],
)
async def test_what_else_must_be_set_is_named(keys: SlackKeys, missing: str) -> None:
    assert missing in (keys_missing(keys) or "")
    assert keys_missing(SlackKeys(bot_token=BOT_TOKEN, app_token=APP_TOKEN)) is None

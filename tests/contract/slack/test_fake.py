"""The Slack for tests refuses what Slack refuses, in Slack's words, and serves the unmodified client libraries."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.clock import FakeClock
from tests.fakes.slack.conversations import BOT_USER, TEAM
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND, PERSON
from tests.fakes.slack.platform import APP_TOKEN, BOT_TOKEN, SlackPlatform
from tests.fakes.slack.server import serving

pytestmark = pytest.mark.anyio


class Caller:
    """Calls by slack_sdk, answered or refused."""

    def __init__(self, client: AsyncWebClient) -> None:
        self.client = client

    async def __call__(self, method: str, *, token: str = BOT_TOKEN, **params: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return (await self.client.api_call(method, json=params, headers=headers)).data

    async def refusal(self, method: str, **params: Any) -> str:
        with pytest.raises(SlackApiError) as refused:
            await self(method, **params)
        return str(refused.value.response["error"])

    async def statuses(self, times: int, method: str, **params: Any) -> list[int]:
        found = []
        for number in range(times):
            try:
                await self(method, **(params | ({"text": str(number)} if "text" in params else {})))
                found.append(200)
            except SlackApiError as refused:
                found.append(refused.response.status_code)
        return found


@pytest.fixture
def platform(anyio_backend: str, clock: FakeClock) -> SlackPlatform:
    return SlackPlatform(clock=clock, limited=True)


@pytest.fixture
async def call(platform: SlackPlatform) -> AsyncIterator[Caller]:
    async with serving(platform) as address, aiohttp.ClientSession() as session:
        yield Caller(AsyncWebClient(base_url=f"{address}/api/", session=session, retry_handlers=[]))


# The Web API.


@pytest.mark.parametrize(
    ("method", "token", "error"),
    [
        ("auth.test", "", "not_authed"),
        ("auth.test", "xoxb-other", "invalid_auth"),
        ("auth.test", APP_TOKEN, "not_allowed_token_type"),
        ("apps.connections.open", BOT_TOKEN, "not_allowed_token_type"),
        ("chat.dance", BOT_TOKEN, "unknown_method"),
    ],
)
async def test_each_method_takes_its_own_kind_of_token(call: Caller, method: str, token: str, error: str) -> None:
    assert await call.refusal(method, token=token) == error


async def test_scope_is_needed_and_named(call: Caller, platform: SlackPlatform) -> None:
    platform.scopes.remove("users:read")
    with pytest.raises(SlackApiError) as refused:
        await call("users.info", user=PERSON)
    assert refused.value.response["needed"] == "users:read"


_SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "x", "channel": "C9"}, "channel_not_found"),
        ({"text": "x", "thread_ts": "1.2"}, "thread_not_found"),
        ({"markdown_text": "x", "text": "y"}, "markdown_text_conflict"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"blocks": [_SECTION] * 51}, "invalid_blocks"),
        ({"blocks": "x"}, "invalid_blocks_format"),
        ({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]}, "invalid_blocks"),
    ],
)
async def test_message_that_breaks_a_rule_is_refused(call: Caller, params: dict[str, Any], error: str) -> None:
    if params.get("blocks") == "x":
        params = {"blocks": {"type": "section"}}
    assert await call.refusal("chat.postMessage", **({"channel": CHANNEL} | params)) == error


async def test_channel_must_be_joined_and_open(call: Caller, platform: SlackPlatform) -> None:
    platform.conversations.open(CHANNEL).member = False
    assert await call.refusal("chat.postMessage", channel=CHANNEL, text="x") == "not_in_channel"
    platform.conversations.open(DIRECT).archived = True
    assert await call.refusal("chat.postMessage", channel=DIRECT, text="x") == "is_archived"


async def test_edit_takes_4000_bytes_of_a_message_of_ours(call: Caller, platform: SlackPlatform) -> None:
    ts = (await call("chat.postMessage", channel=CHANNEL, text="x" * 5000))["ts"]
    theirs = platform.say("hi")
    assert await call.refusal("chat.update", channel=CHANNEL, ts=ts, text="é" * 2001) == "msg_too_long"
    assert await call.refusal("chat.update", channel=CHANNEL, ts="1.2", text="x") == "message_not_found"
    assert await call.refusal("chat.update", channel=CHANNEL, ts=theirs, text="x") == "cant_update_message"
    await call("chat.update", channel=CHANNEL, ts=ts, text="é" * 2000)
    await call("chat.delete", channel=CHANNEL, ts=ts)
    assert platform.messages() == []


async def test_edit_finds_names_to_ping_unless_told_not_to(call: Caller, platform: SlackPlatform) -> None:
    ts = (await call("chat.postMessage", channel=CHANNEL, text="@here <!channel>"))["ts"]
    [posted] = platform.messages()
    assert posted.pings == ["!channel"]
    await call("chat.update", channel=CHANNEL, ts=ts, text="@here", parse="none")
    assert posted.pings == ["!channel"]
    await call("chat.update", channel=CHANNEL, ts=ts, text="@here")
    assert posted.pings == ["!channel", "@here"]


async def test_metadata_is_given_only_to_who_asks(call: Caller) -> None:
    metadata = {"event_type": "t", "event_payload": {"nonce": "n"}}
    await call("chat.postMessage", channel=CHANNEL, text="x", metadata=metadata)
    [plain] = (await call("conversations.history", channel=CHANNEL))["messages"]
    [full] = (await call("conversations.history", channel=CHANNEL, include_all_metadata=True))["messages"]
    assert "metadata" not in plain
    assert full["metadata"] == metadata


async def test_replies_come_in_pages(call: Caller, platform: SlackPlatform) -> None:
    root = platform.say("root")
    for number in range(3):
        platform.say(str(number), thread=root)
    first = await call("conversations.replies", channel=CHANNEL, ts=root, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    second = await call("conversations.replies", channel=CHANNEL, ts=root, limit=3, cursor=cursor)
    assert [m["text"] for m in first["messages"] + second["messages"]] == ["root", "0", "1", "2"]
    assert (first["has_more"], second["has_more"]) == (True, False)


async def test_reactions_and_people_are_known(call: Caller, platform: SlackPlatform) -> None:
    ts = platform.say("x")
    await call("reactions.add", channel=CHANNEL, timestamp=ts, name="eyes")
    assert await call.refusal("reactions.add", channel=CHANNEL, timestamp=ts, name="eyes") == "already_reacted"
    assert await call.refusal("users.info", user="U9") == "user_not_found"
    await call("reactions.remove", channel=CHANNEL, timestamp=ts, name="eyes")
    assert await call.refusal("reactions.remove", channel=CHANNEL, timestamp=ts, name="eyes") == "no_reaction"


async def test_status_lasts_two_minutes(call: Caller, platform: SlackPlatform, clock: FakeClock) -> None:
    root = platform.say("x")
    await call("assistant.threads.setStatus", channel_id=CHANNEL, thread_ts=root, status="thinks")
    await clock.advance(119)
    assert platform.conversations.status(CHANNEL, root) == "thinks"
    await clock.advance(1)
    assert platform.conversations.status(CHANNEL, root) == ""


# Streams.


async def test_stream_grows_and_ends(call: Caller, platform: SlackPlatform) -> None:
    root = platform.say("x")
    to = {"channel": CHANNEL, "thread_ts": root}
    assert await call.refusal("chat.startStream", **to) == "missing_recipient_user_id"
    people = {"recipient_user_id": PERSON, "recipient_team_id": "T0001"}
    ts = (await call("chat.startStream", **to, **people, markdown_text="a"))["ts"]
    await call("chat.appendStream", channel=CHANNEL, ts=ts, markdown_text="b")
    assert await call.refusal("chat.update", channel=CHANNEL, ts=ts, text="x") == "streaming_state_conflict"
    long = "x" * 12_000
    assert await call.refusal("chat.appendStream", channel=CHANNEL, ts=ts, markdown_text=long) == "msg_too_long"
    await call("chat.stopStream", channel=CHANNEL, ts=ts, markdown_text="c")
    assert [message.text for message in platform.messages()] == ["abc"]
    gone = await call.refusal("chat.appendStream", channel=CHANNEL, ts=ts, markdown_text="d")
    assert gone == "message_not_in_streaming_state"


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "plan_update"},
        {"type": "plan_update", "title": ""},
        {"type": "plan_update", "title": "a", "status": "complete"},
        {"type": "task_update", "title": "a"},
        {"type": "task_update", "id": "1", "title": "a", "status": "done"},
        {"type": "text", "text": "a"},
    ],
)
async def test_chunks_of_other_shapes_are_refused(call: Caller, platform: SlackPlatform, chunk: dict[str, str]) -> None:
    root = platform.say("hi", channel=DIRECT)
    ts = (await call("chat.startStream", channel=DIRECT, thread_ts=root, task_display_mode="plan"))["ts"]
    assert await call.refusal("chat.appendStream", channel=DIRECT, ts=ts, chunks=[chunk]) == "invalid_chunks"
    fine = [{"type": "plan_update", "title": "a"}, {"type": "task_update", "id": "1", "title": "b"}]
    await call("chat.appendStream", channel=DIRECT, ts=ts, chunks=fine)
    elsewhere = {"channel": DIRECT, "thread_ts": root, "task_display_mode": "list"}
    assert await call.refusal("chat.startStream", **elsewhere) == "invalid_arguments"


async def test_stream_stands_outside_of_threads_in_channels_alone_and_takes_blocks(
    call: Caller, platform: SlackPlatform
) -> None:
    assert await call.refusal("chat.startStream", channel=DIRECT, markdown_text="a") == "invalid_arguments"
    to = {"channel": CHANNEL, "recipient_user_id": PERSON, "recipient_team_id": TEAM}
    ts = (await call("chat.startStream", **to, markdown_text="a"))["ts"]
    divider, torn = {"type": "blocks", "blocks": [{"type": "divider"}]}, {"type": "blocks", "blocks": "a"}
    await call("chat.appendStream", channel=CHANNEL, ts=ts, chunks=[divider])
    assert await call.refusal("chat.appendStream", channel=CHANNEL, ts=ts, chunks=[torn]) == "invalid_blocks_format"
    assert [(posted.text, posted.thread_ts) for posted in platform.messages(CHANNEL)] == [("a", None)]


async def test_stream_dies_after_five_minutes_and_can_then_be_edited(
    call: Caller, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.say("x", channel=DIRECT)
    ts = (await call("chat.startStream", channel=DIRECT, thread_ts=root, markdown_text="a"))["ts"]
    await clock.advance(300)
    for method in ("chat.appendStream", "chat.stopStream"):
        refusal = await call.refusal(method, channel=DIRECT, ts=ts, markdown_text="b")
        assert refusal == "message_not_in_streaming_state"
    await call("chat.update", channel=DIRECT, ts=ts, text="ab")
    assert [message.shown for message in platform.messages(DIRECT)] == ["ab"]


# Forms and files.


async def test_form_can_be_opened_once_and_within_three_seconds(
    call: Caller, platform: SlackPlatform, clock: FakeClock
) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "x"}, "blocks": []}
    trigger = platform.surfaces.trigger()
    await call("views.open", trigger_id=trigger, view=view)
    assert await call.refusal("views.open", trigger_id=trigger, view=view) == "invalid_trigger_id"
    late = platform.surfaces.trigger()
    await clock.advance(3)
    assert await call.refusal("views.open", trigger_id=late, view=view) == "expired_trigger_id"


async def test_file_is_shown_once_it_is_there_and_only_once(call: Caller, platform: SlackPlatform) -> None:
    place = await call("files.getUploadURLExternal", filename="a.txt", length=3)
    shown: dict[str, Any] = {"files": [{"id": place["file_id"]}], "channel_id": CHANNEL}
    assert await call.refusal("files.completeUploadExternal", **shown) == "file_not_found"
    assert call.client.session is not None
    for body, status in ((b"ab", 400), (b"abc", 200)):
        assert (await call.client.session.post(place["upload_url"], data=body)).status == status
    await call("files.completeUploadExternal", **shown)
    assert await call.refusal("files.completeUploadExternal", **shown) == "file_not_found"
    assert [message.file for message in platform.messages()] == [place["file_id"]]


# Rate limits.


async def test_edits_of_all_channels_share_fifty_a_minute(
    call: Caller, platform: SlackPlatform, clock: FakeClock
) -> None:
    posted = [(await call("chat.postMessage", channel=channel, text="x"))["ts"] for channel in (CHANNEL, DIRECT)]
    messages = list(zip((CHANNEL, DIRECT), posted, strict=True))
    statuses = []
    for channel, ts in messages:
        statuses += await call.statuses(26, "chat.update", channel=channel, ts=ts, text="")
    assert statuses == [200] * 50 + [429] * 2
    await clock.advance(60)
    assert await call.statuses(1, "chat.update", channel=CHANNEL, ts=messages[0][1], text="") == [200]


async def test_posts_are_one_a_second_in_a_channel_after_a_short_burst(call: Caller, clock: FakeClock) -> None:
    assert await call.statuses(4, "chat.postMessage", channel=CHANNEL, text="") == [200] * 3 + [429]
    assert await call.statuses(1, "chat.postMessage", channel=DIRECT, text="") == [200]
    await clock.advance(1)
    assert await call.statuses(2, "chat.postMessage", channel=CHANNEL, text="") == [200, 429]


async def test_refused_call_is_told_how_long_to_wait(call: Caller, clock: FakeClock) -> None:
    await call.statuses(20, "chat.stopStream", channel=DIRECT, ts="1.2")
    await clock.advance(15)
    with pytest.raises(SlackApiError) as refused:
        await call("chat.stopStream", channel=DIRECT, ts="1.2")
    assert refused.value.response.headers["Retry-After"] == "45"


# Socket Mode.


class Socket:
    """A connection without a client library, which acknowledges nothing by itself."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def frame(self) -> Any:
        return await self.socket.receive_json()


async def _connect(call: Caller, platform: SlackPlatform) -> Socket:
    assert call.client.session is not None
    socket = await call.client.session.ws_connect(f"{platform.socket_address}?ticket={platform.events.ticket()}")
    opened = Socket(socket)
    assert (await opened.frame())["type"] == "hello"
    return opened


async def test_event_goes_to_one_connection_and_again_until_it_is_acknowledged(
    call: Caller, platform: SlackPlatform, clock: FakeClock
) -> None:
    first, second = await _connect(call, platform), await _connect(call, platform)
    await platform.until(lambda: len(platform.events.connections) == 2)
    platform.say("x")
    [event] = platform.events.events.values()
    for seconds in (3, 60, 300, 3):
        await platform.until(lambda: bool(event.deliveries))
        await clock.advance(seconds)
    await platform.until(lambda: event.given_up)
    assert len(event.deliveries) == 4
    platform.drop()
    received = [message for socket in (first, second) async for message in socket.socket]
    frames = [message.json() for message in received if message.type == aiohttp.WSMsgType.TEXT]
    assert sorted(frame["retry_attempt"] for frame in frames) == [0, 1, 2, 3]
    assert len({frame["payload"]["event_id"] for frame in frames}) == 1


async def test_acknowledged_event_does_not_come_again(call: Caller, platform: SlackPlatform, clock: FakeClock) -> None:
    connection = await _connect(call, platform)
    event_id = platform.events.put({"type": "message"})
    frame = await connection.frame()
    assert platform.events.pending == [event_id]
    await connection.socket.send_json({"envelope_id": frame["envelope_id"]})
    await platform.until(lambda: platform.events.pending == [])
    await clock.advance(400)
    assert len(platform.events.events[event_id].deliveries) == 1


async def test_event_moves_to_the_next_connection_when_one_breaks(call: Caller, platform: SlackPlatform) -> None:
    connection = await _connect(call, platform)
    platform.say("x")
    assert (await connection.frame())["retry_attempt"] == 0
    platform.drop()
    await platform.until(lambda: not platform.events.connections)
    again = await (await _connect(call, platform)).frame()
    assert (again["retry_attempt"], again["retry_reason"]) == (1, "connection_failed")


async def test_address_is_good_for_one_connection(call: Caller, platform: SlackPlatform) -> None:
    url = (await call("apps.connections.open", token=APP_TOKEN))["url"]
    assert call.client.session is not None
    kinds = []
    for _ in range(2):
        socket = Socket(await call.client.session.ws_connect(url))
        await socket.frame()
        platform.say("x")
        kinds.append((await socket.frame())["type"])
    assert kinds == ["events_api", "disconnect"]


async def test_eleventh_connection_is_refused(call: Caller, platform: SlackPlatform) -> None:
    connections = [await _connect(call, platform) for _ in range(10)]
    await platform.until(lambda: len(platform.events.connections) == 10)
    assert (await (await _connect(call, platform)).frame())["type"] == "disconnect"
    assert not any(connection.socket.closed for connection in connections)


async def test_bolt_hears_a_mention_and_answers(platform: SlackPlatform) -> None:
    async with serving(platform) as address:
        session = aiohttp.ClientSession()
        client = AsyncWebClient(BOT_TOKEN, base_url=f"{address}/api/", session=session)
        app = AsyncApp(client=client)

        @app.event("app_mention")
        async def answer(event: dict[str, Any], say: Any) -> None:
            await say(text=f"hello <@{event['user']}>", thread_ts=event["ts"])

        @app.event("message")
        async def pass_over() -> None:
            """Plain messages are not for this app."""

        handler: Any = AsyncSocketModeHandler(app, APP_TOKEN, ping_interval=1)
        async with session:
            await handler.connect_async()
            root = platform.say(f"<@{BOT_USER}> hi", person=FRIEND)
            await platform.until(lambda: bool(platform.messages()) and not platform.events.pending)
            await handler.close_async()
            tasks = [handler.client.message_processor, handler.client.current_session_monitor]
            await asyncio.gather(*tasks, handler.client.message_receiver, return_exceptions=True)
    [posted] = platform.messages()
    assert (posted.text, posted.thread_ts, posted.pings) == (f"hello <@{FRIEND}>", root, [f"@{FRIEND}"])


# The control over HTTP.


async def test_it_can_be_steered_over_http() -> None:
    command = [sys.executable, "-m", "tests.fakes.slack.server", "--limits"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 - one line is read
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            async with aiohttp.ClientSession(address) as http:
                said = await (await http.post("/_control/say", json={"text": "hi"})).json()
                caller = Caller(AsyncWebClient(BOT_TOKEN, base_url=f"{address}/api/", session=http))
                await caller("chat.postMessage", channel=CHANNEL, text="a", thread_ts=said["result"])
                [posted] = await (await http.get(f"/_control/messages?channel={CHANNEL}")).json()
                [called] = await (await http.get("/_control/calls")).json()
                unknown = await http.post("/_control/close", json={})
        finally:
            process.kill()
    assert (posted["history"], called["method"], unknown.status) == (["a"], "chat.postMessage", 404)

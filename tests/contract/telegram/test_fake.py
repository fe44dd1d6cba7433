"""The Bot API server for tests refuses what Telegram refuses, in Telegram's words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.telegram.limits import FloodBucket, FloodLimit, FloodLimits
from tests.fakes.telegram.markup import MarkupError, parse
from tests.fakes.telegram.platform import GROUP, PERSON, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = pytest.mark.anyio


class BotClient:
    """Calls without a client library, so that the bare answers show."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(self, method: str, *, token: str = TOKEN, **params: Any) -> dict[str, Any]:
        answer = await self._http.post(f"/bot{token}/{method}", json=params)
        body: dict[str, Any] = answer.json()
        assert body["ok"] or body["error_code"] == answer.status_code
        return body

    async def as_form(self, method: str, **params: str) -> dict[str, Any]:
        body: dict[str, Any] = (await self._http.post(f"/bot{TOKEN}/{method}", data=params)).json()
        return body

    async def control(self, name: str, **params: Any) -> Any:
        return (await self._http.post(f"/_control/{name}", json=params)).json()

    async def look(self, path: str) -> Any:
        return (await self._http.get(f"/_control/{path}")).json()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def platform(anyio_backend: str, clock: FakeClock) -> TelegramPlatform:
    return TelegramPlatform(clock=clock)


@pytest.fixture
async def call(platform: TelegramPlatform) -> AsyncIterator[BotClient]:
    async with serving(platform) as address, httpx.AsyncClient(base_url=address, timeout=60) as http:
        yield BotClient(http)


async def _refusal(call: BotClient, method: str, **params: Any) -> str:
    body = await call(method, **params)
    assert not body["ok"]
    return f"{body['error_code']} {body['description']}"


async def test_wrong_token_is_unauthorized(call: BotClient) -> None:
    assert (await call("getMe", token="1:x"))["error_code"] == 401


async def test_unknown_method_is_not_found(call: BotClient) -> None:
    assert await _refusal(call, "danceForMe") == "404 Not Found"


async def test_form_and_json_are_both_read(call: BotClient, platform: TelegramPlatform) -> None:
    entities = [{"type": "bold", "offset": 0, "length": 2}]
    await call("sendMessage", chat_id=PERSON, text="hi", entities=entities)
    await call.as_form("sendMessage", chat_id=str(PERSON), text="hi", entities=json.dumps(entities))
    first, second = platform.messages(PERSON)
    assert first.entities == second.entities == entities


@pytest.mark.parametrize(
    ("params", "refusal"),
    [
        ({"text": ""}, "400 Bad Request: message text is empty"),
        ({"text": " \n"}, "400 Bad Request: message text is empty"),
        ({"text": "👍" * 2048 + "x"}, "400 Bad Request: message is too long"),
        ({"text": "x", "chat_id": 999}, "400 Bad Request: chat not found"),
        ({"text": "a", "parse_mode": "Markdown3"}, "400 Bad Request: can't parse entities: unsupported parse_mode"),
        (
            {"text": "👍", "entities": [{"type": "bold", "offset": 0, "length": 3}]},
            "400 Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text",
        ),
    ],
)
async def test_message_that_breaks_a_rule_is_refused(call: BotClient, params: dict[str, Any], refusal: str) -> None:
    assert await _refusal(call, "sendMessage", **({"chat_id": PERSON} | params)) == refusal


async def test_length_counts_after_the_markup_is_taken_out(call: BotClient) -> None:
    text = f"<b>{'👍' * 2048}</b>"
    assert (await call("sendMessage", chat_id=PERSON, text=text, parse_mode="HTML"))["ok"]


@pytest.mark.parametrize(
    ("mode", "text", "reason"),
    [
        ("MarkdownV2", "half *open", "Can't find end of Bold entity at byte offset 5"),
        ("MarkdownV2", "é `code", "Can't find end of Code entity at byte offset 3"),
        ("MarkdownV2", "```py\nx", "Can't find end of Pre entity at byte offset 0"),
        ("MarkdownV2", "end.", r"Character '\.' is reserved"),
        ("MarkdownV2", "[x](http://a", "Can't find end of a URL"),
        ("MarkdownV2", "*a _b* c_", "Can't find end of"),
        ("HTML", "<b>open", 'Can\'t find end tag corresponding to start tag "b"'),
        ("HTML", "a < b", "Unsupported start tag"),
        ("HTML", "<p>x</p>", 'Unsupported start tag "p" at byte offset 0'),
        ("HTML", "<b><i>x</b></i>", "Unexpected end tag at byte offset 7"),
    ],
)
def test_markup_that_is_not_well_formed_is_refused(mode: str, text: str, reason: str) -> None:
    with pytest.raises(MarkupError, match=reason):
        parse(text, mode)


def test_well_formed_markup_becomes_entities() -> None:
    markdown, html = (
        r"*a _b_* `c\.d` [e](http://e.example) f\.",
        '<b>a <i>b</i></b> <code>c</code> <a href="u">e</a> &lt;',
    )
    assert parse(markdown, "MarkdownV2") == (
        r"a b c\.d e f.",
        [
            {"type": "bold", "offset": 0, "length": 3},
            {"type": "italic", "offset": 2, "length": 1},
            {"type": "code", "offset": 4, "length": 4},
            {"type": "text_link", "offset": 9, "length": 1, "url": "http://e.example"},
        ],
    )
    text, entities = parse(html, "HTML")
    assert text == "a b c e <"
    assert [entity["type"] for entity in entities] == ["bold", "italic", "code", "text_link"]


async def test_edit_must_change_something_that_exists(call: BotClient, platform: TelegramPlatform) -> None:
    message = (await call("sendMessage", chat_id=PERSON, text="a"))["result"]["message_id"]
    unchanged = await _refusal(call, "editMessageText", chat_id=PERSON, message_id=message, text="a")
    assert unchanged.startswith("400 Bad Request: message is not modified")
    missing = await _refusal(call, "editMessageText", chat_id=PERSON, message_id=99, text="a")
    assert missing == "400 Bad Request: message to edit not found"
    bold = [{"type": "bold", "offset": 0, "length": 1}]
    assert (await call("editMessageText", chat_id=PERSON, message_id=message, text="a", entities=bold))["ok"]


async def test_message_can_be_deleted_once(call: BotClient, platform: TelegramPlatform) -> None:
    message = (await call("sendMessage", chat_id=PERSON, text="a"))["result"]["message_id"]
    assert (await call("deleteMessage", chat_id=PERSON, message_id=message))["ok"]
    assert platform.messages(PERSON) == []
    assert (await call("deleteMessage", chat_id=PERSON, message_id=message))["error_code"] == 400


async def test_blocked_and_migrated_chats_are_refused(call: BotClient, platform: TelegramPlatform) -> None:
    platform.block(PERSON)
    platform.migrate(GROUP, -1009)
    assert await _refusal(call, "sendMessage", chat_id=PERSON, text="a") == "403 Forbidden: bot was blocked by the user"
    moved = await call("sendMessage", chat_id=GROUP, text="a")
    assert (moved["error_code"], moved["parameters"]) == (400, {"migrate_to_chat_id": -1009})


async def test_commands_must_be_lower_case_words(call: BotClient) -> None:
    assert not (await call("setMyCommands", commands=[{"command": "Start", "description": "x"}]))["ok"]
    assert (await call("setMyCommands", commands=[{"command": "start", "description": "x"}]))["ok"]


async def test_button_presses_are_delivered_and_answered(call: BotClient, platform: TelegramPlatform) -> None:
    platform.press("yes")
    [update] = (await call("getUpdates"))["result"]
    assert update["callback_query"]["data"] == "yes"
    assert (await call("answerCallbackQuery", callback_query_id="1"))["ok"]


# Updates.


async def test_offset_acknowledges_and_limit_cuts(call: BotClient, platform: TelegramPlatform) -> None:
    first, second, third = platform.say("a"), platform.say("b"), platform.say("c")
    assert [u["update_id"] for u in (await call("getUpdates", limit=2))["result"]] == [first, second]
    assert [u["update_id"] for u in (await call("getUpdates", offset=second))["result"]] == [second, third]
    assert platform.updates.pending == [second, third]
    assert [u["update_id"] for u in (await call("getUpdates", offset=-1))["result"]] == [third]


async def test_types_that_are_not_asked_for_are_lost(call: BotClient, platform: TelegramPlatform) -> None:
    await call("getUpdates", allowed_updates=["message"])
    platform.rewrite("changed")
    wanted = platform.say("new")
    assert [u["update_id"] for u in (await call("getUpdates"))["result"]] == [wanted]


async def test_newer_poll_ends_the_older_one(call: BotClient, platform: TelegramPlatform) -> None:
    answers = []

    async def poll() -> None:
        answers.append(await call("getUpdates", timeout=50))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await platform.until(lambda: platform.updates.waiting)
        assert (await call("getUpdates", timeout=0))["ok"]
    assert answers[0]["error_code"] == 409


async def test_polls_are_refused_while_there_is_a_webhook(call: BotClient, platform: TelegramPlatform) -> None:
    platform.updates.webhook_url = "https://a.example"
    assert (await call("getWebhookInfo"))["result"]["url"] == "https://a.example"
    assert "webhook is active" in await _refusal(call, "getUpdates")
    await call("deleteWebhook")
    assert (await call("getUpdates"))["ok"]


async def test_poll_of_a_client_that_left_takes_nothing(call: BotClient, platform: TelegramPlatform) -> None:
    async with anyio.create_task_group() as tasks:

        async def poll() -> None:
            await call("getUpdates", timeout=50)

        tasks.start_soon(poll)
        await platform.until(lambda: platform.updates.waiting)
        tasks.cancel_scope.cancel()
    update = platform.say("not lost")
    assert [u["update_id"] for u in (await call("getUpdates"))["result"]] == [update]


# Flood control.


@pytest.mark.parametrize(("chat", "burst", "penalty_s"), [(PERSON, 3, 3), (GROUP, 5, 12)])
async def test_sends_and_edits_share_a_bucket(
    call: BotClient, platform: TelegramPlatform, chat: int, burst: int, penalty_s: int
) -> None:
    platform.chats.relax(FloodLimits())
    message = (await call("sendMessage", chat_id=chat, text="0"))["result"]["message_id"]
    for n in range(1, burst):
        assert (await call("editMessageText", chat_id=chat, message_id=message, text=str(n)))["ok"]
    refused = await call("sendMessage", chat_id=chat, text="more")
    assert (refused["error_code"], refused["parameters"]) == (429, {"retry_after": penalty_s})


async def test_chat_is_free_again_after_the_penalty(
    call: BotClient, platform: TelegramPlatform, clock: FakeClock
) -> None:
    platform.chats.relax(FloodLimits())
    sent = [(await call("sendMessage", chat_id=PERSON, text="x"))["ok"] for _ in range(4)]
    await clock.advance(2)
    sent.append((await call("sendMessage", chat_id=PERSON, text="x"))["ok"])
    await clock.advance(1)
    sent.append((await call("sendMessage", chat_id=PERSON, text="x"))["ok"])
    assert sent == [True, True, True, False, False, True]


async def test_all_chats_share_the_bots_own_limit(call: BotClient, platform: TelegramPlatform) -> None:
    platform.chats.relax(FloodLimits())
    people = range(100, 131)
    for person in people:
        platform.chats.open(person)
    statuses = [(await call("sendMessage", chat_id=person, text="x"))["ok"] for person in people]
    assert statuses == [True] * 30 + [False]


def test_penalties_grow_and_are_forgiven() -> None:
    bucket = FloodBucket(FloodLimit(1.0, 1, 3))
    assert [bucket.take(0), bucket.take(0), bucket.take(1)] == [None, 3, 2]
    assert [bucket.take(3), bucket.take(3)] == [None, 6]
    assert [bucket.take(100), bucket.take(100)] == [None, 3]


# Faults, and the control over HTTP.


async def test_fault_before_and_after_the_effect(call: BotClient, platform: TelegramPlatform) -> None:
    for applied in (False, True):
        platform.fail("sendMessage", "bad_gateway", applied=applied)
        with pytest.raises(ValueError, match="Expecting value"):
            await call("sendMessage", chat_id=PERSON, text=f"{applied}")
    assert [message.text for message in platform.messages(PERSON)] == ["True"]


async def test_dropped_connection_is_a_broken_answer(call: BotClient, platform: TelegramPlatform) -> None:
    platform.fail("getMe", "drop")
    with pytest.raises(httpx.RemoteProtocolError):
        await call("getMe")
    assert (await call("getMe"))["ok"]


async def test_other_processes_steer_it_over_http(call: BotClient) -> None:
    said = await call.control("say", text="/new hello", chat=GROUP)
    [update] = (await call("getUpdates"))["result"]
    assert update["update_id"] == said["result"]
    assert update["message"]["entities"] == [{"type": "bot_command", "offset": 0, "length": 4}]
    message = (await call("sendMessage", chat_id=GROUP, text="a"))["result"]["message_id"]
    await call("editMessageText", chat_id=GROUP, message_id=message, text="b")
    [posted] = await call.look(f"messages?chat={GROUP}")
    assert posted["history"] == ["a", "b"]
    assert [made["method"] for made in await call.look("calls")] == ["getUpdates", "sendMessage", "editMessageText"]
    assert "error" in await call.control("close")


async def test_it_runs_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "tests.fakes.telegram.server", "--limits"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 - one line is read
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            async with httpx.AsyncClient(base_url=address, timeout=60) as http:
                assert (await BotClient(http)("getMe"))["result"]["username"] == "ParleyBot"
        finally:
            process.kill()

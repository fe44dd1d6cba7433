"""The Telegram adapter against a Bot API server on loopback, through the real client library."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime

import anyio
import pytest

from adapters.adapter import Adapter, CanEdit, CanShowTyping, HoldsConnections
from adapters.telegram.adapter import TelegramAdapter, TelegramOptions
from adapters.telegram.limits import CAPABILITIES
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)
from tests.fakes.telegram_limits import FloodLimits
from tests.fakes.telegram_platform import GROUP, PERSON, TOKEN, FaultKind, TelegramPlatform
from tests.fakes.telegram_server import serving

pytestmark = pytest.mark.anyio

ADA = Address("telegram", str(PERSON))
US = Address("telegram", str(GROUP))
HOST = Speaker("1000", "Host")
OLD_GROUP = -500


class HastyClock:
    """A clock that passes over every pause at once, and remembers it."""

    def __init__(self) -> None:
        self.pauses_s: list[float] = []
        self._at_s = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._at_s, UTC)

    def monotonic(self) -> float:
        return self._at_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        self.pauses_s.append(monotonic_s - self._at_s)
        self._at_s = monotonic_s
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def platform(anyio_backend: str) -> TelegramPlatform:
    return TelegramPlatform()


@pytest.fixture
async def options(platform: TelegramPlatform) -> AsyncIterator[TelegramOptions]:
    async with serving(platform) as address:
        yield TelegramOptions(base_url=f"{address}/bot")


@pytest.fixture
async def adapter(options: TelegramOptions) -> AsyncIterator[TelegramAdapter]:
    async with aclosing(_adapter(options)) as made:
        yield made


def _adapter(options: TelegramOptions, *, token: str = TOKEN, clock: Clock | None = None) -> TelegramAdapter:
    return TelegramAdapter(token, clock=clock or SystemClock(), options=options)


async def _send(adapter: TelegramAdapter, text: str, *, to: Address = ADA, speaker: Speaker = HOST) -> str:
    return await adapter.send(to, text, speaker=speaker, nonce="n", final=True)


async def _edit(adapter: TelegramAdapter, message: str, text: str, *, to: Address = ADA) -> None:
    await adapter.edit(to, message, text, speaker=HOST, nonce="n", final=False)


async def test_it_is_an_adapter_that_edits_and_shows_typing(adapter: TelegramAdapter) -> None:
    port: Adapter = adapter
    assert isinstance(port, CanEdit)
    assert isinstance(port, CanShowTyping)
    assert isinstance(port, HoldsConnections)
    assert port.name == "telegram"


# Inbound.


async def test_messages_come_in_order(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.say("one")
    platform.say("two", chat=GROUP)
    async with adapter.connect() as inbound:
        first, second = await anext(inbound), await anext(inbound)
    assert [(m.text, m.address, m.addressed) for m in (first, second)] == [("one", ADA, True), ("two", US, False)]


async def test_waiting_poll_wakes_at_once_for_a_message(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:

        async def speak() -> None:
            await platform.until(lambda: platform.updates.waiting)
            platform.say("wake up")

        tasks.start_soon(speak)
        assert (await anext(inbound)).text == "wake up"
    assert len(platform.calls_of("getUpdates")) == 1


async def test_update_is_acknowledged_only_when_the_next_is_asked_for(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    ids = [platform.say("one"), platform.say("two")]
    async with adapter.connect() as inbound:
        await anext(inbound)
        await anext(inbound)
        assert platform.updates.pending == ids
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                await anext(inbound)

            tasks.start_soon(ask)
            await platform.until(lambda: platform.updates.waiting)
            assert platform.updates.pending == []
            tasks.cancel_scope.cancel()


async def test_update_whose_consumer_crashed_comes_again(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.say("precious")
    seen = []
    for _ in range(2):
        async with aclosing(_adapter(options)) as adapter:
            with contextlib.suppress(ZeroDivisionError):
                async with adapter.connect() as inbound:
                    seen.append(await anext(inbound))
                    raise ZeroDivisionError
    assert seen[0] == seen[1]


async def test_update_delivered_twice_has_one_event_id(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    update = platform.say("once")
    async with adapter.connect() as inbound:
        first = await anext(inbound)
        platform.again(update)
        second = await anext(inbound)
    assert first.event_id == second.event_id == f"123456:{update}"


async def test_what_is_not_for_us_is_acknowledged_and_passed_over(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say("/new@Another_bot", chat=GROUP)
    platform.say(None, new_chat_members=[])
    platform.updates.put({"message": {"chat": "of a shape nobody knows"}})
    platform.say("@parleybot hello", chat=GROUP)
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
    assert (heard.text, heard.addressed) == ("hello", True)


async def test_reply_to_a_message_of_ours_is_addressed(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "which one?", to=US)
    platform.say("the second", chat=GROUP, reply_to=message)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).addressed


async def test_connecting_offers_the_commands_and_asks_for_messages_only(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.updates.webhook_url = "https://elsewhere.example/hook"
    platform.say("hi")
    async with adapter.connect() as inbound:
        await anext(inbound)
    assert [command["command"] for command in platform.commands] == ["start", "help", "stop", "new", "status"]
    assert platform.calls_of("getUpdates")[0].params["allowed_updates"] == ["message"]
    assert platform.updates.webhook_url == ""


async def test_refused_commands_do_not_keep_it_from_connecting(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.fail("setMyCommands", "bad_gateway")
    platform.say("hi")
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage"])
async def test_polling_goes_on_after_failures_with_growing_pauses(
    options: TelegramOptions, platform: TelegramPlatform, kind: FaultKind
) -> None:
    clock = HastyClock()
    platform.fail("getUpdates", kind, times=8)
    platform.say("still here")
    async with aclosing(_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "still here"
    assert clock.pauses_s == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_connecting_waits_for_telegram_to_come_back(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getMe", "bad_gateway", times=2)
    async with aclosing(_adapter(options, clock=clock)) as adapter, adapter.connect():
        assert clock.pauses_s == [1, 2]


async def test_poll_that_is_never_answered_is_given_up(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getUpdates", "hang")
    platform.say("hi")
    hasty = replace(options, call_timeout_s=1.0, poll_timeout_s=0.2)
    async with aclosing(_adapter(hasty, clock=clock)) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"
    assert clock.pauses_s == [1]


async def test_polling_waits_as_long_as_telegram_says(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getUpdates", "flood", retry_after=17)
    platform.say("hi")
    async with aclosing(_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
        await anext(inbound)
    assert clock.pauses_s == [17]


async def test_second_poller_is_reported_and_the_first_goes_on(
    options: TelegramOptions, platform: TelegramPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    async def intrude() -> None:
        await platform.until(lambda: platform.updates.waiting)
        assert await platform.updates.fetch({"timeout": 0}) == []
        platform.say("mine again")

    async with (
        aclosing(_adapter(options, clock=HastyClock())) as adapter,
        adapter.connect() as inbound,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(intrude)
        assert (await anext(inbound)).text == "mine again"
    [report] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "Run one gateway for one token" in report.__dict__["error"]


async def test_wrong_token_is_refused_at_connecting(options: TelegramOptions) -> None:
    async with aclosing(_adapter(options, token="1:wrong")) as adapter:
        with pytest.raises(AuthFailed, match="BotFather"):
            async with adapter.connect():
                pytest.fail("connected with a wrong token")


async def test_token_withdrawn_while_polling_ends_the_connection(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with adapter.connect() as inbound:
        platform.token = "9:other"
        with pytest.raises(AuthFailed):
            await anext(inbound)


async def test_something_that_is_no_token_is_refused_at_once() -> None:
    with pytest.raises(AuthFailed, match="does not look like"):
        TelegramAdapter("secret key", clock=SystemClock())


# Check.


async def test_check_names_the_bot(adapter: TelegramAdapter) -> None:
    assert await adapter.check() == "Telegram knows this bot as @ParleyBot (Parley)"


async def test_check_tells_a_wrong_token_from_a_server_that_is_down(
    options: TelegramOptions, adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with aclosing(_adapter(options, token="1:wrong")) as wrong:
        with pytest.raises(AuthFailed):
            await wrong.check()
    platform.fail("getMe", "bad_gateway")
    with pytest.raises(NotDelivered):
        await adapter.check()


async def test_the_token_is_in_no_error_and_no_log(
    options: TelegramOptions, platform: TelegramPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    token = "1:very_secret"
    async with aclosing(_adapter(options, token=token)) as adapter:
        with pytest.raises(AuthFailed) as caught:
            await adapter.check()
    assert caplog.messages
    assert all(token not in text for text in [*caplog.messages, str(caught.value), str(caught.value.__cause__)])


# Sending.


async def test_text_arrives_with_its_formatting(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "a **b** [c](https://c.example)")
    [posted] = platform.messages(PERSON)
    assert (str(posted.message_id), posted.text) == (message, "a b c")
    assert [(e["type"], e["offset"], e["length"], e.get("url")) for e in posted.entities] == [
        ("bold", 2, 1, None),
        ("text_link", 4, 1, "https://c.example"),
    ]


async def test_agents_name_stands_above_its_text_in_groups_only(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await _send(adapter, "hi", to=US)
    await _send(adapter, "hi", to=ADA)
    await _send(adapter, "notice", to=US, speaker=GATEWAY)
    assert [m.text for m in platform.messages(GROUP)] == ["Host\nhi", "notice"]
    assert [m.text for m in platform.messages(PERSON)] == ["hi"]


async def test_names_can_be_shown_everywhere(options: TelegramOptions, platform: TelegramPlatform) -> None:
    async with aclosing(_adapter(replace(options, show_names="always"))) as adapter:
        await _send(adapter, "hi")
    assert platform.messages(PERSON)[0].text == "Host\nhi"


async def test_answer_goes_to_the_topic(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await _send(adapter, "hi", to=replace(US, thread="9"))
    assert platform.messages(GROUP)[0].thread == 9


async def test_edit_replaces_the_text(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "one")
    await _edit(adapter, message, "one *two*")
    assert platform.messages(PERSON)[0].history == ["one", "one two"]


async def test_edit_to_the_same_text_succeeds(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "one")
    await _edit(adapter, message, "one")
    assert platform.calls_of("editMessageText")[0].status == 400


async def test_typing_is_shown(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await adapter.typing(ADA, HOST)
    assert platform.chats.typing == [PERSON]


async def test_edit_of_a_deleted_message_says_it_is_gone(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "one")
    platform.delete(PERSON, int(message))
    with pytest.raises(MessageGone):
        await _edit(adapter, message, "two")


@pytest.mark.parametrize(
    ("code", "description", "expected"),
    [
        (400, "Bad Request: message can't be edited", MessageGone),
        (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
        (400, "Bad Request: can't parse entities: Unsupported start tag", BadMarkup),
        (400, "Bad Request: message is too long", NotDelivered),
        (400, "Bad Request: TOPIC_CLOSED", NotDelivered),
        (400, "Bad Request: not enough rights to send text messages to the chat", NotDelivered),
        (403, "Forbidden: bot was blocked by the user", NotDelivered),
        (404, "Not Found", NotDelivered),
        (401, "Unauthorized", NotDelivered),
        (500, "Internal Server Error", OutcomeUncertain),
        (504, "Gateway Timeout", OutcomeUncertain),
    ],
)
async def test_refusals_are_told_in_our_words(
    adapter: TelegramAdapter, platform: TelegramPlatform, code: int, description: str, expected: type[AdapterError]
) -> None:
    message = await _send(adapter, "one")
    platform.fail("editMessageText", "refuse", code=code, description=description)
    with pytest.raises(AdapterError) as caught:
        await _edit(adapter, message, "two")
    assert type(caught.value) is expected


async def test_chat_that_blocked_the_bot_gets_nothing(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.block(PERSON)
    with pytest.raises(NotDelivered, match="blocked"):
        await _send(adapter, "hi")


async def test_unknown_chat_gets_nothing(adapter: TelegramAdapter) -> None:
    with pytest.raises(NotDelivered, match=r"(?i)chat not found"):
        await _send(adapter, "hi", to=Address("telegram", "777"))


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage", "hang"])
@pytest.mark.parametrize("applied", [True, False])
async def test_broken_answer_to_a_send_leaves_the_outcome_uncertain_and_is_not_repeated(
    options: TelegramOptions, platform: TelegramPlatform, kind: FaultKind, applied: bool
) -> None:
    platform.fail("sendMessage", kind, applied=applied)
    async with aclosing(_adapter(replace(options, call_timeout_s=1.0))) as adapter:
        with pytest.raises(OutcomeUncertain):
            await _send(adapter, "hi")
    assert len(platform.messages(PERSON)) == applied
    assert len(platform.calls_of("sendMessage")) == 1


async def test_edit_after_an_uncertain_one_settles_it(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await _send(adapter, "one")
    platform.fail("editMessageText", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await _edit(adapter, message, "two")
    await _edit(adapter, message, "two")
    assert platform.messages(PERSON)[0].history == ["one", "two"]


async def test_server_that_cannot_be_reached_has_surely_not_got_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = TelegramOptions(base_url=f"http://127.0.0.1:{port}/bot")
    async with aclosing(_adapter(options)) as adapter:
        with pytest.raises(RateLimited, match="could not be reached"):
            await _send(adapter, "hi")


async def test_refused_formatting_is_left_out(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.fail("sendMessage", "refuse", description="Bad Request: can't parse entities: byte offset 3")
    await _send(adapter, "a **b**")
    [posted] = platform.messages(PERSON)
    assert (posted.text, posted.entities) == ("a b", [])


async def test_refused_plain_text_is_bad_markup(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.fail("sendMessage", "refuse", description="Bad Request: can't parse entities: byte offset 3")
    with pytest.raises(BadMarkup):
        await _send(adapter, "plain")


# Limits.


async def test_flood_tells_the_pause_and_nothing_is_repeated(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.fail("sendMessage", "flood", retry_after=35)
    with pytest.raises(RateLimited) as caught:
        await _send(adapter, "hi")
    assert caught.value.retry_after_s == 35
    assert len(platform.calls) == 1


@pytest.mark.parametrize(("to", "burst", "penalty_s"), [(ADA, 3, 3), (US, 5, 12)])
async def test_overrun_of_a_chat_is_told(
    adapter: TelegramAdapter, platform: TelegramPlatform, to: Address, burst: int, penalty_s: int
) -> None:
    platform.chats.relax(FloodLimits())
    message = await _send(adapter, "0", to=to)
    for n in range(1, burst):
        await _edit(adapter, message, str(n), to=to)
    with pytest.raises(RateLimited) as caught:
        await _edit(adapter, message, "too much", to=to)
    assert caught.value.retry_after_s == penalty_s


async def test_topics_of_a_group_share_one_bucket(adapter: TelegramAdapter) -> None:
    key, size = adapter.budget(US)
    assert adapter.budget(replace(US, thread="9")) == (key, size)
    assert size == CAPABILITIES.group_budget
    assert adapter.budget(ADA) == (f"telegram:{PERSON}", CAPABILITIES.private_budget)


# Groups that become supergroups.


async def test_message_follows_a_group_to_its_new_id(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    old = Address("telegram", str(OLD_GROUP))
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP)
    await _send(adapter, "one", to=old)
    await _send(adapter, "two", to=old)
    assert [m.text for m in platform.messages(GROUP)] == ["Host\none", "Host\ntwo"]
    assert [call.status for call in platform.calls] == [400, 200, 200]
    assert adapter.budget(old)[0] == adapter.budget(US)[0]


async def test_announced_migration_saves_the_refused_call(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP, announced=True)
    platform.say("here we are", chat=GROUP)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "here we are"
    await _send(adapter, "one", to=Address("telegram", str(OLD_GROUP)))
    assert [call.status for call in platform.calls_of("sendMessage")] == [200]

"""What people do on Telegram comes in, and is acknowledged only once it is safe."""

from __future__ import annotations

import contextlib
import logging
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import (
    AuthFailed,
    NotDelivered,
)
from tests.contract.telegram.speaking import ADA, OLD_GROUP, US, new_adapter, send
from tests.fakes.clock import HastyClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.telegram.platform import GROUP, FaultKind, TelegramPlatform

pytestmark = pytest.mark.anyio


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
        async with aclosing(new_adapter(options)) as adapter:
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


async def test_connecting_offers_the_commands_and_asks_for_what_people_do(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.updates.webhook_url = "https://elsewhere.example/hook"
    platform.say("hi")
    async with adapter.connect() as inbound:
        await anext(inbound)
    assert [command["command"] for command in platform.commands] == ["start", "help", "stop", "new", "status"]
    assert platform.calls_of("getUpdates")[0].params["allowed_updates"] == [
        "message",
        "edited_message",
        "callback_query",
        "message_reaction",
        "my_chat_member",
        "stopped_message_generation",
    ]
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
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "still here"
    assert clock.pauses_s == [0.5, 1, 2, 4, 8, 10, 10, 10]


async def test_connecting_waits_for_telegram_to_come_back(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getMe", "bad_gateway", times=2)
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect():
        assert clock.pauses_s == [0.5, 1]


async def test_poll_that_is_never_answered_is_given_up(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getUpdates", "hang")
    platform.say("hi")
    hasty = replace(options, call_timeout_s=4.0, poll_timeout_s=0.2)
    async with aclosing(new_adapter(hasty, clock=clock)) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"
    assert clock.pauses_s == [0.5]


async def test_polling_waits_as_long_as_telegram_says(options: TelegramOptions, platform: TelegramPlatform) -> None:
    clock = HastyClock()
    platform.fail("getUpdates", "flood", retry_after=17)
    platform.say("hi")
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
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
        aclosing(new_adapter(options, clock=HastyClock())) as adapter,
        adapter.connect() as inbound,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(intrude)
        assert (await anext(inbound)).text == "mine again"
    [report] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "Run one gateway for one token" in report.__dict__["error"]


async def test_wrong_token_is_refused_at_connecting(options: TelegramOptions) -> None:
    async with aclosing(new_adapter(options, token="1:wrong")) as adapter:
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
        TelegramAdapter("secret key", clock=SystemClock(), records=MemoryRecords())


async def test_check_names_the_bot(adapter: TelegramAdapter) -> None:
    assert (await adapter.check()).startswith("Telegram knows this bot as @ParleyBot (Parley). ")


async def test_check_tells_a_wrong_token_from_a_server_that_is_down(
    options: TelegramOptions, adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with aclosing(new_adapter(options, token="1:wrong")) as wrong:
        with pytest.raises(AuthFailed):
            await wrong.check()
    platform.fail("getMe", "bad_gateway")
    with pytest.raises(NotDelivered):
        await adapter.check()


async def test_the_token_is_in_no_error_and_no_log(
    options: TelegramOptions, platform: TelegramPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="httpx")  # others in this process may have turned it down
    token = "1:very_secret"
    async with aclosing(new_adapter(options, token=token)) as adapter:
        with pytest.raises(AuthFailed) as caught:
            await adapter.check()
    assert caplog.messages
    assert all(token not in text for text in [*caplog.messages, str(caught.value), str(caught.value.__cause__)])


async def test_announced_migration_saves_the_refused_call(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP, announced=True)
    platform.say("here we are", chat=GROUP)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).text == "here we are"
    await send(adapter, "one", to=Address("telegram", str(OLD_GROUP)))
    assert [call.status for call in platform.calls_of("sendMessage")] == [200]


async def test_server_without_the_conveniences_is_polled_all_the_same(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    for method in ("deleteWebhook", "setMyCommands"):
        platform.fail(method, "refuse", code=404, description="Not Found")
    platform.say("hi")
    async with aclosing(new_adapter(options, clock=HastyClock())) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"


async def test_server_that_does_not_hold_polls_is_not_asked_without_pause(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    clock = HastyClock()
    hasty = replace(options, poll_timeout_s=0.0)

    async def listen() -> None:
        async with aclosing(new_adapter(hasty, clock=clock)) as adapter, adapter.connect() as inbound:
            await anext(inbound)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await platform.until(lambda: len(platform.calls_of("getUpdates")) >= 3)
        tasks.cancel_scope.cancel()
    assert clock.pauses_s[:2] == [0.3, 0.3]


async def test_an_album_that_comes_in_two_polls_is_one_message(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    def photo(number: int, **more: Any) -> None:
        platform.say(None, photo=[{"file_id": f"p{number}"}], media_group_id="77", **more)

    platform.say("before")
    photo(1, caption="the receipts")
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:

        async def send_the_rest() -> None:
            await platform.until(lambda: bool(platform.calls_of("getUpdates")))
            photo(2)
            photo(3)

        tasks.start_soon(send_the_rest)
        assert (await anext(inbound)).text == "before"
        album = await anext(inbound)
        assert (album.text, len(album.attachments)) == ("the receipts", 3)
        platform.say("after")
        assert (await anext(inbound)).text == "after"


async def test_an_album_of_which_no_more_comes_is_taken(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.say(None, photo=[{"file_id": "p"}], media_group_id="77", caption="one alone")
    async with adapter.connect() as inbound:
        album = await anext(inbound)
        assert (album.text, len(album.attachments)) == ("one alone", 1)

"""Messages and edits go out, and every way to fail has one of our names."""

from __future__ import annotations

import socket
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.api.failures import NoTopic, NotWelcome, UnknownMethod
from adapters.telegram.limits import CAPABILITIES
from adapters.telegram.options import TelegramOptions
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.errors import (
    AdapterError,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)
from tests.contract.telegram.speaking import ADA, HOST, OLD_GROUP, US, edit, new_adapter, send
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import GROUP, PERSON, FaultKind, TelegramPlatform

pytestmark = pytest.mark.anyio


async def test_text_arrives_with_its_formatting(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "a **b** [c](https://c.example)")
    [posted] = platform.messages(PERSON)
    assert (str(posted.message_id), posted.text) == (message, "a b c")
    assert [(e["type"], e["offset"], e["length"], e.get("url")) for e in posted.entities] == [
        ("bold", 2, 1, None),
        ("text_link", 4, 1, "https://c.example"),
    ]


async def test_agents_name_stands_above_its_text_in_groups_and_in_private_where_it_is_not_the_first(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "hi", to=US)
    await send(adapter, "hi", to=ADA)
    await send(adapter, "ho", to=ADA, speaker=Speaker("1001", "Guest"))
    await send(adapter, "notice", to=US, speaker=GATEWAY)
    assert [m.text for m in platform.messages(GROUP)] == ["Host\nhi", "notice"]
    assert [m.text for m in platform.messages(PERSON)] == ["hi", "Guest\nho"]


async def test_names_can_be_shown_everywhere(options: TelegramOptions, platform: TelegramPlatform) -> None:
    async with aclosing(new_adapter(replace(options, show_names="always"))) as adapter:
        await send(adapter, "hi")
    assert platform.messages(PERSON)[0].text == "Host\nhi"


async def test_edit_replaces_the_text(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "one")
    await edit(adapter, message, "one *two*")
    assert platform.messages(PERSON)[0].history == ["one", "one two"]


async def test_edit_to_the_same_text_succeeds(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "one")
    await edit(adapter, message, "one")
    assert platform.calls_of("editMessageText")[0].status == 400


async def test_typing_is_shown(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await adapter.typing(ADA, HOST)
    assert platform.chats.typing == [PERSON]


@pytest.mark.parametrize(
    ("code", "description", "expected"),
    [
        (400, "Bad Request: message can't be edited", MessageGone),
        (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
        (400, "Bad Request: can't parse entities: Unsupported start tag", BadMarkup),
        (400, "Bad Request: message is too long", NotDelivered),
        (400, "Bad Request: message thread not found", NoTopic),
        (400, "Bad Request: TOPIC_CLOSED", NoTopic),
        (400, "Bad Request: TOPIC_DELETED", NoTopic),
        (400, "Bad Request: not enough rights to send text messages to the chat", NotWelcome),
        (403, "Forbidden: bot was blocked by the user", NotWelcome),
        (403, "Forbidden: bot was kicked from the supergroup chat", NotWelcome),
        (404, "Not Found", UnknownMethod),
        (401, "Unauthorized", NotDelivered),
        (500, "Internal Server Error", OutcomeUncertain),
        (504, "Gateway Timeout", OutcomeUncertain),
    ],
)
async def test_refusals_are_told_in_our_words(
    adapter: TelegramAdapter, platform: TelegramPlatform, code: int, description: str, expected: type[AdapterError]
) -> None:
    message = await send(adapter, "one")
    platform.fail("editMessageText", "refuse", code=code, description=description)
    with pytest.raises(AdapterError) as caught:
        await edit(adapter, message, "two")
    assert type(caught.value) is expected
    assert issubclass(expected, NotDelivered) or expected.__module__ == "runtime.core.errors"


async def test_chat_that_blocked_the_bot_gets_nothing(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.block(PERSON)
    with pytest.raises(NotDelivered, match="blocked"):
        await send(adapter, "hi")


async def test_unknown_chat_gets_nothing(adapter: TelegramAdapter) -> None:
    with pytest.raises(NotDelivered, match=r"(?i)chat not found"):
        await send(adapter, "hi", to=Address("telegram", "777"))


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage", "hang"])
@pytest.mark.parametrize("applied", [True, False])
async def test_broken_answer_to_a_send_leaves_the_outcome_uncertain_and_is_not_repeated(
    options: TelegramOptions, platform: TelegramPlatform, kind: FaultKind, applied: bool
) -> None:
    platform.fail("sendMessage", kind, applied=applied)
    async with aclosing(new_adapter(replace(options, call_timeout_s=2.0 if kind == "hang" else 60.0))) as adapter:
        with pytest.raises(OutcomeUncertain):
            await send(adapter, "hi")
    assert len(platform.messages(PERSON)) == applied
    assert len(platform.calls_of("sendMessage")) == 1


async def test_server_that_cannot_be_reached_has_surely_not_got_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = TelegramOptions(base_url=f"http://127.0.0.1:{port}/bot")
    async with aclosing(new_adapter(options)) as adapter:
        with pytest.raises(RateLimited, match="could not be reached"):
            await send(adapter, "hi")


async def test_refused_formatting_is_left_out(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.fail("sendMessage", "refuse", description="Bad Request: can't parse entities: byte offset 3")
    await send(adapter, "a **b**")
    [posted] = platform.messages(PERSON)
    assert (posted.text, posted.entities) == ("a b", [])


async def test_refused_plain_text_is_bad_markup(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.fail("sendMessage", "refuse", description="Bad Request: can't parse entities: byte offset 3")
    with pytest.raises(BadMarkup):
        await send(adapter, "plain")


async def test_flood_tells_the_pause_and_nothing_is_repeated(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.fail("sendMessage", "flood", retry_after=35)
    with pytest.raises(RateLimited) as caught:
        await send(adapter, "hi")
    assert caught.value.retry_after_s == 35
    assert len(platform.calls) == 1


@pytest.mark.parametrize(("to", "burst", "penalty_s"), [(ADA, 3, 3), (US, 5, 12)])
async def test_overrun_of_a_chat_is_told(
    adapter: TelegramAdapter, platform: TelegramPlatform, to: Address, burst: int, penalty_s: int
) -> None:
    platform.chats.relax(FloodLimits())
    message = await send(adapter, "0", to=to)
    for n in range(1, burst):
        await edit(adapter, message, str(n), to=to)
    with pytest.raises(RateLimited) as caught:
        await edit(adapter, message, "too much", to=to)
    assert caught.value.retry_after_s == penalty_s


async def test_topics_of_a_group_share_one_bucket(adapter: TelegramAdapter) -> None:
    key, size = adapter.budget(US)
    assert adapter.budget(replace(US, thread="9")) == (key, replace(size, shared=True))
    assert size == CAPABILITIES.group_budget
    assert adapter.budget(ADA) == (f"telegram:{PERSON}", CAPABILITIES.private_budget)


async def test_message_follows_a_group_to_its_new_id(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    old = Address("telegram", str(OLD_GROUP))
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP)
    await send(adapter, "one", to=old)
    await send(adapter, "two", to=old)
    assert [m.text for m in platform.messages(GROUP)] == ["Host\none", "Host\ntwo"]
    assert [call.status for call in platform.calls] == [400, 200, 200]
    assert adapter.budget(old)[0] == adapter.budget(US)[0]


async def test_an_edit_that_was_done_and_not_answered_is_repeated_without_being_refused(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(adapter, "0")
    platform.fail("editMessageText", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await edit(adapter, message, "one `two three`")
    await edit(adapter, message, "one `two three`")
    [posted] = platform.messages(PERSON)
    assert posted.text == "one\u00a0two three"
    await edit(adapter, message, "one `two three` four")
    [posted] = platform.messages(PERSON)
    assert posted.text == "one two three four"
    assert [call.status for call in platform.calls_of("editMessageText")] == [502, 200, 200]

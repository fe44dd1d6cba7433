"""What newer Bot API servers have: rich drafts, the thinking block, messages for one person; and what older ones do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from adapters.telegram.outbound.sender import AGAIN_AFTER_S
from runtime.core.address import Address
from tests.contract.telegram.speaking import ADA, HOST, TABLE, TABLE_HTML, US, new_adapter, send
from tests.fakes.clock import FakeClock
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio

ADA_ID = f"telegram:{PERSON}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def drafting(options: TelegramOptions, clock: FakeClock) -> AsyncIterator[TelegramAdapter]:
    async with aclosing(new_adapter(replace(options, drafts=True), clock=clock)) as made:
        yield made


async def _preview(adapter: TelegramAdapter, text: str, *, nonce: str = "page.0") -> None:
    await adapter.preview(ADA, text, speaker=HOST, nonce=nonce)


async def _typing(adapter: TelegramAdapter, doing: str | None, to: Address = ADA) -> None:
    await adapter.typing(to, HOST, doing=doing)


# Rich drafts.


async def test_a_text_that_will_be_rich_grows_as_a_rich_draft_and_others_as_plain_ones(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await _preview(drafting, TABLE)
    await _preview(drafting, "no table", nonce="page.1")
    assert [(draft.rich, draft.text) for draft in platform.chats.drafts] == [(True, TABLE_HTML), (False, "no table")]


async def test_a_server_without_rich_drafts_is_asked_once_and_shows_plain_ones(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.knows_rich = False
    await _preview(drafting, TABLE)
    await _preview(drafting, TABLE + "\n| 3 | 4 |")
    assert [draft.rich for draft in platform.chats.drafts] == [False, False]
    assert len(platform.calls_of("sendRichMessageDraft")) == 1


async def test_half_a_text_that_is_no_rich_markup_is_shown_plain_and_the_next_half_rich_again(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.fail("sendRichMessageDraft", "refuse", description="Bad Request: can't parse rich message")
    await _preview(drafting, TABLE)
    await _preview(drafting, TABLE + "\n| 3 | 4 |")
    assert [draft.rich for draft in platform.chats.drafts] == [False, True]


async def test_below_drafts_and_thoughts_stands_a_button_that_stops_their_author(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with drafting.connect() as inbound:
        await _typing(drafting, "looks for trains")
        await _preview(drafting, TABLE)
        await _preview(drafting, "There is ", nonce="page.1")
        assert [draft.can_stop for draft in platform.chats.drafts] == [True, True, True]
        update = platform.stop_draft()
        pressed = await anext(inbound)
        assert (pressed.address, pressed.command, pressed.text, pressed.private) == (ADA, "stop", "", True)
        assert (pressed.person_id, pressed.act, pressed.message_id) == (ADA_ID, "message", None)
        platform.stop_draft(message_thread_id=7)
        assert (await anext(inbound)).address == replace(ADA, thread="7")
        platform.again(update)
        assert (await anext(inbound)).event_id == pressed.event_id


# The thinking block.


async def test_what_an_agent_does_is_a_thinking_block_in_a_private_chat_until_it_writes(
    drafting: TelegramAdapter, platform: TelegramPlatform, clock: FakeClock
) -> None:
    await _typing(drafting, "looks for <trains>")
    await _typing(drafting, "looks for <trains>")
    await _typing(drafting, "looks for <trains>", US)
    await _preview(drafting, "There is ")
    await _typing(drafting, "compares prices")
    thought, text = platform.chats.drafts
    assert (thought.rich, thought.text) == (True, "<tg-thinking>looks for &lt;trains&gt;</tg-thinking>")
    assert (text.rich, text.text) == (False, "There is")
    assert platform.chats.typing == [PERSON, GROUP, PERSON]


async def test_a_thought_is_shown_again_before_it_vanishes_and_after_the_answer(
    drafting: TelegramAdapter, platform: TelegramPlatform, clock: FakeClock
) -> None:
    await _typing(drafting, None)
    await clock.advance(AGAIN_AFTER_S)
    await _typing(drafting, None)
    await _preview(drafting, "done")
    await send(drafting, "done")
    await _typing(drafting, "goes on")
    shown = [draft.text for draft in platform.chats.drafts if draft.rich]
    assert shown == ["<tg-thinking>…</tg-thinking>"] * 2 + ["<tg-thinking>goes on</tg-thinking>"]


async def test_a_server_without_the_thinking_block_is_asked_once_and_shows_the_typing_sign(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.knows_rich = False
    await _typing(drafting, "thinks")
    await _typing(drafting, "thinks more")
    assert len(platform.calls_of("sendRichMessageDraft")) == 1
    assert platform.chats.typing == [PERSON, PERSON]


async def test_somebody_who_has_blocked_the_bot_takes_no_thoughts_from_others(
    drafting: TelegramAdapter, platform: TelegramPlatform
) -> None:
    blocked = "Forbidden: bot was blocked by the user"
    platform.fail("sendRichMessageDraft", "refuse", code=403, description=blocked)
    await _typing(drafting, "thinks")
    await _typing(drafting, "thinks more")
    assert [draft.text for draft in platform.chats.drafts] == ["<tg-thinking>thinks more</tg-thinking>"]


async def test_without_drafts_there_are_no_thoughts(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await _typing(adapter, "thinks")
    assert (platform.chats.drafts, platform.chats.typing) == ([], [PERSON])


# Answers that only the asker sees.


@pytest.mark.parametrize("parameter", ["ephemeral_message_parameters", "receiver_user_id"])
async def test_an_administrator_answers_one_person_of_a_group_alone(
    adapter: TelegramAdapter, platform: TelegramPlatform, parameter: str
) -> None:
    platform.chats.knows_alone = parameter
    platform.chats.administered.add(GROUP)
    assert await adapter.answer_alone(US, ADA_ID, "**Yours**")
    assert platform.chats.alone == [(GROUP, PERSON, "Yours")]
    assert platform.messages(GROUP) == []


async def test_a_bot_that_is_no_administrator_is_refused_once_and_says_it_to_everybody(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    assert not await adapter.answer_alone(US, ADA_ID, "one")
    assert not await adapter.answer_alone(US, ADA_ID, "two")
    assert len(platform.calls_of("sendMessage")) == 1
    assert platform.messages(GROUP) == []


async def test_an_older_server_has_answered_everybody_and_is_not_asked_again(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.knows_alone = None
    assert await adapter.answer_alone(US, ADA_ID, "one")
    assert [posted.text for posted in platform.messages(GROUP)] == ["one"]
    assert not await adapter.answer_alone(US, ADA_ID, "two")
    assert len(platform.calls_of("sendMessage")) == 1


async def test_an_answer_whose_fate_is_unknown_is_not_said_to_everybody(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.administered.add(GROUP)
    platform.fail("sendMessage", "drop")
    assert await adapter.answer_alone(US, ADA_ID, "secret")
    assert platform.messages(GROUP) == []


async def test_in_a_private_chat_nobody_else_reads_along(adapter: TelegramAdapter) -> None:
    assert not await adapter.answer_alone(ADA, ADA_ID, "yours")


async def test_commands_about_who_gives_them_are_marked_in_the_menu_of_groups_and_nowhere_else(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    spoken = replace(options, commands={"help": "help", "new": "begin"}, alone=frozenset({"help"}))
    german = replace(spoken, translations={"de-AT": {"help": "Hilfe"}})
    async with aclosing(new_adapter(german)) as adapter, adapter.connect():
        pass
    marked = {
        language: [(one["command"], one.get("is_ephemeral", False)) for one in menu]
        for language, menu in platform.main.commands_in_groups.items()
    }
    assert marked == {"": [("help", True), ("new", False)], "de": [("help", True)]}
    assert not any("is_ephemeral" in one for menu in platform.main.commands.values() for one in menu)


async def test_a_command_that_only_the_bot_saw_is_answered_alone_without_any_rights(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    assert not await adapter.answer_alone(US, ADA_ID, "refused here")
    for word in ("/help", "/usage"):
        platform.command_alone(word, chat=GROUP)
    async with adapter.connect() as inbound:
        first, second = await anext(inbound), await anext(inbound)
        assert [(one.command, one.private) for one in (first, second)] == [("help", False), ("usage", False)]
        assert await adapter.answer_alone(first.address, first.person_id, "**Yours**")
    assert platform.chats.alone == [(GROUP, PERSON, "Yours")]
    assert platform.messages(GROUP) == []
    assert not await adapter.answer_alone(US, ADA_ID, "nothing was asked")

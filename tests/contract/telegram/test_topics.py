"""Topics are conversations of their own; groups keep theirs when they move; edits, marks and quotes come in."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.chat_state import ChatState
from adapters.telegram.options import TelegramOptions
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import NotDelivered, StorageUnavailable
from runtime.core.quote import Quote
from tests.contract.telegram.speaking import ADA, HOST, OLD_GROUP, US, new_adapter, send
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio

TOPIC = replace(US, thread="9")


async def heard(adapter: TelegramAdapter, count: int = 1) -> list[Inbound]:
    async with adapter.connect() as inbound:
        return [await anext(inbound) for _ in range(count)]


async def test_topics_of_groups_and_of_private_chats_are_conversations_of_their_own(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say("here", chat=GROUP, thread=9)
    platform.say("there", thread=5)
    assert [one.address for one in await heard(adapter, 2)] == [TOPIC, replace(ADA, thread="5")]


async def test_general_topic_of_a_forum_is_the_group_itself(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say("@ParleyBot hi", chat=GROUP, thread=1)
    [said] = await heard(adapter)
    assert said.address == US
    await send(adapter, "hello", to=said.address)
    assert "message_thread_id" not in platform.calls_of("sendMessage")[0].params


async def test_topic_where_we_speak_needs_no_mention_and_the_others_do(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.open_topic(GROUP, 9)
    await send(adapter, "I am here", to=TOPIC)
    await send(adapter, "and in the group", to=US)
    platform.say("without a mention", chat=GROUP, thread=9)
    platform.say("among ourselves", chat=GROUP, thread=10)
    platform.say("in the plain group", chat=GROUP)
    assert [one.addressed for one in await heard(adapter, 3)] == [True, False, False]


async def test_topic_where_we_speak_needs_a_mention_where_that_is_wanted(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    platform.chats.open_topic(GROUP, 9)
    async with aclosing(new_adapter(replace(options, listen="mentions"))) as adapter:
        await send(adapter, "I am here", to=TOPIC)
        platform.say("without a mention", chat=GROUP, thread=9)
        assert not (await heard(adapter))[0].addressed


async def test_another_node_knows_where_we_speak_and_so_does_the_next_run(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    records = MemoryRecords()
    platform.chats.open_topic(GROUP, 9)
    async with (
        aclosing(new_adapter(options, records=records)) as listener,
        aclosing(new_adapter(options, records=records)) as speaker,
        listener.connect() as inbound,
    ):
        await send(speaker, "I am here", to=TOPIC)
        platform.say("without a mention", chat=GROUP, thread=9)
        assert (await anext(inbound)).addressed
    async with aclosing(new_adapter(options, records=records)) as later:
        platform.say("still there?", chat=GROUP, thread=9)
        assert [one.addressed for one in await heard(later, 2)] == [True, True]


async def test_closed_topic_is_forgotten(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open_topic(GROUP, 9)
    await send(adapter, "I am here", to=TOPIC)
    platform.say(None, chat=GROUP, thread=9, forum_topic_closed={})
    platform.say("anybody?", chat=GROUP, thread=9)
    assert not (await heard(adapter))[0].addressed
    platform.chats.close_topic(GROUP, 9)
    with pytest.raises(NotDelivered, match=r"(?i)topic_closed"):
        await send(adapter, "too late", to=TOPIC)


async def test_remembered_topics_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.telegram.chat_state.MAX_TOPICS", 2)
    records = MemoryRecords()
    memory = ChatState(records, SystemClock())
    for topic in ("5", "6", "7"):
        await memory.note_spoke(Address("telegram", "-100", topic))
    assert sorted(records.records) == ["topic:-100#6", "topic:-100#7"]


async def test_group_that_moved_keeps_its_conversation_for_good(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    records = MemoryRecords()
    old = Address("telegram", str(OLD_GROUP))
    platform.chats.open(OLD_GROUP)
    platform.migrate(OLD_GROUP, GROUP)
    async with aclosing(new_adapter(options, records=records)) as adapter:
        await send(adapter, "one", to=old)
    async with aclosing(new_adapter(options, records=records)) as later:
        platform.say("@ParleyBot we moved", chat=GROUP)
        [said] = await heard(later)
        assert said.address == old
        await send(later, "two", to=old)
        assert later.budget(old)[0] == f"telegram:{GROUP}"
    assert [call.status for call in platform.calls_of("sendMessage")] == [400, 200, 200]


async def test_either_announcement_of_a_move_is_understood(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say(None, chat=GROUP, migrate_from_chat_id=OLD_GROUP)
    platform.say("@ParleyBot here", chat=GROUP)
    assert (await heard(adapter))[0].address == Address("telegram", str(OLD_GROUP))


async def test_edit_of_a_message_names_it_and_has_the_new_text(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    number = platform.message_of(platform.say("helo"))
    platform.rewrite("hello", message_id=number)
    first, second = await heard(adapter, 2)
    assert (first.act, second.act) == ("message", "edit")
    assert first.message_id == second.message_id == str(number)
    assert second.text == "hello"
    assert first.event_id != second.event_id


async def test_marks_come_with_the_message_they_are_on(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    platform.chats.open_topic(GROUP, 9)
    message = await send(adapter, "good?", to=TOPIC)
    platform.mark("👍", chat=GROUP, message=int(message))
    platform.mark("", chat=GROUP, message=int(message))
    platform.mark("👎", chat=GROUP, message=999)
    on, off, others = await heard(adapter, 3)
    assert (on.act, on.text, on.message_id, on.address, on.addressed) == ("reaction", "👍", message, TOPIC, True)
    assert (off.text, off.addressed) == ("", True)
    assert not others.addressed


async def test_answer_quotes_what_it_answers_and_the_piece_that_was_chosen(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(adapter, "the red one or the blue one?", to=US)
    platform.say("that", chat=GROUP, reply_to=message)
    platform.say("this", chat=GROUP, reply_to=message, quote={"text": "the blue one", "position": 15})
    whole, piece = await heard(adapter, 2)
    assert whole.quote == Quote(message, "Parley", "Host\nthe red one or the blue one?")
    assert piece.quote == Quote(message, "Parley", "the blue one")


async def test_our_answer_is_a_reply_and_goes_out_though_the_message_is_gone(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    number = platform.message_of(platform.say("question"))
    for reply_to in (str(number), "999"):
        await adapter.send(ADA, "answer", speaker=HOST, nonce=reply_to, final=True, reply_to=reply_to)
    assert [posted.reply_to for posted in platform.messages(PERSON)] == [number, None]


async def test_people_are_mentioned_by_name_where_the_name_is_known(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say("hi", person=43, name="Bob", username="bob_the_b")
    platform.say("ask @bob_the_b and @stranger")
    assert [one.text for one in await heard(adapter, 2)] == ["hi", "ask @Bob and @stranger"]


class LostRecords(MemoryRecords):
    async def get(self, name: str, /) -> str | None:
        raise StorageUnavailable("the store is gone")


async def test_lost_storage_is_told_to_the_consumer_and_the_update_comes_again(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    platform.say("@ParleyBot precious", chat=GROUP, thread=9)
    async with aclosing(new_adapter(options, records=LostRecords())) as adapter:
        with pytest.raises(StorageUnavailable):
            await heard(adapter)
    async with aclosing(new_adapter(options)) as later:
        assert [one.text for one in await heard(later)] == ["precious"]


async def test_a_mention_that_an_edit_adds_is_answered_once(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    async with adapter.connect() as inbound:
        platform.say("what is this?", chat=GROUP, message_id=77)
        assert not (await anext(inbound)).addressed
        platform.rewrite("@ParleyBot what is this?", chat=GROUP, message_id=77)
        said = await anext(inbound)
        platform.rewrite("@ParleyBot what is that?", chat=GROUP, message_id=77)
        changed = await anext(inbound)
    assert (said.act, said.addressed, said.text, said.message_id) == ("message", True, "what is this?", "77")
    assert (changed.act, changed.text) == ("edit", "what is that?")

"""Telegram's updates in our words."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.capabilities import Window
from adapters.markdown.text_length import measure_utf16
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import BotIdentity, OurBots, is_private
from adapters.telegram.codec.rendering import RenderedPage
from adapters.telegram.inbound.decode import Reader, migration_of
from adapters.telegram.limits import CAPABILITIES, MAX_MESSAGE_UNITS
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.message import Attachment
from tests.fakes.records import MemoryRecords

BOT = BotIdentity(7, "ParleyBot", "Parley")
ADA = {"id": 42, "is_bot": False, "first_name": "Ada", "last_name": "Lovelace"}
PRIVATE = {"id": 42, "type": "private", "first_name": "Ada"}
GROUP = {"id": -100500, "type": "supergroup", "title": "Us"}


def _update(**message: Any) -> dict[str, Any]:
    return {"update_id": 900, "message": {"message_id": 1, "date": 1_700_000_000, "from": ADA, "chat": GROUP} | message}


def _read(**message: Any) -> Inbound:
    inbound = _reader().read([_update(**message)])
    assert inbound is not None
    return inbound


def _reader() -> Reader:
    clock = SystemClock()
    return Reader(BOT, OurBots((BOT,)), ChatState(MemoryRecords(), clock), clock)


def _entity(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def test_a_command_that_is_passed_on_is_not_given() -> None:
    origin = {"type": "user", "sender_user": {"id": 66, "is_bot": False, "first_name": "Eve"}, "date": 1}
    command = {"chat": PRIVATE, "text": "/access role telegram:66 owner", "entities": [_entity("bot_command", 0, 7)]}
    assert _read(**command).command == "access"
    passed_on = _read(**command, forward_origin=origin)
    assert (passed_on.command, passed_on.text) == (None, "/access role telegram:66 owner")


def test_private_message_is_addressed_and_complete() -> None:
    assert _read(chat=PRIVATE, text="hi") == Inbound(
        address=Address("telegram", "42"),
        event_id="7:900",
        person_id="telegram:42",
        person_name="Ada Lovelace",
        text="hi",
        sent_at=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        private=True,
        addressed=True,
        message_id="1",
    )


def test_talk_in_a_group_is_not_addressed() -> None:
    said = _read(text="hi @somebody", entities=[_entity("mention", 3, 9)])
    assert (said.addressed, said.private, said.text) == (False, False, "hi @somebody")


@pytest.mark.parametrize(
    ("text", "offset", "shown"),
    [
        ("@parleybot hi", 0, "hi"),
        ("@PARLEYBOT: hi", 0, "hi"),
        ("hi @ParleyBot there", 3, "hi there"),
        ("👍 @ParleyBot", 3, "👍"),
        ("hi @ParleyBot, you", 3, "hi , you"),
        ("@ParleyBot", 0, ""),
    ],
)
def test_mention_addresses_and_is_taken_out(text: str, offset: int, shown: str) -> None:
    said = _read(text=text, entities=[_entity("mention", offset, 10)])
    assert (said.addressed, said.text) == (True, shown)


def test_mention_by_name_addresses() -> None:
    said = _read(text="Parley hi", entities=[_entity("text_mention", 0, 6, user={"id": 7})])
    assert (said.addressed, said.text) == (True, "hi")


def test_mention_of_another_person_by_name_does_not_address() -> None:
    assert not _read(text="Parley hi", entities=[_entity("text_mention", 0, 6, user={"id": 8})]).addressed


def test_reply_to_the_bot_addresses() -> None:
    assert _read(text="yes", reply_to_message={"message_id": 1, "from": {"id": 7}}).addressed
    assert not _read(text="yes", reply_to_message={"message_id": 1, "from": {"id": 8}}).addressed


def test_topic_that_the_bot_opened_does_not_address_everything_in_it() -> None:
    opened = {"from": {"id": 7}, "forum_topic_created": {"name": "News"}}
    said = _read(text="yes", reply_to_message=opened)
    assert (said.addressed, said.quote) == (False, None)


@pytest.mark.parametrize(
    ("text", "length", "command", "argument"),
    [("/new", 4, "new", ""), ("/New@ParleyBot a trip", 14, "new", "a trip"), ("/say  a\nb", 4, "say", "a\nb")],
)
def test_command_is_split_from_its_argument(text: str, length: int, command: str, argument: str) -> None:
    said = _read(text=text, entities=[_entity("bot_command", 0, length)])
    assert (said.command, said.text, said.addressed) == (command, argument, True)


def test_command_within_a_text_is_text() -> None:
    said = _read(text="try /new", entities=[_entity("bot_command", 4, 4)])
    assert (said.command, said.text, said.addressed) == (None, "try /new", False)


def test_command_for_another_bot_is_ignored() -> None:
    assert _reader().read([_update(text="/new@Other", entities=[_entity("bot_command", 0, 10)])]) is None


@pytest.mark.parametrize(
    "message",
    [
        {"text": "x", "from": ADA | {"is_bot": True}},
        {"text": "x", "sender_chat": {"id": -1}},
        {"text": "x", "from": None},
        {"new_chat_members": [ADA]},
    ],
)
def test_bots_channels_and_service_messages_are_dropped(message: dict[str, Any]) -> None:
    assert _reader().read([_update(**message)]) is None


def test_update_of_another_kind_is_nothing_to_us() -> None:
    assert _reader().read([{"update_id": 1, "poll": {"id": "1"}}]) is None


def test_topic_of_a_forum_is_the_thread() -> None:
    assert _read(text="x", message_thread_id=5, is_topic_message=True).address == Address("telegram", "-100500", "5")


def test_thread_of_replies_in_an_ordinary_group_is_no_thread() -> None:
    assert _read(text="x", message_thread_id=5).address.thread is None


def test_caption_is_the_text_and_the_largest_photo_the_file() -> None:
    sizes = [{"file_id": "small", "file_size": 9}, {"file_id": "large", "file_size": 90}]
    said = _read(photo=sizes, caption="@ParleyBot see", caption_entities=[_entity("mention", 0, 10)])
    assert (said.text, said.addressed) == ("see", True)
    assert said.attachments == (Attachment("photo.jpg", "image/jpeg", "telegram-file:large", 90),)


def test_document_keeps_its_name_and_type() -> None:
    file = {"file_id": "f", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 3}
    said = _read(document=file)
    assert said.attachments == (Attachment("a.pdf", "application/pdf", "telegram-file:f", 3),)
    assert said.text == ""


def test_animation_is_one_file_though_it_is_a_document_too() -> None:
    assert len(_read(animation={"file_id": "a"}, document={"file_id": "a"}).attachments) == 1


def test_migration_names_both_chats() -> None:
    assert migration_of(_update(migrate_to_chat_id=-100777)) == (-100500, -100777)
    assert migration_of(_update(text="x")) is None


def test_people_have_positive_numbers() -> None:
    assert is_private(Address("telegram", "42"))
    assert not is_private(Address("telegram", "-42"))


def test_agent_has_a_heading_where_named_and_the_gateway_never() -> None:
    assert RenderedPage.of("hi", Speaker("1000", "Host"), named=True).rendered().text == "Host\nhi"
    assert RenderedPage.of("hi", Speaker("1000", "Host"), named=False).rendered().text == "hi"
    assert RenderedPage.of("hi", GATEWAY, named=True).rendered().text == "hi"


def test_longest_text_fits_with_the_longest_name() -> None:
    shown = RenderedPage.of("x" * CAPABILITIES.max_text, Speaker("1000", "👍" * 500), named=True).rendered()
    assert measure_utf16(shown.text) <= MAX_MESSAGE_UNITS


def test_table_that_would_grow_too_long_is_shown_as_written() -> None:
    rows = "\n".join(f"| {'x' * 60 if i == 0 else 'y'} | z |" for i in range(100))
    markdown = f"| a | b |\n|---|---|\n{rows}"
    assert RenderedPage.of(markdown, GATEWAY, named=False).rendered().text == markdown


def test_group_budget_is_twenty_a_minute_in_any_minute() -> None:
    group = CAPABILITIES.group_budget
    assert group.rate_per_s * 60 == pytest.approx(20)
    assert group.window == Window(20, 60.0)


def test_codec_does_not_import_the_client_library() -> None:
    code = "import sys, adapters.telegram.inbound.decode; sys.exit('telegram' in sys.modules or 'httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Telegram's updates in our words."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.capabilities import CallWindow, measure_utf16
from adapters.telegram.codec.addresses import KnownChat, OurBots, UpdateEnvelope, envelope_of, is_private
from adapters.telegram.codec.markup import RenderedPage
from adapters.telegram.inbound.decode import (
    ButtonPress,
    Decoded,
    Ignored,
    Membership,
    Moved,
    TelegramReceiver,
    TopicClosed,
)
from adapters.telegram.limits import CAPABILITIES, MAX_MESSAGE_UNITS
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from tests.unit.adapters.telegram.inbound.updates import ADA, BOT, GROUP, NOW, PRIVATE
from tests.unit.adapters.telegram.inbound.updates import decoded as _decode
from tests.unit.adapters.telegram.inbound.updates import entity as _entity
from tests.unit.adapters.telegram.inbound.updates import read as _read
from tests.unit.adapters.telegram.inbound.updates import update as _update


def test_a_command_that_is_passed_on_is_not_given() -> None:
    origin = {"type": "user", "sender_user": {"id": 66, "is_bot": False, "first_name": "Eve"}, "date": 1}
    command = {"chat": PRIVATE, "text": "/access role telegram:66 owner", "entities": [_entity("bot_command", 0, 7)]}
    assert _read(**command).command == "access"
    passed_on = _read(**command, forward_origin=origin)
    assert (passed_on.command, passed_on.text) == (None, "")
    assert passed_on.around == (Quote("", "Eve", "/access role telegram:66 owner", "forwarded", person="telegram:66"),)


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


def test_an_edit_is_as_old_as_the_change_and_not_as_the_message() -> None:
    message = _update(chat=PRIVATE, text="hi")["message"]
    changed = {**message, "text": "hello", "edit_date": message["date"] + 7200}
    read = _decode({"update_id": 901, "edited_message": changed})
    assert isinstance(read, Inbound)
    assert (read.act, read.sent_at) == ("edit", datetime(2023, 11, 15, 0, 13, 20, tzinfo=UTC))


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


def test_half_a_character_beside_a_mention_does_not_stop_the_updates() -> None:
    heard = _read(text="\ud83d @ParleyBot hello", entities=[_entity("mention", 2, 10)])
    assert heard.addressed
    assert heard.text.endswith("hello")


def test_mention_by_name_addresses() -> None:
    said = _read(text="Parley hi", entities=[_entity("text_mention", 0, 6, user={"id": 7})])
    assert (said.addressed, said.text) == (True, "hi")


def test_mention_of_another_person_by_name_does_not_address() -> None:
    assert not _read(text="Parley hi", entities=[_entity("text_mention", 0, 6, user={"id": 8})]).addressed


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ({"from": {"id": 9, "is_bot": True, "first_name": "Grafana"}}, "Grafana"),
        ({"sender_chat": {"id": -1, "title": "News"}, "is_automatic_forward": True}, "News"),
    ],
)
def test_what_another_bot_or_the_linked_channel_says_is_heard_and_asks_nobody(
    author: dict[str, Any], name: str
) -> None:
    ours = {"message_id": 1, "from": {"id": 7}}
    said = _read(text="/stop @ParleyBot", entities=[_entity("bot_command", 0, 5)], reply_to_message=ours, **author)
    assert (said.person_id, said.person_name, said.text) == ("", name, "/stop @ParleyBot")
    assert (said.addressed, said.command) == (False, None)


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
    update = _update(text="/new@Other", entities=[_entity("bot_command", 0, 10)])
    assert _decode(update) == Ignored("for another bot")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"text": "x", "from": ADA | {"is_bot": True}, "chat": PRIVATE}, "no person"),
        ({"text": "x", "from": {"id": 7, "is_bot": True, "first_name": "Parley"}}, "no person"),
        ({"text": "x", "from": None}, "no person"),
        ({"new_chat_members": [ADA]}, "no content"),
    ],
)
def test_bots_channels_and_service_messages_are_ignored(message: dict[str, Any], reason: Any) -> None:
    assert _decode(_update(**message)) == Ignored(reason)


def test_update_of_another_kind_is_nothing_to_us() -> None:
    assert _decode({"update_id": 1, "poll": {"id": "1"}}) == Ignored("another kind")


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 1, "message": {"from": ADA, "text": "x"}},
        {"update_id": 1, "message": "x"},
        _update(text="x", entities=[{"type": "mention"}]),
        {"update_id": 1, "callback_query": {"id": "5", "from": ADA, "message": {"chat": GROUP}, "data": "c"}},
    ],
)
def test_what_cannot_be_read_is_ignored_and_says_what_is_missing(update: dict[str, Any]) -> None:
    decoded = _decode(update)
    assert isinstance(decoded, Ignored)
    assert (decoded.reason, decoded.detail != "") == ("not understood", True)


def test_chat_that_has_moved_keeps_its_first_address_and_its_mentioned_people_their_names() -> None:
    known = KnownChat(NOW, {"bob": "Bob"}, home=-500)
    said = _read(known, text="ask @bob", entities=[_entity("mention", 4, 4)])
    assert (said.address, said.text) == (Address("telegram", "-500"), "ask @Bob")


@pytest.mark.parametrize(
    ("hears_topics", "speaks", "addressed"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_talk_in_a_topic_where_we_speak_is_addressed(hears_topics: bool, speaks: bool, addressed: bool) -> None:
    receiver = TelegramReceiver(BOT, OurBots((BOT,)), hears_topics)
    update = _update(text="x", message_thread_id=5, is_topic_message=True)
    decoded = _decode(update, receiver=receiver, known=KnownChat(NOW, {}, speaks=speaks))
    assert isinstance(decoded, Inbound)
    assert decoded.addressed is addressed


def test_press_has_its_label_and_the_time_at_which_it_came() -> None:
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "c:1"}]]}
    message = {"message_id": 8, "chat": GROUP, "date": 1, "reply_markup": keyboard}
    query = {"id": "55", "from": ADA, "message": message, "data": "c:1"}
    decoded = _decode({"update_id": 901, "callback_query": query}, known=KnownChat(NOW, {}, post=(5, None)))
    assert isinstance(decoded, ButtonPress)
    assert decoded.item is not None
    assert (decoded.query_id, decoded.item.text, decoded.item.choice) == ("55", "Yes", "c:1")
    assert (decoded.item.sent_at, decoded.item.address.thread) == (NOW, "5")


def test_press_under_a_message_that_telegram_forgot_is_answered_and_brings_nothing() -> None:
    query = {"id": "55", "from": ADA, "data": "c:1"}
    assert _decode({"update_id": 901, "callback_query": query}) == ButtonPress("55", None)


@pytest.mark.parametrize(("post", "addressed", "thread"), [((5, None), True, "5"), (None, False, None)])
def test_reaction_is_addressed_where_the_message_is_ours(
    post: tuple[int, int | None] | None, addressed: bool, thread: str | None
) -> None:
    mark = {"chat": GROUP, "message_id": 8, "user": ADA, "date": 1, "new_reaction": [{"type": "emoji", "emoji": "👍"}]}
    decoded = _decode({"update_id": 902, "message_reaction": mark}, known=KnownChat(NOW, {}, post=post))
    assert isinstance(decoded, Inbound)
    assert (decoded.text, decoded.addressed, decoded.address.thread) == ("👍", addressed, thread)


@pytest.mark.parametrize(
    ("update", "decoded"),
    [
        (_update(migrate_to_chat_id=-100777), Moved(-100500, -100777)),
        (_update(migrate_from_chat_id=-5), Moved(-5, -100500)),
        (
            _update(forum_topic_closed={}, message_thread_id=5, is_topic_message=True),
            TopicClosed(-100500, 5),
        ),
        (
            {"update_id": 1, "my_chat_member": {"chat": GROUP, "new_chat_member": {"status": "kicked"}}},
            Membership(-100500, present=False),
        ),
        (
            {"update_id": 1, "my_chat_member": {"chat": GROUP, "new_chat_member": {"status": "member"}}},
            Membership(-100500, present=True),
        ),
    ],
)
def test_news_of_a_chat_has_a_type_for_each_kind(update: dict[str, Any], decoded: Decoded) -> None:
    assert _decode(update) == decoded


def test_album_is_one_message_with_all_files_and_the_id_of_its_last_update() -> None:
    first = _update(photo=[{"file_id": "a"}], caption="two", media_group_id="g")
    second = _update(photo=[{"file_id": "b"}], media_group_id="g") | {"update_id": 901}
    decoded = _decode(first, second)
    assert isinstance(decoded, Inbound)
    urls = [one.url for one in decoded.attachments]
    assert (decoded.text, decoded.event_id, urls) == ("two", "7:901", ["telegram-file:a", "telegram-file:b"])


def test_decoding_changes_nothing_and_says_the_same_again() -> None:
    update = _update(text="ask @bob", entities=[_entity("mention", 4, 4)])
    before, people = repr(update), {"bob": "Bob"}
    assert _decode(update, known=KnownChat(NOW, people)) == _decode(update, known=KnownChat(NOW, people))
    assert (repr(update), people) == (before, {"bob": "Bob"})


def test_envelope_names_the_message_and_a_person_with_a_user_name() -> None:
    ada = ADA | {"username": "AdaL"}
    new = _update(**{"text": "x", "from": ada, "message_thread_id": 5, "is_topic_message": True})
    assert envelope_of(new) == UpdateEnvelope(-100500, 5, 1, is_new=True, sender=("adal", "Ada Lovelace"))
    pressed = {"update_id": 1, "callback_query": {"id": "5", "from": ada, "message": {"chat": GROUP, "message_id": 8}}}
    assert envelope_of(pressed) == UpdateEnvelope(-100500, None, 8)
    assert envelope_of({"update_id": 1, "callback_query": {"id": "5", "from": ada}}) is None
    assert envelope_of({"update_id": 1, "message": "x"}) is None


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
    rows = "\n".join("| y | z |" for _ in range(100))
    markdown = f"| {'a' * 60} | b |\n|---|---|\n{rows}"
    assert RenderedPage.of(markdown, GATEWAY, named=False).rendered().text == markdown


def test_group_budget_is_twenty_a_minute_in_any_minute() -> None:
    group = CAPABILITIES.group_budget
    assert group.rate_per_s * 60 == pytest.approx(20)
    assert group.window == CallWindow(20, 60.0)


def test_codec_does_not_import_the_client_library() -> None:
    code = "import sys, adapters.telegram.inbound.decode; sys.exit('telegram' in sys.modules or 'httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

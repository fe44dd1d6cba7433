"""Discord's messages, edits, deletions and reactions in our words."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.decoding import GONE, UNREAD
from adapters.discord.codec.addresses import DiscordBot, address_of
from adapters.discord.inbound.decode import (
    MessagePlace,
    deletion_of,
    earlier_of,
    edit_of,
    inbound_of,
    marked_of,
    reaction_of,
)
from runtime.core.address import Address
from runtime.core.message import Attachment
from runtime.core.quote import Quote

NOW = datetime(2026, 1, 2, 4, tzinfo=UTC)
US = DiscordBot("7", "8", "Parley", frozenset({"new", "stop"}))
ADA = {"id": "42", "username": "ada", "global_name": "Ada Lovelace"}
NAMES = {"5": "helpers", "6": "general"}
REPLIED = {"id": "99", "author": {"id": "43", "username": "bob"}, "content": "hello"}
STICKER = {"id": "1", "name": "wave", "format_type": 1}
ALERT = {
    "type": "rich",
    "author": {"name": "Grafana"},
    "title": "CPU",
    "url": "https://e.org/1",
    "description": "over **90 %**",
    "fields": [{"name": "Host", "value": "db1"}],
    "footer": {"text": "prod"},
}
CARD = Quote("", "Grafana", "[CPU](https://e.org/1)\nover **90 %**\nHost: db1\nprod", "card")
CHANNEL = MessagePlace(role="9", name_of=NAMES.get)


def _message(content: str = "hi", **more: Any) -> dict[str, Any]:
    basics = {"id": "100", "channel_id": "1", "guild_id": "2", "author": ADA, "type": 0, "attachments": []}
    return {**basics, "content": content, "timestamp": "2026-01-02T03:04:05.678000+00:00", "mentions": []} | more


def _read(content: str = "hi", place: MessagePlace = CHANNEL, **more: Any) -> Inbound:
    inbound = inbound_of(_message(content, **more), US, place)
    assert inbound is not None
    return inbound


def test_private_message_is_addressed_and_complete() -> None:
    message = _message("hi")
    del message["guild_id"]
    assert inbound_of(message, US, MessagePlace()) == Inbound(
        address=address_of("1", private=True),
        event_id="7:100",
        person_id="discord:42",
        person_name="Ada Lovelace",
        text="hi",
        sent_at=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
        private=True,
        addressed=True,
        message_id="100",
    )


@pytest.mark.parametrize(
    ("content", "text", "addressed"),
    [
        ("hello", "hello", False),
        ("<@7> hello", "hello", True),
        ("<@!7>, hello", "hello", True),
        ("<@&9>: hello", "hello", True),
        ("hello <@7>", "hello", True),
        ("hello <@7>, come", "hello, come", True),
        ("<@7>", "", True),
        ("<@43> and <@&5> in <#6>", "@Bob and @helpers in #general", False),
        ("<@99> who?", "<@99> who?", False),
        ("nice <:party:123> <a:wave:4>", "nice :party: :wave:", False),
    ],
)
def test_mentions_are_told_by_name_and_ours_addresses_us(content: str, text: str, addressed: bool) -> None:
    bob = {"id": "43", "username": "bob", "global_name": "Bob"}
    inbound = _read(content, mentions=[bob])
    assert (inbound.text, inbound.addressed) == (text, addressed)


@pytest.mark.parametrize(
    ("replied", "addressed"),
    [
        (REPLIED | {"author": {"id": "7", "username": "Parley"}}, True),
        (REPLIED | {"webhook_id": "55", "application_id": "8"}, True),
        (REPLIED | {"webhook_id": "55", "application_id": "66"}, False),
        (REPLIED, False),
        (None, False),
    ],
)
def test_reply_to_us_or_to_an_agent_addresses_us(replied: dict[str, Any] | None, addressed: bool) -> None:
    assert _read(type=19, referenced_message=replied).addressed is addressed


def test_everything_in_a_thread_of_ours_is_addressed() -> None:
    inbound = _read(place=MessagePlace(parent="1", ours=True), channel_id="3")
    assert (inbound.address, inbound.addressed) == (address_of("3", private=False, parent="1"), True)


@pytest.mark.parametrize(
    ("content", "place", "command", "text"),
    [
        ("/stop", CHANNEL, "stop", ""),
        ("/NEW a poem", CHANNEL, "new", "a poem"),
        ("/weather Rome", CHANNEL, None, "/weather Rome"),
        ("<@7> /weather Rome", CHANNEL, "weather", "Rome"),
        ("/weather Rome", MessagePlace(parent="1", ours=True), "weather", "Rome"),
        ("/etc/passwd is a file", MessagePlace(parent="1", ours=True), None, "/etc/passwd is a file"),
        ("say /stop", CHANNEL, None, "say /stop"),
    ],
)
def test_typed_commands_are_read_where_they_can_be_meant_for_us(
    content: str, place: MessagePlace, command: str | None, text: str
) -> None:
    inbound = _read(content, place)
    assert (inbound.command, inbound.text) == (command, text)


@pytest.mark.parametrize(
    "more",
    [
        {"author": ADA | {"bot": True}},
        {"webhook_id": "5"},
        {"type": 7},
        {"content": ""},
    ],
)
def test_what_is_not_from_a_person_is_nothing_to_us(more: dict[str, Any]) -> None:
    assert inbound_of(_message(**{"content": "hi"} | more), US, CHANNEL) is None


def test_nickname_comes_before_the_name_that_is_shown_everywhere() -> None:
    assert _read(member={"nick": "Countess"}).person_name == "Countess"
    assert _read(author={"id": "43", "username": "bob"}).person_name == "bob"


def test_files_are_handed_on_and_stand_for_a_text() -> None:
    file = {"filename": "a.png", "content_type": "image/png", "url": "https://cdn.example/a.png", "size": 5}
    inbound = _read("", attachments=[file, {"filename": "b", "url": "https://cdn.example/b"}])
    assert inbound.attachments == (
        Attachment("a.png", "image/png", "https://cdn.example/a.png", 5),
        Attachment("b", "application/octet-stream", "https://cdn.example/b"),
    )


def test_message_that_was_passed_on_is_read_too() -> None:
    file = {"filename": "a.png", "content_type": "image/png", "url": "https://cdn.example/a.png"}
    snapshot = {"content": "from <@7> elsewhere", "attachments": [file], "embeds": [ALERT], "sticker_items": [STICKER]}
    heard = _read("", message_snapshots=[{"message": snapshot}])
    text = "from <@7> elsewhere\n[sticker wave]"
    assert (heard.text, heard.addressed) == ("", False)
    assert heard.around == (Quote("", "", text, "forwarded", ("a.png",), inside=(CARD,)),)
    assert [one.name for one in heard.attachments] == ["a.png"]


def test_what_is_answered_comes_with_its_files_and_cards() -> None:
    file = {"filename": "a.png", "content_type": "image/png", "url": "https://cdn.example/a.png"}
    replied = REPLIED | {"content": "", "attachments": [file], "embeds": [ALERT]}
    heard = _read("<@7> what is this?", type=19, referenced_message=replied)
    assert heard.quote == Quote("99", "bob", "", files=("a.png",), inside=(CARD,), person="discord:43")
    assert [(one.name, one.quoted) for one in heard.attachments] == [("a.png", True)]
    spoken = file | {"filename": "v.ogg", "content_type": "audio/ogg"}
    ours = REPLIED | {"author": {"id": "7", "username": "Parley", "bot": True}, "attachments": [spoken]}
    assert _read("again", type=19, referenced_message=ours).attachments == ()


def test_what_is_answered_may_itself_be_passed_on() -> None:
    replied = REPLIED | {"content": "", "message_snapshots": [{"message": {"content": "first"}}]}
    quote = _read("true?", type=19, referenced_message=replied).quote
    assert quote is not None
    assert quote.inside == (Quote("", "", "first", "forwarded"),)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"sticker_items": [STICKER]}, "[sticker wave]"),
        ({"activity": {"type": 3}, "application": {"name": "Chess"}}, "[invitation to Chess]"),
        ({"activity": {"type": 1}}, "[invitation to an activity]"),
        (
            {
                "poll": {
                    "question": {"text": "Tea?"},
                    "answers": [{"poll_media": {"text": "yes", "emoji": {"name": "👍"}}}],
                }
            },
            "[poll “Tea?”: 👍 yes]",
        ),
    ],
)
def test_what_is_no_text_comes_as_a_line_alone_and_answered(content: dict[str, Any], line: str) -> None:
    assert _read("", **content).text == line
    quote = _read("this?", type=19, referenced_message=REPLIED | {"content": ""} | content).quote
    assert quote is not None
    assert quote.text == line


def test_a_preview_of_a_link_comes_with_it_and_an_empty_one_does_not() -> None:
    heard = _read("https://e.org", embeds=[ALERT, {"type": "image", "url": "https://e.org/a.png"}])
    assert heard.around == (CARD,)


def test_the_texts_that_a_bots_message_consists_of_are_quoted() -> None:
    shown = [
        {
            "type": 17,
            "components": [{"type": 10, "content": "one"}, {"type": 9, "components": [{"type": 10, "content": "two"}]}],
        }
    ]
    quote = _read("so?", type=19, referenced_message=REPLIED | {"content": "", "components": shown}).quote
    assert quote is not None
    assert quote.text == "one\ntwo"


@pytest.mark.parametrize("written", ["", "/stop"])
def test_a_command_that_is_passed_on_is_not_given(written: str) -> None:
    passed_on = {"message": {"content": "/access role discord:66 owner"}}
    inbound = _read(written, place=MessagePlace(parent="1", ours=True), message_snapshots=[passed_on])
    assert inbound.command is None
    assert inbound.text == written
    assert [one.text for one in inbound.around] == ["/access role discord:66 owner"]


def test_what_is_replied_to_is_quoted_and_our_webhooks_messages_have_our_ids() -> None:
    assert _read(type=19, referenced_message=REPLIED).quote == Quote("99", "bob", "hello", person="discord:43")
    ours = REPLIED | {"webhook_id": "55", "application_id": "8", "author": {"id": "55", "username": "Host"}}
    assert _read(type=19, referenced_message=ours).quote == Quote("99@55", "Host", "hello")
    assert _read().quote is None


def test_what_an_earlier_message_answers_has_its_author_whose_words_may_not_be_for_all() -> None:
    said = earlier_of(_message("so?", type=19, referenced_message=REPLIED), Address("discord", "1"), "2")
    assert said is not None
    assert said.quote == Quote("99", "bob", "hello", person="discord:43")


def test_a_reply_to_what_was_deleted_says_so() -> None:
    reference = {"channel_id": "1", "message_id": "55"}
    heard = _read("and this?", type=19, message_reference=reference, referenced_message=None)
    assert heard.quote == Quote("55", "", GONE)
    assert _read("news", message_reference=reference).quote is None  # of a channel that is followed


def test_server_is_told_as_the_space() -> None:
    assert _read().space == "2"


def test_mention_opens_a_thread_that_has_the_messages_id() -> None:
    place = replace(CHANNEL, opens=True)
    assert _read("<@7> hello", place).address == Address("discord", "1", "100")
    assert _read("hello", place).address == Address("discord", "1")
    assert _read("<@7> /stop", place).address == Address("discord", "1")
    assert _read("<@7> hello", replace(place, parent="5"), channel_id="1").address == Address("discord", "5", "1")


def _known(at: Address, *, addressed: bool) -> Inbound:
    return Inbound(at, "7:100", "discord:42", "Ada", "", NOW, private=False, addressed=addressed, message_id="100")


def test_edit_is_told_with_the_new_text_where_the_message_went() -> None:
    known = _known(Address("discord", "1", "100"), addressed=True)
    changed = _message("better", edited_timestamp="2026-01-02T04:00:00+00:00")
    edit = edit_of(changed, US, CHANNEL, known)
    assert edit is not None
    assert (edit.act, edit.text, edit.address, edit.addressed, edit.sent_at) == (
        "edit",
        "better",
        known.address,
        True,
        NOW,
    )
    assert edit.event_id == "7:100:2026-01-02T04:00:00+00:00"
    assert edit.message_id == "100"


def test_edit_to_a_command_is_no_command() -> None:
    edit = edit_of(_message("/stop now", edited_timestamp="2026-01-02T04:00:00+00:00"), US, CHANNEL, None)
    assert edit is not None
    assert (edit.command, edit.text) == (None, "/stop now")


@pytest.mark.parametrize(
    "message",
    [_message("hi"), _message("hi", edited_timestamp=None), {"id": "1", "edited_timestamp": "2026-01-02T04:00:00"}],
)
def test_unfolded_preview_is_no_edit(message: dict[str, Any]) -> None:
    assert edit_of(message, US, CHANNEL, None) is None


def test_deletion_is_told_of_messages_that_are_remembered() -> None:
    known = _known(Address("discord", "1"), addressed=False)
    deletion = deletion_of("100", US, known, NOW)
    assert deletion is not None
    assert (deletion.act, deletion.text, deletion.person_id, deletion.addressed) == (
        "deletion",
        "",
        "discord:42",
        False,
    )
    assert deletion_of("101", US, None, NOW) is None


def _marked(name: str = "MESSAGE_REACTION_ADD", **more: Any) -> dict[str, Any]:
    basics = {"user_id": "42", "channel_id": "1", "message_id": "100", "guild_id": "2"}
    return {**basics, "emoji": {"id": None, "name": "👍"}, "member": {"user": ADA}} | more


@pytest.mark.parametrize(
    ("name", "more", "text"),
    [
        ("MESSAGE_REACTION_ADD", {}, "👍"),
        ("MESSAGE_REACTION_ADD", {"emoji": {"id": "5", "name": "party"}}, ":party:"),
        ("MESSAGE_REACTION_REMOVE", {}, ""),
    ],
)
def test_reaction_is_told_with_its_mark(name: str, more: dict[str, Any], text: str) -> None:
    data = _marked() | more
    marked = marked_of(name, data, US)
    assert marked is not None
    item = reaction_of(marked, data, CHANNEL, None, event_id="7:s.1", now=NOW)
    assert (item.act, item.text, item.message_id, item.person_name) == ("reaction", text, "100", "Ada Lovelace")


@pytest.mark.parametrize("more", [{"user_id": "7"}, {"member": {"user": ADA | {"bot": True}}}])
def test_marks_of_bots_are_nothing_to_us(more: dict[str, Any]) -> None:
    assert marked_of("MESSAGE_REACTION_ADD", _marked() | more, US) is None


def test_pictures_of_components_are_named_and_their_texts_read_in_order() -> None:
    gallery = {"type": 12, "items": [{"media": {"url": "https://e.org/a.png"}, "description": "a cat"}]}
    thumbnail = {"type": 11, "media": {"url": "https://e.org/b.png"}}
    section = {"type": 9, "components": [{"type": 10, "content": "one"}], "accessory": thumbnail}
    shown = [{"type": 17, "components": [section, gallery, {"type": 14}, {"type": 2, "label": "Press"}]}]
    quote = _read("so?", type=19, referenced_message=REPLIED | {"content": "", "components": shown}).quote
    assert quote is not None
    assert quote.text == "one\n[picture: https://e.org/b.png]\n[picture: a cat]"


def test_what_has_nothing_that_bots_are_given_is_one_sentence_where_we_are_asked() -> None:
    direct = _message("")
    del direct["guild_id"]
    heard = inbound_of(direct, US, MessagePlace())
    assert heard is not None
    assert (heard.text, heard.addressed) == (UNREAD, True)
    ours = REPLIED | {"author": {"id": "7", "username": "parley", "bot": True}}
    assert _read("", type=19, referenced_message=ours).text == UNREAD
    assert inbound_of(_message(""), US, CHANNEL) is None
    assert _read("", MessagePlace(parent="1", ours=True)).text == UNREAD


@pytest.mark.parametrize("kind", [number for number in range(1, 50) if number != 19])
def test_what_discord_itself_says_and_answers_to_commands_ask_nobody(kind: int) -> None:
    assert inbound_of(_message("<@7> hi", type=kind), US, CHANNEL) is None

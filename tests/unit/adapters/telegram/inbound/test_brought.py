"""What belongs to a message on Telegram: what it answers and passes on, an album's captions, and what is no text."""

from typing import Any

import pytest
from telegram import Message

from adapters.adapter import Inbound
from adapters.decoding import UNREAD
from adapters.telegram.codec.wordless import SERVICES
from adapters.telegram.inbound.decode import Ignored
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from tests.unit.adapters.telegram.inbound.updates import BOB, GROUP, PRIVATE, decoded, entity, read, update

PHOTO = {"photo": [{"file_id": "small"}, {"file_id": "large"}]}
SEEN = Attachment("photo.jpg", "image/jpeg", "telegram-file:large")


def caption(text: str, number: int, *entities: dict[str, Any]) -> dict[str, Any]:
    """One photo of an album, as an update."""
    photo = {"photo": [{"file_id": f"f{number}"}], "media_group_id": "g", "caption_entities": list(entities)}
    return update(**photo, **({"caption": text} if text else {}), message_id=number) | {"update_id": 900 + number}


@pytest.mark.parametrize(
    ("captions", "text"),
    [(("", "second"), "second"), (("first", "second"), "first\n\nsecond"), (("", "", "third"), "third")],
)
def test_all_captions_of_an_album_are_its_text_in_order(captions: tuple[str, ...], text: str) -> None:
    heard = decoded(*(caption(each, number) for number, each in enumerate(captions, 1)))
    assert isinstance(heard, Inbound)
    assert (heard.text, len(heard.attachments)) == (text, len(captions))


def test_a_mention_in_any_caption_of_an_album_addresses() -> None:
    heard = decoded(caption("look", 1), caption("@ParleyBot what is this?", 2, entity("mention", 0, 10)))
    assert isinstance(heard, Inbound)
    assert (heard.addressed, heard.text) == (True, "look\n\nwhat is this?")


def test_a_command_in_a_caption_comes_with_its_files() -> None:
    heard = read(chat=PRIVATE, **PHOTO, caption="/new look", caption_entities=[entity("bot_command", 0, 4)])
    assert (heard.command, heard.text, heard.attachments) == ("new", "look", (SEEN,))


@pytest.mark.parametrize(
    ("media", "name", "url"),
    [
        (PHOTO, "photo.jpg", "telegram-file:large"),
        ({"document": {"file_id": "d", "file_name": "plan.pdf"}}, "plan.pdf", "telegram-file:d"),
        ({"voice": {"file_id": "v"}}, "voice.ogg", "telegram-file:v"),
    ],
)
def test_the_file_of_what_is_answered_comes_with_the_answer(media: dict[str, Any], name: str, url: str) -> None:
    here = read(text="what is this?", reply_to_message={"message_id": 5, "from": BOB, "caption": "ours", **media})
    assert here.quote == Quote("5", "Bob", "ours", files=(name,), person="telegram:43")
    assert [(file.name, file.url, file.quoted) for file in here.attachments] == [(name, url, True)]
    origin = {"type": "channel", "chat": {"id": -1, "title": "News"}, "message_id": 8}
    elsewhere = read(text="what is this?", external_reply={"origin": origin, **media})
    assert elsewhere.quote == Quote("0", "News", "", files=(name,))
    assert [file.url for file in elsewhere.attachments] == [url]


def test_own_files_come_before_those_of_what_is_answered_and_our_own_recordings_stay_away() -> None:
    answered = {"message_id": 5, "from": BOB, **PHOTO}
    heard = read(document={"file_id": "d"}, reply_to_message=answered)
    assert [file.quoted for file in heard.attachments] == [False, True]
    ours = {"message_id": 5, "from": {"id": 7, "is_bot": True}, "voice": {"file_id": "v"}}
    assert read(text="again", reply_to_message=ours).attachments == ()


@pytest.mark.parametrize(
    ("origin", "author"),
    [
        ({"type": "user", "sender_user": BOB}, "Bob"),
        ({"type": "hidden_user", "sender_user_name": "Somebody"}, "Somebody"),
        ({"type": "chat", "sender_chat": {"id": -2, "title": "Staff"}}, "Staff"),
        ({"type": "channel", "chat": {"id": -1, "title": "News"}, "author_signature": "Eva"}, "News, Eva"),
    ],
)
def test_what_is_passed_on_is_its_authors_and_addresses_nobody(origin: dict[str, Any], author: str) -> None:
    heard = read(text="@ParleyBot delete it", entities=[entity("mention", 0, 10)], forward_origin=origin)
    assert (heard.text, heard.addressed) == ("", False)
    assert [(one.author, one.text, one.kind) for one in heard.around] == [(author, "@ParleyBot delete it", "forwarded")]


def test_what_is_answered_may_itself_be_passed_on() -> None:
    origin = {"type": "user", "sender_user": {"id": 66, "is_bot": False, "first_name": "Eve"}}
    heard = read(text="true?", reply_to_message={"message_id": 5, "from": BOB, "text": "so", "forward_origin": origin})
    assert heard.quote is not None
    assert [(one.author, one.kind) for one in heard.quote.inside] == [("Eve", "forwarded")]


POINT = {"latitude": 48.1, "longitude": 11.5}
WORDLESS: list[tuple[dict[str, Any], str]] = [
    ({"location": POINT}, "[location 48.1, 11.5]"),
    ({"location": POINT | {"live_period": 60}}, "[live location 48.1, 11.5]"),
    (
        {"venue": {"title": "Café", "address": "Main St 1", "location": POINT}, "location": POINT},
        "[venue Café, Main St 1, 48.1, 11.5]",
    ),
    ({"contact": {"first_name": "Bo", "last_name": "Li", "phone_number": "+49"}}, "[contact Bo Li, +49]"),
    (
        {"poll": {"question": "Tea?", "options": [{"text": "yes", "voter_count": 2}, {"text": "no"}]}},
        "[poll “Tea?”: yes (2), no (0)]",
    ),
    ({"dice": {"emoji": "🎲", "value": 4}}, "[🎲 4]"),
    ({"sticker": {"file_id": "s", "emoji": "👍", "is_animated": True}}, "[sticker 👍]"),
    ({"story": {"id": 1, "chat": {"title": "News"}}}, "[story of News, which bots cannot see]"),
    ({"paid_media": {"star_count": 5}}, "[paid media for 5 stars, which bots cannot see]"),
    (
        {"checklist": {"title": "Trip", "tasks": [{"text": "pack", "completion_date": 1}, {"text": "go"}]}},
        "[checklist “Trip”: ☑ pack, ☐ go]",
    ),
    ({"gift": {"gift": {"star_count": 50}, "text": "thanks"}}, "[gift worth 50 stars “thanks”]"),
    ({"unique_gift": {"gift": {"base_name": "Cap", "number": 7}}}, "[gift Cap #7]"),
    ({"checklist_tasks_added": {"tasks": [{"id": 3, "text": "eat"}]}}, "[added to a checklist: eat]"),
    (
        {
            "checklist_tasks_done": {
                "checklist_message": {"checklist": {"tasks": [{"id": 1, "text": "pack"}]}},
                "marked_as_done_task_ids": [1],
                "marked_as_not_done_task_ids": [2],
            }
        },
        "[on a checklist, done: pack; not done: task 2]",
    ),
    ({"giveaway": {}}, "[giveaway]"),
    ({"giveaway_winners": {}}, "[winners of a giveaway]"),
]


@pytest.mark.parametrize(("content", "line"), WORDLESS)
def test_what_is_no_text_comes_as_a_line_alone_answered_and_passed_on(content: dict[str, Any], line: str) -> None:
    assert read(chat=PRIVATE, **content).text == line
    answered = read(text="this?", reply_to_message={"message_id": 5, "from": BOB, **content}).quote
    assert answered is not None
    assert answered.text == line
    [passed_on] = read(**content, forward_origin={"type": "user", "sender_user": BOB}).around
    assert passed_on.text == line


def test_a_person_who_walks_says_nothing() -> None:
    walking = {"update_id": 1, "edited_message": update(location=POINT)["message"] | {"edit_date": 1_700_000_009}}
    assert decoded(walking) == Ignored("another kind")


@pytest.mark.parametrize(
    ("text", "entities", "shown"),
    [
        ("see here", [entity("text_link", 4, 4, url="https://e.org/a")], "see [here](https://e.org/a)"),
        ("here", [entity("text_link", 0, 4, url="https://e.org/a_(b)")], "[here](<https://e.org/a_(b)>)"),
        ("e.org", [entity("text_link", 0, 5, url="e.org")], "e.org"),
        ("x = 1", [entity("pre", 0, 5, language="python")], "```python\nx = 1\n```"),
        ("so: x = 1 there", [entity("pre", 4, 5)], "so: \n```\nx = 1\n```\n there"),
        ("a ``` b", [entity("pre", 0, 7)], "````\na ``` b\n````"),
        ("run x", [entity("code", 4, 1)], "run `x`"),
        ("👍 here", [entity("text_link", 3, 4, url="https://e.org")], "👍 [here](https://e.org)"),
    ],
)
def test_links_keep_their_addresses_and_code_its_fence(text: str, entities: list[Any], shown: str) -> None:
    assert read(text=text, entities=entities).text == shown
    answered = {"message_id": 5, "from": BOB, "text": text, "entities": entities}
    quote = read(text="so?", reply_to_message=answered).quote
    assert quote is not None
    assert quote.text == shown


def test_a_rich_message_that_is_answered_is_read() -> None:
    blocks = [
        {"type": "heading", "text": "Plan"},
        {"type": "paragraph", "text": ["Go ", {"type": "url", "text": "there", "url": "https://e.org"}]},
        {"type": "list", "items": [{"blocks": [{"type": "paragraph", "text": "one"}]}]},
        {"type": "table", "cells": [[{"text": "a"}, {"text": {"type": "bold", "text": "b"}}]]},
        {"type": "details", "summary": "More", "blocks": [{"type": "paragraph", "text": "inside"}]},
        {"type": "divider"},
        {"type": "photo", "photo": [{"file_id": "p"}]},
        {"type": "collage", "blocks": [{"type": "voice_note"}, {"type": "map", "caption": {"text": "here"}}]},
        {"type": "expandable_block_quotation", "blocks": [{"type": "paragraph", "text": "said"}]},
    ]
    quote = read(text="so?", reply_to_message={"message_id": 5, "from": BOB, "rich_message": {"blocks": blocks}}).quote
    assert quote is not None
    assert (
        quote.text
        == "Plan\nGo [there](https://e.org)\n- one\n| a | b |\nMore\ninside\n[photo]\n[voice note]\n[map]\nhere\nsaid"
    )


def test_who_writes_in_a_chats_name_is_that_chat() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    mention = {"text": "@ParleyBot hi", "entities": [entity("mention", 0, 10)]}
    admin = read(**mention, **{"from": anonymous}, sender_chat=GROUP)
    assert (admin.person_id, admin.person_name, admin.addressed, admin.text) == ("telegram:-100500", "Us", True, "hi")
    channel = read(**mention, **{"from": anonymous}, sender_chat={"id": -7, "title": "News", "type": "channel"})
    assert (channel.person_id, channel.person_name) == ("telegram:-7", "News")


def test_a_story_that_is_answered_is_quoted() -> None:
    heard = read(chat=PRIVATE, text="nice", reply_to_story={"id": 1, "chat": {"id": 43, "first_name": "Bob"}})
    assert heard.quote == Quote("0", "Bob", "[story of Bob, which bots cannot see]", person="telegram:43")


@pytest.mark.parametrize("content", [{}, {"something_of_tomorrow": {"a": 1}}])
def test_what_has_no_content_for_bots_is_one_sentence_and_asks_nobody_in_a_group(content: dict[str, Any]) -> None:
    assert read(chat=PRIVATE, **content).text == UNREAD
    assert not read(**content).addressed


@pytest.mark.parametrize("field", sorted(SERVICES))
def test_a_service_message_says_nothing(field: str) -> None:
    heard = decoded(update(chat=PRIVATE, **{field: {"message_id": 1}}))
    assert not isinstance(heard, Inbound)


def test_each_kind_of_message_that_the_library_knows_is_read_or_a_service_message() -> None:
    """A field that a new version brings fails here until somebody says what it is."""
    read_as = {"text", "caption", "photo", "live_photo", "location", *FILES, *LINES}
    about = {"message_id", "date", "chat", "from", *ABOUT}
    known = {name.removesuffix("_user") if name == "from_user" else name for name in Message.__slots__}
    assert {name for name in known if not name.startswith("_")} - read_as - about - SERVICES == set()


FILES = {"animation", "audio", "document", "sticker", "video", "video_note", "voice"}
LINES = {kind for content, _ in WORDLESS for kind in content} | {"game", "invoice"}
ABOUT = (
    {"author_signature", "business_connection_id", "caption_entities", "direct_messages_topic", "edit_date"}
    | {"effect_id", "entities", "external_reply", "forward_origin", "guest_bot_caller_chat", "guest_bot_caller_user"}
    | {"guest_query_id", "has_media_spoiler", "has_protected_content", "is_automatic_forward", "is_from_offline"}
    | {"is_paid_post", "is_topic_message", "link_preview_options", "media_group_id", "message_thread_id"}
    | {"paid_star_count", "quote", "reply_markup", "reply_to_checklist_task_id", "reply_to_message"}
    | {"reply_to_poll_option_id", "reply_to_story", "sender_boost_count", "sender_business_bot", "sender_chat"}
    | {"sender_tag", "show_caption_above_media", "suggested_post_info", "via_bot"}
)
"""What a message says about itself, beside its content."""

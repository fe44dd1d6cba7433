"""Each kind of thing that people send, on each platform: what an agent is told of it, as the platforms send it today
(Bot API 10.5, Slack's events and blocks, Discord's API v10); or the test that shows it; or why the platform has none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from adapters.adapter import Inbound
from adapters.decoding import GONE, UNREAD
from adapters.discord.codec.addresses import DiscordBot
from adapters.discord.inbound.decode import MessagePlace, inbound_of
from adapters.slack.codec.addresses import SlackBot, SlackPerson
from adapters.slack.codec.events import happening_in
from adapters.slack.codec.events import inbound_of as slack_inbound_of
from runtime.core.quote import Quote
from tests.unit.adapters.telegram.inbound.updates import BOB, GROUP, PRIVATE, decoded, entity, update

TESTS = Path(__file__).parents[2]
PLATFORMS = ("telegram", "slack", "discord", "web")


@dataclass(frozen=True)
class Shown:
    """A test that shows it: its file and a part of its name."""

    file: str
    name: str


@dataclass(frozen=True)
class Nothing:
    """The platform has no such thing, or tells bots nothing of it."""

    why: str


@dataclass(frozen=True)
class Sent:
    """What a platform sends of it, and what an agent is told."""

    raw: Any
    told: list[str]


Cell: TypeAlias = Sent | Shown | Nothing


def telegram(*messages: Any, chat: Any = PRIVATE, **message: Any) -> Inbound:
    sent = messages or (message,)
    heard = decoded(*(update(chat=chat, **each) | {"update_id": 900 + n} for n, each in enumerate(sent)))
    assert isinstance(heard, Inbound)
    return heard


def slack(text: str = "", **more: Any) -> Inbound:
    us = SlackBot("T1", "Us", "U7", "B7", "Parley")
    event = {"type": "message", "channel": "D1", "user": "U1", "ts": "2.0", "event_ts": "2.0", "text": text} | more
    happening = happening_in(event, us)
    assert happening is not None
    return slack_inbound_of(happening, "e1", us, {"U1": SlackPerson("Ada")}, ("new",), addressed=True)


def discord(content: str = "", **more: Any) -> Inbound:
    author = {"id": "42", "username": "ada"}
    message = {"id": "100", "channel_id": "1", "author": author, "type": 0, "attachments": [], "content": content}
    us = DiscordBot("7", "8", "Parley", frozenset({"new"}))
    sent_at = {"timestamp": "2026-01-02T03:04:05.678000+00:00", "mentions": []}
    heard = inbound_of(message | sent_at | more, us, MessagePlace())
    assert heard is not None
    return heard


def told(heard: Inbound) -> list[str]:
    """The text, the files, and what it brings, two levels deep."""
    command = f"/{heard.command} " if heard.command else ""
    lines = [f"{command}{heard.text}".strip(), *(file.name for file in heard.attachments)]
    return [*filter(None, lines), *_quotes(*filter(None, [heard.quote]), *heard.around)]


def _quotes(*quotes: Quote, before: str = "> ") -> Iterator[str]:
    for quote in quotes:
        files = [str(list(quote.files))] if quote.files else []
        yield " ".join(filter(None, [f"{before}{quote.author or '?'} ({quote.kind}):", quote.text, *files]))
        yield from _quotes(*quote.inside, before=f"{before}> ")


PHOTO = {"photo": [{"file_id": "s"}, {"file_id": "large"}]}
CHANNEL = {"type": "channel", "chat": {"id": -1, "title": "News"}, "message_id": 8, "date": 1}
BY_BOB = {"message_id": 5, "chat": PRIVATE, "from": BOB, "text": "the plan"}
POINT = {"latitude": 48.1, "longitude": 11.5}
PNG = {"id": "F1", "name": "cat.png", "mimetype": "image/png"}
FILE = {"id": "9", "filename": "cat.png", "content_type": "image/png", "url": "https://cdn.discordapp.com/cat.png"}
ON_CDN = "https://media.discordapp.net/attachments/1/2/chart.png?ex=1"
BOBS = {"id": "99", "author": {"id": "43", "username": "bob"}, "content": "the plan"}
EMBED = {
    "type": "rich",
    "author": {"name": "CI"},
    "title": "Build 7",
    "url": "https://ci.example/7",
    "description": "failed",
    "fields": [{"name": "Stage", "value": "deploy"}],
}
CARD = {
    "author_name": "CI",
    "title": "Build 7",
    "title_link": "https://ci.example/7",
    "text": "failed",
    "fields": [{"title": "Stage", "value": "deploy"}],
}
CARD_TOLD = ["[Build 7](https://ci.example/7)", "failed", "Stage: deploy"]
SECTION = {"type": "rich_text_section", "elements": [{"type": "text", "text": "7"}]}
BUTTONS = [
    {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open"}, "url": "u"}]},
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "or"},
        "accessory": {"type": "button", "text": {"type": "plain_text", "text": "Ack"}, "action_id": "a"},
    },
]
BUTTONS_TOLD = "[Open](u)\nor"
NO_SUCH = "Slack has none"
NOT_ON_DISCORD = "Discord has none"
NOT_ON_THE_PAGE = "the page has none: people write Markdown and add files"

KINDS: Mapping[str, Mapping[str, Cell]] = {
    "an answer": {
        "telegram": Sent({"text": "so?", "reply_to_message": BY_BOB}, ["so?", "> Bob (answered): the plan"]),
        "slack": Nothing("an answer on Slack is a thread, see a place with a past"),
        "discord": Sent(
            {"content": "so?", "type": 19, "referenced_message": BOBS}, ["so?", "> bob (answered): the plan"]
        ),
        "web": Shown("contract/web/test_web_acts.py", "a_reply_carries_a_short_quote_both_ways"),
    },
    "a chosen piece of what is answered": {
        "telegram": Sent(
            {"text": "so?", "reply_to_message": BY_BOB, "quote": {"text": "plan", "position": 4, "is_manual": True}},
            ["so?", "> Bob (answered): plan"],
        ),
        "slack": Nothing("people copy the piece into a quotation of their text"),
        "discord": Nothing("people copy the piece into a quotation of their text"),
        "web": Nothing("the page quotes the whole message"),
    },
    "an answer to something with a file": {
        "telegram": Sent(
            {"text": "what is this?", "reply_to_message": BY_BOB | {"text": "", "caption": "cat"} | PHOTO},
            ["what is this?", "photo.jpg", "> Bob (answered): ['photo.jpg']"],
        ),
        "slack": Shown("e2e/platforms/test_around_a_mention.py", "a_photo_above_a_thread_on_slack"),
        "discord": Sent(
            {"content": "what is this?", "type": 19, "referenced_message": BOBS | {"attachments": [FILE]}},
            ["what is this?", "cat.png", "> bob (answered): the plan ['cat.png']"],
        ),
        "web": Shown("contract/web/test_web_acts.py", "a_reply_to_a_message_with_a_file_comes_with_the_file"),
    },
    "an answer to something in another chat": {
        "telegram": Sent(
            {
                "text": "true?",
                "external_reply": {"origin": CHANNEL, "chat": CHANNEL["chat"], "message_id": 8} | PHOTO,
                "quote": {"text": "The bridge is open", "position": 0},
            },
            ["true?", "photo.jpg", "> News (answered): The bridge is open ['photo.jpg']"],
        ),
        "slack": Nothing("people share it, see a share"),
        "discord": Nothing("people forward it, see a share"),
        "web": Nothing("a reply stays in its room"),
    },
    "an answer to one task or option": {
        "telegram": Sent(
            {
                "text": "why?",
                "reply_to_message": BY_BOB
                | {
                    "text": "",
                    "checklist": {"title": "Trip", "tasks": [{"id": 1, "text": "pack"}, {"id": 2, "text": "go"}]},
                },
                "reply_to_checklist_task_id": 2,
            },
            ["why?", "> Bob (answered): [checklist “Trip”: ☐ pack, ☐ go]\n[here: “go”]"],
        ),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing("an answer is to the whole poll"),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "an answer to what is gone": {
        "telegram": Nothing("Telegram then tells of no answer"),
        "slack": Nothing("the thread stays, see a place with a past"),
        "discord": Sent(
            {"content": "so?", "type": 19, "message_reference": {"message_id": "55"}, "referenced_message": None},
            ["so?", f"> ? (answered): {GONE}"],
        ),
        "web": Nothing("the quote keeps its words"),
    },
    "an answer to something passed on": {
        "telegram": Sent(
            {"text": "true?", "reply_to_message": BY_BOB | {"forward_origin": CHANNEL}},
            ["true?", "> Bob (answered): the plan", "> > News (forwarded):"],
        ),
        "slack": Nothing("a share in a thread is told with its past"),
        "discord": Sent(
            {
                "content": "true?",
                "type": 19,
                "referenced_message": BOBS | {"content": "", "message_snapshots": [{"message": {"content": "first"}}]},
            },
            ["true?", "> bob (answered):", "> > ? (forwarded): first"],
        ),
        "web": Nothing("the page passes nothing on"),
    },
    "a forward or share with text, files and cards": {
        "telegram": Sent(
            {"caption": "open again", "forward_origin": CHANNEL, **PHOTO},
            ["photo.jpg", "> News (forwarded): open again"],
        ),
        "slack": Sent(
            {
                "text": "why?",
                "attachments": [
                    {
                        "is_share": True,
                        "ts": "1.2",
                        "author_name": "Bob",
                        "message_blocks": [{"message": {"text": "look", "files": [PNG], "attachments": [CARD]}}],
                    }
                ],
            },
            ["why?", "cat.png", "> Bob (shared): look ['cat.png']", "> > CI (card): " + "\n".join(CARD_TOLD)],
        ),
        "discord": Sent(
            {
                "message_reference": {"type": 1, "message_id": "98"},
                "message_snapshots": [
                    {
                        "message": {
                            "content": "look, <@43>",
                            "attachments": [FILE],
                            "embeds": [EMBED],
                            "mentions": [{"id": "43", "username": "bob"}],
                        }
                    }
                ],
            },
            ["cat.png", "> ? (forwarded): look, @bob ['cat.png']", "> > CI (card): " + "\n".join(CARD_TOLD)],
        ),
        "web": Nothing("the page passes nothing on"),
    },
    "the captions of an album": {
        "telegram": Sent(
            [
                {"media_group_id": "g", "message_id": 1, **PHOTO},
                {"media_group_id": "g", "message_id": 2, "caption": "second", **PHOTO},
                {"media_group_id": "g", "message_id": 3, "caption": "third", **PHOTO},
            ],
            ["second\n\nthird", "photo.jpg", "photo.jpg", "photo.jpg"],
        ),
        "slack": Sent({"text": "both", "files": [PNG, PNG | {"id": "F2"}]}, ["both", "cat.png", "cat.png"]),
        "discord": Sent({"content": "both", "attachments": [FILE, FILE]}, ["both", "cat.png", "cat.png"]),
        "web": Nothing("files stand below the one text of their message"),
    },
    "a preview of a link": {
        "telegram": Nothing("bots are given the address and no preview"),
        "slack": Sent(
            {"text": "<https://ci.example/7>", "attachments": [CARD | {"from_url": "https://ci.example/7"}]},
            ["https://ci.example/7", "> CI (card): " + "\n".join(CARD_TOLD)],
        ),
        "discord": Sent(
            {"content": "https://ci.example/7", "embeds": [EMBED | {"type": "article"}]},
            ["https://ci.example/7", "> CI (card): " + "\n".join(CARD_TOLD)],
        ),
        "web": Nothing("the page makes no previews"),
    },
    "a card with a picture alone": {
        "telegram": Nothing("a program's picture is a photo"),
        "slack": Sent(
            {"text": "?", "attachments": [{"blocks": [{"type": "image", "image_url": "u", "alt_text": "CPU"}]}]},
            ["?", "> ? (card): [picture: CPU]"],
        ),
        "discord": Sent(
            {
                "content": "what is this?",
                "type": 19,
                "referenced_message": BOBS
                | {
                    "content": "",
                    "embeds": [{"type": "rich", "image": {"url": "attachment://c.png", "proxy_url": ON_CDN}}],
                },
            },
            ["what is this?", "chart.png", "> bob (answered): ['chart.png']"],
        ),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "rich content and its files": {
        "telegram": Sent(
            {
                "text": "so?",
                "reply_to_message": BY_BOB
                | {
                    "text": "",
                    "rich_message": {
                        "blocks": [
                            {"type": "heading", "text": "Plan"},
                            {"type": "collage", "blocks": [{"type": "photo", **PHOTO}]},
                            {"type": "document", "document": {"file_id": "d", "file_name": "plan.pdf"}},
                            {"type": "expandable_blockquote", "blocks": [{"type": "paragraph", "text": "more"}]},
                            {"type": "buttons", "buttons": [{"text": "Open", "url": "u"}, {"text": "Ack"}]},
                            {"type": "paragraph", "text": {"type": "button", "button": {"text": "Go", "url": "g"}}},
                        ]
                    },
                },
            },
            [
                "so?",
                "photo.jpg",
                "plan.pdf",
                "> Bob (answered): Plan\n[photo]\n[document]\nmore\n[Open](u)\n[Go](g) ['photo.jpg', 'plan.pdf']",
            ],
        ),
        "slack": Sent(
            {
                "attachments": [
                    {
                        "blocks": [
                            {"type": "card", "title": {"type": "plain_text", "text": "Build"}, "body": "failed"},
                            {"type": "data_visualization"},
                        ]
                    }
                ]
            },
            ["> ? (card): Build\nfailed\n[data visualization]"],
        ),
        "discord": Sent(
            {
                "content": "so?",
                "type": 19,
                "referenced_message": BOBS
                | {
                    "content": "",
                    "components": [
                        {"type": 17, "components": [{"type": 10, "content": "Plan"}]},
                        {"type": 12, "items": [{"media": {"url": ON_CDN, "proxy_url": ON_CDN}, "description": "CPU"}]},
                        {"type": 13, "file": {"url": ON_CDN, "proxy_url": ON_CDN.replace("chart.png", "plan.pdf")}},
                    ],
                },
            },
            [
                "so?",
                "chart.png",
                "plan.pdf",
                "> bob (answered): Plan\n[picture: CPU] ['chart.png', 'plan.pdf']",
            ],
        ),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a button that opens an address": {
        "telegram": Sent(
            {
                "text": "so?",
                "reply_to_message": BY_BOB
                | {
                    "reply_markup": {
                        "inline_keyboard": [
                            [{"text": "Open", "url": "https://ci.example/7"}, {"text": "Ack", "callback_data": "a"}]
                        ]
                    }
                },
            },
            ["so?", "> Bob (answered): the plan\n[Open](https://ci.example/7)"],
        ),
        "slack": Sent({"text": "so?", "attachments": [{"blocks": BUTTONS}]}, ["so?", f"> ? (card): {BUTTONS_TOLD}"]),
        "discord": Sent(
            {
                "content": "so?",
                "type": 19,
                "referenced_message": BOBS
                | {
                    "components": [
                        {
                            "type": 1,
                            "components": [
                                {"type": 2, "style": 5, "label": "Open", "url": "https://ci.example/7"},
                                {"type": 2, "style": 1, "label": "Ack", "custom_id": "a"},
                            ],
                        }
                    ]
                },
            },
            ["so?", "> bob (answered): the plan\n[Open](https://ci.example/7)"],
        ),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a table": {
        "telegram": Sent(
            {
                "text": "so?",
                "reply_to_message": BY_BOB
                | {
                    "text": "",
                    "rich_message": {"blocks": [{"type": "table", "cells": [[{"text": "a"}, {"text": "7"}]]}]},
                },
            },
            ["so?", "> Bob (answered): | a | 7 |"],
        ),
        "slack": Sent(
            {
                "blocks": [
                    {
                        "type": "table",
                        "rows": [[{"type": "raw_text", "text": "a"}, {"type": "rich_text", "elements": [SECTION]}]],
                    }
                ]
            },
            ["| a | 7 |"],
        ),
        "discord": Nothing("people write it as text"),
        "web": Nothing("people write it as text"),
    },
    "a location": {
        "telegram": Sent({"location": POINT}, ["[location 48.1, 11.5]"]),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing(NOT_ON_DISCORD),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a venue": {
        "telegram": Sent(
            {"venue": {"title": "Café", "address": "Main St 1", "location": POINT}, "location": POINT},
            ["[venue Café, Main St 1, 48.1, 11.5]"],
        ),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing(NOT_ON_DISCORD),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a contact": {
        "telegram": Sent({"contact": {"first_name": "Bo", "phone_number": "+49"}}, ["[contact Bo, +49]"]),
        "slack": Sent({"text": "ask <@U1>"}, ["ask @Ada"]),
        "discord": Sent(
            {"content": "ask <@43>", "mentions": [{"id": "43", "username": "bob", "global_name": "Bob"}]}, ["ask @Bob"]
        ),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a poll": {
        "telegram": Sent(
            {
                "poll": {
                    "question": "Tea?",
                    "description": "today",
                    "media": PHOTO,
                    "options": [{"text": "yes", "voter_count": 2}, {"text": "no"}],
                }
            },
            ["[poll “Tea?” “today”: yes (2), no (0)]", "photo.jpg"],
        ),
        "slack": Nothing("Slack has none; those of apps are cards"),
        "discord": Sent(
            {
                "poll": {
                    "question": {"text": "Tea?"},
                    "answers": [
                        {"answer_id": 1, "poll_media": {"text": "yes"}},
                        {"answer_id": 2, "poll_media": {"text": "no"}},
                    ],
                    "results": {"is_finalized": False, "answer_counts": [{"id": 1, "count": 2, "me_voted": False}]},
                }
            },
            ["[poll “Tea?”: yes (2), no (0)]"],
        ),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a sticker": {
        "telegram": Sent({"sticker": {"file_id": "s", "emoji": "👍"}}, ["[sticker 👍]", "sticker.webp"]),
        "slack": Sent({"text": ":wave:"}, [":wave:"]),
        "discord": Sent({"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]}, ["[sticker wave]"]),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a die": {
        "telegram": Sent({"dice": {"emoji": "🎲", "value": 4}}, ["[🎲 4]"]),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing(NOT_ON_DISCORD),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a checklist": {
        "telegram": Sent(
            {"checklist": {"title": "Trip", "tasks": [{"id": 1, "text": "pack", "completion_date": 1}]}},
            ["[checklist “Trip”: ☑ pack]"],
        ),
        "slack": Sent(
            {"files": [{"id": "F9", "mode": "list", "name": "Tasks"}]}, ["[list “Tasks”, which apps cannot read]"]
        ),
        "discord": Nothing(NOT_ON_DISCORD),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a story": {
        "telegram": Sent({"story": {"id": 1, "chat": {"title": "News"}}}, ["[story of News, which bots cannot see]"]),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing(NOT_ON_DISCORD),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a huddle or an invitation": {
        "telegram": Nothing("a call is a service message, in which nobody says anything"),
        "slack": Sent({"room": {"id": "R1"}, "blocks": [{"type": "section"}]}, ["[huddle, which apps cannot hear]"]),
        "discord": Sent({"activity": {"type": 3}, "application": {"name": "Chess"}}, ["[invitation to Chess]"]),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "a moment and a command in a text": {
        "telegram": Sent(
            {"text": "at 6:40", "entities": [entity("date_time", 3, 4, unix_time=1_618_953_630)]}, ["at 6:40"]
        ),
        "slack": Sent({"text": "at <!date^1392734382^{date_short}|Feb 18>"}, ["at Feb 18"]),
        "discord": Sent({"content": "at <t:1618953630:R> say </new:12>"}, ["at 2021-04-20 21:20 UTC say /new"]),
        "web": Nothing(NOT_ON_THE_PAGE),
    },
    "what bots are not given": {
        "telegram": Sent({"something_of_tomorrow": {"a": 1}}, [UNREAD]),
        "slack": Sent({"blocks": [{"type": "of_tomorrow"}]}, [UNREAD]),
        "discord": Sent({}, [UNREAD]),
        "web": Nothing("the page sends nothing else"),
    },
    "a command in a caption": {
        "telegram": Sent(
            {**PHOTO, "caption": "/new look", "caption_entities": [entity("bot_command", 0, 4)]},
            ["/new look", "photo.jpg"],
        ),
        "slack": Sent({"text": "!new look", "files": [PNG]}, ["/new look", "cat.png"]),
        "discord": Sent({"content": "/new look", "attachments": [FILE]}, ["/new look", "cat.png"]),
        "web": Nothing("files stand below the one text of their message"),
    },
    "a command that is passed on": {
        "telegram": Sent(
            {"text": "/new", "entities": [entity("bot_command", 0, 4)], "forward_origin": CHANNEL},
            ["> News (forwarded): /new"],
        ),
        "slack": Sent(
            {"attachments": [{"is_share": True, "ts": "1.2", "author_name": "Bob", "text": "!new"}]},
            ["> Bob (shared): !new"],
        ),
        "discord": Sent({"message_snapshots": [{"message": {"content": "/new"}}]}, ["> ? (forwarded): /new"]),
        "web": Nothing("the page passes nothing on"),
    },
    "an edit that adds a mention": {
        "telegram": Shown("contract/telegram/test_topics.py", "a_mention_that_an_edit_adds_is_answered_once"),
        "slack": Shown("contract/slack/test_inbound.py", "a_mention_that_an_edit_adds_is_answered_once"),
        "discord": Shown("contract/discord/test_marks_and_changes.py", "a_mention_that_an_edit_adds_is_answered_once"),
        "web": Shown("contract/web/test_web_acts.py", "an_edit_is_told_once_for_each_new_text"),
    },
    "somebody who speaks as a chat": {
        "telegram": Shown("unit/adapters/telegram/inbound/test_brought.py", "who_writes_in_a_chats_name_is_that_chat"),
        "slack": Nothing(NO_SUCH),
        "discord": Nothing("what a followed channel posts is a webhook's, and asks nobody"),
        "web": Nothing("everybody speaks under their own name"),
    },
    "a reply to a message of ours": dict.fromkeys(
        PLATFORMS,
        Shown("contract/adapters/test_adapter_acts.py", "a_reply_to_a_message_of_ours_is_addressed_and_quotes_it"),
    ),
    "a place with a past": {
        "telegram": Shown("e2e/platforms/test_around_a_mention.py", "a_group_on_telegram_is_summed_up"),
        "slack": Shown("contract/slack/test_threads.py", "a_thread_is_told_from_its_beginning_with_names_bots"),
        "discord": Shown("contract/discord/test_read_back.py", "a_forum_post_is_told_from_its_first_message"),
        "web": Shown("contract/web/test_room_past.py", "a_room_is_told_in_order_with_what_agents_said"),
    },
    "who may not be heard, in the past of others": dict.fromkeys(
        PLATFORMS, Shown("unit/gateway/inbound/test_earlier.py", "who_may_not_be_heard_is_not_in_the_past_of_others")
    ),
    "who is erased, in the past of others": dict.fromkeys(
        PLATFORMS, Shown("contract/adapters/test_erased_past.py", "what_somebody_said_goes_with_them_from_the_past")
    ),
}


def _cells(kind: type[Cell]) -> list[Any]:
    return [
        pytest.param(platform, cell, id=f"{name} on {platform}")
        for name, cells in KINDS.items()
        for platform, cell in cells.items()
        if isinstance(cell, kind)
    ]


def test_each_kind_is_looked_at_on_each_platform() -> None:
    assert {tuple(cells) for cells in KINDS.values()} == {PLATFORMS}


@pytest.mark.parametrize(("platform", "cell"), _cells(Sent))
def test_what_people_send_is_told_as_what_it_is(platform: str, cell: Sent) -> None:
    read = {"telegram": telegram, "slack": slack, "discord": discord}[platform]
    heard = read(*cell.raw) if isinstance(cell.raw, list) else read(**cell.raw)
    assert told(heard) == cell.told


def test_a_place_in_another_chat_is_no_message_of_this_one() -> None:
    elsewhere = {"origin": CHANNEL, "chat": CHANNEL["chat"], "message_id": 8}
    quotes = [
        telegram(chat=GROUP, text="so?", external_reply=elsewhere | {"chat": chat}).quote
        for chat in (elsewhere["chat"], GROUP)
    ]
    assert [quote and quote.message_id for quote in quotes] == ["0", "8"]


@pytest.mark.parametrize(("platform", "cell"), _cells(Shown))
def test_what_needs_a_conversation_is_shown_by_a_test_of_its_own(platform: str, cell: Shown) -> None:
    assert re.search(rf"def test_\w*{cell.name}", (TESTS / cell.file).read_text()), platform

"""What belongs to a message on Slack: shares, cards, tables and their files."""

from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.decoding import UNREAD
from adapters.slack.codec.addresses import SlackBot, SlackPerson
from adapters.slack.codec.events import earlier_of, happening_in, inbound_of, is_told
from runtime.core.address import Address
from runtime.core.quote import Quote

US = SlackBot("T1", "Us", "U7", "B7", "Parley")
PEOPLE = {"U1": SlackPerson("Ada")}
RICH = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_section",
            "elements": [{"type": "text", "text": "see "}, {"type": "user", "user_id": "U1"}],
        },
        {"type": "rich_text_list", "style": "bullet", "elements": [{"elements": [{"type": "text", "text": "one"}]}]},
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x < 1"}]},
    ],
}
TABLE = {
    "type": "table",
    "rows": [
        [{"type": "raw_text", "text": "name"}, {"type": "raw_text", "text": "n"}],
        [
            {
                "type": "rich_text",
                "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "a"}]}],
            },
            {"type": "raw_number", "value": 3},
        ],
    ],
}
FILE = {"id": "F1", "name": "plan.pdf", "mimetype": "application/pdf", "size": 3}


def read(text: str = "what of this?", **more: Any) -> Inbound:
    event = {"type": "message", "channel": "D1", "user": "U1", "ts": "2.0", "event_ts": "2.0", "text": text} | more
    happening = happening_in(event, US)
    assert happening is not None
    return inbound_of(happening, "e1", US, PEOPLE, (), addressed=True)


@pytest.mark.parametrize(
    ("shared", "quote"),
    [
        (
            {
                "is_share": True,
                "ts": "1.2",
                "author_name": "Bob",
                "author_id": "U2",
                "text": "the <https://e.org|plan> &amp; so",
            },
            Quote("1.2", "Bob", "the plan (https://e.org) & so", "shared", person="slack:T1:U2"),
        ),
        (
            {
                "is_msg_unfurl": True,
                "author_name": "Bob",
                "message_blocks": [{"message": {"blocks": [RICH]}}],
                "fallback": "[no preview available]",
            },
            Quote("", "Bob", "see @Ada\n- one\n```\nx < 1\n```", "shared"),
        ),
        (
            {
                "title": "CPU",
                "title_link": "https://e.org/1",
                "pretext": "alert",
                "fields": [{"title": "Host", "value": "db1"}],
                "service_name": "Grafana",
            },
            Quote("", "Grafana", "alert\n[CPU](https://e.org/1)\nHost: db1", "card"),
        ),
        (
            {
                "blocks": [
                    {"type": "header", "text": {"type": "plain_text", "text": "Deploy"}},
                    {"type": "section", "fields": [{"type": "mrkdwn", "text": "*env* <@U7>"}]},
                ]
            },
            Quote("", "", "Deploy\n*env* @Parley", "card"),
        ),
        ({"fallback": "only this"}, Quote("", "", "only this", "card")),
    ],
)
def test_a_share_and_a_card_come_with_all_that_stands_in_them(shared: dict[str, Any], quote: Quote) -> None:
    heard = read(attachments=[shared])
    assert (heard.text, heard.quote, heard.around) == ("what of this?", None, (quote,))


def text_of(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": text}


def rich(*texts: str, **more: Any) -> dict[str, Any]:
    elements = [{"type": "rich_text_section", "elements": [text_of("text", text)]} for text in texts]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": elements, **more}]}


BLOCKS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "type": "section",
            "text": text_of("mrkdwn", "*CPU* of <@U1>"),
            "fields": [text_of("mrkdwn", "*Host*\nweb1"), text_of("plain_text", "since 3")],
            "accessory": {"type": "image", "alt_text": "graph"},
        },
        "*CPU* of @Ada\n*Host*\nweb1\nsince 3\n[picture: graph]",
    ),
    (
        {"type": "context", "elements": [{"type": "image", "alt_text": "ok"}, text_of("mrkdwn", "by CI")]},
        "[picture: ok] by CI",
    ),
    (
        {"type": "table", "rows": [[text_of("raw_text", "a"), text_of("raw_text", ""), rich()], [None, rich("x"), {}]]},
        "| a |  |  |\n|  | - x |  |",
    ),
    (rich("x", "y", style="ordered", offset=2), "3. x\n4. y"),
    (
        {"type": "video", "title": text_of("plain_text", "Demo"), "title_url": "https://v.e", "alt_text": "a talk"},
        "[Demo](https://v.e)\n[picture: a talk]",
    ),
    (
        {
            "type": "plan",
            "title": "Plan",
            "tasks": [
                {"title": "Fetch", "output": rich("done"), "sources": [{"type": "url", "url": "s", "text": "S"}]}
            ],
        },
        "Plan\nFetch\n- done\n[S](s)",
    ),
    ({"type": "of_tomorrow"}, "[of tomorrow]"),
]


@pytest.mark.parametrize(("block", "told"), BLOCKS)
def test_all_words_of_a_block_are_read_in_cards_in_shares_and_in_the_past(block: dict[str, Any], told: str) -> None:
    card = read(attachments=[{"blocks": [block, {"type": "divider"}]}])
    message = {"text": "a stand-in" * (told != "[of tomorrow]"), "blocks": [block], "bot_id": "B2"}
    share = read(attachments=[{"is_share": True, "ts": "1.2", "message_blocks": [{"message": message}]}])
    past = earlier_of(message | {"ts": "2.0"}, Address("slack", "T1:C1", "1.0"), US, PEOPLE)
    assert [card.around[0].text, share.around[0].text, past.text] == [told] * 3


@pytest.mark.parametrize("blocks", [[], [{"type": "of_tomorrow"}], [{"type": "actions", "elements": []}]])
def test_where_no_block_can_be_read_the_text_that_stands_in_for_them_is(blocks: list[dict[str, Any]]) -> None:
    card = read(attachments=[{"fallback": "CPU high on <@U1>", "blocks": blocks}])
    said = {"bot_id": "B2", "ts": "2.0", "text": "CPU high on <@U1>", "blocks": blocks}
    past = earlier_of(said, Address("slack", "T1:C1", "1.0"), US, PEOPLE)
    assert (card.around[0].text, past.text) == ("CPU high on @Ada", "CPU high on @Ada")


def test_a_card_comes_with_its_footer_and_its_links_and_a_share_without_slacks_own() -> None:
    card = {"text": "t", "fields": [{"title": "A", "value": "1"}, {"value": "2"}], "footer": "CI", "ts": 12}
    button = {"actions": [{"type": "button", "text": "Open", "url": "https://ci.e"}]}
    [one, other] = read(
        attachments=[card | button, {"is_share": True, "ts": "1.2", "text": "t", "footer": "Posted"}]
    ).around
    assert (one.text, other.text) == ("t\nA: 1\n2\nCI\n[Open](https://ci.e)", "t")


def test_what_a_share_has_beside_its_text_comes_with_it() -> None:
    message = {"text": "see", "blocks": [RICH, TABLE]}
    [share] = read(
        attachments=[{"is_share": True, "ts": "1", "text": "see", "message_blocks": [{"message": message}]}]
    ).around
    assert share.text == "see\n| name | n |\n| a | 3 |"


def test_the_table_that_a_bot_attaches_to_its_blocks_is_in_the_past() -> None:
    said = {"bot_id": "B2", "ts": "2.0", "blocks": [RICH], "attachments": [{"blocks": [TABLE]}]}
    told = earlier_of(said, Address("slack", "T1:C1", "1.0"), US, PEOPLE)
    assert told.text.endswith("```\n| name | n |\n| a | 3 |")


def test_all_shares_come_and_an_empty_one_is_none() -> None:
    shares = [
        {"is_share": True, "text": "one"},
        {"fallback": "[no preview available]"},
        {"is_share": True, "text": "two"},
    ]
    assert [one.text for one in read("", attachments=shares).around] == ["one", "two"]


def test_files_of_a_share_come_to_the_second_level() -> None:
    inner = {
        "is_share": True,
        "author_name": "Cleo",
        "text": "deep",
        "files": [FILE | {"id": "F2", "name": "deep.png"}],
    }
    message = {"message": {"text": "outer", "attachments": [inner], "files": [FILE]}}
    heard = read(
        files=[FILE | {"id": "F0", "name": "own.txt"}], attachments=[{"is_share": True, "message_blocks": [message]}]
    )
    assert [(file.name, file.quoted) for file in heard.attachments] == [
        ("own.txt", False),
        ("plan.pdf", True),
        ("deep.png", True),
    ]
    [outer] = heard.around
    assert (outer.text, outer.files) == ("outer", ("plan.pdf",))
    assert [(one.author, one.text, one.files) for one in outer.inside] == [("Cleo", "deep", ("deep.png",))]


@pytest.mark.parametrize(
    "where", [{"blocks": [TABLE]}, {"attachments": [{"blocks": [TABLE], "fallback": "[no preview available]"}]}]
)
def test_a_table_that_a_person_puts_in_stands_below_the_text(where: dict[str, Any]) -> None:
    heard = read("the numbers", **where)
    assert (heard.text, heard.around) == ("the numbers\n| name | n |\n| a | 3 |", ())


def test_a_message_of_a_table_alone_is_heard() -> None:
    assert read("", blocks=[TABLE]).text == "| name | n |\n| a | 3 |"


def edited(before: dict[str, Any], now: dict[str, Any]) -> Inbound | None:
    base = {"user": "U1", "ts": "2.0", "text": "look"}
    event = {"type": "message", "subtype": "message_changed", "channel": "D1", "ts": "3.0", "event_ts": "3.0"}
    happening = happening_in(event | {"message": base | now, "previous_message": base | before}, US)
    return None if happening is None else inbound_of(happening, "e2", US, PEOPLE, (), addressed=True)


def test_a_file_that_an_edit_adds_comes_and_a_preview_is_no_edit() -> None:
    added = edited({}, {"files": [FILE]})
    assert added is not None
    assert (added.act, [file.name for file in added.attachments]) == ("edit", ["plan.pdf"])
    assert edited({}, {"attachments": [{"from_url": "https://e.org", "title": "E"}]}) is None


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"room": {"id": "R1"}, "text": ""}, "[huddle, which apps cannot hear]"),
        ({"blocks": [{"type": "call", "call": {"v1": {"name": "Stand-up"}}}], "text": ""}, "[call “Stand-up”]"),
        ({"files": [{"id": "F9", "filetype": "quip", "title": "Plan"}]}, "[canvas “Plan”, which apps cannot read]"),
        ({"files": [{"id": "F9", "mode": "list", "name": "Tasks"}]}, "[list “Tasks”, which apps cannot read]"),
        ({"blocks": [{"type": "of_tomorrow"}], "text": ""}, UNREAD),
    ],
)
def test_what_is_no_text_is_a_line_now_and_in_the_past(more: dict[str, Any], line: str) -> None:
    heard = read(**({"text": "", "blocks": [{"type": "section"}]} | more))
    assert (heard.text, heard.attachments) == (line, ())
    said = {"user": "U1", "ts": "2.0"} | more
    if line is not UNREAD:
        assert is_told({**said, "subtype": "huddle_thread"} if "room" in more else said)
        assert earlier_of(said, Address("slack", "T1:C1", "1.0"), US, PEOPLE).text == line


def test_a_huddle_that_slack_itself_tells_of_is_nobodys() -> None:
    said = {"user": "USLACKBOT", "ts": "2.0", "subtype": "huddle_thread", "room": {"id": "R1"}}
    told = earlier_of(said, Address("slack", "T1:C1", "2.0"), US, PEOPLE)
    assert (told.person_id, told.text) == ("", "[huddle, which apps cannot hear]")


@pytest.mark.parametrize(
    "subtype",
    ["channel_join", "channel_topic", "channel_archive", "pinned_item", "reminder_add", "huddle_thread", "bot_add"],
)
def test_what_slack_tells_of_a_channel_asks_nobody(subtype: str) -> None:
    event = {"type": "message", "channel": "C1", "user": "U1", "ts": "2.0", "text": "x", "subtype": subtype}
    assert happening_in(event, US) is None

"""Tables on Slack: a block of its own where it is legal, else lines of code or lists."""

from __future__ import annotations

import pytest

from adapters.slack.adapter import SlackAdapter
from adapters.slack.api.web import Blocks
from adapters.slack.api.workspaces import TRIED_AGAIN_S
from tests.contract.slack.speaking import ADA, HOST, US, edit, send
from tests.fakes.clock import FakeClock
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio

TABLE = "| city | price |\n|:--|--:|\n| Köln | **3** |\n| [Ulm](https://e.org/_u_) | `a*b` |"


def kinds(blocks: Blocks) -> list[str]:
    return [block["type"] for block in blocks]


async def test_a_table_is_a_block_between_the_texts_around_it(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    await send(adapter, f"Prices:\n\n{TABLE}\n\nThat is *all*.", to=US)
    [posted] = platform.messages()
    assert kinds(posted.blocks) == ["section", "table", "section", "context_actions"]
    assert posted.shown == "Prices:\ncity | price\nKöln | 3\nUlm | a*b\nThat is _all_."
    table = posted.blocks[1]
    assert [column["align"] for column in table["column_settings"]] == ["left", "right"]
    assert all(column["is_wrapped"] for column in table["column_settings"])
    cells = [cell["elements"][0]["elements"][0] for row in table["rows"][1:] for cell in row]
    assert cells == [
        {"type": "text", "text": "Köln"},
        {"type": "text", "text": "3", "style": {"bold": True}},
        {"type": "link", "text": "Ulm", "url": "https://e.org/_u_"},
        {"type": "text", "text": "a*b", "style": {"code": True}},
    ]
    assert posted.text == "Prices:"


async def test_a_growing_table_has_its_rows_in_the_block_as_they_come(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    message = await adapter.send(ADA, "Prices:", speaker=HOST, nonce="g", final=False)
    for rows in (3, 4):
        await edit(adapter, message, "\n".join(TABLE.split("\n")[:rows]))
    [posted] = platform.messages(ADA.conversation.partition(":")[2])
    assert posted.history == ["Prices:", "city | price\nKöln | 3", "city | price\nKöln | 3\nUlm | a*b"]


async def test_nothing_in_a_cell_pings_but_whom_it_mentions(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    cell = "[@Ada](person:slack:T0TEAM:U0ADA) <!channel> @here <@U0BOB> [@Eve](person:telegram:3)"
    await send(adapter, f"| who |\n|--|\n| {cell} |", to=US)
    [posted] = platform.messages()
    assert posted.pings == ["@U0ADA"]
    assert posted.shown == "who\n<@U0ADA> <!channel> @here <@U0BOB> @Eve"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| a |  |\n|--|--|\n|  | b |", "a |  \n  | b"),
        (
            "| a<br>b | [x](ftp://e.org) |\n|--|--|\n| ![p](https://e.org/p.png) | $x_1$ |",
            "a\nb | x (ftp://e.org)\np | $x_1$",
        ),
        ("| <ftp://e.org> |\n|--|\n| [](https://e.org) |", "ftp://e.org\nhttps://e.org"),
        ("| a |\n|--|\n| 1 |\n\n| b |\n|--|\n| 2 |", "a\n1\n```\nb\n-\n2\n```"),
        ("> | a |\n> |--|\n> | 1 |", "> • a: 1"),
        ("\n".join(["|" + "a|" * 21, "|" + "-|" * 21, "|" + "b|" * 21]), "• " + "\n    ".join(["a: b"] * 21)),
        ("| a |\n|--|\n" + "| 1 |\n" * 100, "```\na\n-\n" + "1\n" * 100 + "```"),
    ],
    ids=["empty cells", "other cells", "addresses", "a second table", "in a quotation", "21 columns", "101 rows"],
)
async def test_what_the_block_does_not_take_is_a_text(
    adapter: SlackAdapter, platform: SlackPlatform, text: str, shown: str
) -> None:
    await send(adapter, text, to=US)
    [posted] = platform.messages()
    assert posted.shown == shown
    assert len(platform.calls_of("chat.postMessage")) == 1


async def test_a_workspace_that_refuses_tables_is_left_alone_for_a_time_and_keeps_its_thumbs(
    adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    platform.conversations.unknown_blocks.add("table")
    for nonce in ("one", "two"):
        await send(adapter, TABLE.replace("[Ulm](https://e.org/_u_)", "Ulm"), to=US, nonce=nonce)
    assert [kinds(posted.blocks) for posted in platform.messages()] == [["section", "context_actions"]] * 2
    assert (
        len(platform.calls_of("chat.postMessage")) == 4
    )  # with both, without thumbs, without the table, and the second
    platform.conversations.unknown_blocks.clear()
    await clock.advance(TRIED_AGAIN_S)
    await send(adapter, TABLE, to=US, nonce="three")
    assert kinds(platform.messages()[-1].blocks) == ["table", "context_actions"]


async def test_the_name_of_a_speaker_stands_above_a_table(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.scopes.remove("chat:write.customize")
    await send(adapter, TABLE, to=US)
    [posted] = platform.messages()
    assert posted.shown.startswith("*Host*\n")

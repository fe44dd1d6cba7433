"""Markdown for Slack's streams: exact where it is code, and no ping but of whom we mention."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.codec.mentions import EDGE, certain, harmless


@pytest.mark.parametrize(
    "text",
    [
        "```html\n<!DOCTYPE html>\n<!-- @channel <!here> -->\n```\n",
        "run `npm i '@here/sdk' <!channel>` now",
        "<!DOCTYPE html> and <!-- a comment -->",
        "see https://e.org/@here/x",
        "```\n`<!here>\n```",
    ],
)
def test_code_addresses_and_declarations_stay_as_they_are(text: str) -> None:
    assert harmless(text, "T1") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!here> @channel <@U12> <#C1|a>", f"<{EDGE}!here> @{EDGE}channel <{EDGE}@U12> <{EDGE}#C1|a>"),
        ("`open <!here>\n\nso", f"`open <{EDGE}!here>\n\nso"),
        ("[@Ann](person:slack:T1:U7) [@Bo](person:slack:T2:U8)", "<@U7> @Bo"),
        ("npm i @here/sdk", "npm i `@here/sdk`"),
    ],
)
def test_what_would_ping_is_broken_up(text: str, shown: str) -> None:
    assert harmless(text, "T1") == shown


_PARTS = [
    "`",
    "``",
    "```\n",
    "<!here>",
    "@channel",
    "@here/sdk",
    "https://e.org/@here",
    " ",
    "\n",
    "\n\n",
    "word",
    "<@U1>",
    "[",
]


@given(st.lists(st.sampled_from(_PARTS), max_size=14).map(" ".join), st.lists(st.integers(0, 80), max_size=6))
def test_pieces_of_a_stream_make_the_whole(text: str, ends: list[int]) -> None:
    shown, sent = "", 0
    for end in [*sorted(min(end, len(text)) for end in ends), len(text)]:
        until = max(sent, certain(text[:end])) if end < len(text) else end
        shown, sent = shown + harmless(text[:until], "T1", sent), until
    assert shown == harmless(text, "T1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("so\n| a | b", "so\n"),
        ("so\n| a | b |\n", "so\n"),
        ("so\n| a | b |\n|--", "so\n"),
        ("so\n| a | b |\n|--|--|\n", "so\n| a | b |\n|--|--|\n"),
        ("| a | b |\n|--|--|\n| 1 | 2 |\n| 3 ", "| a | b |\n|--|--|\n| 1 | 2 |\n"),
        ("| a | b |\n|--|--|\n| `1 | 2", "| a | b |\n|--|--|\n"),
        ("so\n| `a", "so\n"),
        ("see [the `a", "see "),
        ("> | a | b |\n> |--|--|\n> | 1", "> | a | b |\n> |--|--|\n"),
        ("| a | b |\n|--|--|\n\nso", "| a | b |\n|--|--|\n\nso"),
        ("| no table\nso", "| no table\nso"),
        ("| " + "a" * 400, "| " + "a" * 400),
    ],
)
def test_a_table_is_streamed_by_whole_rows_and_its_head_with_the_line_below_it(text: str, shown: str) -> None:
    assert text[: certain(text)] == shown

"""CommonMark as Slack takes it: whole and in streams, exact where it is code, and no ping but of whom we mention."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.capabilities import measure_utf16
from adapters.slack.codec.markup import render
from adapters.slack.codec.mentions import EDGE, bold, certain, harmless

ROOM = 3000
MARK_EDGE = "\u200b"


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("plain", "plain"),
        ("**bold** and *it* and ~~no~~", "*bold* and _it_ and ~no~"),
        ("***both***", "_*both*_"),
        ("**a** b **c**", "*a* b *c*"),
        ("in**wor**d", f"in{EDGE}*wor*{EDGE}d"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("**outer __inner__ outer**", "*outer inner outer*"),
        ("# Head *it* **b**", "*Head _it_ b*"),
        ("a\n\nb\\\nc", "a\n\nb\nc"),
        ("`a < b`", "`a &lt; b`"),
        ("``a ` b``", "`a \u02cb b`"),
        ("x`y`z", f"x{EDGE}`y`{EDGE}z"),
        ("```py\nx & y\n```\nafter", "```\nx &amp; y\n```\n\nafter"),
        ("~~~\na ``` b\n~~~", f"```\na `{EDGE}`{EDGE}` b\n```"),
        ("- a\n  1. one\n  2. two\n- b", "• a\n    1. one\n    2. two\n• b"),
        ("3. c\n4. d", "3. c\n4. d"),
        ("> a\n> **b\n> c**\n\nd", "> a\n> *b*\n> *c*\n\nd"),
        ("> a\n>\n> > b", "> a\n>\n> b"),
        ("| a | b |\n|--|--|\n| 1 | 22 |", "```\na | b\n--+---\n1 | 22\n```"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("[**x** <y>](https://a.b/?c=1&d=2)", "<https://a.b/?c=1&amp;d=2|*x* &lt;y&gt;>"),
        ("[x](https://a.b/c|d)", "<https://a.b/c%7Cd|x>"),
        ("[x](ftp://a.b)", "x (ftp://a.b)"),
        ("<ftp://a.b> [](ftp://a.b) <http:>", "ftp://a.b ftp://a.b http:"),
        ('a [](https://a.b) <a href="https://c.d"></a>', "a <https://a.b> <https://c.d>"),
        ("[@Ada](person:slack:T1:U1) [@Eve](person:telegram:3)", "<@U1> @Eve"),
        ("![pic](https://a.b/c.png)", "<https://a.b/c.png|pic>"),
        ("see https://a.b/c_d?e=1&f=2.", "see <https://a.b/c_d?e=1&amp;f=2>."),
        ("<https://a.b> <ada@a.b>", "<https://a.b> <mailto:ada@a.b|ada@a.b>"),
        ("a & b < c > d &amp; e", "a &amp; b &lt; c &gt; d &amp; e"),
        ("<!channel> <@U1> [x](<!here>)", "&lt;!channel&gt; &lt;@U1&gt; x (!here)"),
        ("half **open", "half **open"),
        ("~5 min, ~6 min", "~5 min, ~6 min"),
        ("~5~ and \\*x\\* and \\_y\\_", "\u223c5\u223c and \u2217x\u2217 and \u02cdy\u02cd"),
        ("**bold 5\\* more** 3 * 4", "*bold 5\u2217 more* 3 * 4"),
        ("\\*a `*b*`\nc\\*", "*a `*b*`\nc*"),
        ("1. **开源：**代码", "1. *开源：*​代码"),
        ("https://e.org/a，然后", "<https://e.org/a>，然后"),
        ("(https://e.org/Foo_(bar)) https://e.org/_x_/y", "(<https://e.org/Foo_(bar)>) <https://e.org/_x_/y>"),
        ("<https://e.org|label> <!here|label>", "<https://e.org|label> &lt;!here|label&gt;"),
        ("$x*y$ and $u*v$, 2*3*4, \\(a\\)", "$x*y$ and $u*v$, 2*3*4, \\(a\\)"),
        ("", ""),
    ],
)
def test_it_shows_the_same(markdown: str, mrkdwn: str) -> None:
    assert render(markdown, ROOM) == mrkdwn


def test_text_whose_columns_are_too_long_is_shown_as_it_is_written() -> None:
    table = f"|a|b|\n|-|-|\n|{'y' * 90}|x|\n" + "|1|2|\n" * 40
    assert render(table, 400) == table


def test_escapes_that_are_too_long_become_full_width() -> None:
    assert render("a<&>" * 10, 40) == "a\uff1c\uff06\uff1e" * 10


def test_name_in_bold_cannot_end_it() -> None:
    assert bold("R&D *2*") == "*R&amp;D \u22172\u2217*"


_HOSTILE = st.text(st.sampled_from("*_~`<>&!@#|[]()\\ \n-1.:/hterps\u0430👍\u202e\u200bUW"), max_size=120)


@given(_HOSTILE)
def test_no_text_becomes_a_reference_or_grows_beyond_its_room(source: str) -> None:
    shown = render(source, 130)
    assert measure_utf16(shown) <= max(130, measure_utf16(source))
    assert re.search(r"<[!@#]", shown) is None


@given(_HOSTILE)
def test_everything_in_angle_brackets_is_a_link(source: str) -> None:
    for inside in re.findall(r"<([^<>]*)>", render(source, ROOM)):
        assert re.match(r"(https?|mailto|tel|slack):", inside)


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

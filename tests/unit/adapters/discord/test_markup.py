"""CommonMark as Discord takes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.capabilities import measure_utf16
from adapters.discord.codec.addresses import quiet, render, with_heading


@pytest.mark.parametrize(
    "text",
    [
        "**bold** *it* ~~gone~~ `code` [name](https://a.example/b__c__d)",
        "# One\n\n## Two\n\n### Three",
        "- a\n- b\n  - c\n\n1. one\n2. two\n\n> quoted",
        "```python\n__init__ = '||' # @everyone <@1>\n```",
        "see https://a.example/x__y__z and `a||b`",
        "snake_case and 2 * 3 * 4",
    ],
)
def test_what_discord_reads_as_we_do_passes_as_it_is(text: str) -> None:
    assert render(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("__bold__", "**bold**"),
        ("- item __bold__", "- item **bold**"),
        ("a__b__c", r"a\_\_b\_\_c"),
        ("if a || b || c", r"if a \|\| b \|\| c"),
        (">>> all\nof it", "> all\n> of it"),
        ("-# small", r"\-# small"),
        ("#### Four **bold** ####", "**Four bold**"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("[](https://a.example/b) <ftp://a.b> [](ftp://a.b)", "https://a.example/b ftp://a.b ftp://a.b"),
        ("[![build](https://a.example/b.svg)](https://c.example)", "[build](https://c.example)"),
        ("![a picture](https://a.example/b.png)", "[a picture](https://a.example/b.png)"),
        ("a\n\n    x = 1\n    y = 2\n\nb", "a\n\n```\nx = 1\ny = 2\n```\n\nb"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("_it_ and <b>fat</b>", "*it* and **fat**"),
        ("2*3*4 and $x*y$", r"2\*3\*4 and $x\*y$"),
        (
            "[docs][1] &amp; <https://e.org|label>\n\n[1]: https://e.org/1",
            "[docs](https://e.org/1) & [label](https://e.org)",
        ),
        ("https://e.org/a，然后 https://e.org/_x_/y.", "<https://e.org/a>，然后 https://e.org/_x_/y."),
        ("[a](https://e.org/Foo_(bar)) [b](notes.md)", "[a](<https://e.org/Foo_(bar)>) b (notes.md)"),
        ("> a\n>\n> b", "> a\n> \n> b"),
        (
            "[a [b] c_d](https://e.org/_x_) [b] https://e.org/a_[b]",
            r"[a \[b\] c_d](https://e.org/_x_) [b] <https://e.org/a_[b]>",
        ),
        ("> | a |\n> |---|\n> | [x](https://e.org) |", "> - a: [x](https://e.org)"),
        ("see @everyone/sdk", "see `@everyone/sdk`"),
    ],
)
def test_what_discord_reads_differently_is_rewritten(text: str, shown: str) -> None:
    assert render(text) == shown


def test_table_becomes_a_block_of_code_with_columns() -> None:
    table = "Look:\n\n| name | **n** |\n|---|---|\n| Ada | `1` |\n| Bo | 22 |\n\nDone."
    assert render(table) == "Look:\n\n```\nname | n\n-----+---\nAda  | 1\nBo   | 22\n```\n\nDone."


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("``a`b``", "``a`b``"),
        ("`` `x` ``", "`` `x` ``"),
        ("``` ``x`` ```", "` ``x`` `"),
        ("```` a``b`c```d ````", "``a`\u200b`b`c```d``"),
        ("````md\n```\nx\n```\n````", "```md\n``\u200b`\nx\n``\u200b`\n```"),
        ("| a |\n|---|\n| \\`\\`\\` |", "```\na\n---\n``\u200b`\n```"),
        ("```\n```\nx", "```\n\u200b\n```\n\nx"),
        ("- ```py\n  x\n  ```\n- y", "- \u200b\n```py\nx\n```\n\n- y"),
        ("- a\n  - b\n    ```\n    x\n      y\n    ```", "- a\n  - b\n```\nx\n  y\n```"),
        ("> ```js\n> a\n>\n> b\n> ```", "> ```js\n> a\n> \n> b\n> ```"),
        ("```ру\nx\n```", "```\nx\n```"),
    ],
)
def test_code_is_shown_to_the_letter_and_ends_where_it_ends(code: str, shown: str) -> None:
    """Discord knows fences of three signs only, and no code in an entry of a list that begins with it."""
    assert render(code) == shown


@pytest.mark.parametrize("text", ["@everyone", "@HERE now", "<@123>", "<@!123>", "<@&123>", "**@everyone**"])
def test_nothing_pings(text: str) -> None:
    shown = render(text)
    assert shown != text
    assert shown.replace("\u200b", "") == text
    assert "@everyone" not in shown


def test_mail_address_is_no_ping() -> None:
    assert render("ada@example.org") == "ada@example.org"


def test_name_in_a_heading_is_only_a_name() -> None:
    assert with_heading("a**b@everyone", "hi") == f"**a\\*\\*b{quiet('@everyone')}**\nhi"


def test_text_without_anything_to_show_stays() -> None:
    assert render("<!-- -->") == "<!-- -->"


@given(st.text(alphabet="ab@_*|`<>#-&1 \n\t\\![]()\0😀", max_size=80))
def test_any_text_is_rendered_without_pings_outside_code(text: str) -> None:
    shown = render(text)
    assert "\0" not in shown
    if "`" not in text and "    " not in text and "\t" not in text and "|" not in text:
        assert "@everyone" not in shown


def test_length_is_counted_in_utf16_units() -> None:
    assert measure_utf16("a😀") == 3

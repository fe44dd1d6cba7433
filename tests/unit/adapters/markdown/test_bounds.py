"""Text that is written to keep us busy costs no more than other text of its length, or is shown as it is written."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from adapters.capabilities import measure_utf16
from adapters.discord.codec.addresses import render as discord
from adapters.markdown.closing import close_open
from adapters.markdown.flanking import flanks
from adapters.markdown.mentions import with_mentions
from adapters.markdown.paging import split_pages
from adapters.markdown.reading import TooMuchMarkdown, check_bounds, formula_at
from adapters.markdown.writer import plain
from adapters.slack.codec.markup import render as slack
from adapters.telegram.codec.markup import render as telegram

PATTERNS = {
    "pictures": "![",
    "links begun": "[a](",
    "links in links": "[[a](b",
    "brackets": "[",
    "code": "`a``",
    "marks": "*a_ ",
    "marks in words": "_a*",
    "emphasis": "***a",
    "quotations": "> ",
    "quoted lines": ">" * 2000 + "a\n",
    "lists": "- ",
    "short lists": "- a\n",
    "numbers": "1. ",
    "indented lists": "- a\n  ",
    "tables": "| a | b |\n|---|---|\n",
    "tags": "<a ",
    "lists of HTML": "<ul><li>",
    "tables of HTML": "<table><tr><td>",
    "tables of HTML that end": "<table><tr><td>a</td></tr></table>",
    "code of HTML": "<pre>",
    "code of HTML in lines": "<pre>a\n",
    "code of HTML that ends": "<pre>a</pre>",
    "code in HTML": "<code>",
    "tags of HTML that are words": "a <p> </p> ",
    "entities": "&",
    "fences": "```\n",
    "people": "[@a](person:",
    "people begun": "[@a\n",
    "lines": "\n",
}
SIZES = (2_000, 4_000, 8_000, 12_000, 100_000)
CALLS_MAX = 400_000
"""Calls of functions, of which this many take some tens of milliseconds."""

RENDERERS: dict[str, Callable[[str], object]] = {
    "Telegram": telegram,
    "Slack": lambda text: slack(text, 10**6),
    "Discord": discord,
}
READERS: dict[str, Callable[[str], object]] = {
    "plain": plain,
    "closed": close_open,
    "mentions": lambda text: with_mentions(text, {"Ada": "x:1"}, growing=True),
    "pages": lambda text: split_pages(text, 3900, measure_utf16),
}


def calls_of(function: Callable[[str], object], text: str) -> int:
    """How many calls it takes, of Python's functions and of built-in ones."""
    count = 0

    def note(_frame: FrameType, event: str, _about: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function(text)
    finally:
        sys.setprofile(None)
    return count


def hostile(pattern: str, size: int) -> str:
    return (PATTERNS[pattern] * (size // len(PATTERNS[pattern]) + 1))[:size]


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_text_of_any_length_takes_a_renderer_long(pattern: str, renderer: str) -> None:
    assert max(calls_of(RENDERERS[renderer], hostile(pattern, size)) for size in SIZES) < CALLS_MAX


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_work_on_a_growing_text_grows_with_its_length_only(pattern: str, reader: str) -> None:
    one, two = (calls_of(READERS[reader], hostile(pattern, size)) for size in (40_000, 80_000))
    assert two < 2.5 * one + 1_000


def test_the_beginning_of_a_path_is_not_looked_for_far_back() -> None:
    """With all of it looked at again for each mark, this would not end within the test."""
    text = "./" + "_a" * 150_000
    marks = range(2, len(text), 2)
    assert [flanks(text, at, at + 1, len(text)) for at in marks][:9] == [(False, False)] * 9


@pytest.mark.parametrize("begun", ["\\begin{a}", "\\(", "\\["])
def test_the_end_of_a_formula_is_not_looked_for_behind_the_next_one_that_begins(begun: str) -> None:
    """With two thousand characters read again for each, this would not end within the test."""
    text = begun * 40_000
    assert all(formula_at(text, at, len(text)) == at for at in range(0, len(text), len(begun)))


@pytest.mark.parametrize("pattern", ["[@a\n", "[@a](person:", "`` ` ", "[a", "<p:"])
def test_people_are_looked_for_in_proportion_to_the_text(pattern: str) -> None:
    """Its expressions do not go back over what they have read: a hundred times this would not end within the test."""
    text = pattern * 100_000
    assert len(with_mentions(text, {"Ada": "x:1"})) >= len(text)
    assert discord(text)


@pytest.mark.parametrize(
    "text",
    ["\n" * 400_000, "x\n\n- " + " " * 400_000 + "b", "| a |\n|" + "-" * 400_000 + "x\n| b"],
    ids=["lines", "spaces", "dashes"],
)
@pytest.mark.parametrize("reader", ["plain", "closed", "mentions"])
def test_what_is_nearly_a_mark_is_read_in_proportion_to_its_length(reader: str, text: str) -> None:
    """No expression reads it again from each of its characters: that would not end within the test."""
    assert str(READERS[reader](text + "\n\nend")).endswith("end")


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("pattern", ["pictures", "links in links", "people begun"])
def test_what_is_too_much_is_shown_as_it_is_written(pattern: str, renderer: str) -> None:
    text = hostile(pattern, 3_000)
    with pytest.raises(TooMuchMarkdown):
        check_bounds(text)
    shown = getattr(RENDERERS[renderer](text), "text", None) or str(RENDERERS[renderer](text))
    assert shown.count("a") == text.count("a")
    assert shown.count("[") == text.count("[")


def test_a_page_of_code_links_and_tables_is_within_the_bounds() -> None:
    code = "```python\n" + "    values[i] = {'a_b': *c, **d} & ~e  # <note>\n" * 40 + "```\n"
    links = "".join(f"- [page {n}](https://x.y/{n}) and **more** of `it`\n" for n in range(40))
    table = "| a | b |\n|---|---|\n" + "| _one_ | `two` |\n" * 30
    check_bounds(code + links + table)

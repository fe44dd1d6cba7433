"""A name, a room's or a file's, and the words of somebody else stand in every text of ours as they were written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.markdown.mentions import with_mentions
from adapters.pages.platform_context import listed
from runtime.core.markup import as_read, as_written
from runtime.core.message import Choice
from runtime.core.texts import english, placeholders
from tests.fidelity.measuring import PLATFORMS, Shown, web_page
from tests.fidelity.seen import seen, targets, words

HOSTILE = (
    "<i>Eve</i> [here](http://evil.example)",
    "**Eve** _x_ `y` ~~z~~",
    "![Eve](https://evil.example/a.png)",
    "# Eve",
    "1. Eve",
    "- [ ] Eve",
    "> Eve",
    "$x^2$ and $y$",
    "www.evil.example",
    "@everyone @here <!channel>",
    "&lt;b&gt; &amp;",
    "a\\*b",
    "report_2026__final_.pdf",
    "||Eve|| :smile:",
    "[Eve][1] <http://evil.example>",
)
PIECES = st.lists(st.sampled_from([*"*_`~[]()<>!#$|&\\:.-+= @", "a", "1", "](x)", "<b>", "://", "&lt;"]), max_size=12)
NAMES = PIECES.map(lambda pieces: " ".join(f"x{''.join(pieces)}x".split()))
PLAIN = ("commands", "context", "sessions", "debug")
"""Texts that are read in menus and by programs, and those for owners, whose values stand in code."""


def texts_with(name: str) -> list[str]:
    """Every text that people read in a chat and that has a place for something of somebody else, with `name` there."""
    places = {key: placeholders(english()._texts[key]) for key in english() if key.partition(".")[0] not in PLAIN}
    filled = [
        english()(key, **dict.fromkeys(names, name)) for key, names in places.items() if names and "link" not in names
    ]
    return [*filled, as_written(name), listed("Which one?", [Choice("a", name), Choice("b", f"2 {name}")])]


def shown_whole(platform: Shown, name: str) -> None:
    texts = texts_with(name)
    for text, read in zip(texts, platform.read([with_mentions(text, {}) for text in texts]), strict=True):
        assert words(seen(name)) in words(read), text
        assert not [link for link in targets(read) if "evil" in link[1] or "x" in link[1]], text


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_as_it_is_written(platform: str, name: str) -> None:
    shown_whole(PLATFORMS[platform], name)


def test_the_page_of_the_web_chat_shows_hostile_names_as_they_are_written() -> None:
    with web_page() as page:
        for name in HOSTILE:
            shown_whole(page, name)


@pytest.mark.parametrize("platform", PLATFORMS)
@given(name=NAMES)
@example(name="x")
def test_any_name_is_shown_as_it_is_written(platform: str, name: str) -> None:
    read = PLATFORMS[platform].read([with_mentions(english()("session.question_left", name=name, count=1, of=2), {})])
    assert words(seen(name)) in words(read[0])
    assert targets(read[0]) == []


@given(name=st.one_of(NAMES, st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]))))
def test_where_nothing_reads_markdown_a_name_is_as_it_was_written(name: str) -> None:
    assert as_read(as_written(name)) == name.replace("\u2060", "")

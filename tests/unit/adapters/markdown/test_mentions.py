"""Who may be mentioned, and what must never ping anybody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.markdown.mentions import with_mentions
from adapters.slack.codec.markup import render

PEOPLE = {"Ann": "fake:1", "Ann Lee": "fake:2", "Zoë": "fake:3", "x*y": "fake:4"}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("hi @Ann!", "hi [@Ann](person:fake:1)!"),
        ("hi @ann lee, and @Ann.", "hi [@ann lee](person:fake:2), and [@Ann](person:fake:1)."),
        ("(@Zoë)", "([@Zoë](person:fake:3))"),
        ("**@Ann**", "**[@Ann](person:fake:1)**"),
        ("@x*y", "[@x\\*y](person:fake:4)"),
        ("@Annette is unknown", "@Annette is unknown"),
        ("mail ann@Ann or bob@ann.org", "mail ann@Ann or bob@ann.org"),
        ("run `@Ann` now", "run `@Ann` now"),
        ("```\n@Ann\n```\n@Ann", "```\n@Ann\n```\n[@Ann](person:fake:1)"),
        ("[@Ann](https://x.y/@Ann)", "[@Ann](https://x.y/@Ann)"),
        ("see https://x.y/@Ann", "see https://x.y/@Ann"),
        ("@everyone look", "@\u200beveryone look"),
        ("@HERE and @channel", "@\u200bHERE and @\u200bchannel"),
        ("`@everyone`", "`@everyone`"),
        ("<!channel> <@U123> <!subteam^S1>", "\\<!channel> \\<@U123> \\<!subteam^S1>"),
        ("[you](person:fake:9)", "[you]\\(person:fake:9)"),
        ("[you](<person:fake:9>)", "[you]\\(\\<person:fake:9>)"),
        ("[you]( PERSON:fake:9)", "[you]\\( PERSON:fake:9)"),
        ("[you](p&#101;rson:fake:9)", "[you]\\(p&#101;rson:fake:9)"),
        ("[you]: person:fake:9", "[you]\\: person:fake:9"),
        ("<person:fake:9>", "\\<person:fake:9>"),
        ("a < b, <https://x.y>", "a < b, <https://x.y>"),
    ],
)
def test_known_people_become_links_and_nothing_else_can_ping(said: str, shown: str) -> None:
    assert with_mentions(said, PEOPLE) == shown


def test_without_people_nothing_becomes_a_link() -> None:
    assert with_mentions("hi @Ann", {}) == "hi @Ann"


@pytest.mark.parametrize(
    ("said", "shown"), [("hi @", "hi "), ("hi @An", "hi "), ("hi @Ann", "hi "), ("hi @Ann L", "hi ")]
)
def test_what_may_become_a_name_is_held_back_while_a_text_grows(said: str, shown: str) -> None:
    assert with_mentions(said, PEOPLE, growing=True) == shown


@given(
    st.lists(st.sampled_from(["@Ann", "@Ann Lee", "@Annette", " ", ", ", "word", "\n\n", "@", "(", "**"])).map("".join)
)
def test_what_was_shown_of_a_growing_text_never_changes(text: str) -> None:
    whole = with_mentions(text, PEOPLE)
    for end in range(len(text) + 1):
        assert whole.startswith(with_mentions(text[:end], PEOPLE, growing=True))


EVE = "person:slack:T1:U9"


@pytest.mark.parametrize(
    "text",
    [
        f"> [b]:\n> {EVE}\n\n[b]",
        f"> > [a](\n> > {EVE})",
        f"\\`[a]({EVE}) `",
        f'<a href="`"> [x]({EVE}) `',
        f"<http://a`b> [x]({EVE}) `",
        f"- ```\n\n[x]({EVE})",
        f"1. ~~~\n   [y]({EVE})\n\n[x]({EVE})",
    ],
)
def test_no_markdown_around_a_link_to_a_stranger_makes_it_a_mention(text: str) -> None:
    assert "<@" not in render(with_mentions(text, {}), 3000)
    assert "<@" not in render(with_mentions(text, {}, growing=True), 3000)

"""What all platforms show alike, written by a writer whose marks are words; and what must never ping anybody."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from adapters.markdown.mentions import with_mentions
from adapters.markdown.reading import PARSER
from adapters.markdown.writer import MarkdownWriter, MarkKind
from adapters.slack.codec.markup import render


class Spelled(MarkdownWriter):
    """Spells every mark."""

    INDENT = "  "

    def text(self) -> str:
        return "".join(self._parts)

    def _begin(self, kind: MarkKind) -> None:
        self._write(f"({kind} ")

    def _end(self) -> None:
        self._write(")")

    def _begin_link(self, url: str, *, bare: bool) -> None:
        self._write(f"({url} ")

    def _end_link(self) -> None:
        self._write(")")

    def _quote(self, tokens: Sequence[Token]) -> None:
        inner = Spelled()
        inner.blocks(tokens)
        self._write(f"(quote {inner.text()})")

    def _code_block(self, code: str, info: str) -> None:
        self._write(f"(block {info}\n{code})")

    def _code(self, code: str) -> None:
        self._write(f"(code {code})")

    def _line_break(self) -> None:
        self._write("/")

    def _plain(self, text: str) -> None:
        self._write(text)

    def _picture(self, text: str) -> None:
        self._write(text)


@pytest.mark.parametrize(
    ("markdown", "spelled"),
    [
        ("# One\ntwo **three _four_**", "(heading One)\n\ntwo (strong three (em four))"),
        ("- a\n- b\n  1. c\n  2. d\n\nend", "• a\n• b\n  1. c\n  2. d\n\nend"),
        ("> a\n> > b\n\nend", "(quote a\n\n(quote b))\n\nend"),
        ("```py\nx = 1\n```\n***\n~~a~~", "(block py\nx = 1)\n\n———\n\n(s a)"),
        ("[a](http://x) ![b](http://y) ![](http://z)", "(http://x a) (http://y b) (http://z http://z)"),
        ("[](http://x) [](person:telegram:1)", "(http://x http://x) (person:telegram:1 )"),
        ("a  \nb\nc `d`", "a/b/c (code d)"),
        ("https://e.org/(a_(b))_c.", "(https://e.org/(a_(b))_c https://e.org/(a_(b))_c)."),
        (
            "<https://e.org|a|b> ~/_x_/y www.e.org/_x_/y *e.org/x*",
            "(https://e.org a|b) ~/_x_/y www.e.org/_x_/y (em e.org/x)",
        ),
        ("a*b*c, f(a)*g(b)*h 2*(3+4)*5, *it*s in*wor*d", "a*b*c, f(a)*g(b)*h 2*(3+4)*5, (em it)s in(em wor)d"),
        ("\\begin{align}a*b_c_ d\\end{align} \\begin{x}*a*", "\\begin{align}a*b_c_ d\\end{align} \\begin{x}(em a)"),
        (
            "__init__.py == __main__, a.__b__ __foo__(), __bold__",
            "__init__.py == __main__, a.__b__ __foo__(), (strong bold)",
        ),
        ("H<sub>2</sub>O x<sup>n+1</sup> a<sub>max</sub>", "H₂O xⁿ⁺¹ a_max"),
        ("<kbd>C</kbd> <u>u</u> <mark>m</mark> <q>q</q>", "(code C) (em u) (em m) <q>q</q>"),
        ("a <!-- b\nc --> d <!DOCTYPE html> <!-- e", "a  d <!DOCTYPE html> <!-- e"),
        ("| a | b |\n|---|---|\n| x | `p | q` |\n\n`p | q`", "(block \na | b\n--+------\nx | p | q)\n\n(code p | q)"),
        ("| a | bb |\n|---|---|\n| **ccc** | d |", "(block \na   | bb\n----+---\nccc | d)"),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |\n| [x](http://x) | 3 |\n| 4 | 5 |\n\nend",
            "(block \na | b\n--+--\n1 | 2)\n\n• a: (http://x x)/  b: 3\n• a: 4/  b: 5\n\nend",
        ),
        (f"| a |\n|---|\n| 1 |\n| {'w' * 45} |", f"(block \na\n-\n1)\n\n• a: {'w' * 45}"),
        (f"| a |\n|---|\n| {'w' * 45} |\n| 1 |", f"• a: {'w' * 45}\n• a: 1"),
        ("| a | [b](http://x) |\n|---|---|", "• a/  (http://x b)"),
    ],
)
def test_blocks_are_written_in_order_with_room_between_them(markdown: str, spelled: str) -> None:
    writer = Spelled()
    writer.blocks(PARSER.parse(markdown))
    assert writer.text() == spelled


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

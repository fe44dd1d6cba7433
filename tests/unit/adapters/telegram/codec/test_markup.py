"""CommonMark as Telegram's text and entities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.capabilities import measure_utf16
from adapters.telegram.codec.markup import Entity, RenderedText, render, with_heading
from adapters.telegram.limits import MAX_ENTITIES


def _pieces(rendered: RenderedText) -> list[tuple[str, str]]:
    units = rendered.text.encode("utf-16-le")
    return [(e.kind, units[e.offset * 2 : (e.offset + e.length) * 2].decode("utf-16-le")) for e in rendered.entities]


@pytest.mark.parametrize(
    ("markdown", "text", "pieces"),
    [
        ("plain", "plain", []),
        ("a **b** c", "a b c", [("bold", "b")]),
        ("*a* ~~b~~ `c`", "a b c", [("italic", "a"), ("strikethrough", "b"), ("code", "c")]),
        ("**a *b***", "a b", [("bold", "a b"), ("italic", "b")]),
        ("# Head\n\ntext", "Head\n\ntext", [("bold", "Head")]),
        ("# A **b**", "A b", [("bold", "A b")]),
        ("> one\n> two\n\nthree", "one\ntwo\n\nthree", [("blockquote", "one\ntwo")]),
        ("> > deep", "deep", [("blockquote", "deep")]),
        ("- a\n- b\n  - c\n\nd", "• a\n• b\n  • c\n\nd", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("<ftp://a.b> [](ftp://a.b) [](https://a.b)", "ftp://a.b ftp://a.b https://a.b", []),
        ("- a\n\n- b", "• a\n\n• b", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("a\nb  \nc", "a\nb\nc", []),
        ("growing\n--", "growing\n--", []),
        ("half **open", "half **open", []),
        ("2 * 3 * 4 < 5 & <x>x</x>", "2 * 3 * 4 < 5 & <x>x</x>", []),
        ("<b>x</b><br>y &amp; <code>a*b*</code>", "x\ny & a*b*", [("bold", "x"), ("code", "a*b*")]),
        ("1. **开源：**代码", "1. 开源：代码", [("bold", "开源：")]),
        ("**注意：**请。**「強調」**です", "注意：请。「強調」です", [("bold", "注意："), ("bold", "「強調」")]),
        ("2*3*4, $x*y$ and $u*v$, \\(a\\)", "2*3*4, $x*y$ and $u*v$, \\(a\\)", []),
        ("https://www.youtube.com/@handle/videos", "https://www.youtube.com/@handle/videos", []),
        ("https://e.org/_x_/y", "https://e.org/_x_/y", []),
        ("https://e.org/a，然后", "https://e.org/a，然后", [("text_link", "https://e.org/a")]),
        ("install @types/node", "install @types/node", [("code", "@types/node")]),
        ("<https://e.org/@ann|@ann>", "@\u2060ann", [("text_link", "@\u2060ann")]),
        ("[docs][1]\n\n[1]: https://e.org", "docs", [("text_link", "docs")]),
        ("👍 **fat** 👍", "👍 fat 👍", [("bold", "fat")]),
        ("[x]: http://a.example", "[x]: http://a.example", []),
    ],
)
def test_markdown_becomes_text_and_entities(markdown: str, text: str, pieces: list[tuple[str, str]]) -> None:
    rendered = render(markdown)
    assert rendered.text == text
    assert _pieces(rendered) == pieces


def test_offsets_count_utf16_units() -> None:
    assert render("👍👍 **b**").entities == (Entity("bold", 5, 1),)


def test_code_block_keeps_its_language_and_blank_lines() -> None:
    rendered = render("see\n\n```python\na = 1\n\nb = 2\n```\nend")
    assert rendered.text == "see\n\na = 1\n\nb = 2\n\nend"
    assert rendered.entities == (Entity("pre", 5, 12, language="python"),)


def test_table_becomes_columns_of_fixed_width() -> None:
    rendered = render("| a | long |\n|---|---|\n| xyz | **b** |")
    assert rendered.text == "a   | long\n----+-----\nxyz | b"
    assert _pieces(rendered) == [("pre", rendered.text)]


def test_web_link_becomes_a_text_link() -> None:
    assert render("[here](https://a.example/x)").entities == (Entity("text_link", 0, 4, url="https://a.example/x"),)


def test_link_that_telegram_refuses_shows_its_target() -> None:
    assert render("[here](notes/a.md)") == RenderedText("here (notes/a.md)")


def test_image_becomes_a_link_with_its_description() -> None:
    rendered = render("![a cat](https://a.example/cat.png)")
    assert (rendered.text, rendered.entities[0].kind) == ("a cat", "text_link")


def test_a_link_is_never_left_out_for_want_of_entities() -> None:
    source = " ".join(f"[b{number}](https://e.org/{number})" for number in range(MAX_ENTITIES))
    assert render(source) == RenderedText(source)
    fewer = source.rpartition(" ")[0]
    assert len(with_heading("Host", render(fewer)).entities) == MAX_ENTITIES


def test_heading_stands_bold_above_and_moves_the_rest() -> None:
    shown = with_heading("Höst 👍", render("a **b**"))
    assert shown.text == "Höst 👍\na b"
    assert _pieces(shown) == [("bold", "Höst 👍"), ("bold", "b")]


def test_lone_surrogate_does_not_stop_a_message() -> None:
    assert render("a \ud83d **b**").entities == (Entity("bold", 4, 1),)


@given(st.text(alphabet=st.sampled_from("ab *_`~[]()#>-|\n1.👍!\\<&:/"), max_size=80))
def test_entities_always_lie_within_the_text(markdown: str) -> None:
    rendered = render(markdown)
    end = measure_utf16(rendered.text)
    assert all(e.offset >= 0 and e.length > 0 and e.offset + e.length <= end for e in rendered.entities)
    assert bool(rendered.text.strip()) or not markdown.strip()

"""Pages that begin within lists: their words are words, and their code is code, to the letter."""

from __future__ import annotations

import pytest

from adapters.capabilities import measure_codepoints
from adapters.discord.codec.addresses import render as discord
from adapters.markdown.closing import close_open
from adapters.markdown.fences import Margin, margin_at
from adapters.markdown.paging import cut_pages
from adapters.markdown.reading import PARSER

CODE = "```py\nif x:\n    y = 1\n\n  z\n```"


def within(before: str, text: str) -> str:
    return "\n".join(f"{before}{line}".rstrip() if line else before.rstrip() for line in text.split("\n"))


TEXTS = {
    "entries": "- a\n  - b\n" + "".join(f"    - entry {n} of *many*\n" for n in range(40)) + "- end\n    - after",
    "wide entries": "1. a\n    - b\n" + "".join(f"        - entry {n}\n" for n in range(40)) + "\nend\n\n    code: x",
    "paragraphs": "1. a\n   1. b\n\n" + "".join(f"      words {n} and more\n\n" for n in range(30)) + "2. z",
    "code": "- a\n  - b\n    - c\n\n" + "\n".join(within("      ", CODE) for _ in range(9)) + "\n- end",
    "long code": "- a\n  - b\n    ```py\n" + "".join(f"    if x{n}:\n      y\n" for n in range(40)) + "    ```\n  - c",
    "quoted code": "> - a\n>   - b\n" + "\n".join(within(">     ", CODE) for _ in range(9)) + "\n\nend",
    "quoted entries": "> - a\n>   - b\n" + "".join(f">     - entry {n}\n" for n in range(40)) + "\nend",
    "tables": "- a\n  - b\n\n" + "    | a | b |\n    |---|---|\n" + "".join(f"    | {n} | x |\n" for n in range(30)),
}


def read(text: str) -> tuple[str, list[str]]:
    """The words of a text, and its lines of code."""
    words, code = "", ""
    for token in PARSER.parse(text):
        if token.type == "inline":
            words += token.content.replace("*", "")
        elif token.type in ("fence", "code_block"):
            code += token.content
    return "".join(words.split()), [line for line in code.split("\n") if line.strip()]


@pytest.mark.parametrize("limit", [*range(61, 200, 7), 300, 444])
@pytest.mark.parametrize("name", TEXTS)
def test_what_stands_in_a_list_is_the_same_on_all_pages(name: str, limit: int) -> None:
    text = TEXTS[name]
    cuts = cut_pages(text, limit, measure_codepoints)
    shown = [read(cut.text) for cut in cuts]
    words, code = read(text)
    assert len(cuts) > 1
    assert all(len(cut.text) <= limit for cut in cuts)
    if name != "tables":  # whose heads are said again
        assert "".join(words for words, _ in shown) == words
    lines = [line for _, code in shown for line in code]
    if limit >= 90:
        assert lines == code
    assert "".join("".join(lines).split()) == "".join("".join(code).split())


NUMBERED = ["1) {w}\n2) two\n3) three", "> 1) {w}\n> 2) two\n> 3) three", "1) {w}\n2) two\n   - x\n3) three"]


@pytest.mark.parametrize("text", [one.format(w="one two " * 9 + lines) for one in NUMBERED for lines in ("end", "")])
def test_below_the_words_of_an_entry_the_numbers_look_as_in_a_list(text: str) -> None:
    def shown(page: str) -> str:
        return "".join(discord(page).replace("> ", "").translate(dict.fromkeys(b"-\\")).split())

    for limit in range(40, len(text)):
        pages = [cut.text for cut in cut_pages(text, limit, measure_codepoints)]
        assert "".join(map(shown, pages)) == shown(text), pages


def test_code_below_the_words_of_an_entry_keeps_its_numbers() -> None:
    text = f"1) {'word ' * 12}\n   ```\n   2) code\n   ```\n2) two"
    cuts = cut_pages(text, 60, measure_codepoints)
    assert [line for cut in cuts for line in read(cut.text)[1]] == ["2) code"]


def test_code_that_stands_in_no_list_has_no_margin() -> None:
    text = "- a\n\nwords\n\n    code\n    more"
    assert margin_at(text, text.index("    more"), None) == Margin()


def test_the_rest_of_a_line_of_a_quotation_stays_in_it() -> None:
    cuts = cut_pages("> " + "word " * 30 + "\n> end", 100, measure_codepoints)
    assert [cut.text[:6] for cut in cuts] == ["> word"] * 2


@pytest.mark.parametrize("name", TEXTS)
def test_a_place_on_a_page_is_found_in_the_whole_text(name: str) -> None:
    text = TEXTS[name]
    for cut in cut_pages(text, 150, measure_codepoints):
        for shown in range(cut.head, len(cut.text)):
            end = cut.end_of(shown, text)
            before, meant = text[cut.start : end], cut.text[cut.head : shown]
            assert end <= cut.end + len(cut.text)
            if end < cut.end:
                assert "".join(before.split()) == "".join(meant.split())


@pytest.mark.parametrize("name", TEXTS)
def test_a_growing_page_keeps_what_it_shows(name: str) -> None:
    text, before = TEXTS[name], list[str]()
    for end in range(0, len(text), 5):
        cuts = cut_pages(text[:end], 150, measure_codepoints, growing=True)
        shown = [*(cut.text for cut in cuts[:-1]), *(close_open(cut.text) for cut in cuts[-1:])]
        tokens = [PARSER.parse(text) for text in shown]
        now = ["".join("".join(one.content.replace("*", "") for one in each).split()) for each in tokens]
        assert all(two.startswith(one) for one, two in zip(before, now, strict=False))
        before = now

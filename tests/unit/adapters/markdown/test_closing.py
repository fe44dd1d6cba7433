"""Markdown that is still being written."""

import random
import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.capabilities import measure_codepoints, measure_utf16
from adapters.markdown.closing import MARKS_MAX, close_open
from adapters.markdown.paging import LATE_FROM, cut_pages, split_pages
from adapters.markdown.writer import plain

PARSER = MarkdownIt("commonmark").enable(["strikethrough", "table"])
MARKS = "ab *_~`[]()!\n\\#->1.|"


def visible(text: str) -> str:
    """What a reader sees, without white space."""

    def read(tokens: list[Token]) -> str:
        return "".join(read(token.children) if token.children else token.content for token in tokens)

    return "".join(read(PARSER.parse(text)).split())


@pytest.mark.parametrize(
    ("partial", "closed"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("**bold", "**bold**"),
        ("**bold*", "**bold**"),
        ("**bold **", "**bold**"),
        ("a *b **c", "a *b **c***"),
        ("snake_case_name", "snake_case_name"),
        ("2 * 3", "2 * 3"),
        ("~~gone", "~~gone~~"),
        ("run `ls -l", "run `ls -l`"),
        ("run ``a`b", "run ``a`b``"),
        ("run `", "run"),
        ("see [the doc", "see the doc"),
        ("see [the doc](https://x.y/z", "see the doc"),
        ("see [the doc](https://x.y/z) now", "see [the doc](https://x.y/z) now"),
        ("see [**the", "see **the**"),
        ("see [the [doc", "see the"),
        ("see [the [docs] of", "see the [docs] of"),
        ('see <a href="https://e.org">the [doc', "see the"),
        ('> a\n>   - <a href="https://e.org">', "> a"),
        ("an ![alt te", "an alt te"),
        ("item\n\n-", "item"),
        ("```\na\n\nb\n```\nend", "```\na\n\nb\n```\nend"),
        ("```\na\n\n**b\n```\n**end", "```\na\n\n**b\n```\n**end**"),
        ("item\n\n- ", "item"),
        ("a\n\n- -", "a"),
        ("1", ""),
        ("1. one\n2.", "1. one"),
        ("Title\n==", "Title"),
        ("## ", ""),
        ("a\\", "a"),
        ("```py", ""),
        ("```python\nx = 1", "```python\nx = 1\n```"),
        ("```python\nx = 1\n``", "```python\nx = 1\n```"),
        ("```python\nx = **1\n```\nso **y", "```python\nx = **1\n```\nso **y**"),
        ("~~~\n```\n", "~~~\n```\n~~~"),
        ("```python\n", ""),
        ("so **fat\n```python\n``", "so **fat**"),
        ("> so\n> ```py\n> ", "> so"),
        ("- a\n  ```\n  x", "- a\n  ```\n  x\n  ```"),
        ("> ```p", ""),
        ("> ```py\n> x", "> ```py\n> x\n> ```"),
        ("> ```py\n> x\n> ``", "> ```py\n> x\n> ```"),
        ("> ```py\n> x\n\nout **of", "> ```py\n> x\n\nout **of**"),
        ("- ```py\n  x", "- ```py\n  x\n  ```"),
        ("````md\n```\nx", "````md\n```\nx\n````"),
        ("look: !", "look:"),
        ("see https://e.org/a_b**c", "see https://e.org/a_b**c**"),
        ("see https://e.org/_a", "see https://e.org/_a"),
        ("$a*b$ and **c", "$a*b$ and **c**"),
        ("\\(a*b\\) is", "\\(a*b\\) is"),
        ("so **\\(a*b", "so"),
        ("so **fat** \\[x_1", "so **fat**"),
        ("so $$E=m", "so"),
        ("so \\begin{align}a*b", "so"),
        ("so <!-- not for", "so"),
        ("so H<sub>2", "so H2"),
        ("so $u_1*", "so"),
        (
            "from $HOME and from there always on into the next folder",
            "from $HOME and from there always on into the next folder",
        ),
        ("it costs $5 and *more", "it costs $5 and *more*"),
        ("2*3", "2*3"),
        ("**注意：**请", "**注意：**请"),
        ("请重启。**「強調", "请重启。**「強調**"),
        ("see <https://e.org|a lab", "see"),
        ("a <b>fat", "a fat"),
        ("a\n\n## <https://e.org|a lab", "a"),
        ('so <a href="https://e.o', "so"),
        ('so <a href="https://e.org">the', "so the"),
        ("a <b>fat</b> x", "a <b>fat</b> x"),
        ("**<", ""),
        ("_*[*a* `x", ""),
        ("**a " * 40, "**a " * 39 + "**a"),
        ("| a | b |", ""),
        ("| a | b |\n|---", ""),
        ("| a | b |\n|---|---|\n", ""),
        ("| a | b |\n|---|---|\n| 1 | 2", ""),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("| a | b |\n|---|---|\n\nend", "| a | b |\n|---|---|\n\nend"),
        ("| a\n| b\n", "| a\n| b"),
        ("> | a | b |", ""),
        ("> said\n>\n> | a | b |\n> |---|---|\n> | 1 | 2", "> said"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2 |"),
    ],
)
def test_what_is_open_is_closed_and_what_is_uncertain_is_held_back(partial: str, closed: str) -> None:
    assert close_open(partial) == closed


WORDS = st.text("abcdefgh", min_size=1, max_size=5)
SPANS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        inner.map(lambda text: f"**{text}**"),
        WORDS.map(lambda text: f"`{text} x`"),
        WORDS.map(lambda text: f"*{text}*"),
        WORDS.map(lambda text: f"~~{text}~~"),
        WORDS.map(lambda text: f"[{text}](https://x.y/{text})"),
    ),
    max_leaves=3,
)
LINES = st.lists(SPANS, min_size=1, max_size=6).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    LINES.map(lambda text: f"## {text}"),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(f"{n}. {x}" for n, x in enumerate(lines, 1))),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda lines: "```python\n" + "\n".join(lines) + "\n```"),
    WORDS.map(lambda text: f"| {text} | b |\n|---|---|\n| 1 | {text} |"),
)
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join)


@given(DOCUMENTS)
def test_a_prefix_shows_a_prefix_of_what_the_whole_shows(document: str) -> None:
    whole = visible(document)
    for end in range(len(document) + 1):
        shown = visible(close_open(document[:end]))
        assert whole.startswith(shown), (document[:end], shown)


@given(st.text(MARKS, max_size=60))
def test_nothing_stays_open_behind_any_text(text: str) -> None:
    followed = PARSER.parse(close_open(text) + "\n\nzzz")
    assert [token.content for token in followed if "zzz" in token.content] == ["zzz"]


@given(st.text("ab,. \n\u00e9\U0001f600", max_size=400), st.integers(20, 80))
def test_pages_join_to_the_text_and_keep_the_limit(text: str, limit: int) -> None:
    pages = split_pages(text, limit, measure_utf16)
    assert "".join("".join(pages).split()) == "".join(text.split())
    assert all(measure_utf16(page) <= limit for page in pages)


@given(DOCUMENTS, st.integers(30, 120))
def test_finished_pages_stay_as_they_are_when_the_text_grows(document: str, limit: int) -> None:
    whole = split_pages(document, limit, measure_codepoints)
    for end in range(0, len(document), 7):
        pages = split_pages(document[:end], limit, measure_codepoints)
        assert pages[:-1] == whole[: max(0, len(pages) - 1)]


@given(st.lists(WORDS, min_size=1, max_size=120).map(" ".join), st.integers(40, 80))
def test_words_survive_paging_and_fit(text: str, limit: int) -> None:
    pages = split_pages(text, limit, measure_utf16)
    assert " ".join(pages).split() == text.split()
    assert all(measure_utf16(page) <= limit for page in pages)


def long_document(chance: random.Random) -> str:
    def words(most: int) -> str:
        return " ".join("x" * chance.randint(1, 6) for _ in range(chance.randint(1, most)))

    def line() -> str:
        return ". ".join(f"{words(4)} **{words(3)}** `{words(2)}` [{words(2)}](https://x.y/z)" for _ in range(2)) + "."

    def rows() -> str:
        return "| a | b |\n|---|---|\n" + "\n".join(f"| {words(2)} | {words(2)} |" for _ in range(4))

    def title() -> str:
        return f"## {words(4)}"

    def code() -> str:
        return "```python\n" + "\n".join(words(5) for _ in range(chance.randint(1, 6))) + "\n```"

    return "\n\n".join(chance.choice([line, rows, code, title])() for _ in range(20))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_shown_of_a_page_that_grows_stands_in_it_to_the_end(seed: int) -> None:
    chance = random.Random(seed)
    document, limit = long_document(chance), chance.randint(200, 600)
    whole = cut_pages(document, limit, measure_codepoints)
    assert len(whole) > 2
    for end in [end for cut in whole for end in range(cut.end - 20, cut.end + 10) if 0 <= end < len(document)]:
        for part, last in zip(cut_pages(document[:end], limit, measure_codepoints, growing=True), whole, strict=False):
            assert part.start == last.start
            torn = re.split(r"[ \n]", document[: part.end])[-1] + re.split(r"[ \n]", document[part.end :])[0]
            link_moves = document[last.end : last.end + 1] == "["  # of which nothing is shown before it is whole
            assert part.end <= last.end or link_moves or len(torn) > (1 - LATE_FROM) * limit


@given(LINES.flatmap(lambda line: st.tuples(st.just(line), st.integers(0, 40))))
def test_one_page_holds_whatever_fits_in_it(given_text: tuple[str, int]) -> None:
    text, spare = given_text
    assert split_pages(text, len(text) + spare, measure_codepoints) == [text]


@settings(max_examples=50)
@given(st.lists(BLOCKS, min_size=1, max_size=30).map("\n\n".join), st.integers(200, 500))
def test_no_page_but_the_last_is_under_a_third_of_another(document: str, limit: int) -> None:
    pages = [len(document[cut.start : cut.end]) + cut.head for cut in cut_pages(document, limit, measure_codepoints)]
    assert all(3 * one >= max(pages) for one in pages[:-1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x" * 964 + ". and\nso\n\n", "on. It goes"),
        ("x" * 964 + ". and\n", "so it goes on. And"),
        ("x" * 964 + " and so on. ", "It goes " + "y" * 40),
        ("x" * 900 + ". y " + "z" * 78 + " ", "and_so_on_and_on_it_goes"),
        ("x" * 800 + "\n| " + "y" * 100 + " |\n", "| " + "z" * 120 + " |"),
        ("x" * 800 + "\n\n" + "y" * 100 + "\n", "# " + "z" * 120),
    ],
    ids=["paragraph", "line", "sentence", "word", "row", "title"],
)
def test_a_page_ends_late_at_a_paragraph_else_a_line_else_a_sentence_else_a_word(before: str, after: str) -> None:
    pages = split_pages(before + after + " w" * 100, 1000, measure_codepoints)
    assert pages[0] == before.rstrip()
    assert pages[1].startswith(after)


def test_a_code_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = "\n".join(f"line{number:02d}" for number in range(20))
    pages = split_pages(f"```python\n{code}\n```", 100, measure_codepoints)
    assert len(pages) > 1
    assert all(page.startswith("```python\n") and page.endswith("\n```") for page in pages)
    assert all(len(page) <= 100 for page in pages)
    assert "\n".join(page.removeprefix("```python\n").removesuffix("\n```") for page in pages) == code


def test_no_page_has_but_the_end_of_a_fence() -> None:
    text = "```python\n" + "x = 1\n" * 15 + "```"
    assert [cut_pages(text, limit, measure_codepoints)[-1].text.count("x") > 0 for limit in range(90, 106)] == [
        True
    ] * 16
    assert cut_pages(text, 104, measure_codepoints)[-1].end == len(text)


def test_a_table_that_goes_on_has_its_head_on_every_page() -> None:
    head, rows = "| Name | Value |\n|:---|---|", [f"| name{number:02d} | {number} |" for number in range(40)]
    text = "\n".join(["Some words.", "", head, *rows, "", "| no table |", "The end."])
    pages = split_pages(text, 200, measure_codepoints)
    assert len(pages) > 3
    assert all(len(page) <= 200 for page in pages)
    assert all(page.startswith(f"{head}\n| name") for page in pages[1:] if "| name" in page)
    assert [line for page in pages for line in page.split("\n") if line.startswith("| name")] == rows
    for page in pages:
        cells = [token.content for token in PARSER.parse(page) if token.type == "inline"]
        assert not any(cell.startswith("| name") for cell in cells)


@pytest.mark.parametrize(
    "text", ["```\n" + "| a | b |\n" * 40 + "```", "| a | b |\n" * 40, "| " + "x" * 60 + " |\n|--|\n" + "| y |\n" * 40]
)
def test_bars_that_are_no_table_and_long_heads_are_not_said_again(text: str) -> None:
    pages = split_pages(text, 100, measure_codepoints)
    assert len(pages) > 2
    assert sum(page.count("|") for page in pages) == text.count("|")


@pytest.mark.parametrize(
    ("before", "inside", "again"),
    [("> ", "> ", "> "), ("- ", "  ", ""), ("~~~", "", "")],
    ids=["quote", "list", "plain"],
)
def test_a_fence_inside_something_is_closed_and_opened_there(before: str, inside: str, again: str) -> None:
    marks = "~~~" if before == "~~~" else "```"
    opener = f"{before.removesuffix(marks)}{marks}py title"
    code = [f"{inside}line{number:02d}" for number in range(20)]
    pages = split_pages("\n".join([opener, *code, f"{inside}{marks}"]), 100, measure_codepoints)
    assert len(pages) > 1
    assert all(page.startswith(f"{again}{marks}py title\n") for page in pages[1:])
    assert pages[0].endswith(f"\n{inside}{marks}")
    assert all(page.endswith(f"\n{again}{marks}") for page in pages[1:])
    lines = [line for page in pages for line in page.split("\n") if "line" in line]
    first = pages[0].count("line")
    assert lines == [*code[:first], *(line.removeprefix(inside.removeprefix(again)) for line in code[first:])]


def test_an_answer_of_fifty_kilobytes_is_split_within_the_limit_and_whole() -> None:
    block = "## A title\n\nWords with **bold** and `code`.\n\n```python title\nx = 1\n" + "y = 2\n" * 30 + "```\n\n"
    text = (block + "- \u05e9\u05dc\u05d5\u05dd \u200b\U0001f600\n\n") * 160
    pages = split_pages(text, 1900, measure_utf16)
    assert len(text) > 40_000
    assert all(measure_utf16(page) <= 1900 for page in pages)
    for page in pages:
        assert [token.content for token in PARSER.parse(page + "\n\nzzz") if "zzz" in token.content] == ["zzz"]
    for word in ("x = 1", "y = 2", "bold", "\U0001f600"):
        assert sum(page.count(word) for page in pages) == text.count(word)


@pytest.mark.parametrize(
    "hostile", ["**a ", "`a``b", "_a_", "[a", "](person:", "> ", "~~~\n", "\u202e\u200b\U0001f600"]
)
def test_hostile_text_of_fifty_kilobytes_keeps_the_limit(hostile: str) -> None:
    pages = split_pages(hostile * (50_000 // len(hostile)), 1900, measure_utf16)
    assert all(measure_utf16(page) <= 1900 + MARKS_MAX for page in pages)


def test_a_surrogate_pair_and_a_joined_character_are_not_torn() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    pages = split_pages(family * 10, 20, measure_utf16)
    assert "".join(pages) == family * 10
    assert all(page.replace(family, "") == "" and measure_utf16(page) <= 20 for page in pages)


def test_emphasis_goes_on_on_the_next_page_and_a_link_stays_whole() -> None:
    text = "so **it is said with *words* and code** then"
    assert split_pages(text, 24, measure_codepoints) == ["so **it is said with**", "***words* and code**", "then"]
    assert split_pages(text, 20, measure_codepoints)[1:] == ["***words* and code**", " then"]
    assert split_pages("see what is [in the docs](https://e.org/a) now", 44, measure_codepoints)[0].endswith("/a)")
    assert split_pages("what it is, see [the docs](https://e.org/a)", 22, measure_codepoints)[0] == "what it is, see"


@given(
    st.lists(
        st.sampled_from(
            ["\U0001f1e9\U0001f1ea", "1\ufe0f\u20e3", "\u0915\u094d\u0937\u093f", "a\u0301", "x", "\u540d"]
        ),
        max_size=99,
    ),
    st.integers(12, 40),
)
def test_pages_end_between_what_people_count_as_characters(clusters: list[str], limit: int) -> None:
    text = "".join(clusters)
    pages = split_pages(text, limit, measure_codepoints)
    assert [cluster for page in pages for cluster in regex.findall(r"\X", page)] == regex.findall(r"\X", text)


def test_pages_have_as_many_pieces_of_formatting_as_a_message_takes() -> None:
    lines = [f"- **item {number}** [l](https://e.org/{number})" for number in range(300)]
    cuts = cut_pages("\n".join(lines), 3900, measure_utf16, max_pieces=99)
    assert [line for cut in cuts for line in cut.text.split("\n")] == lines
    assert all(cut.text.count("**") / 2 + cut.text.count("](") <= 99 for cut in cuts)
    assert len(cuts) == 7
    code = "```python\n" + "self._x = [*a_, **b_]\n" * 150 + "```"
    assert len(cut_pages(code, 3900, measure_utf16, max_pieces=99)) == 1


@given(DOCUMENTS.filter(lambda text: "****" not in text), st.integers(4, 30))
def test_pages_that_are_full_of_formatting_keep_every_word(document: str, most: int) -> None:
    cuts = cut_pages(document, 4000, measure_codepoints, max_pieces=most)
    assert "".join(document[cut.start : cut.end] for cut in cuts).split() == document.split()
    for end in range(0, len(document), 9):
        finished = cut_pages(document[:end], 4000, measure_codepoints, growing=True, max_pieces=most)[:-1]
        assert [cut.text for cut in finished] == [cut.text for cut in cuts[: len(finished)]]


def test_plain_text_shows_the_words_without_the_marks() -> None:
    assert plain("# Title\n\n**bold** and `code_x` [doc](https://x.y)") == (
        "Title\n\nbold and code\\_x doc (https://x.y)"
    )


@given(st.text(MARKS, max_size=60))
def test_plain_text_has_no_formatting(text: str) -> None:
    kinds = {token.type for line in PARSER.parse(plain(text)) for token in line.children or [line]}
    assert kinds <= {
        "text",
        "softbreak",
        "hardbreak",
        "paragraph_open",
        "paragraph_close",
        "text_special",
        "code_block",
    }

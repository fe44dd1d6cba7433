"""Pages within lists, tables, links and HTML: what they never end within, while they grow as well."""

import random

import pytest

from adapters.capabilities import measure_codepoints
from adapters.discord.codec.addresses import render as discord
from adapters.markdown.closing import close_open
from adapters.markdown.fences import Margin, margin_at
from adapters.markdown.html_blocks import html_as_markdown
from adapters.markdown.paging import cut_pages, split_pages
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


LONG = "https://e.org/" + "a" * 200
FORMS = [f"[the docs]({LONG})", f"<{LONG}|the docs>", f'<a href="{LONG}">the docs</a>', LONG, f"<{LONG}>"]
HEAD = "| a | b |\n|---|---|\n"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", [30, 150, 290])
def test_a_link_longer_than_a_quarter_of_a_page_goes_to_the_next_one_whole(form: str, before: int) -> None:
    text = f"{'w ' * (before // 2)}{form} end. {'w ' * 200}"
    pages = split_pages(text, 300, len)
    assert sum(form in page for page in pages) == 1
    assert all(len(page) <= 300 for page in pages)
    assert "".join("".join(pages).split()) == "".join(text.split())


SHORT = "https://e.org/a_(b)"
LINKS = [
    *(f"[the docs]({SHORT})", f"![the docs]({SHORT})", f"[the docs](<{SHORT}>)", f'[the docs]({SHORT} "the title")'),
    *(f"<{SHORT}|the docs>", f"<{SHORT}>", f'<a href="{SHORT}">the docs</a>', f"**[the docs]({SHORT})**"),
    *(f"[{SHORT}]({SHORT})", f"_{SHORT}_", f"`{SHORT}`", SHORT, "https://e.org/a_[b]"),
]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("after", ["", "，", "。然后重启服务器", "[^1]", ".", "**fat**", "\\"])
def test_wherever_a_page_ends_behind_a_link_it_does_not_end_within(link: str, after: str) -> None:
    text = f"{'words ' * 15}{link}{after} {'more ' * 12}"
    begins, ends = text.index(link), text.index(link) + len(link)
    for limit in range(len(link) + 20, len(text)):
        for cut in cut_pages(text, limit, len):
            marks = len(link) - len(link.rstrip("*_`"))
            assert not begins < cut.end < ends - marks, (limit, cut.text)
            assert cut.text.rstrip()[-1:] not in "*_" or link in cut.text or "fat**" in cut.text


def test_words_without_spaces_behind_an_address_fill_the_page() -> None:
    first, *_ = split_pages(f"(https://e.org/a)，{'请重启' * 200}", 300, len)
    assert len(first) > 250


@pytest.mark.parametrize("text", ["_" * 3000, "a " + "*" * 3000 + " b", "https://e.org/" + "~" * 3000])
def test_signs_that_fill_more_than_a_page_are_cut_as_words(text: str) -> None:
    pages = split_pages(text, 1000, len)
    assert len(pages) <= 5
    assert "".join(pages).count(text[-9]) >= 3000


def test_a_sign_written_as_such_before_a_link_stays_so() -> None:
    text = f"{'words ' * 15}\\*[the docs]({SHORT}) {'more ' * 12}"
    assert not [page for limit in range(60, 140) for page in split_pages(text, limit, len) if page.endswith("\\")]


def test_a_link_longer_than_a_page_is_cut_as_its_text() -> None:
    text = f"see [x](https://e.org/{'a' * 500}) end"
    pages = split_pages(text, 300, len)
    assert "".join("".join(pages).split()) == "".join(text.split())
    assert all(len(page) <= 300 for page in pages)


def test_a_bracket_that_is_no_link_does_not_end_a_page() -> None:
    text = f"{'w ' * 20}[{'w ' * 400}"
    assert len(split_pages(text, 500, len)) == 2


@pytest.mark.parametrize("quoted", ["", "> "])
def test_a_row_goes_to_the_next_page_whole_with_the_head_above_it(quoted: str) -> None:
    rows = [f"| {name * 90} | {name} |\n" for name in "xyz"]
    text = "".join(quoted + line for line in (HEAD + "".join(rows)).splitlines(keepends=True))
    first, second, *_ = split_pages(f"{'w ' * 60}\n\n{text}", 300, len)
    assert first.count("|---|---|") == second.count("|---|---|") == 1
    assert rows[0].rstrip("\n") in first
    assert second.startswith(f"{quoted}| a | b |\n{quoted}|---|---|\n{quoted}{rows[1]}")


@pytest.mark.parametrize("room", [290, 270, 266])
@pytest.mark.parametrize("quoted", ["", "> "])
def test_a_page_does_not_end_with_the_head_of_a_table_or_a_part_of_it(room: int, quoted: str) -> None:
    table = "".join(quoted + line for line in f"{HEAD}| {'x' * 40} | y |\n".splitlines(keepends=True))
    first, second = split_pages(f"{'w ' * 125}\n\n{table}", room, len)
    assert "|" not in first
    assert second.rstrip("\n") == table.rstrip("\n")


HTML = [
    (
        "<details>\n<summary>More</summary>\n\nin\n\n</details>\n\nthe <details> tag",
        "<b>More</b>\n\n\nin\n\n\nthe <details> tag",
    ),
    (
        "<h3>T</h3>\n<p align='left'>one **two**</p>\n<div>\n    <p>three\n    four</p>\n</div>",
        "### T\n\none **two**\n\nthree\nfour\n",
    ),
    (
        "<ul>\n  <li>a\n    <ol>\n      <li>b</li>\n    </ol>\n  </li>\n  <li><p>c</p></li>\n</ul>\nend",
        "- a\n  1. b\n- c\n\nend",
    ),
    ("<ol><li>a</li><li>b</li></ol><hr><blockquote>c</blockquote>", "1. a\n2. b\n\n---\n\n> c\n"),
    ("<ul>\n<li>a\n\nthe <p> tag\n```\n<p>\n```\n`<li>`", "- a\n\nthe <p> tag\n```\n<p>\n```\n`<li>`"),
    ("<li>a</li>\n<li>b <kbd>C</kbd></li>\n</ul>\n", "- a\n- b <kbd>C</kbd>\n\n"),
    ("<ul>words<li>a</li>between<li>b</li></ul>", "  words\n- a\n  between\n- b\n"),
    ("Before: <ul><li>a</li></ul>\nbehind", "Before: \n\n- a\n\nbehind"),
    ("<ol start='9'><li>a</li><li>b<ul><li>c</li></ul></li></ol>", "9. a\n10. b\n    - c\n"),
    (
        '<pre><code class="language-python">if a &lt; b:\n    x *= 1\n\ny</code></pre>\nend',
        "```python\nif a < b:\n    x *= 1\n\ny\n```\nend",
    ),
    ("<pre>\n<p>\n</pre>", "```\n<p>\n```"),
    ("<pre>```\n</pre>", "````\n```\n````"),
    ("<code>a\n\n  b\n</code>", "```\na\n\n  b\n```"),
    ("so <code>a*b</code>\n<code>c d</code> <p>e</p>", "so <code>a*b</code>\n<code>c d</code> \n\ne\n"),
    (
        "<ol><li>first <pre>x\n\ny</pre></li><li><pre>z</pre></ol>",
        "1. first \n   ```\n   x\n   \n   y\n   ```\n2. ```\n   z\n   ```\n",
    ),
    ("<blockquote>hi<pre>a\nb</pre></blockquote>", "> hi\n> ```\n> a\n> b\n> ```\n"),
    (
        "<details>\nclose a paragraph with </p>\nand this with </details>\n</details>",
        "close a paragraph with </p>\nand this with </details>\n",
    ),
    ("<ol><li>a</li></ol>\n<ol><li>b</li></ol>\n\n1) c\n2) d", "1. a\n\n1) b\n\n\n1. c\n2) d"),
    ("1. a\n   b\n\n<ol><li>c</li><li>d</li></ol>", "1. a\n   b\n\n1) c\n2) d\n"),
    ("<ol><li>a</li></ol>\nb\n\n1. c", "1. a\n\nb\n\n1. c"),
    ("it closes with </details>\nend", "it closes with </details>\nend"),
    ("<li>write <p> and </p> here</li>", "- write <p> and </p> here"),
    ("<p>\na\n</p>\n\n<p>b\nc</p>", "a\n\n\nb\nc\n"),
    ("<pre> is a tag\nand <code> too", "<pre> is a tag\nand <code> too"),
    ("<code> is for code.\n\n*So* it is.", "<code> is for code.\n\n*So* it is."),
    ("<pre>, <code> and <kbd>: tags\nin words", "<pre>, <code> and <kbd>: tags\nin words"),
    ("<pre>  /\\_/\\\n ( o )\n</pre>\nx", "```\n  /\\_/\\\n ( o )\n```\nx"),
    ("<pre> one </pre> two\n<pre> is", "```\n one \n```\n two\n<pre> is"),
    (
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><a href='https://e.org'>x|y</a></td></tr></table>",
        "| a | b |\n| --- | --- |\n| 1 | <a href='https://e.org'>x\\|y</a> |\n",
    ),
    (
        "So: <table border=1>\n  <caption>Prices</caption>\n  <thead>\n    <tr>\n      <th>City</th>\n      "
        "<th>Cost</th>\n"
        "    </tr>\n  </thead>\n  <tbody>\n    <tr>\n      <td>\n        Rome\n      </td>\n      "
        "<td><code class='x'>a|b</code></td>"
        "\n    </tr><!-- more -->\n    <tr><td colspan=2>all</td></tr>\n  </tbody>\n</table>\nend",
        "So: \n\nPrices\n\n| City | Cost |\n| --- | --- |\n| Rome | <code>a\\|b</code> |\n| all |  |\n\nend",
    ),
    (
        "<table><tr><td>k<td>v<td></tr><tr><td>1<td>2<td>3<td>4</table> and so",
        "|  |  |  |\n| --- | --- | --- |\n| k | v |  |\n| 1 | 2 | 3 4 |\n\n and so",
    ),
    ("<table> is a tag\nuse <table>\nand </table>", "<table> is a tag\nuse <table>\nand </table>"),
    (
        "<ul><li>x<table><tr><th>a</th></tr><tr><td><p>1</p><ul><li>q</li></ul><pre><code>f\n  g</code></pre></td></tr>"
        "</table></li><li>y</li></ul>",
        "- x\n\n  | a |\n  | --- |\n  | 1<br>• q<br><code>f</code><br><code>  g</code> |\n\n- y\n",
    ),
    ("<table><tr><th>a</th></tr><tr><td>1</td></tr>\n\nMore\n\n## H", "| a |\n| --- |\n| 1 |\n\nMore\n\n## H"),
    (
        "<table><tr><th>a</th></tr><tr><td><table><tr><td>i</td><td>j</td></tr></table>k</td></tr></table>",
        "| a |\n| --- |\n| i<br>j<br>k |\n",
    ),
    ("<div>\n<table>\n<tr><th>a</th></tr>\n</table>\n</div>\nend", "| a |\n| --- |\n\nend"),
    ("`<table>`\n```\n<table><tr><td>\n```", "`<table>`\n```\n<table><tr><td>\n```"),
    ("1. see\n   <table>\n   <tr><th>a</th></tr></table>\n2. b", "1. see\n\n   | a |\n   | --- |\n\n2. b"),
]
CUT_OFF = [
    ("Here:\n\n<pre>\na\n  <p>\nc", "Here:\n\n```\na\n  <p>\nc"),
    ("<pre><code class='language-c'>\na &lt; b</code>\nc", "```c\na < b\nc"),
    ("<ul><li>a <pre> keeps\n</li><li>b <pre>\ncode", "- a <pre> keeps\n- b \n  ```\n  code"),
    ("<blockquote><pre>\na", "> ```\n> a"),
    ("<code>x\ny", "```\nx\ny"),
]
"""Code that has no end, behind which everything is code."""
WHOLE = [html for html, _ in HTML if "<pre>```" not in html]
"""Without a fence in code, which makes the fence around it longer."""


@pytest.mark.parametrize(("html", "markdown"), HTML + CUT_OFF)
def test_html_is_the_markdown_that_it_means(html: str, markdown: str) -> None:
    assert html_as_markdown(html) == markdown


@pytest.mark.parametrize("html", [html for html, _ in HTML + CUT_OFF])
def test_what_is_markdown_stays_so(html: str) -> None:
    once = html_as_markdown(html)
    assert html_as_markdown(once) == once


@pytest.mark.parametrize("seed", range(60))
def test_what_grows_is_only_added_to(seed: int) -> None:
    text = "\n\n".join(random.Random(seed).sample(WHOLE, 4))
    whole = html_as_markdown(text)
    for end in range(len(text)):
        shown = html_as_markdown(text[:end], growing=True).rstrip()
        assert whole.startswith(shown), text[:end]


@pytest.mark.parametrize("html", WHOLE + [html for html, _ in CUT_OFF])
def test_a_text_cut_off_anywhere_is_what_its_beginnings_were_shown_as(html: str) -> None:
    shown = [html_as_markdown(html[:end], growing=True).rstrip() for end in range(len(html) + 1)]
    for end in range(len(html) + 1):
        whole = html_as_markdown(html[:end])
        assert [part for part in shown[: end + 1] if not whole.startswith(part)] == [], html[:end]

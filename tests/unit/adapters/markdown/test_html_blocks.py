"""HTML that models write is Markdown before anything reads it, whole and while it grows."""

from __future__ import annotations

import random

import pytest

from adapters.markdown.html_blocks import html_as_markdown

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

"""Markdown as models write it: CommonMark, GitHub's tables and strike-through, and what else stands in their texts.

An address, a formula and a package's name (`@types/node`) are one token before any mark is read. Links in a platform's
own form (`<https://e.org|label>`) are links, and the simplest tags of HTML are what they mean. A text with too many
marks is not formatted: some take more than proportional time to read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import regex
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, reference, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from adapters.markdown.flanking import flanks

FORMULA = regex.compile(
    r"\$\$(?:(?!\$\$)[\s\S]){1,2000}+\$\$"
    r"|(?<![\p{L}\p{N}\\$])\$(?P<tex>(?![\s$])(?:\\.|[^\\$\n]){1,2000}+(?<!\s))\$(?![\p{L}\p{N}])"
    r"|\\\((?:\\[^()\n]|[^\\\n]){1,2000}+\\\)|\\\[(?:\\[^\[\]]|[^\\]){1,2000}+\\\]"
    r"|\\begin\{(?P<env>[a-z]+\*?)\}(?:(?!\\(?:begin|end)\{)[\s\S]){1,2000}+\\end\{(?P=env)\}"
)
"""TeX between its signs, as the page of the web chat reads it; `tex` has to look like a formula as well."""
_LIKE_A_FORMULA = regex.compile(r"[\\^_=<>+*/|{}]|^-?\d+(?:[.,]\d+)?%?$|^\p{L}(?:'+|\([^()]*\))?$|^-\p{L}$")
PACKAGE = re.compile(r"(?<![\w@/.])@[a-z0-9][\w.-]*/[a-z0-9](?:[\w.-]*[\w-])?(?:/[\w.-]*[\w-])*", re.ASCII)
"""The name of a package in a scope. Without marks of code, platforms take its scope for a person."""
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])https?\Z", re.IGNORECASE)
_LABELLED = re.compile(r"<((?:https?://|mailto:|tel:)[^\s<>|]+)\|([^<>\n]+)>")
_TASK = re.compile(r"\[([ xX])\](?=[ ]|\Z)")
BOXES = "☐☑"
"""What an entry of a list of tasks begins with: to be done, and done."""
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)+)\]:")
_BREAK = re.compile(r"<br[ \t]*/?>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--(?:(?!-->|<!--)[\s\S]){0,2000}-->")
TAG = re.compile(
    r"<(b|strong|summary|i|em|u|ins|mark|s|del|strike|sub|sup|code|kbd|samp|a)"
    r"(?:[ \t]+href=(?:\"([^\"<>]*)\"|'([^'<>]*)'))?[ \t]*>",
    re.IGNORECASE,
)
_MEANING = {
    **dict.fromkeys(("b", "strong", "summary"), "strong"),
    **dict.fromkeys(("i", "em", "u", "ins", "mark"), "em"),
    **dict.fromkeys(("s", "del", "strike"), "s"),
}
_CODE = ("code", "kbd", "samp")
_RAISED = {
    "sub": str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎"),
    "sup": str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"),
}
_CLOSED = {name: re.compile(f"</{name}[ \t]*>", re.IGNORECASE) for name in (*_MEANING, *_CODE, *_RAISED, "a")}
_MATH_BEGUN = re.compile(r"\$\$|\\\[|\\begin\{")
_DELIMITERS = re.compile(r"[ \t>|:-]*-[ \t>|:-]*")
_TABLE_END = re.compile(r"\n[ \t>]*\n")
_CODE_IN_ROW = re.compile(r"(?<!`)(`+)(?!`)[^\n]{1,300}?(?<!`)\1(?!`)")
_BAR = re.compile(r"(?<!\\)\|")
_HELD_BAR = "\ue000"
DUNDER = re.compile(
    r"(?<![\w*])__[a-z]\w*?__(?=[(/]|\.\w)|(?<=[\w)\]]\.)__[a-z]\w*?__(?!\w)|(?<!\w)__(?:init|main|name|file|all|doc|dict|class|call|str|repr|len|iter|next|enter|exit|new|del|eq|hash|slots|version|future|pycache)__(?!\w)"
)
"""A name of Python's, or of a file, that is no strong text."""
CHARS_MAX = 12_500
"""The most characters that are formatted: no message holds more, longer text is cut into pages first."""
MARKS_MAX = 1_500
"""The most characters that may be marks, and lines: a page of dense code has half as many."""
BRACKETS_MAX = 250
"""The largest number of brackets: each may begin a link, whose end is searched for in all the rest."""
_NESTED_MAX = 12
"""The largest nesting of quotations and lists on one line."""
_MARK = re.compile(r"[*_~`<&\[\n]")
_NESTED = re.compile(rf"^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))){{{_NESTED_MAX + 1}}}", re.MULTILINE)

_NONE = r"\s<>()\[\]\"`|\\\p{Cc}\u200b\ufeff\u201c\u201d\u2018\u2019\u2026[[\p{EA=W}\p{EA=F}]&&\p{P}]"
_END = r"?!.,:;*_~'"
_INSIDE = rf"(?:(?:(?!\*\*|~~)[{_END}])*+[^{_NONE}{_END}])"
_INNER = rf"\((?:{_INSIDE}|[{_END}]*+\([^{_NONE}]*+\))*+[{_END}]*+\)"
_ROUND = rf"\((?:{_INSIDE}|[{_END}]*+{_INNER})*+[{_END}]*+\)"
ADDRESS = regex.compile(
    rf"(?<![A-Za-z0-9+.-])https?://(?=[\p{{L}}\p{{N}}\[])(?:{_INSIDE}|[{_END}]*+(?:{_ROUND}|\[(?!\^)[^{_NONE}]*+\])|/)*+",
    regex.V1 | regex.IGNORECASE,
)
"""A web address from scheme to end. It ends as on GitHub (its Markdown specification, extended autolinks): punctuation
at the end is none of it, brackets are if they are balanced; and before CJK punctuation, marks of strong text and
footnotes.
"""


class TooMuchMarkdown(ValueError):
    """The text has to be shown as written."""


def check_bounds(markdown: str) -> None:
    """Raise TooMuchMarkdown for a text that would take too long to format."""
    if (
        len(markdown) > CHARS_MAX
        or markdown.count("[") > BRACKETS_MAX
        or sum(1 for _ in _MARK.finditer(markdown)) > MARKS_MAX
        or _NESTED.search(markdown)
    ):
        raise TooMuchMarkdown("too much Markdown to be formatted")


class _State(StateInline):
    """Reads runs of marks by `flanks`."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - the library's names
        end = start
        while end < self.posMax and self.src[end] == self.src[start]:
            end += 1
        return Scanned(*flanks(self.src, start, end, self.posMax), end - start)


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def formula_at(text: str, at: int, until: int) -> int:
    """Where the formula ends that begins here; `at` where there is none."""
    found = FORMULA.match(text, at, until)
    if found is None or (found["tex"] is not None and not _LIKE_A_FORMULA.search(found["tex"])):
        return at
    return int(found.end())


def _formula(state: StateInline, silent: bool) -> bool:
    end = formula_at(state.src, state.pos, state.posMax) if state.src[state.pos] in "$\\" else state.pos
    if end == state.pos:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _address(state: StateInline, silent: bool) -> bool:
    """An address, when its colon is reached; in a link it is text."""
    at = state.pos
    if not state.src.startswith("://", at):
        return False
    scheme = _SCHEME.search(state.src, max(0, at - 6), at)
    found = ADDRESS.match(state.src, scheme.start(), state.posMax) if scheme else None
    if scheme is None or found is None or (not silent and not state.pending.endswith(scheme[0])):
        return False
    if not silent and state.linkLevel > 0:
        state.append_pending(found[0][len(scheme[0]) :])
    elif not silent:
        state.pending = state.pending[: -len(scheme[0])]
        _push_link(state, found[0], found[0], "linkify")
    state.pos = found.end()
    return True


def _as_it_is(state: StateInline, silent: bool, form: re.Pattern[str], begins: str, token: tuple[str, str]) -> bool:
    """Take what has the form here as one token, without looking for marks in it."""
    found = form.match(state.src, state.pos, state.posMax) if state.src[state.pos] == begins else None
    if found is None:
        return False
    if not silent:
        state.push(*token, 0).content = found[0]
    state.pos = found.end()
    return True


def _labelled(state: StateInline, silent: bool) -> bool:
    """A link with its label behind a bar, as a chat platform has it."""
    found = _LABELLED.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if found is None or not state.md.validateLink(found[1]):
        return False
    if not silent and state.linkLevel > 0:
        state.append_pending(found[2])
    elif not silent:
        _push_link(state, html.unescape(found[1]), html.unescape(found[2]), "labelled")
    state.pos = found.end()
    return True


def _push_link(state: StateInline, url: str, label: str, markup: str) -> None:
    opened = state.push("link_open", "a", 1)
    opened.attrs, opened.markup = {"href": url}, markup
    state.push("text", "", 0).content = label
    state.push("link_close", "a", -1).markup = markup


def _tag(state: StateInline, silent: bool) -> bool:
    """A line break, or a simple tag that is closed in the same block, with what stands in it."""
    if state.src[state.pos] != "<":
        return False
    if (hidden := _COMMENT.match(state.src, state.pos, state.posMax)) is not None:
        state.pos = hidden.end()
        return True
    broken = _BREAK.match(state.src, state.pos, state.posMax)
    if broken is not None:
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = broken.end()
        return True
    opened = TAG.match(state.src, state.pos, state.posMax)
    closed = _CLOSED[opened[1].casefold()].search(state.src, opened.end(), state.posMax) if opened else None
    if opened is None or closed is None:
        return False
    name, url = opened[1].casefold(), html.unescape(opened[2] or opened[3] or "")
    if (name == "a") != bool(url) or (url and not state.md.validateLink(url)):
        return False
    if not silent:
        _push_tagged(state, name, url, opened.end(), closed.start())
    state.pos = closed.end()
    return True


def _push_tagged(state: StateInline, name: str, url: str, start: int, end: int) -> None:
    inside = html.unescape(state.src[start:end])
    if name in _CODE:
        state.push("code_inline", "code", 0).content = inside
        return
    if name in _RAISED:
        raised = inside.translate(_RAISED[name])
        plain = any(one == other and not one.isspace() for one, other in zip(inside, raised, strict=True))
        state.push("text", "", 0).content = ("_" if name == "sub" else "^") + inside if plain else raised
        return
    kind = "link" if name == "a" else _MEANING[name]
    opened = state.push(f"{kind}_open", name, 1)
    opened.attrs, opened.markup = ({"href": url} if url else {}), ("labelled" if url else "*")
    until, state.pos, state.posMax = state.posMax, start, end
    state.linkLevel += bool(url)
    state.md.inline.tokenize(state)
    state.linkLevel -= bool(url)
    state.posMax = until
    state.push(f"{kind}_close", name, -1)


def _name_links(state: StateInline) -> None:
    """Give a link without words its address as such: nobody would see it."""
    tokens = list[Token]()
    for token in state.tokens:
        wordless = token.type == "link_close" and tokens[-1].type == "link_open"
        url = str(tokens[-1].attrs["href"]) if wordless else ""
        if url and not url.startswith("person:"):
            tokens[-1].markup = "autolink"
            tokens.append(Token("text", "", 0, content=url))
        tokens.append(token)
    state.tokens[:] = tokens


def _definition(state: StateBlock, line: int, until: int, silent: bool) -> bool:
    """The target of links. One that no link here uses is shown: the link may be elsewhere; so is a footnote."""
    start = state.bMarks[line] + state.tShift[line]
    found = not state.src.startswith("[^", start) and reference(state, line, until, silent)
    label = _LABEL.match(state.src, start) if found and not silent else None
    if label is not None and state.src.casefold().count(f"[{label[1].casefold()}]") == 1:
        _push_paragraph(state, line, before="\\")
    return found


def _push_paragraph(state: StateBlock, line: int, before: str = "") -> None:
    """The lines from `line` to the state's own, as a paragraph."""
    state.push("paragraph_open", "p", 1).map = [line, state.line]
    inline = state.push("inline", "", 0)
    inline.content = before + state.getLines(line, state.line, state.blkIndent, False).strip()
    inline.map, inline.children = [line, state.line], []
    state.push("paragraph_close", "p", -1)


def _table(state: StateBlock, line: int, until: int, silent: bool) -> bool:
    """A table. A bar in code is none between cells, which GitHub's rule says and models do not know."""
    row = state.src[state.bMarks[line + 1] : state.eMarks[line + 1]] if line + 1 < until else ""
    if silent or "`" not in state.src or not _DELIMITERS.fullmatch(row):
        return table(state, line, until, silent)
    begun, source = len(state.tokens), state.src
    start = state.bMarks[line]
    end = found.start() if (found := _TABLE_END.search(source, start)) else len(source)
    held = _CODE_IN_ROW.sub(lambda code: _BAR.sub(_HELD_BAR, code[0]), source[start:end])
    state.src = source[:start] + held + source[end:]
    try:
        return table(state, line, until, silent)
    finally:
        state.src = source
        for token in state.tokens[begun:]:
            token.content = token.content.replace(_HELD_BAR, "|")


def _formula_block(state: StateBlock, line: int, until: int, silent: bool) -> bool:
    start = state.bMarks[line] + state.tShift[line]
    if state.is_code_block(line) or not _MATH_BEGUN.match(state.src, start):
        return False
    end = formula_at(state.src, start, state.eMarks[until - 1])
    last = next((n for n in range(line, until) if state.eMarks[n] >= end), until)
    if end == start or last == until or state.src[end : state.eMarks[last]].strip() or "\n\n" in state.src[start:end]:
        return False
    if silent:
        return True
    state.line = last + 1
    _push_paragraph(state, line)
    return True


# Without setext headings: a line of dashes that arrives under growing text would turn the text bold for a moment.
def _made() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader = _Inline()
    reader.ruler, reader.ruler2 = made.inline.ruler, made.inline.ruler2
    made.inline = reader
    made.disable(["lheading", "html_block"])
    rules: dict[str, Callable[[StateInline, bool], bool]] = {
        "formula": _formula,
        "address": _address,
        "package": lambda state, silent: _as_it_is(state, silent, PACKAGE, "@", ("code_inline", "code")),
        "dunder": lambda state, silent: _as_it_is(state, silent, DUNDER, "_", ("text", "")),
        "labelled": _labelled,
        "tag": _tag,
    }
    for name, rule in rules.items():
        made.inline.ruler.before("escape", name, rule)
    made.inline.ruler2.push("name_links", _name_links)
    made.block.ruler.at("reference", _definition)
    made.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    made.block.ruler.before(
        "fence", "formula", _formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return made


PARSER = _made()


def parsed(markdown: str) -> list[Token]:
    """The blocks of a text. Raises TooMuchMarkdown."""
    check_bounds(markdown)
    tokens = PARSER.parse(markdown)
    for entry, inline in zip(tokens, tokens[2:], strict=False):
        task = _TASK.match(inline.content) if entry.type == "list_item_open" and inline.children else None
        if task is not None and (first := (inline.children or [entry])[0]).content.startswith(task[0]):
            first.content = BOXES[task[1] != " "] + first.content[task.end() :]
    return tokens

"""CommonMark as Discord shows it: mostly as it is. Tables become blocks of code, what Discord reads differently is
rewritten, and what would ping somebody is broken up.

Discord's own marks: `__` underlines, `||` hides, `>>>` quotes all that follows, headings end at three signs (Discord's
help centre, Markdown Text 101). Pings are also switched off by `allowed_mentions`: the text is the second lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.markdown.bounds import check_bounds
from adapters.markdown.writer import RULE, columns, table_rows

_BREAK = "\u200b"
"""Stands between @ and a name, where nobody sees it."""

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGET = re.compile(r"<?(?:https?|mailto):[^\s>]*>?")
_PERSON = re.compile(r"\[@((?:\\.|[^\[\]\\\n])*)\]\(<?person:discord:(\d+)>?\)")
_KEPT = re.compile(rf"{_PERSON.pattern}|{_LINK_TARGET.pattern}")
_STRONG = re.compile(r"(?<![\w_\\])__(?=\S)(?!_)(.+?)(?<=\S)(?<!_)__(?![\w_])", re.DOTALL)
_UNDERLINE = re.compile(r"(?<!\\)__")
_SPOILER = re.compile(r"(?<!\\)\|\|")
_IMAGE = re.compile(r"!\[([^\]]*)\]\(")
_LONG_QUOTE = re.compile(r"^([ \t]*)>>>\s?", re.MULTILINE)
_SMALL = re.compile(r"^([ \t]*)-#", re.MULTILINE)
_PINGS = (
    (re.compile(r"@(everyone|here)\b", re.IGNORECASE), rf"@{_BREAK}\1"),
    (re.compile(r"<(@[!&]?)(\d+)>"), rf"<\1{_BREAK}\2>"),
)

_CHARS_MAX = 4_000
"""Twice what a message holds."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["lheading", "html_block"])


def render(markdown: str) -> str:
    """The text in Discord's form. Never fails: text that cannot be rewritten stays as written, without pings.

    Only a link to a person, outside code, becomes a mention that can ping.
    """
    source = re.sub(r"\r\n?", "\n", markdown.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd"))
    try:
        return _rewritten(source) or as_written(source)
    except Exception:  # noqa: BLE001 - formatting must never cost a message: whatever goes wrong, show the source
        return as_written(source)


def as_written(markdown: str) -> str:
    """The text unchanged, except that people are mentioned and other pings are broken up."""
    return _PERSON.sub(r"<@\2>", quiet(markdown))


def people_in(markdown: str) -> frozenset[str]:
    """The ids of the people that the text links to."""
    return frozenset(number for _, number in _PERSON.findall(markdown))


def quiet(text: str) -> str:
    """The text without anything that would ping."""
    for pattern, replacement in _PINGS:
        text = pattern.sub(replacement, text)
    return text


def with_heading(name: str, body: str) -> str:
    """The text under a bold line with its speaker's name."""
    escaped = re.sub(r"([\\*_~`|])", r"\\\1", quiet(name))
    return f"**{escaped}**\n{body}"


def _rewritten(source: str) -> str:
    lines = source.split("\n")
    done: list[str] = []
    at = 0
    for first, after, rewrite in _pieces(_parsed(source)):
        if first < at:
            continue
        done += lines[at:first]
        done += rewrite(lines[first:after])
        at = after
    done += lines[at:]
    return "\n".join(done).rstrip()


def _parsed(source: str) -> list[Token]:
    check_bounds(source, most_chars=_CHARS_MAX)
    return _PARSER.parse(source)


_Rewrite = Callable[[list[str]], list[str]]


def _always(lines: list[str]) -> _Rewrite:
    return lambda _: lines


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[int, int, _Rewrite]]:
    """The replacements of lines, in order. Everything else stays, code above all."""
    stream = iter(tokens)
    for token in stream:
        if token.map is None:
            continue
        first, after = token.map
        match token.type:
            case "table_open":
                table = _fenced(columns(table_rows(stream)).split("\n"))
                yield first, after, _always(table)
            case "code_block":
                yield first, after, _fenced_block(token)
            case "hr":
                yield first, after, lambda _: [RULE]
            case "heading_open" if len(token.tag) == 2 and int(token.tag[1]) > 3:
                yield first, after, _bold_line
            case "inline":
                yield first, after, _inline
            case _:
                pass


def _fenced(lines: Sequence[str]) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def _fenced_block(token: Token) -> _Rewrite:
    """Indented code, which Discord does not know."""
    block = _fenced(token.content.rstrip("\n").split("\n"))
    return lambda lines: [*block, *([""] if lines and not lines[-1].strip() else [])]


def _bold_line(lines: list[str]) -> list[str]:
    text = _marks(re.sub(r"^\s*#{4,6}\s*|\s+#+\s*$", "", lines[0]))
    bare = re.sub(r"(?<!\\)\*\*", "", text)
    return [f"**{bare}**" if bare.strip() else ""]


def _inline(lines: list[str]) -> list[str]:
    return _marks("\n".join(lines)).split("\n")


def _marks(text: str) -> str:
    """Rewrite everything except spans of code."""
    parts, at = [], 0
    for span in _CODE_SPAN.finditer(text):
        parts += [_prose(text[at : span.start()]), span[0]]
        at = span.end()
    parts.append(_prose(text[at:]))
    return "".join(parts)


def _prose(text: str) -> str:
    """Rewrite everything except the targets of links, where underscores are literal."""
    kept = iter(_mention_or_target(found) for found in _KEPT.finditer(text))
    words = _KEPT.sub("\0", text)
    words = _IMAGE.sub(r"[\1](", words)
    words = _STRONG.sub(r"**\1**", words)
    words = _UNDERLINE.sub(r"\\_\\_", words)
    words = _SPOILER.sub(r"\\|\\|", words)
    words = _LONG_QUOTE.sub(r"\1> ", words)
    words = _SMALL.sub(r"\1\\-#", words)
    return re.sub("\0", lambda _: next(kept), quiet(words))


def _mention_or_target(found: re.Match[str]) -> str:
    person = _PERSON.fullmatch(found[0])
    return found[0] if person is None else f"<@{person[2]}>"

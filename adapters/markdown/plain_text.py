"""Markdown without its formatting."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.markdown.bounds import TooMuchMarkdown, check_bounds

_LITERAL = re.compile(r"([\\`*_\[\]<>~|&])")
_LITERAL_START = re.compile(r"^([ \t]*)([#+-]|\d+(?=[.)]))", re.MULTILINE)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["strikethrough", "table"])


def plain(text: str) -> str:
    """The words of `text` without formatting, as CommonMark that shows every character literally."""
    return _LITERAL_START.sub(_escape_start, _LITERAL.sub(r"\\\1", _without_marks(text)))


def _without_marks(text: str) -> str:
    try:
        check_bounds(text)
    except TooMuchMarkdown:
        return text
    pieces: list[str] = []
    for token in _parser().parse(text):
        if token.type == "inline":
            pieces.append(_plain_inline(token.children or []))
        elif token.type in {"fence", "code_block"} or token.type == "html_block":
            pieces.append(token.content.rstrip("\n"))
    return "\n\n".join(filter(None, pieces))


def _escape_start(found: re.Match[str]) -> str:
    mark = found[2]
    return f"{found[1]}\\{mark}" if not mark.isdecimal() else found[0]


def _plain_inline(tokens: list[Token]) -> str:
    targets: list[str] = []
    pieces: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            targets.append(str(token.attrGet("href") or ""))
        elif token.type == "link_close":
            target = targets.pop()
            pieces.append("" if pieces and pieces[-1] == target else f" ({target})")
        elif token.type in {"softbreak", "hardbreak"}:
            pieces.append("\n")
        else:
            pieces.append(token.content)
    return "".join(pieces)

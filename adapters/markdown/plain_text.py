"""Markdown without its formatting."""

from __future__ import annotations

import re

import regex
from markdown_it.token import Token

from adapters.markdown.reading import ADDRESS, TooMuchMarkdown, parsed

_LITERAL = regex.compile(rf"(?P<kept>{ADDRESS.pattern})|[\\`*_\[\]<>~|&$@]", ADDRESS.flags)
_LITERAL_START = re.compile(r"^([ \t]*)([#+-]|\d+(?=[.)]))", re.MULTILINE)


def plain(text: str) -> str:
    """The words of `text` without formatting, as CommonMark that shows every character literally."""
    return _LITERAL_START.sub(_escape_start, _LITERAL.sub(_escaped, _without_marks(text)))


def _without_marks(text: str) -> str:
    try:
        tokens = parsed(text)
    except TooMuchMarkdown:
        return text
    pieces: list[str] = []
    for token in tokens:
        if token.type == "inline":
            pieces.append(_plain_inline(token.children or []))
        elif token.type in {"fence", "code_block"}:
            pieces.append(token.content.rstrip("\n"))
    return "\n\n".join(filter(None, pieces))


def _escaped(found: regex.Match[str]) -> str:
    return found["kept"] or f"\\{found[0]}"


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

"""Markdown that is still being written: closed for display, or stripped to plain text. Pages: `adapters/paging.py`.

Text units: an offset or a length is in characters (code points) unless a `Measure` says otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

Measure = Callable[[str], int]

_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^`\n]*)\Z")
_BLOCK_START = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>)")
_HELD_LINE = re.compile(r"[ \t>]*(?:[-*+=_]+|\d{1,9}[.)]?|#{1,6}|`+|~+|(?:[-*+]|\d{1,9}[.)])[ \t]*[`~]*)?[ \t]*\Z")
_DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*\Z")
_TARGET = re.compile(r"\((?:[^\s()]|\([^\s()]*\))*(?:[ \t]+\"[^\"\n]*\")?\)")
_TARGET_BEGUN = re.compile(r"\((?:[^\s()]|\([^\s()]*(?:\)|\Z))*(?:[ \t]+(?:\"[^\"\n]*\"?)?)?\Z")
_LITERAL = re.compile(r"([\\`*_\[\]<>~|&])")
_LITERAL_START = re.compile(r"^(\s*)([#+-]|\d+(?=[.)]))", re.MULTILINE)


def measure_utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the basic plane count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def measure_codepoints(text: str) -> int:
    """Length in code points."""
    return len(text)


@dataclass(frozen=True, slots=True)
class OpenFence:
    """A code fence that was opened with `marks` by the line `opener`."""

    marks: str
    opener: str

    @property
    def closer(self) -> str:
        """The line that closes it."""
        indent = self.opener[: len(self.opener) - len(self.opener.lstrip())]
        return indent + self.marks


def after_line(line: str, fence: OpenFence | None) -> OpenFence | None:
    """The open fence after a complete `line`."""
    found = _FENCE.match(line)
    if fence is None:
        return OpenFence(found["marks"], line) if found else None
    closes = found is not None and found["marks"].startswith(fence.marks) and not found["info"].strip()
    return None if closes else fence


def close_open(text: str) -> str:
    """`text`, a prefix of a document, as well-formed Markdown.

    Closes fences, code, emphasis and strike-through; a half-written link is its text; what could still turn into
    something else (a lone list marker, a row of a table, trailing marks) is held back. What a prefix shows is a prefix
    of what a longer prefix shows, unless later text gives earlier marks another meaning (a star that never closes).
    """
    lines = text.split("\n")
    fence: OpenFence | None = None
    for line in lines[:-1]:
        fence = after_line(line, fence)
    if fence is None:
        return _close_block(lines)
    last = lines[-1].strip()
    if not last or set(last) == {fence.marks[0]}:
        lines.pop()
    return "\n".join([*lines, fence.closer])


def _close_block(lines: list[str]) -> str:
    """Outside a fence: hold back the last line if it may become something else, close the last block's marks."""
    if lines[-1].strip() and (_HELD_LINE.match(lines[-1]) or _FENCE.match(lines[-1])):
        lines = lines[:-1]
    head, tail = _last_block(_without_half_table(lines))
    return (head + _Inline(tail).closed()).rstrip()


def close_marks(text: str) -> str:
    """`text`, which ends inside a block and is never continued, with the block's marks closed and nothing held back."""
    _, tail = _last_block(text.split("\n"))
    inline = _Inline(tail)
    return text.rstrip() + inline.marks if inline.certain else text


def _last_block(lines: list[str]) -> tuple[str, str]:
    """What stands before the inline text of the last block, and that text."""
    start = len(lines) - 1
    while start > 0 and lines[start - 1].strip() and not _BLOCK_START.match(lines[start]):
        start -= 1
    tail = "\n".join(lines[max(0, start) :])
    marker = _BLOCK_START.match(tail)
    skip = marker.end() if marker else 0
    head = "".join(f"{line}\n" for line in lines[: max(0, start)])
    return head + tail[:skip], tail[skip:]


def _without_half_table(lines: list[str]) -> list[str]:
    """Drop a row that is being written, and a head whose delimiter row is not complete."""
    start = len(lines)
    while start > 0 and lines[start - 1].lstrip().startswith("|"):
        start -= 1
    rows = len(lines) - start
    if not rows and len(lines) > 1 and not lines[-1] and lines[-2].lstrip().startswith("|"):
        alone = len(lines) < 3 or not lines[-3].lstrip().startswith("|")
        return lines[:-2] if alone else lines
    if rows > 2 and _DELIMITER_ROW.match(lines[start + 1]):
        return lines[:-1]
    return lines[:start] if 0 < rows <= 2 else lines


@dataclass(slots=True)
class _Run:
    """A run of `*`, `_` or `~` that may open emphasis: `left` marks of it are not used yet."""

    char: str
    left: int


class _Inline:
    """Reads the inline marks of one block from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: list[_Run] = []
        self._brackets: list[tuple[int, int]] = []
        self._code = 0
        self._end = len(text)
        self._link_end: int | None = None
        at = 0
        while at < self._end:
            at = self._read(at)

    def closed(self) -> str:
        """The text up to where it is certain, with everything open closed."""
        text = self._text[: self._end]
        for at, length in reversed(self._brackets):
            text = text[:at] + text[at + length :]
        text = text.rstrip()
        while text and text[-1] in "*_~" and not self._code and not text.endswith(("\\*", "\\_", "\\~")):
            text = text[:-1].rstrip()
            self._runs = _Inline(text)._runs
        return text + self.marks

    @property
    def marks(self) -> str:
        """What closes everything that is open."""
        runs = "".join(run.char * run.left for run in reversed(self._runs) if run.char != "~" or run.left == 2)
        return "`" * self._code + runs

    @property
    def certain(self) -> bool:
        """Whether nothing of the text could still turn into something else."""
        return self._end == len(self._text) and not self._brackets

    def _read(self, at: int) -> int:
        char = self._text[at]
        if char == "\\":
            if at + 1 == self._end:
                self._end = at
            return at + 2
        if char == "`":
            return self._read_code(at)
        if char in "*_~":
            return self._read_run(at)
        if char == "[":
            image = at > 0 and self._text[at - 1] == "!"
            self._brackets.append((at - image, 1 + image))
        elif char == "]" and self._brackets:
            return self._read_link(at)
        elif char == "<" and re.compile(r"<[A-Za-z/][^\s<>]*\Z").match(self._text, at):
            self._end = at
        return at + 1

    def _read_code(self, at: int) -> int:
        run = self._run_length(at)
        inner = at + run
        close = re.compile(rf"(?<!`)`{{{run}}}(?!`)").search(self._text, inner)
        if close:
            return close.end()
        content = self._text[inner:].rstrip("`")
        if not content.strip():
            self._end = at
            return at
        self._code = run
        self._end = inner + len(content)
        return self._end

    def _read_link(self, at: int) -> int:
        opener = self._brackets[-1]
        rest = self._text[at + 1 :]
        target = _TARGET.match(self._text, at + 1)
        if target:
            self._brackets.clear()
            return target.end()
        if not rest or _TARGET_BEGUN.match(rest):
            self._end = at
            return at
        self._brackets.remove(opener)
        return at + 1

    def _read_run(self, at: int) -> int:
        length = self._run_length(at)
        end = at + length
        before = self._text[at - 1] if at else " "
        after = self._text[end] if end < len(self._text) else " "
        char = self._text[at]
        if char == "~" and length != 2:
            return end
        left = not after.isspace() and (not _is_mark(after) or before.isspace() or _is_mark(before))
        right = not before.isspace() and (not _is_mark(before) or after.isspace() or _is_mark(after))
        opens = left and (char != "_" or not right or _is_mark(before))
        closes = right and (char != "_" or not left or _is_mark(after))
        if closes:
            length = self._close(char, length)
        if opens and length:
            self._runs.append(_Run(char, length))
        return end

    def _close(self, char: str, length: int) -> int:
        """Match closing marks with the nearest openers; what is left over."""
        index = len(self._runs) - 1
        while length and index >= 0:
            run = self._runs[index]
            if run.char == char:
                used = min(run.left, length)
                run.left -= used
                length -= used
                del self._runs[index + 1 :]
                if not run.left:
                    self._runs.pop()
            index -= 1
        return length

    def _run_length(self, at: int) -> int:
        end = at
        while end < len(self._text) and self._text[end] == self._text[at]:
            end += 1
        return end - at


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["strikethrough", "table"])


def plain(text: str) -> str:
    """What `text` says without its formatting, as CommonMark that shows every character literally."""
    pieces: list[str] = []
    for token in _parser().parse(text):
        if token.type == "inline":
            pieces.append(_plain_inline(token.children or []))
        elif token.type in {"fence", "code_block"} or token.type == "html_block":
            pieces.append(token.content.rstrip("\n"))
    escaped = "\n\n".join(_LITERAL.sub(r"\\\1", piece) for piece in pieces if piece)
    return _LITERAL_START.sub(_escape_start, escaped)


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

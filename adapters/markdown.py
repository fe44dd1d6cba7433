"""Markdown that is still being written: closed for display, cut into pages, or stripped to plain text.

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

PARAGRAPH_FROM = 0.75
"""A page ends at the first end of a paragraph after this part of it is filled."""
LINE_FROM = 0.85
"""If there was none, at the first line's end after this part, also inside a code fence."""
SENTENCE_FROM = 0.92
WORD_FROM = 0.96
TORN_MAX = 0.25
"""A full page gives up at most this part of itself to keep a long last word, or a line of code, whole."""

_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^`\n]*)\Z")
_BLOCK_START = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>)")
_HELD_LINE = re.compile(r"[ \t>]*(?:[-*+=_]+|\d{1,9}[.)]?|#{1,6}|`+|~+|(?:[-*+]|\d{1,9}[.)])[ \t]*[`~]*)?[ \t]*\Z")
_DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*\Z")
_TARGET = re.compile(r"\((?:[^\s()]|\([^\s()]*\))*(?:[ \t]+\"[^\"\n]*\")?\)")
_TARGET_BEGUN = re.compile(r"\((?:[^\s()]|\([^\s()]*(?:\)|\Z))*(?:[ \t]+(?:\"[^\"\n]*\"?)?)?\Z")
_SENTENCE_END = re.compile(r"[.!?\u2026]['\")\]*_]*\Z")
_LITERAL = re.compile(r"([\\`*_\[\]<>~|&])")
_LITERAL_START = re.compile(r"^(\s*)([#+-]|\d+(?=[.)]))", re.MULTILINE)


def measure_utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the basic plane count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def measure_codepoints(text: str) -> int:
    """Length in code points."""
    return len(text)


@dataclass(frozen=True, slots=True)
class _OpenFence:
    marks: str
    opener: str

    @property
    def closer(self) -> str:
        indent = self.opener[: len(self.opener) - len(self.opener.lstrip())]
        return indent + self.marks


def _after_line(line: str, fence: _OpenFence | None) -> _OpenFence | None:
    """The open fence after a complete `line`."""
    found = _FENCE.match(line)
    if fence is None:
        return _OpenFence(found["marks"], line) if found else None
    closes = found is not None and found["marks"].startswith(fence.marks) and not found["info"].strip()
    return None if closes else fence


def close_open(text: str) -> str:
    """`text`, a prefix of a document, as well-formed Markdown.

    Closes fences, code, emphasis and strike-through; a half-written link is its text; what could still turn into
    something else (a lone list marker, a row of a table, trailing marks) is held back. What a prefix shows is a prefix
    of what a longer prefix shows, unless later text gives earlier marks another meaning (a star that never closes).
    """
    lines = text.split("\n")
    fence: _OpenFence | None = None
    for line in lines[:-1]:
        fence = _after_line(line, fence)
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


def _close_marks(text: str) -> str:
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


@dataclass(frozen=True, slots=True)
class Cut:
    """One page: its Markdown, and where its piece of the whole text ends."""

    text: str
    end: int


def split_pages(text: str, limit: int, measure: Measure) -> list[str]:
    """The texts of `cut_pages`."""
    return [cut.text for cut in cut_pages(text, limit, measure)]


def cut_pages(text: str, limit: int, measure: Measure) -> list[Cut]:
    """Pages of at most `limit`: cut at a paragraph, else a line, else a sentence, else a word, else anywhere.

    Where a page ends depends only on what stands before that point: when the text grows, finished pages keep every
    character and nothing that was visible moves to another page (but a word, or a line of code, that the page ends in
    the middle of moves as a whole). So a text longer than `PARAGRAPH_FROM` of the limit
    may be two pages although it would fit in one. A code fence is closed at the end of a page and opened again, with
    its language, on the next. An empty text has no pages.
    """
    pages: list[Cut] = []
    start = 0
    opener: _OpenFence | None = None
    while start < len(text):
        head = f"{opener.opener}\n" if opener else ""
        end, fence = _page_end(text, start, limit - measure(head), measure, opener)
        piece = text[start:end]
        if end < len(text):
            piece = piece.rstrip("\n") if fence is None else piece.removesuffix("\n")
        body = head + piece
        if fence is not None and end < len(text):
            body += f"\n{fence.closer}"
        elif end < len(text) and text[end - 1] != "\n":
            body = _close_marks(body)
        if body.strip():
            pages.append(Cut(body, end))
        start, opener = end, fence
    return pages


def _page_end(
    text: str, start: int, room: int, measure: Measure, fence: _OpenFence | None
) -> tuple[int, _OpenFence | None]:
    """Where the page that begins at `start` ends, and the fence that is open there."""
    used, line_start = 0, start
    for at in range(start, len(text)):
        closing = len(fence.closer) + 1 if fence else 0
        used += measure(text[at])
        if used + closing > room and at > start:
            return _whole_word(text, start, at, "\n" if fence else " \n"), fence
        if text[at] == "\n":
            fence = _after_line(text[line_start:at], fence)
            line_start = at + 1
        if _may_end(text, at, used / max(1, room), fence is not None):
            return at + 1, fence
    return len(text), fence


def _may_end(text: str, at: int, filled: float, fenced: bool) -> bool:
    """Whether a page filled to this part may end after the character at `at`."""
    if filled < PARAGRAPH_FROM or not text[at].isspace():
        return False
    if text[at] == "\n":
        paragraph = not fenced and at > 0 and text[at - 1] == "\n"
        return paragraph or filled >= LINE_FROM
    if fenced:
        return False
    return filled >= WORD_FROM or (filled >= SENTENCE_FROM and bool(_SENTENCE_END.search(text, max(0, at - 4), at)))


def _whole_word(text: str, start: int, at: int, gaps: str) -> int:
    """`at`, or the start of the word it would tear if that is not far back."""
    if text[at] in gaps:
        return at
    gap = max(text.rfind(char, start + int((at - start) * (1 - TORN_MAX)), at) for char in gaps)
    return gap + 1 if gap >= start else _whole_character(text, start, at)


def _whole_character(text: str, start: int, at: int) -> int:
    """`at`, or a little before it, so that no joined character is torn."""
    end = at
    while end > start + 1 and at - end < 16:
        joined = unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"
        if not joined and not "\U0001f3fb" <= text[end] <= "\U0001f3ff":
            return end
        end -= 1
    return at


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

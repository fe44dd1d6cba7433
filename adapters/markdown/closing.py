"""Markdown that is still being written, closed for display, and the inline marks that are open at its end."""

from __future__ import annotations

import re

import regex
from msgspec import Struct

from adapters.markdown.fences import FENCE_LINE, OpenFence, after_line
from adapters.markdown.flanking import flanks
from adapters.markdown.reading import ADDRESS, DUNDER, PACKAGE, TAG, formula_at
from adapters.markdown.tables import DELIMITER_ROW

_BEFORE_ROW = " \t>"
_BLOCK_START = re.compile(r"[ \t>]*+(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t])|[ \t]*>")
_BOX = re.compile(r"\[[ xX]\]")
_HELD_LINE = re.compile(
    r"[ \t>]*+(?:[-*+=_]+(?:[ \t]+[-*_]+)*+|\d{1,9}[.)]?|#{1,6}|`+|~+"
    r"|(?:[-*+]|\d{1,9}[.)])[ \t]*+(?:[`~]*+|\[[ xX]\]))?[ \t]*+\Z"
)

_TARGET = re.compile(r"\((?:[^\s()]|\([^\s()]*\))*(?:[ \t]+\"[^\"\n]*\")?\)")
_TARGET_BEGUN = re.compile(r"\((?:[^\s()]|\([^\s()]*(?:\)|\Z))*(?:[ \t]+(?:\"[^\"\n]*\"?)?)?\Z")
_MARK = re.compile(r"[\\`*_~\[\]<$@]|https?://", re.IGNORECASE)
"""What may be a mark, or makes that the next one is none. Everything else is passed at once."""
_TAG_BEGUN = re.compile(
    r"<(?:!(?:-(?:-(?:(?!-->|<!--)[\s\S]){0,300})?)?|a[ \t][^\n<>]*"
    r"|(?:https?:[^\n<>]|[A-Za-z/])[^\s<>]*(?:(?<=\|)[^\n<>]*+|[^\s<>|]*\|[^\n<>]*+)?)?\Z",
    re.IGNORECASE,
)
_FORMULA_BEGUN = regex.compile(
    r"(?:\$\$(?:(?!\$\$)[\s\S]){0,300}+|\\\((?:\\[^()\n]|[^\\\n]){0,300}+\\?|\\\[(?:\\[^\[\]]|[^\\]){0,300}+\\?"
    r"|\\begin\{(?:(?!\\(?:begin|end))[\s\S]){0,300}+|(?<![\p{L}\p{N}\\$])\$(?![\s\d$])(?:\\.|[^\\$\n]){0,40}+)\Z"
)
"""A formula that is still being written, as long as it is likely one: `$` also stands before names and sums."""
_TAG_END = re.compile(r"</([A-Za-z]+)[ \t]*>")
MARKS_MAX = 32
"""The number of closing marks beyond which emphasis is shown as its marks: messages have limits."""
_OPEN_MAX = 100
"""The number of open marks or brackets beyond which the rest is not read: nobody means them."""


def close_open(text: str) -> str:
    """`text`, a prefix of a document, as well-formed Markdown.

    Closes fences, code, emphasis and strike-through; a half-written link is its text; what could still turn into
    something else (a lone list marker, a row of a table, trailing marks) is held back. What a prefix shows is a prefix
    of what a longer prefix shows, unless later text gives earlier marks another meaning (a star that never closes).
    """
    lines = text.split("\n")
    fence: OpenFence | None = None
    begins = ends = 0
    for number, line in enumerate(lines[:-1]):
        before, fence = fence, after_line(line, fence)
        begins = number if before is None else begins
        ends = ends if before is None or fence is not None else number + 1
    if fence is None or fence.is_left_by(lines[-1]):
        return _close_block(lines, ends)
    last = lines[-1].strip(" \t>")
    if not last or set(last) == {fence.marks[0]}:
        lines.pop()
    if begins == len(lines) - 1:  # no line of code stands in it yet
        return _close_block([*lines[:-1], ""])
    return "\n".join([*lines, fence.closer])


def _close_block(lines: list[str], first: int = 0) -> str:
    """Outside a fence: hold back the last line if it may change, and close the marks of the last block."""
    if lines[-1].strip() and (_HELD_LINE.match(lines[-1]) or FENCE_LINE.match(lines[-1])):
        lines = lines[:-1]
    head, tail = _last_block(_without_half_table(lines), first)
    shown = InlineMarks(tail).closed()
    lines = head.split("\n")
    return (
        head + shown
        if (shown and not _BOX.fullmatch(shown)) or not _HELD_LINE.match(lines[-1])
        else "\n".join(lines[:-1])
    ).rstrip()


def close_marks(text: str) -> tuple[str, str]:
    """`text`, which never grows, with its last block's marks closed; and the marks that open them again."""
    _, tail = _last_block(text.split("\n"))
    inline = InlineMarks(tail, growing=False)
    return (text.rstrip() + inline.marks, inline.openers) if inline.certain else (text, "")


def _last_block(lines: list[str], first: int = 0) -> tuple[str, str]:
    """The inline text of the last block, and the text before it."""
    start = max(first, len(lines) - 1)
    while start > first and lines[start - 1].strip() and not _BLOCK_START.match(lines[start]):
        start -= 1
    tail = "\n".join(lines[start:])
    marker = _BLOCK_START.match(tail)
    skip = marker.end() if marker else 0
    head = "".join(f"{line}\n" for line in lines[:start])
    return head + tail[:skip], tail[skip:]


def _without_half_table(lines: list[str]) -> list[str]:
    """Drop a row that is still being written, and a head without a complete row below it."""
    end = len(lines) - (lines != [] and not lines[-1].strip(_BEFORE_ROW))
    start = end
    while start > 0 and _is_row(lines[start - 1]):
        start -= 1
    growing = end == len(lines)
    headed = end - start > 1 and bool(DELIMITER_ROW.match(lines[start + 1].lstrip(_BEFORE_ROW)))
    if end - start - growing <= 1 + headed:
        return lines[:start] if start < end else lines
    return lines[:-1] if headed and growing else lines


def _is_row(line: str) -> bool:
    return line.lstrip(_BEFORE_ROW).startswith("|")


class _Run(Struct):
    """A run of `*`, `_` or `~` that may open emphasis; `left` of its marks are unused."""

    char: str
    left: int


class InlineMarks:
    """Reads the inline marks of one block from left to right. Of one that is `growing`, half a formula is no text."""

    def __init__(self, text: str, *, growing: bool = True) -> None:
        self._text, self._growing = text, growing
        self._runs: list[_Run] = []
        self._brackets: list[tuple[int, int]] = []
        self._tags: list[tuple[str, int, int]] = []
        self._code = 0
        self._end = len(text)
        mark = _MARK.search(text)
        while mark is not None and not self._crowded:
            mark = _MARK.search(text, self._read(mark.start()), self._end)

    def closed(self) -> str:
        """The text up to its certain part, with everything open closed."""
        text = self._text[: self._end]
        if self._crowded:
            return text.rstrip()
        links = sorted([at for at, _ in self._brackets] + [at for name, at, _ in self._tags if name == "a"])
        if len(links) > 1:  # a bracket in a label is one, or begins a picture
            return InlineMarks(text[: links[1]]).closed()
        for at, length in self._brackets:
            if at and text[at - 1] in "*_~" and text[at + length : at + length + 1] in ("*", "_", "~"):
                return InlineMarks(text[:at]).closed()
        for at, length in sorted([*self._brackets, *((at, length) for _, at, length in self._tags)], reverse=True):
            text = text[:at] + text[at + length :]
        text = text.rstrip()
        if text.endswith("!") and not self._code:
            text = text[:-1].rstrip()
        torn = False
        while text and text[-1] in "*_~" and not self._code and not text.endswith(("\\*", "\\_", "\\~")):
            text, torn = text[:-1].rstrip(), True
        if torn:
            self._runs = InlineMarks(text)._runs
        return text + self.marks

    @property
    def marks(self) -> str:
        runs = "".join(run.char * run.left for run in reversed(self._runs) if run.char != "~" or run.left == 2)
        return "`" * self._code + (runs if len(runs) <= MARKS_MAX else "")

    @property
    def openers(self) -> str:
        runs = "".join(run.char * run.left for run in self._runs if run.char != "~" or run.left == 2)
        return (runs if len(runs) <= MARKS_MAX else "") + "`" * self._code

    @property
    def _crowded(self) -> bool:
        return len(self._runs) > _OPEN_MAX or len(self._brackets) > _OPEN_MAX

    @property
    def certain(self) -> bool:
        """Whether no part of the text can change its meaning any more."""
        return self._end == len(self._text) and not self._brackets and not self._crowded

    def _read(self, at: int) -> int:
        char = self._text[at]
        whole = self._atom(at, char)
        if whole > at:
            return whole
        if char == "\\":
            if at + 1 == self._end or (at + 2 == self._end and self._text[at + 1] == "\n"):
                self._end = at
            return at + 2
        if char == "`":
            return self._read_code(at)
        if char in "*_~":
            return self._read_run(at)
        if char == "[" and not self._text.startswith("^", at + 1):
            image = at > 0 and self._text[at - 1] == "!"
            self._brackets.append((at - image, 1 + image))
        elif char == "]" and self._brackets:
            return self._read_link(at)
        elif char == "<":
            return self._read_tag(at)
        return at + 1

    def _atom(self, at: int, char: str) -> int:
        """The end of an address, a formula or a package's name that begins here."""
        if char in "$\\":
            end = formula_at(self._text, at, self._end)
            if end == at and self._growing and _FORMULA_BEGUN.match(self._text, at):
                self._end = at
            return end
        atom = {"@": PACKAGE, "h": ADDRESS, "H": ADDRESS, "_": DUNDER}.get(char)
        found = None if atom is None else atom.match(self._text, at)
        return int(found.end()) if found is not None else at

    def _read_tag(self, at: int) -> int:
        """Pass a tag. One that is not closed yet is left out; a half of one is held back."""
        opened, closing = TAG.match(self._text, at), _TAG_END.match(self._text, at)
        if opened is not None:
            self._tags.append((opened[1].casefold(), at, len(opened[0])))
            return opened.end()
        if closing is not None:
            self._tags = [tag for tag in self._tags if tag[0] != closing[1].casefold()]
            return closing.end()
        if _TAG_BEGUN.match(self._text, at):
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
        char = self._text[at]
        if char == "~" and length != 2:
            return end
        opens, closes = flanks(self._text, at, end, len(self._text))
        if closes:
            length = self._close(char, length)
        if opens and length:
            self._runs.append(_Run(char, length))
        return end

    def _close(self, char: str, length: int) -> int:
        """Match closing marks with the nearest openers; returns the number left over."""
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

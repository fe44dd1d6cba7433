"""From lines to headings, fences and text: the outline of a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.diagnostics import DiagnosticList, SourceLine

HEADING = re.compile(r"^ {0,3}(#{1,3})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_GLUED = re.compile(r"^ {0,3}(#{1,3})([A-Z][A-Za-z0-9_]*(?:[:(].*)?)\s*$")
_NAME_ALONE = re.compile(r"^ {0,3}[A-Z]\w*(?: \w+){0,4}(?:\([^()]*\))?(?: ?-> ?\w+)?[ \t]*$")
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})([^`]*)$")


class HeadingLine(Struct, frozen=True):
    """`#`, `##` or `###`; `column` is the start of its text."""

    level: int
    text: str
    line: SourceLine
    column: int


class FencedBlock(Struct, frozen=True):
    """A fenced block: `opening` is its first line, `lines` its content."""

    info: str
    indent: int
    opening: SourceLine
    lines: tuple[SourceLine, ...]
    closing: SourceLine

    @property
    def language(self) -> str:
        """The first word of the info string, in lower case."""
        return (self.info.split() or [""])[0].lower()


class TextLine(Struct, frozen=True):
    """Any other line, without comments."""

    line: SourceLine


Block = HeadingLine | FencedBlock | TextLine
Section = tuple[HeadingLine, list[Block]]


def first_line(block: Block) -> SourceLine:
    """The line in which a block begins."""
    return block.opening if isinstance(block, FencedBlock) else block.line


def scan(lines: Sequence[SourceLine], problems: DiagnosticList) -> list[Block]:
    """The blocks of a program in order; an unclosed fence or comment is noted."""
    scanner = _Scanner(problems)
    for line in lines:
        scanner.take(line)
    scanner.finish()
    return scanner.blocks


def split(blocks: Sequence[Block], level: int) -> tuple[list[Block], list[Section]]:
    """The text before the first heading of this level, and each such heading with the text below it."""
    before: list[Block] = []
    sections: list[Section] = []
    for block in blocks:
        if isinstance(block, HeadingLine) and block.level == level:
            sections.append((block, []))
        elif sections:
            sections[-1][1].append(block)
        else:
            before.append(block)
    return before, sections


def underlined(blocks: Sequence[Block]) -> Iterator[tuple[SourceLine, str]]:
    """Lines alone with `===` or `---` below them, as headings elsewhere, each with the heading that it would be."""
    above: Block | None = None
    for one, two in pairwise(blocks):
        alone = above is None or not isinstance(above, TextLine) or not above.line.text.strip()
        above = one
        if not isinstance(one, TextLine) or not isinstance(two, TextLine) or not alone:
            continue
        rule = two.line.text.strip()
        if len(rule) > 2 and {*rule} in ({"="}, {"-"}) and _NAME_ALONE.match(one.line.text):
            yield one.line, f"{'#' if rule[0] == '=' else '##'} {one.line.text.strip()}"


class _Scanner:
    def __init__(self, problems: DiagnosticList) -> None:
        self.blocks: list[Block] = []
        self.take: Callable[[SourceLine], None] = self._outside
        self._problems = problems
        self._open: tuple[SourceLine, str, str] | None = None

    def finish(self) -> None:
        if self._open is not None:
            line, what, end = self._open
            self._problems.at(line, f"this {what} is never closed", hint=f"End it with {end}")

    def _outside(self, line: SourceLine) -> None:
        if fence := _FENCE.match(line.text):
            self._open = line, "fence", f"a line of {fence[2]}"
            self.take = partial(self._in_fence, line, fence, [])
        elif heading := HEADING.match(line.text):
            text, opened = _without_comments(heading[2] or "")
            column = heading.start(2) + 1 if heading[2] else heading.end(1) + 1
            self.blocks.append(HeadingLine(len(heading[1]), text.strip(), line, column))
            self._begin_comment(line, opened)
        elif glued := _GLUED.match(line.text):
            hint = f"Write `{glued[1]} {glued[2]}`."
            self._problems.at(line, "a heading needs a space after its #", column=glued.end(1) + 1, hint=hint)
        else:
            text, opened = _without_comments(line.text)
            self.blocks.append(TextLine(line if text == line.text else replace(line, text=text.rstrip())))
            self._begin_comment(line, opened)

    def _begin_comment(self, line: SourceLine, opened: bool) -> None:
        if opened:
            self._open, self.take = (line, "comment", "`-->`."), self._in_comment

    def _in_comment(self, line: SourceLine) -> None:
        end = line.text.find("-->")
        if end < 0:
            return
        self._open, self.take = None, self._outside
        rest = line.text[end + 3 :]
        if rest.strip():
            self._outside(replace(line, text=" " * (end + 3) + rest))

    def _in_fence(self, opening: SourceLine, fence: re.Match[str], inner: list[SourceLine], line: SourceLine) -> None:
        mark = fence[2]
        stripped = line.text.strip()
        if len(stripped) < len(mark) or set(stripped) != {mark[0]}:
            inner.append(line)
            return
        self.blocks.append(FencedBlock(fence[3].strip(), len(fence[1]), opening, tuple(inner), line))
        self._open, self.take = None, self._outside


def _without_comments(text: str) -> tuple[str, bool]:
    """The text without its comments, and whether a comment is still open at the end."""
    while (start := text.find("<!--")) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            return text[:start].rstrip(), True
        text = f"{text[:start].rstrip()} {text[end + 3 :].lstrip()}" if text[:start].strip() else text[end + 3 :]
    return text, False

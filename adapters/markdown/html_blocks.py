"""HTML's paragraphs, titles, lists and quotations, which models write, as the Markdown that they mean. Pure.

A line is read so if it begins with such a tag, or ends with one that closes. Within a sentence the tag is a word.
"""

from __future__ import annotations

import re

from adapters.markdown.fences import OpenFence, after_line

_LEVELS_MAX = 8
"""The number of lists and quotations in each other beyond which the inner ones are written as the outer one."""
_NAME = r"(?:p|div|center|section|details|summary|h[1-6]|ul|ol|li|hr|blockquote)"
_TAG = rf"</?{_NAME}(?:[ \t][^<>\n]*)?/?>"
_ANY = re.compile(_TAG, re.IGNORECASE)
_BEGINS = re.compile(rf" {{0,3}}{_TAG}", re.IGNORECASE)
_BEGINS_INSIDE = re.compile(rf"[ \t]*{_TAG}", re.IGNORECASE)
_ENDS = re.compile(rf"</{_NAME}>[ \t]*\Z", re.IGNORECASE)
_PIECE = re.compile(
    rf"(?P<marks>`+)[^`\n]*(?P=marks)|<(?P<end>/?)(?P<name>{_NAME})(?:[ \t][^<>\n]*)?/?>", re.IGNORECASE
)


def html_as_markdown(text: str) -> str:
    """The text with Markdown in the place of such tags, outside of code."""
    if _ANY.search(text) is None:
        return text
    written = _Written()
    fence: OpenFence | None = None
    for line in text.split("\n"):
        before, fence = fence, after_line(line, fence)
        if before is None and fence is None:
            written.line(line)
        else:
            written.as_it_is(line)
    return written.text()


class _Written:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._newlines = 2
        self._around: list[str] = []
        """What each list and quotation puts before its lines."""
        self._open: list[str] = []
        self._signs: list[str] = []
        self._indent = ""
        self._blank = False

    def text(self) -> str:
        """What is written, without a sign that no words follow."""
        return "".join(self._parts[: len(self._parts) - (self._newlines < 0)]).removesuffix("\n")

    def as_it_is(self, line: str) -> None:
        self._put(f"{line}\n")

    def line(self, line: str) -> None:
        inside = bool(self._around or self._open)
        begins = (_BEGINS_INSIDE if inside else _BEGINS).match(line)
        if self._blank and not begins and line[:1] not in ("", " ", "\t"):
            self._around.clear()
            self._signs.clear()
        self._blank = not line.strip()
        if self._blank and self._open[-1:] == ["p"]:
            self._open.pop()
        is_code = not inside and line.startswith("    ")
        if not begins and (is_code or not _ENDS.search(line)):
            self._text_line(line)
            return
        at, self._indent = 0, "" if inside else line[: len(line) - len(line.lstrip())]
        for found in _PIECE.finditer(line):
            if found["name"] is not None:
                self._words(line[at : found.start()])
                self._tag(found["name"].casefold(), closes=bool(found["end"]))
                at = found.end()
        self._words(line[at:])
        self._break(1)
        self._indent = ""

    def _text_line(self, line: str) -> None:
        if self._around:
            self._words(line)
        else:
            self._put(line.lstrip() if self._open[-1:] == ["p"] else line)
        if self._newlines >= 0:
            self._put("\n")

    def _put(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        words = text.rstrip("\n")
        self._newlines = len(text) - len(words) + (0 if words else max(0, self._newlines))

    def _words(self, text: str) -> None:
        """Write words, at the start of a line behind what stands before it."""
        begins = self._newlines != 0
        if begins and not text.strip():
            return
        if self._newlines > 0:
            self._put("".join(self._around) or self._indent)
        self._put(text.lstrip() if begins else text)

    def _break(self, count: int) -> None:
        if 0 <= self._newlines < count:
            self._put("\n" * (count - self._newlines))

    def _begin(self, sign: str) -> None:
        """Begin a line with a sign, behind which its words stand, on this line or the next."""
        self._put("".join(self._around) + sign)
        self._newlines = -1

    def _tag(self, name: str, *, closes: bool) -> None:
        if closes and self._newlines < 0:  # what begins so has no words
            self._parts.pop()
            self._newlines = 1
        match name:
            case "ul" | "ol" | "blockquote":
                self._container(name, closes=closes)
            case "li":
                self._break(1)
                if not closes:
                    self._item()
            case "hr":
                self._break(2)
                self._put("".join(self._around) + "---")
                self._break(2)
            case "summary":
                self._words(f"<{'/' * closes}b>")
                self._break(2 * closes)
            case _:
                self._block(name, closes=closes)

    def _container(self, name: str, *, closes: bool) -> None:
        if closes:
            del self._around[-1:], self._signs[-1:]
        self._break(1 if self._signs else 2)
        if not closes and len(self._around) < _LEVELS_MAX:
            self._around.append({"ul": "  ", "ol": "   "}.get(name, "> "))
            self._signs.append({"ul": "- ", "ol": "1. "}.get(name, ""))

    def _block(self, name: str, *, closes: bool) -> None:
        self._break(2)
        if name.startswith("h") and not closes:
            self._begin("#" * int(name[1]) + " ")
        elif not name.startswith("h"):
            del self._open[len(self._open) - closes :]
            self._open += [] if closes else [name]

    def _item(self) -> None:
        """Begin an entry of the innermost list, whose other lines stand further in."""
        in_list = bool(self._signs and self._signs[-1])
        around = self._around.pop() if in_list else ""
        self._begin(self._signs[-1] if in_list else "- ")
        self._around += [around] if in_list else []

"""HTML's paragraphs, titles, lists, tables, quotations and code, which models write, as the Markdown they mean. Pure.

A line is read so if it begins with such a tag, or ends with one that closes. A tag that stands as a word is a word:
between spaces, or where it closes nothing. What stands in `<pre>` is code to the letter. What has no column in a table
of Markdown stands in the last one; a table in a cell is lines of it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from adapters.markdown.fences import OpenFence, after_line

_SPACES_MAX = 50
"""The number of characters in front of a tag in which words are looked for. Chosen."""
_LEVELS_MAX = 8
"""The number of lists and quotations in each other beyond which the inner ones are written as the outer one."""
_NAME = r"(?:p|div|center|section|details|summary|h[1-6]|ul|ol|li|hr|blockquote|pre|table)"
_CODE_ALONE = r"<code(?:[ \t][^<>\n]*)?>(?![^\n]{0,999}</code>)"
_TAG = rf"(?:</?{_NAME}(?:[ \t][^<>\n]*)?/?>|{_CODE_ALONE})"
_ANY = re.compile(_TAG, re.IGNORECASE)
_BEGINS = re.compile(rf" {{0,3}}{_TAG}", re.IGNORECASE)
_BEGINS_INSIDE = re.compile(rf"[ \t]*{_TAG}", re.IGNORECASE)
_ENDS = re.compile(rf"(?:</{_NAME}|<table(?:[ \t][^<>\n]*)?)>[ \t]*\Z", re.IGNORECASE)
_PIECE = re.compile(
    rf"(?P<marks>`+)[^`\n]*(?P=marks)"
    rf"|<(?P<end>/?)(?P<name>{_NAME}|code(?=[^<>\n]*>(?![^\n]{{0,999}}</code>)))(?P<about>(?:[ \t][^<>\n]*)?)/?>",
    re.IGNORECASE,
)
_CODE_ENDS = {
    "pre": re.compile(r"(?:</code>[ \t]*)?</pre>", re.IGNORECASE),
    "code": re.compile(r"</code>", re.IGNORECASE),
}
_ROWS_BEGIN = re.compile(r"\s*<(?:thead|tbody|tr|t[hd]|caption|colgroup|!--)", re.IGNORECASE)
_ROWS_MAY_BEGIN = re.compile(r"\s*(?:<[a-z!-]{0,9})?\Z", re.IGNORECASE)
_CODE_BEGUN = re.compile(_CODE_ALONE, re.IGNORECASE)
_NAMED = re.compile(r"[ \t](?=[^\W\d_])|[ \t]?[.,:;!?)](?=[ \t]|\Z)")
"""What stands behind a tag of code that a sentence names."""
_CODE = re.compile(r"[ \t]*<code([^<>\n]*)>", re.IGNORECASE)
_LANGUAGE = re.compile(r"\b(?:language-|lang=[\"']?)([\w+#.-]+)", re.IGNORECASE)
_OTHER = {"": ".", ".": ")", ")": "."}
_NUMBER = re.compile(r"\A( {0,3}\d{1,9})[.)](?=[ \t]|\Z)")
_START = re.compile(r"\bstart=[\"']?(\d{1,8})\b", re.IGNORECASE)
_HALF = re.compile(
    r"<(?:/?(?:[a-z][a-z1-6]{0,9})?|[a-z][a-z1-6]{0,9}[ \t]+(?:[\w-]{0,9}|[\w-]+=[^<>\n]{0,100})/?)\Z"
    r"|</[a-z1-6]{1,10}>[ \t]*\Z",
    re.IGNORECASE,
)
"""The end of a growing text that may become a tag, or a tag that is a word if others follow."""
_FENCES = re.compile(r"(?:^|>)[ \t]*(`{3,})", re.MULTILINE)
_HALF_ENTITY = re.compile(r"&#?\w{0,8}\Z")
_CODE_END = re.compile(r"</code>[ \t]*\Z", re.IGNORECASE)

_ABOUT = r"(?:[ \t][^<>\n]*)?/?>"
_EDGE = re.compile(rf"<table{_ABOUT}|</table>|</tr>|(?:(?<=</tr>)|(?<=</tbody>))\s*(?=[^\s<])", re.IGNORECASE)
_INNER = re.compile(rf"<table{_ABOUT}((?:(?!</?table)[\s\S])*)</table>", re.IGNORECASE)
_ROW = re.compile(rf"</?(?:tr|thead|tbody|tfoot){_ABOUT}|<!--(?:(?!<!--)[^\n]){{0,2000}}?-->", re.IGNORECASE)
_CELL = re.compile(rf"<t([dh]){_ABOUT}", re.IGNORECASE)
_PRE = re.compile(rf"<pre{_ABOUT}((?:(?!<pre)[\s\S])*?)</pre>", re.IGNORECASE)
_CELL_CODE = re.compile(rf"<(/?)code{_ABOUT}", re.IGNORECASE)
_ITEM = re.compile(rf"<li{_ABOUT}", re.IGNORECASE)
_BREAKS = re.compile(
    rf"(?:</?(?:br|p|div|center|section|details|summary|h[1-6]|ul|ol|li|hr|blockquote|pre|t[dhr]|caption|colgroup|col"
    rf"|thead|tbody|tfoot|table){_ABOUT}[ \t\n]*)+",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?<!\\)\|")


def html_as_markdown(text: str, *, growing: bool = False) -> str:
    """The text with Markdown in the place of such tags; a `growing` one to where it is sure to stay so."""
    if growing:
        text = _HALF.sub("", text)
    if _ANY.search(text) is None:
        return text
    written = _Written(text, growing=growing)
    fence: OpenFence | None = None
    start = 0
    for line in text.split("\n"):
        before = fence
        fence = None if written.ends_code or start < written.reads_on_at else after_line(line, fence)
        if before is None and fence is None:
            written.line(line, start)
        else:
            written.as_it_is(line)
        start += len(line) + 1
    return written.text()


class _Written:
    def __init__(self, source: str, *, growing: bool) -> None:
        self.ends_code: re.Pattern[str] | None = None
        """The tag that ends the code in which the next line stands."""
        self.reads_on_at = 0
        """Where the table ends that is written already."""
        self._source, self._growing = source, growing
        self._parts: list[str] = []
        self._newlines = 2
        self._around: list[str] = []
        """What each list and quotation puts before its lines."""
        self._open: list[str] = []
        self._numbers: list[int | None] = []
        """The next number of each list; None of one with bullets, -1 of a quotation."""
        self._indent = ""
        self._blank = False
        self._sign = ""
        """The sign behind the numbers of the list that is written, or that nothing but spaces follows yet."""
        self._closed = False
        self._fence = ""

    def text(self) -> str:
        """What is written, without a sign that no words follow."""
        return "".join(self._parts[: len(self._parts) - (self._newlines < 0)]).removesuffix("\n")

    def as_it_is(self, line: str) -> None:
        self._put(f"{line}\n")

    def line(self, line: str, start: int) -> None:
        """Write a line, which begins at `start`."""
        end, last = start + len(line), self._growing and start + len(line) == len(self._source)
        if last and (begun := _CODE_BEGUN.search(line)):
            line, end = line[: begun.start()], start + begun.start()
        at: int | None = max(start, self.reads_on_at)
        while at is not None and (at == start or at < end):
            if self.ends_code is not None:
                at = self._code_line(line[at - start :], self.ends_code, last=last) + at
                at = at if line[at - start :].strip() else None
            else:
                at = self._read(line[at - start :], at, last=last)

    def _read(self, line: str, start: int, *, last: bool) -> int | None:
        """Write a line, or the rest of one; returns where code begins in it."""
        inside = bool(self._around or self._open)
        begins = (_BEGINS_INSIDE if inside else _BEGINS).match(line)
        if self._blank and not begins and line[:1] not in ("", " ", "\t"):
            self._around.clear()
            self._numbers.clear()
        self._blank = not line.strip()
        if self._blank and self._open[-1:] == ["p"]:
            self._open.pop()
        is_code = not inside and line.startswith("    ")
        if last and not is_code and not begins:
            line = line[: next((tag.start() for tag in self._tags(line)), None)]
        if not begins and (is_code or not _ENDS.search(line)):
            self._text_line(line)
            return None
        self._indent = "" if inside else line[: len(line) - len(line.lstrip())]
        code = self._pieces(line, start, last=last)
        self._indent = ""
        return code

    def _pieces(self, line: str, start: int, *, last: bool) -> int | None:
        written, endless = 0, set[str]()
        for found in self._tags(line):
            name, closes, end = found["name"].casefold(), bool(found["end"]), found.end()
            is_code, is_table = not closes and name in _CODE_ENDS, not closes and name == "table"
            if is_table and not self._has_rows(start + end):
                continue
            if is_code and (name in endless or not _CODE_ENDS[name].search(line, end)):
                endless.add(name)
                if last:  # what follows says whether code begins
                    line = line[: found.start()]
                    break
                if _NAMED.match(line, end):
                    continue
            self._words(line[written : found.start()])
            written = end
            if is_table:
                return self._table(start + end)
            if is_code:
                return self._code(name, found["about"], start + end)
            self._tag(name, found["about"], closes=closes)
        self._words(line[written:])
        self._break(1)
        return None

    def _tags(self, line: str) -> Iterator[re.Match[str]]:
        begun = len(line) - len(line.lstrip())
        for found in _PIECE.finditer(line):
            if found["name"] is not None:
                before = line[max(begun, found.start() - _SPACES_MAX) : found.start()]
                if not self._is_word(found, before, line[found.end() : found.end() + 1]):
                    yield found

    def _is_word(self, tag: re.Match[str], before: str, after: str) -> bool:
        """Whether a tag is a word of its line: behind others and between spaces, or where it closes nothing."""
        name, closes = tag["name"].casefold(), bool(tag["end"])
        if not before.strip() or before.rstrip().endswith(">"):
            return name == "code" and closes
        if name in ("ul", "ol", "blockquote"):
            return closes and not self._around
        if name in ("pre", "table", "p", "div", "center", "section", "details"):
            apart = (
                before[-1:].isspace() and (closes or after.isspace()) and not (name == "p" and self._open[-1:] == ["p"])
            )
            return apart or (closes and name not in self._open)
        return name == "code"

    def _has_rows(self, start: int) -> bool:
        maybe = _ROWS_MAY_BEGIN.match(self._source, start) if self._growing else None
        return bool(maybe or _ROWS_BEGIN.match(self._source, start))

    def _table(self, start: int) -> int:
        """Write a table; returns where it ends."""
        until, self.reads_on_at = table_ends(self._source, start, growing=self._growing)
        above, rows = rows_of(self._source[start:until])
        before = "".join(self._around) or self._indent
        self._break(2)
        self._words(above)
        self._break(2)
        for row in rows:
            self._put(before * (self._newlines >= 0) + row)
            self._break(1)
        self._break(2)
        return self.reads_on_at

    def _code(self, name: str, about: str, start: int) -> int:
        """Begin lines of code; returns where the first one does."""
        end = _CODE_ENDS[name].search(self._source, start)
        fences = _FENCES.findall(self._source, start - 1, end.start() if end else len(self._source))
        self._fence = "`" * max((3, *(len(marks) + 1 for marks in fences)))
        inner = _CODE.match(self._source, start) if name == "pre" else None
        language = _LANGUAGE.search(about + (inner[1] if inner else ""))
        self._break(1 if self._around else 2)
        if self._newlines >= 0:
            self._put("".join(self._around) or self._indent)
        self._put(f"{self._fence}{language[1] if language else ''}\n")
        self.ends_code = _CODE_ENDS[name]
        return inner.end() if inner else start

    def _code_line(self, line: str, ends: re.Pattern[str], *, last: bool) -> int:
        """Write a line of code; returns where what stands behind the code begins."""
        found = ends.search(line)
        code = line[: found.start()] if found else _CODE_END.sub("", line)
        if last and found is None:
            code = _HALF_ENTITY.sub("", code)
        before = "".join(self._around)
        if code.strip() or not (found or len(code) < len(line)):
            self._put(f"{before}{html.unescape(code)}\n")
        if found is None:
            return len(line)
        self.ends_code = None
        self._put(f"{before}{self._fence}\n")
        return found.end()

    def _text_line(self, line: str) -> None:
        number = _NUMBER.match(line)
        if number is not None and self._closed:  # a list of Markdown behind one of HTML
            line = f"{number[1]}{_OTHER[self._sign]}{line[number.end() :]}"
        if number is not None or line[:1] not in ("", " ", "\t"):
            self._sign = "" if number is None else line[number.end() - 1]
            self._closed = False
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

    def _tag(self, name: str, about: str, *, closes: bool) -> None:
        if closes and self._newlines < 0:  # what begins so has no words
            self._parts.pop()
            self._newlines = 1
        match name:
            case "ul" | "ol" | "blockquote":
                start = _START.search(about)
                self._container(name, int(start[1]) if start else 1, closes=closes)
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

    def _container(self, name: str, start: int, *, closes: bool) -> None:
        if closes:
            del self._around[-1:], self._numbers[-1:]
        self._break(1 if self._numbers else 2)
        if name == "ol":
            self._sign = self._sign if closes else _OTHER[self._sign]
            self._closed = closes and not self._around
        if not closes and len(self._around) < _LEVELS_MAX:
            self._around.append({"ul": "  ", "ol": "   "}.get(name, "> "))
            self._numbers.append({"ul": None, "ol": start}.get(name, -1))

    def _block(self, name: str, *, closes: bool) -> None:
        self._break(2)
        if name.startswith("h") and not closes:
            self._begin("#" * int(name[1]) + " ")
        elif not name.startswith("h"):
            del self._open[len(self._open) - closes :]
            self._open += [] if closes else [name]

    def _item(self) -> None:
        """Begin an entry of the innermost list, whose other lines stand further in."""
        number = self._numbers[-1] if self._numbers else -1
        sign = "- " if number is None or number < 0 else f"{number}{self._sign} "
        if number == -1:  # in no list
            self._begin(sign)
            return
        self._around.pop()
        self._begin(sign)
        self._around.append(" " * len(sign))
        self._numbers[-1] = None if number is None else number + 1


def table_ends(source: str, start: int, *, growing: bool) -> tuple[int, int]:
    """Where the last row ends that is certain of a table whose rows begin at `start`, and where the table does."""
    depth, rows = 1, start
    for found in _EDGE.finditer(source, start):
        tag = found[0][:4].casefold()
        depth += {"<tab": 1, "</ta": -1, "</tr": 0}.get(tag, -depth)
        rows = found.end() if depth == 1 and tag == "</tr" else rows
        if depth == 0:
            return found.start(), found.end()
    return rows if growing else len(source), len(source)


def rows_of(source: str) -> tuple[str, list[str]]:
    """The words above the rows of a table, and its lines. Without titles its head has no words."""
    above, lines, columns = "", list[str](), 0
    for row in _ROW.split(_INNER.sub(lambda inner: _BREAKS.sub("<br>", inner[0]), source)):
        begun, *parts = _CELL.split(_PRE.sub(_lines_of_code, row))
        cells = [_cell(part) for part in ([begun] if begun.strip() and (columns or parts) else []) + parts[1::2]]
        above += "" if cells else f"{_cell(begun)} "
        if cells and not columns:
            columns, rules = len(cells), _line(["---"] * len(cells))
            titled = "d" not in "".join(parts[::2]).casefold()
            lines = [_line(cells), rules] if titled else [_line([""] * columns), rules, _line(cells)]
        elif cells:
            lines.append(_line([*cells[: columns - 1], " ".join(cells[columns - 1 :])]))
    return above.strip(), lines


def _cell(source: str) -> str:
    text = _BREAKS.sub("<br>", _ITEM.sub("<br>• ", _CELL_CODE.sub(r"<\1code>", source)))
    text = " ".join(line.strip() for line in text.split("\n")).strip()
    return _BAR.sub(r"\\|", text.removeprefix("<br>").removesuffix("<br>").strip())


def _lines_of_code(found: re.Match[str]) -> str:
    lines = _CELL_CODE.sub("", found[1]).split("\n")
    return f"<br>{'<br>'.join(f'<code>{line}</code>' for line in lines if line.strip())}<br>"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"

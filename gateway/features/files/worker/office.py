"""Office documents as text: words, slides and sheets. Macros, pictures and fonts are left alone.

A document is a ZIP archive of XML, of which no more is unpacked than the limits say.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO, Final, TypeAlias
from xml.etree import ElementTree

from gateway.features.files.worker.limits import Found, NotRead, keep_text

_MAX_ENTRIES: Final = 20_000
_PIECE_BYTES: Final = 64 * 1024
_BROKEN: Final = (ElementTree.ParseError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, LookupError)

Element = ElementTree.Element
_Parser: TypeAlias = "ElementTree.XMLPullParser[Element]"

_DATES: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""The built-in formats of dates and times (ECMA-376, part 1, 18.8.30)."""

_QUOTED: Final = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_DATE_LETTERS: Final = re.compile(r"[dmyhs]", re.IGNORECASE)
_FIRST_DAY: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a date of a table has no zone
_LAST_DAY: Final = 2_958_466
_COLUMN: Final = re.compile(r"[A-Z]{1,3}")
_MAX_SHARED_CHARS: Final = 20_000_000
_MAX_GAP: Final = 50

WORD: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXCEL: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
POWERPOINT: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_OPEN_DOCUMENT: Final = "application/vnd.oasis.opendocument."
_MACROS: Final = re.compile(r"(?:^|/)(?:vbaProject\.bin|vbaData\.xml)$|^(?:Basic|Scripts)/", re.IGNORECASE)
_SLIDE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_BLANKS: Final = re.compile(r"\n{3,}")

_BEHIND = {"tab": "\t", "br": "\n", "cr": "\n", "line-break": "\n", "s": " ", "tc": "\t", "table-cell": "\t"}
"""The characters behind elements of either family."""

_LINES = frozenset({"p", "h", "tr", "table-row"})


def sheet_lines(package: Package, found: Found) -> Iterator[str]:
    """The text of all sheets in order, each below its name."""
    shared, dates = _shared(package), _date_styles(package)
    for name, entry in _sheets(package):
        yield f"[sheet {name}]\n"
        cells: list[str] = []
        for event, element in package.elements(entry):
            if event == "end" and element.tag == "c":
                _put(cells, element, _value(element, shared, dates))
                element.clear()
            elif event == "end" and element.tag == "row":
                line = "\t".join(cells).rstrip()
                yield f"{line}\n" if line else ""
                cells.clear()
                element.clear()
            if found.late:
                return


def _sheets(package: Package) -> Iterator[tuple[str, str]]:
    targets = {
        attribute(element, "Id"): attribute(element, "Target")
        for event, element in package.elements("xl/_rels/workbook.xml.rels")
        if event == "end" and element.tag == "Relationship"
    }
    for event, element in package.elements("xl/workbook.xml"):
        if event == "end" and element.tag == "sheet":
            target = targets.get(attribute(element, "id"), "").lstrip("/")
            yield attribute(element, "name"), target if target.startswith("xl/") else f"xl/{target}"


def _shared(package: Package) -> list[str]:
    texts: list[str] = []
    piece: list[str] = []
    size = 0
    for event, element in package.elements("xl/sharedStrings.xml"):
        if event != "end":
            continue
        if element.tag == "t":
            piece.append(element.text or "")
            size += len(piece[-1])
        elif element.tag == "si":
            texts.append("".join(piece))
            piece.clear()
            element.clear()
        if size > _MAX_SHARED_CHARS:
            break
    return texts


def _date_styles(package: Package) -> frozenset[int]:
    """The numbers of the styles that show a number as a date."""
    own, styles, inside = set[int](), list[int](), False
    for event, element in package.elements("xl/styles.xml"):
        if element.tag == "cellXfs":
            inside = event == "start"
        elif event == "end" and element.tag == "numFmt":
            if _DATE_LETTERS.search(_QUOTED.sub("", attribute(element, "formatCode"))):
                own.add(_number(attribute(element, "numFmtId")))
        elif event == "end" and element.tag == "xf" and inside:
            styles.append(_number(attribute(element, "numFmtId")))
    return frozenset(index for index, format_ in enumerate(styles) if format_ in _DATES or format_ in own)


def _value(cell: Element, shared: list[str], dates: frozenset[int]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iter("t"))
    value = next((part.text or "" for part in cell if part.tag == "v"), "")
    if kind == "s":
        index = _number(value)
        return shared[index] if 0 <= index < len(shared) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if not kind and value and _number(attribute(cell, "s")) in dates:
        with suppress(ValueError, OverflowError):
            if 0 < float(value) < _LAST_DAY:
                at = _FIRST_DAY + timedelta(seconds=round(float(value) * 86_400))
                return str(at.date()) if at.time() == datetime.min.time() else str(at)
    return value


def _put(cells: list[str], cell: Element, text: str) -> None:
    """Put a cell into its column; empty ones before it are left out of the file."""
    found = _COLUMN.match(attribute(cell, "r"))
    column = 0
    for letter in found[0] if found else "":
        column = column * 26 + ord(letter) - 64
    gap = max(0, column - 1 - len(cells)) if found else 0
    cells += [""] * min(gap, _MAX_GAP)
    cells.append(" ".join(text.split()))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def read_office(data: bytes, found: Found) -> str:
    """Keep the text of a packed document, and return its type. Raises NotRead for other archives."""
    package = Package(data, found)
    media_type, lines = _kind(package, found)
    if any(map(_MACROS.search, package.names)):
        found.remark("macros")
    text, size = list[str](), 0
    for line in lines:
        text.append(line)
        size += len(line)
        if size > found.limits.text_chars or found.late:
            break
    whole = _BLANKS.sub("\n\n", "".join(text)).strip()
    if not whole:
        raise NotRead("empty_document")
    if size > found.limits.text_chars or found.late:
        found.remark("cut_document", chars=found.limits.text_chars)
        whole = f"{whole[: found.limits.text_chars]}\n… (cut here)"
    keep_text(whole, found, len(whole))
    return media_type


def _kind(package: Package, found: Found) -> tuple[str, Iterator[str]]:
    if "word/document.xml" in package.names:
        return WORD, _flowing(package, "word/document.xml")
    if "xl/workbook.xml" in package.names:
        return EXCEL, sheet_lines(package, found)
    if "ppt/presentation.xml" in package.names:
        return POWERPOINT, _slides(package)
    declared = package.text("mimetype").strip()
    if declared.startswith(_OPEN_DOCUMENT) and "content.xml" in package.names:
        return declared, _flowing(package, "content.xml")
    raise NotRead("archive")


def _slides(package: Package) -> Iterator[str]:
    numbers = sorted(int(match[1]) for match in map(_SLIDE.fullmatch, package.names) if match)
    for number in numbers:
        yield f"[slide {number}]\n"
        yield from _flowing(package, f"ppt/slides/slide{number}.xml")


def _flowing(package: Package, name: str) -> Iterator[str]:
    """The text of an entry in order: paragraphs on lines, cells of tables with tabs between them."""
    cells = 0
    for event, element in package.elements(name):
        tag = element.tag
        if event == "start":
            cells += tag in ("tc", "table-cell")
            if element.text and tag in ("p", "h", "span", "a"):
                yield element.text
            continue
        if tag == "t" and element.text:
            yield element.text
        if tag in _LINES and not (cells and tag in ("p", "h")):
            yield "\n"
        elif tag in _LINES:
            yield " "
        yield _BEHIND.get(tag, "")
        cells -= tag in ("tc", "table-cell")
        if element.tail and tag in ("span", "a", "s", "tab", "line-break"):
            yield element.tail
        element.clear()


class Package:
    """The archive. Its names are only looked up, and nothing is written anywhere."""

    def __init__(self, data: bytes, found: Found) -> None:
        """Raises NotRead for a broken one."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise NotRead("broken_document") from error
        self._left = found.limits.unpacked_bytes
        self.names = frozenset(self._archive.namelist())
        if len(self.names) > _MAX_ENTRIES:
            raise NotRead("bomb")

    def elements(self, name: str) -> Iterator[tuple[str, Element]]:
        """The elements of an entry, each when it begins and when it ends, with names without namespaces. Elements are
        emptied by whoever reads them. Raises NotRead for a bomb, for a locked or broken entry; none for a missing one.
        """
        if name not in self.names:
            return
        parser: _Parser = ElementTree.XMLPullParser(("start", "end"))
        try:
            if self._archive.getinfo(name).flag_bits & 1:
                raise NotRead("locked")
            with self._archive.open(name) as stream:
                for piece in self._pieces(stream):
                    parser.feed(piece)
                    yield from _bare(parser)
            parser.close()
            yield from _bare(parser)
        except _BROKEN as error:
            raise NotRead("broken_document") from error

    def text(self, name: str) -> str:
        """A short text in an entry; "" for a missing one."""
        if name not in self.names:
            return ""
        with self._archive.open(name) as stream:
            return stream.read(_PIECE_BYTES).decode(errors="replace")

    def _pieces(self, stream: IO[bytes]) -> Iterator[bytes]:
        while piece := stream.read(_PIECE_BYTES):
            self._left -= len(piece)
            if self._left < 0:
                raise NotRead("bomb")
            yield piece


def _bare(parser: _Parser) -> Iterator[tuple[str, Element]]:
    events: Iterator[tuple[str, Element]] = parser.read_events()  # type: ignore[assignment]  # only these were asked for
    for event, element in events:
        element.tag = element.tag.rpartition("}")[2]
        yield event, element


def attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")

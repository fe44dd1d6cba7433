"""Office documents as text: those of Word, PowerPoint and LibreOffice. Macros, pictures and fonts are left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from runtime.files.worker.limits import Found, NotRead
from runtime.files.worker.packed import Package
from runtime.files.worker.sheets import sheet_lines
from runtime.files.worker.texts import keep_text

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

"""PDF: the text of its pages with their numbers, and a picture of a page without text."""

from __future__ import annotations

from typing import Final

import pypdfium2
from pypdfium2 import raw

from gateway.features.files.worker.limits import Found, NotRead
from gateway.features.files.worker.pictures import encoded

_LEAST_CHARS: Final = 8
"""A page with fewer characters counts as one without text."""

_POINTS: Final = 72.0


def read_pdf(data: bytes, found: Found) -> None:
    """Keep a PDF's pages, as far as the limits go. Raises NotRead."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD or "password" in str(error).lower()
        raise NotRead("locked" if locked else "broken_document") from error
    try:
        _read_pages(document, found)
    finally:
        document.close()
    if not found.parts:
        raise NotRead("empty_document")


def _read_pages(document: pypdfium2.PdfDocument, found: Found) -> None:
    count, left, texts, drawn = len(document), found.limits.text_chars, list[str](), list[int]()
    read = 0
    for number in range(min(count, found.limits.pages)):
        if left <= 0 or found.late:
            break
        read = number + 1
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded().strip()[:left]
            if len(text) < _LEAST_CHARS:
                if len(drawn) < found.limits.pictures:
                    found.picture(_picture(page, found.limits.side), read)
                drawn.append(read)
            page.close()
        except pypdfium2.PdfiumError:
            texts.append(f"[page {read}: it cannot be read]")
            continue
        shown = f"{text}\n" if text else ""
        note = (
            ""
            if len(text) >= _LEAST_CHARS
            else "(no text; " + ("see its picture)" if len(drawn) <= found.limits.pictures else "not shown)")
        )
        texts.append(f"[page {read}]\n{shown}{note}".rstrip())
        left -= len(text)
    found.text("\n".join(texts))
    if read < count:
        found.remark("cut_pages", pages=count, read=read)
    if len(drawn) > found.limits.pictures:
        found.remark("cut_pictures", pages=len(drawn), read=found.limits.pictures)


def _picture(page: pypdfium2.PdfPage, side: int) -> bytes:
    width, height = page.get_size()
    scale = min(side / max(width, height, 1.0), 2 * side / (11 * _POINTS))
    bitmap = page.render(scale=max(scale, 1.0 / max(width, height, 1.0)), may_draw_forms=False)
    try:
        return encoded(bitmap.to_pil(), side)
    finally:
        bitmap.close()

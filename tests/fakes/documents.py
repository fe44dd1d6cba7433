"""Documents and pictures as people send them, some of them to do harm."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from PIL import Image

ORIENTATION = 0x0112
NOTHING: Mapping[str, bytes] = {}


def picture(width: int = 40, height: int = 30, *, kind: str = "JPEG", turned: int = 1, mode: str = "RGB") -> bytes:
    """A picture in one colour; `turned` is what EXIF says about its orientation."""
    written = io.BytesIO()
    exif = Image.Exif()
    exif[ORIENTATION] = turned
    more: dict[str, Any] = {} if turned == 1 else {"exif": exif}
    Image.new(mode, (width, height)).save(written, kind, **more)
    return written.getvalue()


def pixel_bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG of a few bytes that says it has billions of pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def pdf(pages: Sequence[str], *, copies: int = 1, trailer: str = "") -> bytes:
    """A PDF with one line of text on each page; the last page is there `copies` times."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        shown = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET" if text else "72 72 200 200 re f"
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    kids += kids[-1:] * (copies - 1)
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    written = "%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n"
    return f"{written}{end}{len(written)}\n%%EOF".encode()


def pdf_bomb(where: Literal["page", "font"], megabytes: int = 300, *, twice: bool = False) -> bytes:
    """A PDF whose page or font is so large once it is unpacked; `twice`: it is packed twice, and smaller still."""
    packing, packed = zlib.compressobj(6), b""
    for _ in range(megabytes):
        packed += packing.compress(bytes(1_000_000))
    packed += packing.flush()
    packed, how = (zlib.compress(packed, 6), b"[/FlateDecode /FlateDecode]") if twice else (packed, b"/FlateDecode")
    bomb = _stream(packed, b" /Filter " + how)
    text = _stream(b"BT /F1 9 Tf 9 9 Td (hello) Tj ET")
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents %d 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
    )
    return _numbered(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page % (7 if where == "page" else 4),
        text,
        b"<< /Type /Font /Subtype /TrueType /BaseFont /Evil /FontDescriptor 6 0 R >>",
        b"<< /Type /FontDescriptor /FontName /Evil /Flags 4 /FontFile2 7 0 R >>",
        bomb,
    )


def pdf_of_itself() -> bytes:
    """A PDF in which the pages are below themselves, without end."""
    pages = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    return _numbered(b"<< /Type /Catalog /Pages 2 0 R >>", pages)


def _stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), more, data)


def _numbered(*objects: bytes) -> bytes:
    made, offsets = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(made))
    return made + head + table + tail


def archive(entries: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return written.getvalue()


_WORDS = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_LINKS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def word(*paragraphs: str, body: str = "", before: str = "", more: Mapping[str, bytes] = NOTHING) -> bytes:
    """A Word document; `body` is XML behind the paragraphs, `before` what stands before the root, `more` are further
    entries of the archive.
    """
    lines = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    document = f"{before}<w:document {_WORDS}><w:body>{lines}{body}</w:body></w:document>"
    return archive({"word/document.xml": document, **more})


def cell(text: str) -> str:
    """A cell of a table in Word."""
    return f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


def sheet(rows: str, *, shared: Sequence[str] = (), name: str = "Costs") -> bytes:
    """An Excel workbook of one sheet; style 1 shows numbers as dates."""
    texts = "".join(f"<si><t>{text}</t></si>" for text in shared)
    listed, styles = f'<sheet name="{name}" r:id="r1"/>', '<xf numFmtId="0"/><xf numFmtId="14"/>'
    link = '<Relationship Id="r1" Target="worksheets/one.xml"/>'
    return archive(
        {
            "xl/workbook.xml": f"<workbook {_SHEET} {_LINKS}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships>{link}</Relationships>",
            "xl/sharedStrings.xml": f"<sst {_SHEET}>{texts}</sst>",
            "xl/styles.xml": f"<styleSheet {_SHEET}><cellXfs>{styles}</cellXfs></styleSheet>",
            "xl/worksheets/one.xml": f"<worksheet {_SHEET}><sheetData>{rows}</sheetData></worksheet>",
        }
    )


LAUGHS = (
    "<!DOCTYPE d [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10)) + "]>"
)
"""Entities that make a billion out of one."""

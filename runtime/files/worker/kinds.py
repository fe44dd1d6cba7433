"""The kind of a file by its content, never by its name or by what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from runtime.files.reading import TEXT_TYPE
from runtime.files.worker.heif import is_heif
from runtime.files.worker.limits import Found, NotRead
from runtime.files.worker.office import read_office
from runtime.files.worker.pictures import read_heif, read_picture
from runtime.files.worker.sounds import measure
from runtime.files.worker.texts import decoded, read_text

_PICTURES: Final[Mapping[bytes, str]] = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
}
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ARCHIVES: Final = (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"BZh", b"\xfd7zXZ\0", b"(\xb5/\xfd")
_PROGRAMS: Final = (b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_PDF_WITHIN: Final = 1024


def read_file(data: bytes, media_type: str, found: Found) -> str:
    """Keep what can be read of a file, said to be of `media_type`; returns its type. Raises NotRead."""
    kind = _picture_type(data)
    if kind is not None:
        read_picture(data, found)
    elif is_heif(data):
        kind = "image/heic"
        read_heif(data, found)
    elif b"%PDF-" in data[:_PDF_WITHIN]:
        from runtime.files.worker.pdf import read_pdf  # noqa: PLC0415 - PDFium costs a quarter of a photo

        kind = "application/pdf"
        read_pdf(data, found)
    elif data.startswith(b"PK\x03\x04"):
        kind = read_office(data, found)
    else:
        sound = measure(data)
        kind = sound.media_type if sound is not None else _text(data, media_type, found)
        found.seconds = None if sound is None else sound.seconds
    return kind


def _picture_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _PICTURES.items() if data.startswith(mark)), None)


def _text(data: bytes, media_type: str, found: Found) -> str:
    if not data:
        raise NotRead("empty")
    why: Mapping[str, Callable[[], bool]] = {
        "old_office": lambda: data.startswith(_OLD_OFFICE),
        "archive": lambda: data.startswith((*_ARCHIVES, b"PK\x05\x06")),
        "program": lambda: data.startswith(_PROGRAMS) and decoded(data) is None,
    }
    for key, holds in why.items():
        if holds():
            raise NotRead(key)
    claimed = media_type.partition(";")[0].strip().lower()
    if claimed.startswith("image/") and claimed != "image/svg+xml":
        raise NotRead("broken_picture")
    if claimed == "application/pdf":
        raise NotRead("broken_document")
    if decoded(data) is None and claimed.startswith(("audio/", "video/")):
        return claimed
    read_text(data, found)
    return claimed if claimed.startswith("text/") or claimed == "application/json" else TEXT_TYPE

"""The worker: reads one file from its input, writes what it is to its output, and ends.

    input    a head in JSON on one line {type, limits, jail}, then the file to the end
    output   a head in JSON on one line {type, parts: [[kind, page, bytes]], remarks: [[key, values]], seconds, jailed},
             then the parts' data one after the other

Before the file is looked at, the process gives up all files but its own code, the network, other processes, and all
memory and time beyond its limits. What it dies of is no harm to anybody.
"""

from __future__ import annotations

import json
import resource
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from gateway.features.files.reading import TEXT_TYPE, UNKNOWN_TYPE, ReadLimits
from gateway.features.files.worker.limits import Found, NotRead, decoded, read_text
from gateway.features.files.worker.office import read_office
from gateway.features.files.worker.pictures import is_heif, learn_heif, read_heif, read_picture
from gateway.features.files.worker.sounds import measure
from runtime.sandbox.landlock import LIBRARIES, enclose

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
        from gateway.features.files.worker.pdf import read_pdf  # noqa: PLC0415 - PDFium costs a quarter of a photo

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


def main() -> None:
    """Read, give up rights, decode, write."""
    head = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    limits = ReadLimits(**head["limits"])
    if is_heif(data):
        learn_heif()
    jailed = _bounded(limits)
    found = Found(limits)
    told, kind = None, UNKNOWN_TYPE
    try:
        kind = read_file(data, str(head["type"]), found)
    except NotRead as error:
        told = (error.key, error.values)
    except MemoryError:
        told = ("too_much_memory", {})
    except RecursionError:
        told = ("broken_document", {})
    if told is not None:
        found.parts.clear()
        found.remarks.append(told)
    _write(kind, found, jailed=jailed)


def _bounded(limits: ReadLimits) -> bool:
    """Give up what is not needed; whether there is a jail around the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    try:
        enclose([*LIBRARIES, *_code()])
    except (OSError, AttributeError):  # another system, or an old one
        return False
    return True


def _code() -> Iterator[str]:
    """The folders of what may still be imported."""
    yield sysconfig.get_path("stdlib")
    yield sysconfig.get_path("platstdlib")
    yield str(Path(__file__).parent)
    for name in ("PIL", "pypdfium2", "pypdfium2_raw"):
        found = find_spec(name)
        yield from (found.submodule_search_locations or ()) if found is not None else ()


def _write(kind: str, found: Found, *, jailed: bool) -> None:
    head: dict[str, Any] = {
        "type": kind,
        "parts": [[part, page, len(data)] for part, data, page in found.parts],
        "remarks": found.remarks,
        "seconds": found.seconds,
        "jailed": jailed,
    }
    out = sys.stdout.buffer
    out.write(json.dumps(head).encode() + b"\n")
    for _, data, _ in found.parts:
        out.write(data)
    out.flush()

"""What the readers of this worker share: why a file is not read, the parts that were read, and texts."""

from __future__ import annotations

import codecs
import time
from typing import Any, Final

from msgspec import Struct, field

from gateway.features.files.reading import ReadLimits

RESERVE_S = 5
"""The CPU time that is left for the rest when reading stops by itself."""


class NotRead(Exception):
    """A file is not read. `key` is the remark that says why, with its `values`."""

    def __init__(self, key: str, **values: str | int) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


class Found(Struct):
    """The parts of a file so far: (kind, data, page), the remarks about it, and how long a sound is."""

    limits: ReadLimits
    parts: list[tuple[str, bytes, int]] = field(default_factory=list)
    remarks: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seconds: float | None = None

    def remark(self, key: str, **values: str | int) -> None:
        self.remarks.append((key, values))

    def text(self, text: str, page: int = 0) -> None:
        if text.strip():
            self.parts.append(("text", text.encode(errors="replace"), page))

    def picture(self, data: bytes, page: int = 0) -> None:
        self.parts.append(("image", data, page))

    @property
    def late(self) -> bool:
        return time.process_time() > self.limits.cpu_s - RESERVE_S


_LOOKED_AT: Final = 64 * 1024
_MAX_CONTROLS: Final = 0.01
"""The part of control characters in a text; others are no text."""

_BREAKS = frozenset("\t\n\r\f\b\x1b")


def read_text(data: bytes, found: Found) -> None:
    """Keep a text, cut at the limit. Raises NotRead for what is none."""
    limit = found.limits.text_chars
    text = decoded(data)
    if text is None:
        raise NotRead("unknown_kind")
    keep_text(text, found, limit)


def keep_text(text: str, found: Found, limit: int) -> None:
    """Keep a text up to `limit` characters, and say what is left out."""
    if len(text) > limit:
        found.remark("cut_text", chars=limit, all=len(text))
        text = f"{text[:limit]}\n… (cut: {limit} of {len(text)} characters)"
    elif not text.strip():
        found.remark("empty")
    found.text(text)


def decoded(data: bytes) -> str | None:
    """A text in UTF-8, UTF-16 with its mark, or Windows' Latin; None for what is no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data:
        return None
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", errors="replace")
    seen = text[:_LOOKED_AT]
    controls = sum((char < " " and char not in _BREAKS) or char == "\ufffd" for char in seen)
    return None if controls > len(seen) * _MAX_CONTROLS else text

"""The outcome of reading a file, and the limits of reading. Light: every worker imports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Struct, field

PartKind = Literal["image", "text"]

TEXT_TYPE = "text/plain"

UNKNOWN_TYPE = "application/octet-stream"


class ReadLimits(Struct, frozen=True):
    """Limits of reading one file. `side` is the longer side of a picture for a model, in pixels; `pixels` is the size
    of the largest picture that is decoded; of a document at most `text_chars` of its text and `pictures` of its pages
    without text are kept, from its first `pages`. `unpacked_bytes` is what may come out of a packed document.
    `memory_bytes`, `cpu_s` and `whole_s` bound the worker.
    """

    side: int = 1568
    pixels: int = 100_000_000
    text_chars: int = 50_000
    pictures: int = 5
    pages: int = 500
    unpacked_bytes: int = 64 * 1024 * 1024
    memory_bytes: int = 1024 * 1024 * 1024
    cpu_s: int = 15
    whole_s: float = 40.0


class FileRemark(Struct, frozen=True):
    """Something to tell the person who sent a file: a text's key below `files.`, and its values."""

    key: str
    values: Mapping[str, str | int] = field(default_factory=dict)


class ReadPart(Struct, frozen=True):
    """A picture (JPEG) or a text (UTF-8) of a file. `page` counts from 1; 0 is the whole file."""

    kind: PartKind
    data: bytes
    page: int = 0


class Reading(Struct, frozen=True):
    """The part of a file that a model can be given. `media_type` is the type of its content, whatever it was said to
    be.

    Without parts nothing of it can be given to a model. `seconds` is the length of a sound, by what its container
    says; None where there is none, or it does not say.
    """

    media_type: str
    parts: tuple[ReadPart, ...] = ()
    remarks: tuple[FileRemark, ...] = ()
    seconds: float | None = None


class FileReader(Protocol):
    """Reads files. Raises nothing: what cannot be read has a remark that says why."""

    async def read(self, data: bytes, media_type: str, /) -> Reading:
        """Read one file, said to be of `media_type`."""

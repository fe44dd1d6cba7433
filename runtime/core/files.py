"""Files that Parley keeps itself: what people upload in the browser, and what agents send."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from runtime.core.errors import FileTooLarge

if TYPE_CHECKING:
    from runtime.core.address import Address
    from runtime.core.message import Attachment

FILE_URL = "file:"
"""The prefix of the url of an attachment in a FileStore; the id follows."""

REFERENCE_DIGITS: Final = 12
FILE_REFERENCE: Final = re.compile(rf"\b{FILE_URL}[0-9a-f]{{{REFERENCE_DIGITS}}}(?![0-9a-f])")
"""The name by which a text means a file that Parley keeps: `file:1a2b3c4d5e6f`."""

PICTURE_TYPE = "image/jpeg"
"""The type of every picture for a model: others are made into it."""

MAX_FILE_BYTES = 20 * 1024 * 1024
"""The size of the largest file that a store takes."""

_MAX_NAME = 120
_MAX_ENDING = 12


class FileHead(Struct, frozen=True):
    """A file's metadata without its content."""

    media_type: str
    size_bytes: int


class FileContent(Struct, frozen=True):
    """A file's content without its name, which belongs to the sender."""

    media_type: str
    data: bytes


class FileBounds(Struct, frozen=True):
    """Limits on stored bytes: in total, of one person's uploads without a message, and of one conversation."""

    total_bytes: int = 256 * 1024 * 1024
    person_bytes: int = 64 * 1024 * 1024
    conversation_bytes: int = 128 * 1024 * 1024


def check_size(data: bytes) -> None:
    """Raise FileTooLarge when no store takes so much."""
    if len(data) > MAX_FILE_BYTES:
        raise FileTooLarge(
            f"This file has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are kept. Send a smaller one."
        )


class FileStore(Protocol):
    """Contents by their hash, within bounds: of too much in a person's or a conversation's account its oldest go, of
    too much in all those of the person with the most bytes in all conversations, first those that no message came
    with, then the oldest. What nobody is known to have sent is its conversation's. Raises StorageUnavailable."""

    async def keep(
        self, data: bytes, media_type: str, /, *, person: str | None = None, conversation: str | None = None
    ) -> str:
        """Keep the content durably and return its id, the same for the same content and type.

        It is counted for the conversation that it is sent in, else for the person, and as sent by the person who was
        the first to send it. Raises FileTooLarge beyond `MAX_FILE_BYTES`.
        """

    async def attach(self, id_: str, conversation: str, /) -> None:
        """A message came with the file: it now belongs to that conversation, and is kept longer than files without a
        message.
        """

    async def head(self, id_: str, /) -> FileHead | None:
        """The file's metadata; None when it is not stored (now)."""

    async def content(self, id_: str, /) -> FileContent | None:
        """The file; None when it is not stored (now)."""


class FileAccess(Protocol):
    """The store of files. Raises AdapterError and StorageError."""

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        """The content of a file that somebody sent in this conversation. Raises NotDelivered when it is gone."""

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        """Keep what is sent in this conversation and return its id; the same content has the same id. Raises
        FileTooLarge."""


def file_id(data: bytes, media_type: str) -> str:
    """The id of a content: 64 hexadecimal digits."""
    return hashlib.sha256(media_type.encode() + b"\0" + data).hexdigest()


def clean_file_name(name: str) -> str:
    """A name without folders and invisible characters, at most 120 long, with its ending kept."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(char for char in last if char.isprintable() and char not in '<>:"|?*').strip(" .")
    if len(visible) <= _MAX_NAME:
        return visible or "file"
    stem, dot, ending = visible.rpartition(".")
    if not dot or len(ending) > _MAX_ENDING:
        return visible[:_MAX_NAME]
    return f"{stem[: _MAX_NAME - len(ending) - 1]}.{ending}"

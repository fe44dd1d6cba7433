"""The host calls for files: reading what a person sent, and sending one."""

from __future__ import annotations

import base64
import codecs
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import anyio

from runtime.core.address import Address
from runtime.core.errors import PlaybookError
from runtime.core.files import FILE_URL, clean_file_name
from runtime.core.message import Attachment
from runtime.core.plain_text import whole_characters
from runtime.execution.frames.frame import SENT_BYTES, Frame, FrameCall
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call
from runtime.execution.speech.pages import Pages
from runtime.execution.speech.unwaited import check_waits
from runtime.language.program import AgentSpec, Program
from runtime.tape.facts.people import PageFinished
from runtime.tape.journal import Journal

MAX_READ_BYTES = 8 * 1024 * 1024
"""A longer file is not fetched for reading."""

DEFAULT_READ_CHARS = 20_000
MAX_READ_CHARS = 200_000
"""The largest text that one call may bring onto the tape."""

MAX_ALT_CHARS = 1_000
"""The longest text in place of a picture, which every platform takes."""

_TEXT_ENDINGS = {".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".txt": "text/plain"}
_BINARY_KINDS = ("image", "audio", "video", "font")


class FileAccess(Protocol):
    """The store of files. Raises AdapterError and StorageError."""

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        """The content of a file that somebody sent in this conversation. Raises NotDelivered when it is gone."""
        ...

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        """Keep what is sent in this conversation and return its id; the same content has the same id. Raises
        FileTooLarge."""
        ...


class FileCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, journal: Journal, pages: Pages, address: Address, files: FileAccess) -> None:
        self._journal = journal
        self._pages = pages
        self._address = address
        self._files = files

    @call("ReadFile", example='text = await ReadFile("report.csv")', reads=True, whole=True)
    async def read_file(self, name: Any, max_chars: int = DEFAULT_READ_CHARS) -> str:
        """Reads a text file that a person sent.

        Returns its text, cut at `max_chars`, at most 200,000. People may send any kind of file, so a file without text
        is no failure of the program: the call returns a sentence in brackets that says so.
        """
        limit = max(1, min(max_chars, MAX_READ_CHARS))
        attachment = find_file(name, self._journal.state.files)
        text = await self._text_read_of(attachment)
        if text is None and attachment.media_type.partition("/")[0] not in _BINARY_KINDS:
            text = decoded(await self._files.fetch(self._address, attachment, max_bytes=MAX_READ_BYTES))
        if text is None:
            text = f"[{attachment.name} cannot be read: it contains no text. ReadFile reads text files only]"
        elif len(text) > limit:
            text = f"{text[:limit]}\n… (cut: {limit} of {len(text)} characters)"
        return text

    async def _text_read_of(self, file: Attachment) -> str | None:
        """The text of a document, read when it came; None for a file that is text itself, or has none."""
        texts = [part for part in file.parts if part.kind == "text"]
        if not texts or file.media_type.startswith("text/"):
            return None
        parts = [replace(file, url=part.url, size_bytes=part.size_bytes) for part in texts]
        read = [await self._files.fetch(self._address, part, max_bytes=MAX_READ_BYTES) for part in parts]
        return "\n".join(data.decode(errors="replace") for data in read)

    @call("SendFile", example='await SendFile("result.csv", content, "a text beside it")', sends=True)
    async def send_file(
        self, frame: Frame, call: FrameCall, name: str, content: Any, text: str = "", alt: str = ""
    ) -> None:
        """Sends a file to the user.

        The file appears once, with the `text` beside it; the ending of its name decides its type. Pictures appear in
        the chat; `alt` describes a picture for people who cannot see it. In Python, `content` may be bytes.
        """
        check_waits(self._journal.state, frame, call)
        clean = clean_file_name(name)
        data, media_type = _sent_data(content), media_type_of(clean)
        if not isinstance(content, str) and media_type.startswith("text/"):
            media_type = mimetypes.guess_type(clean)[0] or "application/octet-stream"
        id_ = await self._files.keep(data, media_type, self._address)
        await self._pages.room()
        file = Attachment(clean, media_type, FILE_URL + id_, len(data), note=alt[:MAX_ALT_CHARS])
        page = self._pages.with_file(frame.id, file)
        self._journal.note(PageFinished(page.id, text, *site(frame, call)))
        self._pages.show(page)
        await self._journal.commit()


def _sent_data(content: Any) -> bytes:
    """The bytes of a file that is sent: of a text, or of bytes as code gives them. Raises PlaybookError."""
    if isinstance(content, str):
        return whole_characters(content).encode()
    if isinstance(content, Mapping) and content.keys() == {SENT_BYTES}:
        return base64.b64decode(str(content[SENT_BYTES]))
    raise PlaybookError(f"SendFile takes the file's content as text, not as {type(content).__name__}")


def media_type_of(name: str) -> str:
    """The type of a text file by its name's ending; plain text when that says nothing."""
    dot = name.rfind(".")
    known = _TEXT_ENDINGS.get(name[dot:].lower()) if dot >= 0 else None
    return known or mimetypes.guess_type(name)[0] or "text/plain"


def find_file(wanted: Any, files: Sequence[Attachment]) -> Attachment:
    """The latest file of this name, or the one that a message gives as data. Raises PlaybookError that names all."""
    if isinstance(wanted, Mapping):
        wanted = wanted.get("url") or wanted.get("name")
    elif isinstance(wanted, list | tuple) and len(wanted) > 2:
        wanted = wanted[2]
    name = str(wanted or "").strip()
    for attachment in reversed(files):
        if name == attachment.url or name.casefold() == attachment.name.casefold():
            return attachment
    known = ", ".join(dict.fromkeys(attachment.name for attachment in files)) or "none"
    raise PlaybookError(f"nobody sent a file {name!r} here; the files are: {known}")


def decoded(data: bytes) -> str | None:
    """The text of a file in UTF-8, UTF-16 with its mark, or Windows' Latin; None when it is no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data or data.startswith((b"%PDF-", b"PK\x03\x04", b"\x1f\x8b")):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


class ProgramFiles:
    """`LoadFile` for one session. Only files that the program's own text names can be read: a model, or who talks it
    into something, reads no others."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._agents: Mapping[str, AgentSpec] = {agent.name: agent for agent in program.agents}

    @call("LoadFile", "Loadfile", reads=True, whole=True)
    async def load(self, frame: Frame, path: str, inline: Any = None, silent: Any = None) -> str:
        """Returns the text of a file that the program names, in the folder of the program's file or below it.

        `inline` and `silent` come from the language's first implementation, and have no effect.
        """
        found = self._place(frame.agent.klass, path)
        try:
            data = await anyio.to_thread.run_sync(_read, found)
        except OSError as error:
            raise PlaybookError(f"{path} cannot be read: {error.strerror or error}") from error
        text = decoded(data)
        if text is None:
            raise PlaybookError(f"{path} is not text")
        if len(text) > MAX_READ_CHARS:
            raise PlaybookError(f"{path} has {len(text):,} characters; {MAX_READ_CHARS:,} can be loaded")
        return text

    def _place(self, klass: str, path: str) -> Path:
        folder = Path(self._agents[klass].span.file).resolve().parent
        outside = PlaybookError(f"{path!r} is not in the folder of the program")
        if not path.strip() or "\0" in path:
            raise outside
        found = (folder / path).resolve()
        if not found.is_relative_to(folder):
            raise outside
        if path not in self._program.pbasm:
            raise PlaybookError(f"{path!r} is not a file that the program names")
        return found


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4 * MAX_READ_CHARS + 1)

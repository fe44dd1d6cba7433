"""The host calls for files: reading what a person sent, having it put into words by a model, and sending a file."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from gateway.features.files.describing import FileDescriber
from gateway.models.answers import BilledPerson
from runtime.core.errors import LLMError, PlaybookError
from runtime.core.files import FILE_URL, FileAccess, clean_file_name
from runtime.core.message import Attachment
from runtime.core.plain_text import whole_characters
from runtime.execution.calls.artifacts import MAX_READ_CHARS, decoded
from runtime.execution.frames.frame import SENT_BYTES, Frame, FrameCall, check_waits
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call
from runtime.execution.prompt.with_files import referred
from runtime.sessions.features import SessionParts
from runtime.tape.facts.people import PageFinished

MAX_READ_BYTES = 8 * 1024 * 1024
"""A longer file is not fetched for reading."""

DEFAULT_READ_CHARS = 20_000

MAX_ALT_CHARS = 1_000
"""The longest text in place of a picture, which every platform takes."""

_TEXT_ENDINGS = {".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".txt": "text/plain"}
_BINARY_KINDS = ("image", "audio", "video", "font")


class FileCalls:
    def __init__(self, parts: SessionParts, files: FileAccess, describer: FileDescriber) -> None:
        self._journal = parts.journal
        self._pages = parts.pages
        self._record = parts.record
        self._files = files
        self._describer = describer

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
            text = decoded(await self._files.fetch(self._record.address, attachment, max_bytes=MAX_READ_BYTES))
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
        read = [await self._files.fetch(self._record.address, part, max_bytes=MAX_READ_BYTES) for part in parts]
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
        id_ = await self._files.keep(data, media_type, self._record.address)
        await self._pages.room()
        file = Attachment(clean, media_type, FILE_URL + id_, len(data), note=alt[:MAX_ALT_CHARS])
        page = self._pages.with_file(frame.id, file)
        self._journal.note(PageFinished(page.id, text, *site(frame, call)))
        self._pages.show(page)
        await self._journal.commit()

    @call("Describe", example='text = await Describe(photo, "What does it amount to?")')
    async def describe(self, file: Any, question: str = "") -> str:
        """Describes a picture or a document that a person sent, or answers a question about it.

        Name the file by a variable of the type `image` or `file`, or by its name. The call asks a model, which costs
        money; the answer is at most 3,000 characters.
        """
        state = self._journal.state
        named = referred(str(file), state.files)
        found = named[0] if named else find_file(file, state.files)
        payer = BilledPerson(self._record.id, self._record.address, state.person)
        try:
            return await self._describer.words(found, payer, question)
        except LLMError as error:
            raise PlaybookError(f"{found.name} could not be described: {error}") from error


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

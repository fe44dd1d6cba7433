"""Files as prompts and values name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.core.files import FILE_REFERENCE, FILE_URL, REFERENCE_DIGITS
from runtime.core.message import Attachment, Message
from runtime.core.prompt_forms import foreign_line
from runtime.execution.prompt.message_text import heard_content

_KINDS: Final = {"image": "image", "audio": "voice or sound", "video": "video"}


def file_line(file: Attachment) -> str:
    """A file as the model sees it: `file report.csv (text/csv, 1,234 bytes)`."""
    kind = _KINDS.get(file.media_type.partition("/")[0], "file")
    size = "" if file.size_bytes is None else f", {file.size_bytes:,} bytes"
    return f"{kind} {foreign_line(file.name)} ({foreign_line(file.media_type)}{size})"


def file_mention(file: Attachment) -> str:
    """A file where it is said, with its reference if Parley keeps it: the model is then given what is in it."""
    name = reference(file)
    return f"[{file_line(file)}{f', {name}' if name else ''}]"


def heard_with_files(message: Message) -> str:
    """The content of a message as a program has it, and its files on lines of their own."""
    content, files = heard_content(message, str), [file_mention(file) for file in message.attachments]
    return "\n".join([content, *files]).strip() if files else content


def file_value(file: Attachment) -> str:
    """A file as the value of a variable: its name, for people, and its reference."""
    return f"{file.name} ({reference(file)})"


def is_picture(file: Attachment) -> bool:
    """Whether a file is of the type `image`."""
    return file.media_type.startswith("image/")


def reference(file: Attachment) -> str:
    """The name by which texts mean a file; "" for one that Parley does not keep."""
    return file.url[: len(FILE_URL) + REFERENCE_DIGITS] if file.url.startswith(FILE_URL) else ""


def referred(text: str, files: Sequence[Attachment]) -> list[Attachment]:
    """The files that a text names, each once, in its order."""
    known = {reference(file): file for file in files if reference(file)}
    return [known[name] for name in dict.fromkeys(FILE_REFERENCE.findall(text)) if name in known]

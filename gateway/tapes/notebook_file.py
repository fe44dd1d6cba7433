"""Notebooks as files of JSON lines, the form that Bub has for its tapes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from runtime.stores.notebooks import MAX_ENTRY_BYTES, UNREADABLE_LINE, Draft

LINES_AT_ONCE = 500
BYTES_AT_ONCE = 512 * 1024


_HALF = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which JSON can write and no text has."""


class BadLine(ValueError):
    """A line that cannot be kept; the text says which and why."""


@dataclass
class ReadFile:
    """The contents of a file as far as it was read. `unreadable` are the numbers of lines that are no entries; `torn`
    is the number of the last line and the bytes of it that are there, where its end is missing.
    """

    lines: int = 0
    unreadable: list[int] = field(default_factory=list)
    torn: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Some lines. The key follows from all lines up to them: what was taken of a file is known again."""

    drafts: list[Draft]
    key: str


async def portions(content: AsyncIterator[bytes], found: ReadFile) -> AsyncIterator[Portion]:
    """The lines of a file in portions, which are the same however the file arrives. Raises BadLine."""
    digest, drafts, size = hashlib.sha256(b"import"), list[Draft](), 0
    async for line, whole in _lines(content):
        draft = _draft(line, found, whole=whole)
        if draft is None:
            continue
        if len(drafts) == LINES_AT_ONCE or (drafts and size + len(line) > BYTES_AT_ONCE):
            yield Portion(drafts, digest.hexdigest())
            drafts, size = [], 0
        digest.update(line + b"\n")
        drafts.append(draft)
        size += len(line)
    if drafts:
        yield Portion(drafts, digest.hexdigest())


async def _lines(content: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bool]]:
    """Each line, and whether its end is there. What is longer than an entry comes in pieces."""
    left = b""
    async for chunk in content:
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            yield line, True
        if len(left) > MAX_ENTRY_BYTES:
            yield left, True
            left = b""
    if left:
        yield left, False


def _draft(line: bytes, found: ReadFile, *, whole: bool) -> Draft | None:
    """The entry of a line; None for the beginning of one."""
    found.lines += 1
    if len(line) > MAX_ENTRY_BYTES:
        raise BadLine(f"line {found.lines} has more than {MAX_ENTRY_BYTES:,} bytes")
    try:
        kind = _kind(line)
    except UnicodeDecodeError as error:
        if not whole:
            kind = None
        else:
            raise BadLine(f"line {found.lines} is not UTF-8") from error
    if kind is None and not whole:
        found.torn = (found.lines, len(line))
        return None
    if kind is None:
        found.unreadable.append(found.lines)
    return Draft(kind or UNREADABLE_LINE, line.decode(), raw=True)


def _kind(line: bytes) -> str | None:
    try:
        data = json.loads(line.decode())
    except (json.JSONDecodeError, RecursionError):
        return None
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if isinstance(kind, str) and kind and not _HALF.search(kind) else None

"""The host call for files of the program itself."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from runtime.core.errors import PlaybookError
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import call
from runtime.language.program import AgentSpec, Program

MAX_READ_CHARS = 200_000
"""The largest text that one call may bring onto the tape."""


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

"""The host calls for artifacts, a large value under a name, and for files of the program itself."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.signatures import VariableName, call
from runtime.execution.prompt.situation import is_large, size_bytes
from runtime.execution.triggers.triggers import VariableRules
from runtime.language.program import AgentSpec, Program
from runtime.tape.rules.frames import is_unnamed

MAX_SAVED = 200
"""Artifacts of one session that were given names, of all its agents together."""

MAX_SAVED_BYTES = 5_000_000
"""The limit for all their values together, as JSON."""


class ArtifactCalls:
    def __init__(self, variables: VariableRules) -> None:
        self._variables = variables
        self._measured: dict[tuple[str, str], tuple[Any, int]] = {}
        """Values by agent and name with their sizes, so that each is measured once."""

    @call("SaveArtifact", "Artifact")
    async def save(self, frame: Frame, call: FrameCall, name: VariableName, summary: str, value: Any) -> None:
        """Keeps a value under a name, which is a variable of the agent from then on."""
        if not name.isidentifier():
            raise PlaybookError(f"an artifact has a name such as report_2026, not {name!r}")
        self._check_room(frame, name, value)
        await self._variables.update(frame, call, name, value, summary)

    def _check_room(self, frame: Frame, name: str, value: Any) -> None:
        """Raises PlaybookError when a session would keep more than it may."""
        sizes = {
            (owner.id, saved): self._size(owner.id, saved, owner.variables.get(saved))
            for owner in frame.journal.state.agents.values()
            for saved in owner.artifacts
            if not is_unnamed(saved) and (owner.id, saved) != (frame.state.agent, name)
        }
        self._measured = {known: measured for known, measured in self._measured.items() if known in sizes}
        if len(sizes) >= MAX_SAVED:
            raise PlaybookError(
                f"{name!r} was not saved: {MAX_SAVED} artifacts are kept already, the limit of a session; "
                "replace one by saving under its name"
            )
        size, others = size_bytes(value), sum(sizes.values())
        if size + others > MAX_SAVED_BYTES:
            raise PlaybookError(
                f"{name!r} was not saved: it has {size:,} bytes as JSON, and a session may keep {MAX_SAVED_BYTES:,} in "
                f"artifacts, of which {others:,} are taken; send large results as files"
            )

    def _size(self, agent: AgentId, name: str, value: Any) -> int:
        known, size = self._measured.get((agent, name), (None, -1))
        if size < 0 or known is not value:
            size = size_bytes(value)
            self._measured[agent, name] = (value, size)
        return size

    @call("LoadArtifact", reads=True, whole=True)
    def load(self, frame: Frame, name: VariableName) -> Any:
        """Returns the whole value of an artifact, or of anything large that the playbook can name."""
        known = {**frame.agent.variables, **frame.state.kwargs, **frame.state.locals}
        if name not in known:
            there = ", ".join(sorted(key for key, value in known.items() if is_large(value))) or "none"
            raise PlaybookError(f"there is no artifact {name!r}; there are {there}")
        return known[name]


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

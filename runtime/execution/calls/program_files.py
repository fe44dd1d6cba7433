"""The host call for files that belong to a program: they lie beside it, and it names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio

from runtime.core.errors import PlaybookError
from runtime.execution.calls.files import MAX_READ_CHARS, decoded
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments
from runtime.execution.host import Builtin
from runtime.language.program import AgentSpec, Program
from runtime.tape.facts.calls import CallReturned
from runtime.tape.journal import Journal


class ProgramFiles:
    """`LoadFile` for one session. Only files that the program's own text names can be read: a model, or who talks it
    into something, reads no others."""

    def __init__(self, program: Program, journal: Journal) -> None:
        self._program = program
        self._agents: Mapping[str, AgentSpec] = {agent.name: agent for agent in program.agents}
        self._journal = journal

    def table(self) -> dict[str, Builtin]:
        """The call by its names."""
        return {"LoadFile": self.load, "Loadfile": self.load}

    async def load(self, frame: Frame, call: Call) -> None:
        """The text of a file in the folder of the program's file, or below it; on the tape, so it is read once."""
        path, *_ = call_arguments(call, "path", "inline", "silent", optional=2)
        found = self._place(frame.agent.klass, str(path))
        try:
            data = await anyio.to_thread.run_sync(_read, found)
        except OSError as error:
            raise PlaybookError(f"{path} cannot be read: {error.strerror or error}") from error
        text = decoded(data)
        if text is None:
            raise PlaybookError(f"{path} is not text")
        if len(text) > MAX_READ_CHARS:
            raise PlaybookError(f"{path} has {len(text):,} characters; {MAX_READ_CHARS:,} can be loaded")
        self._journal.note(CallReturned(*site(frame, call), value=text))
        await self._journal.commit()

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

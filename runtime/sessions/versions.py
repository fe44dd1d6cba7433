"""The versions of programs, which nodes serve in turn: which of them a session goes on with."""

from __future__ import annotations

from typing import Protocol

from runtime.language.program import Program


class ProgramVersions(Protocol):
    """The programs that nodes have served, by digest. Raises StorageUnavailable, and nothing else."""

    async def find(self, digest: str, /) -> Program | None:
        """The program of this digest; None when it is not kept any more."""
        return None

    async def is_newer(self, digest: str, than: Program, /) -> bool:
        """Whether a node took up the program of this digest after any node took up `than`."""
        return False


class NoVersions(ProgramVersions):
    """Nothing is kept: sessions go on with what is served, or not at all."""

"""The program with which one session goes on: as it is served now, or the version that it has on its tapes."""

from __future__ import annotations

from runtime.agents.loops import VersionContinuity
from runtime.core.errors import ProgramChanged
from runtime.core.markup import MarkdownPart
from runtime.core.texts import Texts
from runtime.language.pbasm.versions import listed
from runtime.language.program import Program
from runtime.sessions.node_context import NodeContext
from runtime.tape.state.session import SessionState


def news_of(state: SessionState, texts: Texts) -> str:
    if state.has_guests:
        return texts("session.program_news_alone")
    changes = [texts(f"session.program_{kind}", names=listed(names)) for kind, names in state.news.items()]
    return texts("session.program_news", changes=MarkdownPart("; ".join(changes)))


def trouble_of(state: SessionState, program: str, why: str | None, around: NodeContext) -> str:
    """Why the program of this name cannot go on. Guests may know that it is not there any more."""
    hides = state.has_guests and program in around.programs
    return around.texts("session.trouble", error=MarkdownPart(around.texts("session.failed") if hides else why or ""))


class ProgramInUse:
    """The program of one session in memory. `version` stands in for the program as it is served now."""

    def __init__(self, around: NodeContext, name: str, version: Program | None) -> None:
        self._around = around
        self._name = name
        self._served = around.program(name)
        self.program = version or self._served
        self.reverts_to: Program | None = None
        """The version with which the session has to be restored."""

    @property
    def outdated(self) -> bool:
        """Whether the program is served in another version than when the session came into memory."""
        return self._around.program(self._name) is not self._served

    async def take_up(self, digest: str, continuity: VersionContinuity) -> None:
        """Go on with `program`; `digest` is that of the version on the tapes.

        Where a node took that one up later, or the session cannot go on with the program, it reverts to it. Raises
        ProgramChanged when that version is not kept.
        """
        versions = self._around.versions
        if digest != self.program.digest and await versions.is_newer(digest, self.program):
            self.reverts_to = await versions.find(digest)
        if self.reverts_to is not None:
            return
        try:
            await continuity.go_on()
        except ProgramChanged:
            self.reverts_to = None if digest == self.program.digest else await versions.find(digest)
            if self.reverts_to is None:
                raise

"""The host calls for artifacts: keeping a large value under a name, and loading it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.execution.artifacts import is_large
from runtime.execution.frame import Call, Frame
from runtime.execution.host import Builtin, site
from runtime.execution.signatures import call_arguments
from runtime.tape.frame_state import FrameState
from runtime.tape.journal import Journal
from runtime.tape.state import SessionState


class ArtifactCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {"SaveArtifact": self.save, "Artifact": self.save, "LoadArtifact": self.load}

    async def save(self, frame: Frame, call: Call) -> None:
        """Keep a value under a name, which from then on is a variable of the agent."""
        name, summary, value = call_arguments(call, "name", "summary", "value")
        clean = str(name).removeprefix("$")
        if not clean.isidentifier():
            raise PlaybookError(f"an artifact has a name such as report_2026, not {name!r}")
        self._journal.note("res", **site(frame, call), val=None, set={clean: value}, art={clean: str(summary)})

    async def load(self, frame: Frame, call: Call) -> None:
        """The whole value of an artifact, or of anything large that the frame can name."""
        (name,) = call_arguments(call, "name")
        clean = str(name).removeprefix("$")
        known = named_values(self._journal.state, frame.state)
        if clean not in known:
            there = ", ".join(sorted(key for key, value in known.items() if is_large(value))) or "none"
            raise PlaybookError(f"there is no artifact {name!r}; there are {there}")
        self._journal.note("res", **site(frame, call), val=known[clean])


def named_values(state: SessionState, frame: FrameState) -> Mapping[str, Any]:
    """What a frame can name."""
    return {**state.agents[frame.agent].variables, **frame.kwargs, **frame.locals}

"""The host calls for artifacts: keeping a large value under a name, and loading it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments
from runtime.execution.host import Builtin
from runtime.execution.prompt.artifacts import is_large, size_bytes
from runtime.execution.triggers.triggers import VariableRules
from runtime.tape.facts.calls import CallReturned
from runtime.tape.frame_state import FrameState
from runtime.tape.journal import Journal
from runtime.tape.rules.frames import is_unnamed
from runtime.tape.state import SessionState

MAX_SAVED = 200
"""Artifacts of one session that were given names, of all its agents together."""

MAX_SAVED_BYTES = 5_000_000
"""The limit for all their values together, as JSON."""


class ArtifactCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, journal: Journal, variables: VariableRules) -> None:
        self._journal = journal
        self._variables = variables
        self._measured: dict[tuple[str, str], tuple[Any, int]] = {}
        """Values by agent and name with their sizes, so that each is measured once."""

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {"SaveArtifact": self.save, "Artifact": self.save, "LoadArtifact": self.load}

    async def save(self, frame: Frame, call: Call) -> None:
        """Keep a value under a name, which from then on is a variable of the agent."""
        name, summary, value = call_arguments(call, "name", "summary", "value")
        clean = str(name).removeprefix("$")
        if not clean.isidentifier():
            raise PlaybookError(f"an artifact has a name such as report_2026, not {name!r}")
        self._check_room(frame.state.agent, clean, value)
        await self._variables.update(frame, call, clean, value, str(summary))

    def _check_room(self, agent: str, name: str, value: Any) -> None:
        """Raises PlaybookError when a session would keep more than it may."""
        sizes = {
            (owner.id, saved): self._size(owner.id, saved, owner.variables.get(saved))
            for owner in self._journal.state.agents.values()
            for saved in owner.artifacts
            if not is_unnamed(saved) and (owner.id, saved) != (agent, name)
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

    def _size(self, agent: str, name: str, value: Any) -> int:
        known, size = self._measured.get((agent, name), (None, -1))
        if size < 0 or known is not value:
            size = size_bytes(value)
            self._measured[agent, name] = (value, size)
        return size

    async def load(self, frame: Frame, call: Call) -> None:
        """The whole value of an artifact, or of anything large that the frame can name."""
        (name,) = call_arguments(call, "name")
        clean = str(name).removeprefix("$")
        known = named_values(self._journal.state, frame.state)
        if clean not in known:
            there = ", ".join(sorted(key for key, value in known.items() if is_large(value))) or "none"
            raise PlaybookError(f"there is no artifact {name!r}; there are {there}")
        self._journal.note(CallReturned(*site(frame, call), value=known[clean]))


def named_values(state: SessionState, frame: FrameState) -> Mapping[str, Any]:
    """The values that a frame can name."""
    return {**state.agents[frame.agent].variables, **frame.kwargs, **frame.locals}

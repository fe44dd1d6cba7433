"""The host calls for artifacts: keeping a large value under a name, and loading it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.signatures import VariableName, call
from runtime.execution.prompt.artifacts import is_large, size_bytes
from runtime.execution.triggers.triggers import VariableRules
from runtime.tape.journal import Journal
from runtime.tape.rules.frames import is_unnamed
from runtime.tape.state.frames import FrameState
from runtime.tape.state.session import SessionState

MAX_SAVED = 200
"""Artifacts of one session that were given names, of all its agents together."""

MAX_SAVED_BYTES = 5_000_000
"""The limit for all their values together, as JSON."""


class ArtifactCalls:
    def __init__(self, journal: Journal, variables: VariableRules) -> None:
        self._journal = journal
        self._variables = variables
        self._measured: dict[tuple[str, str], tuple[Any, int]] = {}
        """Values by agent and name with their sizes, so that each is measured once."""

    @call("SaveArtifact", "Artifact")
    async def save(self, frame: Frame, call: FrameCall, name: VariableName, summary: str, value: Any) -> None:
        """Keeps a value under a name, which is a variable of the agent from then on."""
        if not name.isidentifier():
            raise PlaybookError(f"an artifact has a name such as report_2026, not {name!r}")
        self._check_room(frame.state.agent, name, value)
        await self._variables.update(frame, call, name, value, summary)

    def _check_room(self, agent: AgentId, name: str, value: Any) -> None:
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

    def _size(self, agent: AgentId, name: str, value: Any) -> int:
        known, size = self._measured.get((agent, name), (None, -1))
        if size < 0 or known is not value:
            size = size_bytes(value)
            self._measured[agent, name] = (value, size)
        return size

    @call("LoadArtifact", reads=True, whole=True)
    def load(self, frame: Frame, name: VariableName) -> Any:
        """Returns the whole value of an artifact, or of anything large that the playbook can name."""
        known = named_values(self._journal.state, frame.state)
        if name not in known:
            there = ", ".join(sorted(key for key, value in known.items() if is_large(value))) or "none"
            raise PlaybookError(f"there is no artifact {name!r}; there are {there}")
        return known[name]


def named_values(state: SessionState, frame: FrameState) -> Mapping[str, Any]:
    return {**state.agents[frame.agent].variables, **frame.kwargs, **frame.locals}

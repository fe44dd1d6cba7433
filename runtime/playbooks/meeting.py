"""Playbooks that are meetings: executing one holds it, or takes part in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from runtime.execution.frame import Frame
from runtime.execution.host import Executable
from runtime.language.program import PlaybookSpec
from runtime.tape.state import MeetingState


class Hall(Protocol):
    """Opens and closes meetings for the frames that execute them."""

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState:
        """Return when the meeting goes on: at once for who was invited, with everybody required for its host."""
        ...

    async def depart(self, meeting: MeetingState, agent: str, /) -> None:
        """The agent's playbook has returned."""
        ...


class MeetingPlaybook:
    """Wraps the playbook that says what its agent does in the meeting."""

    def __init__(self, spec: PlaybookSpec, inner: Executable, hall: Hall) -> None:
        self.spec = spec
        self.name = inner.name
        self.version = inner.version
        self._inner = inner
        self._hall = hall

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """See `Executable.bind`."""
        return self._inner.bind(args, kwargs)

    async def adopt(self, frame: Frame, /) -> None:
        """See `Executable.adopt`."""
        await self._inner.adopt(frame)

    async def run(self, frame: Frame, /) -> Any:
        """See `Executable.run`."""
        meeting = await self._hall.enter(frame, self.spec)
        agent = frame.state.agent
        try:
            value = await self._inner.run(frame)
        except Exception:
            await self._hall.depart(meeting, agent)
            raise
        await self._hall.depart(meeting, agent)
        return value

"""Playbooks that are meetings: executing one holds it, or takes part in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from runtime.core.errors import JournalError, PlaybookError, StorageError
from runtime.execution.frames.frame import ExecutablePlaybook, Frame
from runtime.language.program import PlaybookSpec
from runtime.meetings.invitations import AUTOMATIC
from runtime.tape.journal import as_data
from runtime.tape.state.meetings import MeetingState


class MeetingHosting(Protocol):
    """Opens and closes meetings for the frames that execute them."""

    async def enter(self, frame: Frame, playbook: PlaybookSpec, /) -> MeetingState | str:
        """Return when the meeting is active: at once for an invited agent, with everybody required for its host.

        A text says why it does not take place.
        """

    async def depart(self, meeting: MeetingState, frame: Frame, failure: Exception | None = None, /) -> None:
        """The playbook of a frame has returned, or failed."""


class MeetingPlaybook:
    """Wraps the playbook that says what its agent does in the meeting."""

    def __init__(self, spec: PlaybookSpec, inner: ExecutablePlaybook, meeting_host: MeetingHosting) -> None:
        self.spec = spec
        self.name = inner.name
        self.version = inner.version
        self.kind = inner.kind
        self._inner = inner
        self._meeting_host = meeting_host

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Bind the arguments that every meeting takes beside the playbook's own."""
        declared = {param.name for param in self.spec.params}
        own = {name: kwargs[name] for name in AUTOMATIC if name in kwargs and name not in declared}
        inner = {name: value for name, value in kwargs.items() if name not in own}
        values, named, variables = self._inner.bind(args, inner)
        try:
            return values, named | as_data(own), variables
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"topic and attendees of {self.name} are texts and lists of names: {error}") from error

    async def adopt(self, frame: Frame, /) -> None:
        await self._inner.adopt(frame)

    async def run(self, frame: Frame, /) -> Any:
        meeting = await self._meeting_host.enter(frame, self.spec)
        if isinstance(meeting, str):
            return meeting
        try:
            value = await self._inner.run(frame)
        except (StorageError, JournalError):
            raise
        except Exception as error:
            await self._meeting_host.depart(meeting, frame, error)
            raise
        await self._meeting_host.depart(meeting, frame)
        return value

"""The host calls about meetings: who is invited, leaving and ending one, and its shared state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any

from runtime.core.errors import UnknownTarget
from runtime.core.ids import AgentId, ParticipantId, PersonId, parse_meeting_id
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import call
from runtime.meetings.meeting import check_takes_part, names_of, who
from runtime.meetings.meetings import MISSING, SessionMeetings, write_shared
from runtime.tape.journal import Journal
from runtime.tape.state.meetings import MeetingState, SharedValue

Invite = Callable[[MeetingState, ParticipantId, Sequence[str]], Awaitable[list[AgentId | PersonId]]]
"""Has agents and people asked to a meeting by a participant; gives who was asked now, by id. Raises UnknownTarget."""


def _version(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise ValueError(f"expected as the number of a version, not {given!r}")
    return given


def _name(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"name as a text, not {given!r}")
    return given.strip().removeprefix("$")


Version = Annotated[int, _version]
SharedName = Annotated[str, _name]


class MeetingCalls:
    def __init__(self, journal: Journal, meetings: SessionMeetings, invite: Invite) -> None:
        self._journal = journal
        self._meetings = meetings
        self._invite = invite

    @call("InviteToMeeting", example='await InviteToMeeting(["Ada"])')
    async def invite(self, frame: Frame, attendees: Any, meeting: Any = None) -> list[str]:
        """Asks more participants to join.

        Returns the names of those whom this call has asked. If you name no meeting, the call means the current one.
        """
        if _is_meeting(attendees):
            attendees, meeting = meeting, attendees
        found = self._own(frame, meeting)
        asked = await self._invite(found, frame.state.agent, names_of(attendees))
        return [self._journal.state.name_of(one) for one in asked]

    @call("LeaveMeeting", example="await LeaveMeeting()")
    def leave(self, frame: Frame, meeting: Any = None) -> Any:
        """Leaves, as Return does.

        If you name no meeting, the call means the current one.
        """
        self._meetings.leave(self._own(frame, meeting), frame.state.agent)
        return None

    @call("EndMeeting", example="await EndMeeting()")
    def end(self, frame: Frame, meeting: Any = None) -> Any:
        """Ends the meeting for everybody.

        If you name no meeting, the call means the current one.
        """
        self._meetings.end(self._own(frame, meeting), by=frame.state.agent)
        return None

    @call("Share", example='await Share("budget", 1200)')
    def share(
        self, frame: Frame, name: SharedName, value: Any, expected: Version | None = None, meeting: Any = None
    ) -> int:
        """Sets a value for everybody in the meeting.

        If you name no meeting, the call means the current one. Returns the value's version. With `expected` it fails
        unless the value has that version, 0 for no value yet.
        """
        found = self._meeting(frame, meeting)
        return write_shared(self._journal, found, name, value, by=frame.state.agent, expected=expected)

    @call("Shared", reads=True)
    def shared(
        self, frame: Frame, name: SharedName | None = None, meeting: Any = None, with_version: Any = False
    ) -> Any:
        """Returns the value of a name in the meeting, None if nobody has written it, or all values by name.

        With `with_version` each is a dictionary of its `value`, its `version` and `by`, which names its author.
        """
        found = self._meeting(frame, meeting)
        if frame.state.meeting != found.id:
            check_takes_part(self._journal.state, found, frame.state.agent)
        shown = self._whole if with_version else attrgetter("value")
        if name is None:
            return {known: shown(value) for known, value in found.shared.items()}
        return shown(found.shared.get(name, MISSING))

    def _whole(self, shared: SharedValue) -> Mapping[str, Any]:
        by = who(self._journal.state, shared.by) if shared.version else None
        return {"value": shared.value, "version": shared.version, "by": by}

    def _meeting(self, frame: Frame, named: Any) -> MeetingState:
        text = "meeting" if named is None else str(named).strip()
        number = frame.state.meeting if text.lower() == "meeting" else parse_meeting_id(text) or text
        found = self._journal.state.meetings.get(number or "")
        if found is None:
            raise UnknownTarget(f"there is no meeting {named!r}" if named else "this playbook is in no meeting")
        return found

    def _own(self, frame: Frame, named: Any) -> MeetingState:
        found = self._meeting(frame, named)
        check_takes_part(self._journal.state, found, frame.state.agent)
        return found


def _is_meeting(given: Any) -> bool:
    """Whether an argument names a meeting: `meeting`, `meeting 100` or 100."""
    text = str(given).strip() if isinstance(given, str | int) else ""
    return text.lower() == "meeting" or text.isdecimal() or parse_meeting_id(text) is not None

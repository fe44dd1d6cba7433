"""The host calls for the shared state of a meeting: reading a value, and writing one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import parse_meeting_id
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call_arguments
from runtime.execution.host import Builtin
from runtime.meetings.shared_state import MISSING, SharedState, who
from runtime.tape.facts.calls import CallReturned
from runtime.tape.journal import Journal
from runtime.tape.state import MeetingState, SharedValue


class SharedCalls:
    """The calls of one session; each notes its own result."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._state = SharedState(journal)

    def table(self) -> dict[str, Builtin]:
        """The calls by name."""
        return {"Share": self.share, "Shared": self.shared}

    async def share(self, frame: Frame, call: Call) -> None:
        """Set a value for all in the meeting; the result is its version. Raises as `SharedState.write`."""
        name, value, expected, named = call_arguments(call, "name", "value", "expected", "meeting", optional=2)
        meeting = self._meeting(frame, named)
        if expected is not None and (isinstance(expected, bool) or not isinstance(expected, int)):
            raise PlaybookError(f"expected is the number of a version, not {expected!r}")
        by = frame.state.agent
        version = self._state.write(meeting, _name(name), value, by=by, expected=expected)
        self._journal.note(CallReturned(*site(frame, call), value=version))

    async def shared(self, frame: Frame, call: Call) -> None:
        """The value of a name, None when nobody has written it; all of them by name when none is given.

        With `with_version` each is a dictionary of its value, its version and by whom it is.
        """
        name, named, with_version = call_arguments(call, "name", "meeting", "with_version", optional=3)
        meeting = self._meeting(frame, named)
        agent = frame.state.agent
        if agent not in meeting.joined and frame.state.meeting != meeting.id:
            raise PlaybookError(f"{who(self._journal.state, agent)} is not in meeting {meeting.id}; it may not read it")
        shown = self._whole if with_version else _value
        found: Any
        if name is None:
            found = {known: shown(value) for known, value in meeting.shared.items()}
        else:
            found = shown(meeting.shared.get(_name(name), MISSING))
        self._journal.note(CallReturned(*site(frame, call), value=found))

    def _whole(self, shared: SharedValue) -> Mapping[str, Any]:
        by = who(self._journal.state, shared.by) if shared.version else None
        return {"value": shared.value, "version": shared.version, "by": by}

    def _meeting(self, frame: Frame, named: Any) -> MeetingState:
        number = frame.state.meeting if named is None else parse_meeting_id(str(named)) or str(named)
        meetings = self._journal.state.meetings
        if number is None or number not in meetings:
            raise UnknownTarget(f"there is no meeting {named!r}" if named else "this playbook is in no meeting")
        return meetings[number]


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise PlaybookError(f"a name in the shared state is a text, not {name!r}")
    return name.strip().removeprefix("$")


def _value(shared: SharedValue) -> Any:
    return shared.value

"""The shared state of meetings: values under names that all participants read and write, each with its version."""

from __future__ import annotations

import json
from typing import Any

from runtime.core.errors import PlaybookError, SharedStateConflict
from runtime.core.ids import ANYONE, ParticipantId
from runtime.meetings.meeting import check_takes_part, who
from runtime.tape.facts.meetings import StateShared
from runtime.tape.journal import Journal
from runtime.tape.state.meetings import MeetingState, SharedValue

MAX_NAMES = 100
"""Values of one meeting."""

MAX_NAME_CHARS = 100

MAX_CHARS = 64_000
"""The limit for all values of one meeting together, as JSON."""

MISSING = SharedValue(None, 0, ANYONE)
"""The value of a name that nobody has written."""


def write_shared(
    journal: Journal, meeting: MeetingState, name: str, value: Any, *, by: ParticipantId, expected: int | None = None
) -> int:
    """Set a value of the shared state; returns its version. `by` is a participant, an agent or a person.

    Raises SharedStateConflict when the value has another version than `expected` (0: it was never written),
    UnknownTarget for whoever is not in the meeting, and PlaybookError for one that has ended and for what is too much.
    """
    if meeting.status == "ended":
        raise PlaybookError(f"meeting {meeting.id} has ended: its shared state can only be read")
    check_takes_part(journal.state, meeting, by)
    before = meeting.shared.get(name, MISSING)
    if expected is not None and before.version != expected:
        there = f"version {before.version} is there, by {who(journal.state, before.by)}"
        stands = there if before.version else "nobody has written it"
        raise SharedStateConflict(
            f"{name!r} of meeting {meeting.id} was not written: {stands}, and version {expected} was expected; "
            "read it again and decide again"
        )
    _check_size(meeting, name, value)
    journal.note(StateShared(meeting.id, name, value, by))
    return meeting.shared[name].version


def _check_size(meeting: MeetingState, name: str, value: Any) -> None:
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise PlaybookError(f"a name in the shared state is one line of 1 to {MAX_NAME_CHARS} characters, not {name!r}")
    if name not in meeting.shared and len(meeting.shared) >= MAX_NAMES:
        raise PlaybookError(f"meeting {meeting.id} shares {MAX_NAMES} values already; {name!r} is one too many")
    try:
        chars = len(_text(value))
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"the value of {name!r} is not data that survives a restart: {error}") from error
    others = sum(len(_text(known.value)) for other, known in meeting.shared.items() if other != name)
    if chars + others > MAX_CHARS:
        raise PlaybookError(
            f"{name!r} has {chars} characters as JSON, and meeting {meeting.id} may share {MAX_CHARS}, of which "
            f"{others} are taken; keep large values in variables or files, and share only what is needed"
        )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

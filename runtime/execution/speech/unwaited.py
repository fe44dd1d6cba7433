"""The number of things that a playbook may say while it waits for nobody."""

from __future__ import annotations

from runtime.core.errors import PlaybookError
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.tape.state.session import SessionState

MAX_UNWAITED = 500
"""The number of things in a row that a playbook, with those that it calls, says to people and meetings, sends them as
files or asks them, without waiting for anybody."""


def check_waits(state: SessionState, frame: Frame, call: FrameCall) -> None:
    """Raises PlaybookError where a frame, or one that waits for it, has said so much that nobody can answer."""
    speaker = frame.state
    place = call.place or speaker.step
    by = "" if place is None else f" ({place})"
    while speaker.spoken < MAX_UNWAITED:
        caller = speaker.caller and state.frames.get(speaker.caller.frame)
        if not caller:
            return
        speaker = caller
    raise PlaybookError(
        f"{speaker.playbook} has spoken {MAX_UNWAITED} times without waiting for anybody{by}. Let it wait for an "
        "answer or for a time, or say it in fewer messages"
    )

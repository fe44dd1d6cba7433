"""The place where people see what an agent says and does: the session's conversation, or the place of a meeting."""

from __future__ import annotations

from runtime.core.address import Address
from runtime.core.ids import AgentId, parse_meeting_id
from runtime.tape.state.frames import FrameState
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.people import PageState
from runtime.tape.state.session import SessionState


def meeting_held_at(state: SessionState, place: Address) -> MeetingState | None:
    """The active meeting of a place; None when there is none (now)."""
    return next((m for m in state.meetings.values() if m.hears_from(place) and m.status != "ended"), None)


def meeting_of_page(state: SessionState, page: PageState) -> MeetingState | None:
    """The meeting in whose place a page is shown, now or until the place was lost; None also for a notice after its
    end, which nobody misses."""
    meeting = next((m for m in state.meetings.values() if m.hears_from(page.place)), None)
    if page.place is None or meeting is None:
        return None
    is_late = not page.agent and (state.ended or meeting.status == "ended")
    return None if is_late else meeting


def place_of(state: SessionState, frame: str, to: str) -> Address | None:
    """The place where a frame's messages to a target are shown, by the frame's id and the target's key; None for
    the session's own conversation.

    What is said to a meeting is shown where that is held. Anything else that is said in a meeting is shown there too,
    unless the person who was heard last wrote in the session's own conversation.
    """
    meeting = parse_meeting_id(to)
    if meeting is not None:
        return _held_at(state, meeting)
    speaker = state.frames.get(frame)
    if speaker is None or state.agents[speaker.agent].at_home:
        return None
    return _place_of_frame(state, speaker)


def place_of_elsewhere(state: SessionState, agent: AgentId, to: str) -> Address | None:
    """The place for an agent without frames: it is played in another process."""
    if parse_meeting_id(to) is not None:
        return place_of(state, "", to)
    there = [meeting.id for meeting in state.meetings.values() if agent in meeting.joined]
    places = [] if state.agents[agent].at_home else [_held_at(state, meeting) for meeting in there]
    return next((place for place in places if place is not None), None)


def place_of_work(state: SessionState, agent: AgentId) -> Address | None:
    """The place where people see that an agent works."""
    if not any(_held_at(state, meeting) for meeting in state.meetings) or state.agents[agent].at_home:
        return None
    latest = next((frame for frame in reversed(state.frames.values()) if frame.agent == agent), None)
    return None if latest is None else _place_of_frame(state, latest)


def _place_of_frame(state: SessionState, frame: FrameState) -> Address | None:
    """The place of the innermost meeting with one that the frame, or a frame that called it, takes part in."""
    at: FrameState | None = frame
    while at is not None:
        place = _held_at(state, at.meeting)
        if place is not None:
            return place
        at = state.frames.get(at.caller.frame) if at.caller is not None else None
    return None


def _held_at(state: SessionState, meeting: str | None) -> Address | None:
    known = state.meetings.get(meeting or "")
    return None if known is None or known.status == "ended" else known.place

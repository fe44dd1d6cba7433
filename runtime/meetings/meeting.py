"""The life of a meeting: pure rules about its state, which they never change.

A meeting is created when its host begins to execute the playbook, is inviting until everybody required is there, is
active, and has ended. It ends from every state, and never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from runtime.core.ids import AgentId, ParticipantId
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState

Status = Literal["created", "inviting", "active", "ended"]

NEXT: Mapping[Status, frozenset[Status]] = {
    "created": frozenset({"inviting", "ended"}),
    "inviting": frozenset({"active", "ended"}),
    "active": frozenset({"ended"}),
    "ended": frozenset(),
}
"""The states that may follow each state."""

Named = Callable[[ParticipantId], str]
"""The name of an agent or a person, by id."""


def may_become(meeting: MeetingState, status: Status) -> bool:
    """Whether `status` may follow."""
    return status in NEXT[meeting.status]


def may_join(meeting: MeetingState, who: ParticipantId) -> bool:
    """Whether `who` can come in now."""
    return meeting.status != "ended" and who not in meeting.joined


def missing(meeting: MeetingState) -> list[ParticipantId]:
    """Those without whom it does not begin, and who are not there."""
    return [who for who, ask in meeting.asks.items() if ask.required]


def absent(meeting: MeetingState) -> list[ParticipantId]:
    """Those who were asked and do not come."""
    return [who for who, ask in meeting.asks.items() if ask.due is None]


def is_over(meeting: MeetingState) -> bool:
    """Whether nobody is left who could hold it: agents hold meetings, people take part."""
    return not meeting.agents


def solo(meeting: MeetingState) -> AgentId | None:
    """The agent that is alone in a meeting which nobody else is about to join; None when there are others."""
    alone = meeting.status == "active" and len(meeting.joined) == 1 and not meeting.pending
    return meeting.agents[0] if alone and meeting.agents else None


def meeting_of(state: SessionState, agent: AgentId) -> MeetingState | None:
    """The meeting that an agent is in; an agent is in one at most."""
    return next((m for m in state.meetings.values() if m.status != "ended" and agent in m.joined), None)


def absence(meeting: MeetingState, named: Named) -> str:
    """The missing attendees and their reasons: the result of the call when a meeting does not take place."""
    reasons = "; ".join(f"{named(who)}: {meeting.invited.get(who) or 'did not answer'}" for who in missing(meeting))
    return f"Meeting {meeting.id} did not take place: {reasons}"

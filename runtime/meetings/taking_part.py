"""Taking part in a meeting: who may speak in it, invite to it and end it. Pure rules."""

from __future__ import annotations

from runtime.core.errors import UnknownTarget
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import NO_MEETING
from runtime.core.prompt_forms import Form, foreign_name
from runtime.meetings.invitations import LEFT, rejected
from runtime.meetings.meeting import meeting_of
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState


def who(state: SessionState, participant: ParticipantId) -> str:
    """An agent or a person as agents know them: `TaxAgent (agent 1001)`, `Ada (user)`."""
    agent = state.agent(participant)
    if agent is not None:
        return Form.AGENT.format(whom=agent.klass, number=agent.id)
    return Form.PERSON.format(whom=foreign_name(state.called(participant)))


def check_takes_part(state: SessionState, meeting: MeetingState, participant: ParticipantId) -> None:
    """Raises UnknownTarget for somebody who is not in a meeting, or was not when it ended."""
    if participant not in meeting.joined:
        why = " any more" if meeting.invited.get(participant) == LEFT else "; it has to be invited first"
        raise UnknownTarget(f"{who(state, participant)} is not in meeting {meeting.id}{why}")


def comes_too_late(state: SessionState, meeting: MeetingState, agent: AgentId) -> bool:
    """Whether the meeting of an agent has ended, and the agent has not read that yet: what it does there comes to
    nothing, and is no error of its program."""
    unread = any(one.ends_meeting and one.meeting_id == meeting.id for one in state.agents[agent].queue)
    return meeting.status == "ended" and agent in meeting.joined and unread


def within(state: SessionState, sender: ParticipantId, recipient: ParticipantId | None) -> str | None:
    """What `Message.within` is for what is said to the recipient alone. A person is in a meeting of the conversation
    until they leave it or say that they do not come."""
    meeting = meeting_of(state, recipient) if isinstance(recipient, AgentId) else None
    if meeting is None:
        return None
    there = sender in meeting.joined or not (isinstance(sender, AgentId) or stays_away(state, meeting, sender))
    return meeting.id if there else NO_MEETING


def stays_away(state: SessionState, meeting: MeetingState, person: ParticipantId) -> bool:
    """Whether a person has left a meeting, or has said that they do not come."""
    known = state.person_of(person)
    names = (person, PersonId(known.declared) if known is not None and known.declared else person)
    answers = [meeting.invited.get(name, "") for name in names]
    return any(answer == LEFT or answer.startswith(rejected("")) for answer in answers)

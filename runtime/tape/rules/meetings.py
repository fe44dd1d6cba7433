"""The fold's rules about meetings. See `fold` for the kinds."""

from __future__ import annotations

from runtime.core.ids import ParticipantId
from runtime.tape.facts import meetings as facts
from runtime.tape.facts.registry import rule
from runtime.tape.state.frames import CallKey, last_of, said_by, speaker_of
from runtime.tape.state.meetings import MAX_HISTORY, AskState, MeetingState, SharedValue
from runtime.tape.state.session import SessionState


@rule(facts.MeetingCreated)
def _meeting(state: SessionState, _: int, fact: facts.MeetingCreated) -> None:
    meeting = MeetingState(fact.id, fact.topic, fact.host, fact.frame, joined=[fact.host])
    meeting.status, meeting.came = fact.status, {fact.host: state.at_s}
    meeting.type, meeting.since = fact.type or fact.topic, fact.at
    state.meetings[fact.id] = meeting
    state.frames[fact.frame].meeting = fact.id


@rule(facts.InvitingBegun)
def _inviting(state: SessionState, _: int, fact: facts.InvitingBegun) -> None:
    meeting = state.meetings[fact.id]
    meeting.status = "inviting"
    frame = state.frames.get(meeting.frame)
    if frame is not None:  # arguments of the meeting, not of the playbook
        frame.kwargs = {name: value for name, value in frame.kwargs.items() if name not in fact.own}


@rule(facts.ParticipantAsked)
def _asked(state: SessionState, _: int, fact: facts.ParticipantAsked) -> None:
    meeting, who = state.meetings[fact.id], fact.who
    _close_questions(state, meeting, who)
    meeting.invited[who] = ""
    meeting.asks[who] = AskState(fact.by, fact.times, fact.due, fact.required)


@rule(facts.InvitationAnswered)
def _invite(state: SessionState, _: int, fact: facts.InvitationAnswered) -> None:
    """An answer; without one, in old tapes, the question."""
    meeting, who = state.meetings[fact.id], fact.who
    meeting.invited[who] = fact.answer
    ask = meeting.asks.setdefault(who, AskState(meeting.host, due=0.0, required=True))
    if fact.answer and not fact.again:
        ask.due = None
        _close_questions(state, meeting, who)


@rule(facts.ParticipantJoined)
def _joined(state: SessionState, _: int, fact: facts.ParticipantJoined) -> None:
    meeting = state.meetings[fact.id]
    for name in (fact.named or fact.who, fact.who):
        _close_questions(state, meeting, name)
        meeting.asks.pop(name, None)
        meeting.invited.pop(name, None)
    meeting.invited[fact.who] = "JOINED"
    if fact.who not in meeting.joined:
        meeting.joined.append(fact.who)
        meeting.came[fact.who] = state.at_s


@rule(facts.ParticipantLeft)
def _left(state: SessionState, _: int, fact: facts.ParticipantLeft) -> None:
    meeting = state.meetings[fact.id]
    meeting.joined = [who for who in meeting.joined if who != fact.who]
    meeting.came.pop(fact.who, None)
    meeting.invited[fact.who] = "LEFT"


@rule(facts.MeetingBegun)
def _meeting_active(state: SessionState, _: int, fact: facts.MeetingBegun) -> None:
    meeting = state.meetings[fact.id]
    meeting.status, meeting.held = "active", True


@rule(facts.MeetingAddressed)
def _spoke(state: SessionState, _: int, fact: facts.MeetingAddressed) -> None:
    meeting, message = state.meetings[fact.id], fact.message
    if meeting.status != "ended":
        meeting.history = [*meeting.history, message][-MAX_HISTORY:]
    meeting.talk = last_of([*meeting.talk, *said_by(speaker_of(message), message.content)])
    if message.sender_id == meeting.host:
        meeting.cue = None


@rule(facts.HostCued)
def _cue(state: SessionState, _: int, fact: facts.HostCued) -> None:
    state.meetings[fact.id].cue = fact.message


@rule(facts.NoticeHeard)
def _hears(state: SessionState, _: int, fact: facts.NoticeHeard) -> None:
    state.frames[fact.frame].inbox.append(fact.message)


def question_of(meeting: MeetingState, who: ParticipantId, times: int) -> CallKey:
    """The key of the question whether a person joins, asked for the `times`-th time."""
    return CallKey(meeting.frame, f"invite.{who}.{times}")


def _close_questions(state: SessionState, meeting: MeetingState, who: ParticipantId) -> None:
    ask = meeting.asks.get(who)
    if ask is not None:
        state.questions.pop(question_of(meeting, who, ask.times), None)


def close_meeting(state: SessionState, meeting: MeetingState, why: str | None = None) -> None:
    """A meeting has ended: invitations end with it."""
    for who in meeting.asks:
        _close_questions(state, meeting, who)
    meeting.status, meeting.why = "ended", why
    meeting.asks, meeting.history, meeting.cue = {}, [], None


@rule(facts.MeetingPlaced)
def _place(state: SessionState, _: int, fact: facts.MeetingPlaced) -> None:
    meeting = state.meetings[fact.id]
    meeting.place = fact.place
    state.agents[meeting.host].at_home = False


@rule(facts.MeetingPlaceLost)
def _place_lost(state: SessionState, _: int, fact: facts.MeetingPlaceLost) -> None:
    meeting = state.meetings[fact.id]
    meeting.left, meeting.place = meeting.place, None


@rule(facts.MeetingEnded)
def _meeting_end(state: SessionState, _: int, fact: facts.MeetingEnded) -> None:
    close_meeting(state, state.meetings[fact.id], fact.why)


@rule(facts.StateShared)
def _shared(state: SessionState, _: int, fact: facts.StateShared) -> None:
    shared = state.meetings[fact.id].shared
    version = shared[fact.name].version if fact.name in shared else 0
    shared[fact.name] = SharedValue(fact.value, version + 1, fact.by)

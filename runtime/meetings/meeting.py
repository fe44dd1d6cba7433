"""The rules of a meeting, which never change its state: its life, who takes part, how much people see, and where; and
those of invitations: who is asked, how often, and the possible answers.

A meeting is created when its host begins to execute the playbook, is inviting until everybody required is there, is
active, and has ended. It ends from every state, and never goes back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import AgentId, ParticipantId, PersonId, parse_meeting_id
from runtime.core.message import NO_MEETING
from runtime.core.prompt_forms import LineForm, foreign_name
from runtime.language.program import PlaybookSpec
from runtime.tape.state.frames import FrameState
from runtime.tape.state.meetings import AskState, MeetingState
from runtime.tape.state.people import PageState
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

Show = Literal["all", "summaries", "none"]
"""Every message; start and result of a meeting; nothing."""

OpenToPeople = Callable[[MeetingState], bool]
"""Whether people outside a meeting see its messages."""

_SHOWS: Sequence[Show] = ("all", "summaries", "none")


def may_become(meeting: MeetingState, status: Status) -> bool:
    return status in NEXT[meeting.status]


def may_join(meeting: MeetingState, who: ParticipantId) -> bool:
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


def who(state: SessionState, participant: ParticipantId) -> str:
    """An agent or a person as agents know them: `TaxAgent (agent 1001)`, `Ada (user)`."""
    agent = state.agent(participant)
    if agent is not None:
        return LineForm.AGENT.format(whom=agent.klass, number=agent.id)
    return LineForm.PERSON.format(whom=foreign_name(state.called(participant)))


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


class MeetingHabits(Struct, frozen=True):
    """The settings for meetings: whether those with people get places, and how much is shown of those among agents."""

    threads: bool = True
    show: Show = "all"

    def shown(self, metadata: Mapping[str, Any]) -> Show:
        """The rule for a meeting whose playbook has this metadata: its own, else that of the settings."""
        wanted = str(metadata.get("show", "")).strip().lower()
        return next((show for show in _SHOWS if show == wanted), self.show)


def meeting_held_at(state: SessionState, place: Address) -> MeetingState | None:
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
    places = (_held_at(state, one.meeting) for one in state.stack(frame))
    return next((place for place in places if place is not None), None)


def _held_at(state: SessionState, meeting: str | None) -> Address | None:
    known = state.meetings.get(meeting or "")
    return None if known is None or known.status == "ended" else known.place


AGAIN_AFTER_S = 30.0
"""The wait for an answer to the first invitation; each further one waits twice as long as the one before."""

MAX_TIMES = 5
"""The number of invitations; a quarter of an hour after the first one the wait ends."""

JOINED = "JOINED"
BUSY = "REJECTED - busy"
DECLINED = "REJECTED - declined"
LEFT = "LEFT"
NO_ANSWER = "did not answer"

AUTOMATIC = ("topic", "attendees")
"""Parameters that every meeting playbook has."""

BEFORE_JOINING = "before_joining"
"""The key of a meeting playbook by which its agent names what it executes before it answers."""

MAX_REASON_CHARS = 200
"""The length of a reason for not coming."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SAYS_NOTHING = frozenset({"meeting", "a", "an", "the", "to", "in", "when", "invited", "for", "of", "on", "about"})


def due_after(times: int, now_s: float) -> float:
    return now_s + AGAIN_AFTER_S * 2.0 ** (times - 1)


def is_silent(meeting: MeetingState, who: ParticipantId) -> bool:
    """Whether a meeting cannot begin because `who` has not answered."""
    ask = meeting.asks.get(who)
    return ask is not None and ask.required and ask.due is not None and not meeting.invited.get(who)


def is_last(ask: AskState) -> bool:
    return ask.times >= MAX_TIMES


def rejected(reason: str) -> str:
    return f"REJECTED - {reason}"


def answer_of(value: Any, error: tuple[str, str] | None) -> str:
    """The answer of an agent whose playbook of `before_joining` returned a value, or failed with a type and a text.

    A text is the reason why it does not come, False means that it does not, and everything else that it does.
    """
    if error is not None:
        return rejected(f"{error[1] or error[0]}"[:MAX_REASON_CHARS])
    if isinstance(value, str) and value.strip() not in ("", JOINED):
        return rejected(value.strip().removeprefix(rejected("")).strip()[:MAX_REASON_CHARS])
    return DECLINED if value is False else JOINED


def cannot_handle(playbooks: Sequence[PlaybookSpec]) -> str:
    """The answer of an agent none of whose meetings, which are `playbooks`, fits."""
    types = ", ".join(playbook.name for playbook in playbooks)
    return rejected(f"cannot handle this type of meeting. Here are the meeting types I can handle: [{types}]")


def fitting(playbooks: Sequence[PlaybookSpec], type_: str, topic: str) -> PlaybookSpec | None:
    """The playbook by which an agent takes part in a meeting of a type: the host's playbook, and what it is about.

    It is one with a trigger that names the type or the topic, else the one of the same name, else the only one there
    is; None when none fits.
    """
    for wanted in (_words(type_), _words(topic)):
        for playbook in playbooks:
            if wanted and any(wanted <= _words(trigger.text) for trigger in playbook.triggers):
                return playbook
    same = [playbook for playbook in playbooks if playbook.name.casefold() == type_.casefold()]
    return next(iter(same or (playbooks if len(playbooks) == 1 else ())), None)


def _words(text: str) -> frozenset[str]:
    """The words of a text or of a name such as `TravelPlanningMeeting` that say something."""
    return frozenset(word.lower() for word in _WORD.findall(text)) - _SAYS_NOTHING


def names_of(given: Any) -> list[str]:
    """The attendees that a program gives as a list, or as one text with commas. Raises PlaybookError."""
    if given is None:
        return []
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | int) for name in names):
        raise PlaybookError(f'attendees are given as a list such as ["Accountant", "agent 1003"], not as {given!r}')
    return [name for name in (str(name).strip() for name in names) if name]

"""Meetings: a channel with a life cycle. Every step of it is facts, and notices to those whom it concerns. And the
state that its participants share: values under names, each with its version.

Nothing here waits. What belongs together is noted in one go, so that a commit has all of it or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from runtime.bus import Bus
from runtime.core.clock import EXACT_S, Clock
from runtime.core.errors import PlaybookError, SharedStateConflict
from runtime.core.ids import ANYONE, AgentId, MeetingId, ParticipantId, new_message_id
from runtime.core.message import Message, MessageType
from runtime.core.plain_text import enumerated
from runtime.events.sessions import MeetingOver, MeetingStarted
from runtime.meetings import meeting as rules
from runtime.meetings.meeting import who as called
from runtime.tape.facts import meetings as facts
from runtime.tape.facts.meetings import StateShared
from runtime.tape.journal import Journal
from runtime.tape.state.meetings import AskState, MeetingState, SharedValue

FIRST_MEETING = 100
"""Meetings of a session are numbered from here."""

MAX_HISTORY_CHARS = 20_000
"""The length of the history that a late joiner gets."""

STARTED = "Meeting started"
ENDED = "Meeting has ended"
SOLO = "End this meeting?"


class Attendance(Protocol):
    """Those who can take part, as meetings reach them. None of this waits."""

    def hear(self, agent: AgentId, message: Message) -> None:
        """An agent hears a notice."""

    def welcome(self, meeting: MeetingState, agent: AgentId, history: Message) -> None:
        """An agent that has just come hears what was said before, ahead of all that is said from now on."""

    def brief(self, meeting: MeetingState, message: Message) -> None:
        """The host of a meeting that has just started hears a notice from before its beginning."""

    def cue(self, meeting: MeetingState, message: Message) -> None:
        """The host of a meeting that has just started is asked to begin."""

    def announce(self, meeting: MeetingState, text: str) -> None:
        """The people who are in the meeting hear a notice."""

    def host_reads(self, meeting: MeetingState) -> bool:
        """Whether a model executes the meeting: code would take a notice from before its beginning for an answer."""

    def announce_absent(self, meeting: MeetingState, names: Sequence[str]) -> None:
        """The people where the meeting is held hear for whom it waits."""

    def waiting_for(self, meeting: MeetingState) -> Sequence[AgentId]:
        """The agents that wait for the meeting, in it or not."""


class SessionMeetings:
    def __init__(self, journal: Journal, attendance: Attendance, clock: Clock, bus: Bus) -> None:
        self._journal = journal
        self._attendance = attendance
        self._clock = clock
        self._bus = bus

    def get(self, meeting: str) -> MeetingState:
        return self._journal.state.meetings[meeting]

    def going_on(self) -> list[MeetingState]:
        return [meeting for meeting in self._journal.state.meetings.values() if meeting.status != "ended"]

    # -- its life

    def create(self, host: AgentId, frame: str, type_: str, topic: str) -> MeetingState:
        number = str(FIRST_MEETING + len(self._journal.state.meetings))
        at = self._clock.now().timestamp()
        self._journal.note(facts.MeetingCreated(number, topic, host, frame, type_, at, "created"))
        self._bus.publish(MeetingStarted(self._journal.session, number))
        return self.get(number)

    def begin_inviting(self, meeting: MeetingState, own: Sequence[str] = ()) -> bool:
        """Its place is there: people and agents can be asked. `own` are arguments of its frame that are ours alone."""
        if not rules.may_become(meeting, "inviting"):
            return False
        self._journal.note(facts.InvitingBegun(meeting.id, own=list(own)))
        return True

    def start(self, meeting: MeetingState) -> None:
        if not rules.may_become(meeting, "active"):
            return
        self._journal.note(facts.MeetingBegun(meeting.id))
        self._tell(meeting, STARTED, but=(meeting.host,))
        for who in rules.absent(meeting):
            text = self._absence(meeting, who)
            self._tell(meeting, text, but=(meeting.host,))
            self._attendance.brief(
                meeting, replace(self.message(meeting, text, MessageType.MEETING_NOTICE), quiet=True)
            )
        text = f"Meeting has started. {self._journal.state.name_of(meeting.host)}, please start the meeting."
        self._attendance.cue(meeting, self.message(meeting, text, MessageType.MEETING_NOTICE))

    def end(self, meeting: MeetingState, *, by: ParticipantId | None = None, why: str | None = None) -> None:
        """All in it are told, but `by` who does it, and so are those who wait for it. `why` is for one that fails."""
        if not rules.may_become(meeting, "ended"):
            return
        text = f"{ENDED} ({why})" if why else ENDED
        outside = [agent for agent in self._attendance.waiting_for(meeting) if agent not in meeting.joined]
        notice = replace(self.message(meeting, text, MessageType.MEETING_NOTICE), ends_meeting=True)
        for who in (*meeting.agents, *outside):
            if who != by:
                self._attendance.hear(who, notice)
        if meeting.people:
            self._attendance.announce(meeting, text)
        self._journal.note(facts.MeetingEnded(meeting.id, why, self._frame(meeting)))
        self._bus.publish(MeetingOver(self._journal.session, meeting.id))

    # -- coming and going

    def ask(self, meeting: MeetingState, who: ParticipantId, by: ParticipantId, *, required: bool = False) -> bool:
        """Write down that `who` is asked to join, or is asked again; False for one who cannot be."""
        if not rules.may_join(meeting, who):
            return False
        known = meeting.asks.get(who)
        times = known.times + 1 if known is not None and known.due is not None else 1
        due = rules.due_after(times, self._clock.now().timestamp())
        self.note_asked(meeting, who, AskState(by, times, due, required or bool(known and known.required)))
        return True

    def note_asked(self, meeting: MeetingState, who: ParticipantId, ask: AskState) -> None:
        self._journal.note(facts.ParticipantAsked(meeting.id, who, ask.by, ask.times, ask.due, ask.required))

    def tell_of_invitations(self, meeting: MeetingState, by: ParticipantId, asked: Sequence[ParticipantId]) -> None:
        if meeting.status == "active":
            for who in asked:
                text = f"{self._called(meeting, by)} invited {self._called(meeting, who)}. Waiting…"
                self._tell(meeting, text, but=(by,))

    def answered(
        self, meeting: MeetingState, who: ParticipantId, answer: str, *, named: ParticipantId | None = None
    ) -> None:
        """Record the answer of an invited participant; `named` is the name of the invitation, if not the id."""
        if answer == rules.JOINED:
            self.joined(meeting, who, named=named)
            return
        asked_as = named or who
        ask = meeting.asks.get(asked_as)
        if ask is None or ask.due is None:
            return
        final = answer != rules.BUSY
        self._journal.note(facts.InvitationAnswered(meeting.id, asked_as, answer, not final, self._frame(meeting)))
        if final:
            self._tell_absence(meeting, asked_as)

    def joined(self, meeting: MeetingState, who: ParticipantId, *, named: ParticipantId | None = None) -> None:
        """`who` takes part from now on; an agent that comes late hears what was said before it."""
        if not rules.may_join(meeting, who):
            return
        if meeting.status == "active":
            is_agent = f" (agent {who})" if isinstance(who, AgentId) else ""
            ask = meeting.asks.get(named or who)
            text = f"{self._journal.state.name_of(who)}{is_agent} has joined the meeting"
            self._tell(meeting, text, wakes=None if ask is None else ask.by)
        self._journal.note(facts.ParticipantJoined(meeting.id, who, named or None, self._frame(meeting)))
        if meeting.history and isinstance(who, AgentId):
            history = self.message(meeting, self._history(meeting), MessageType.MEETING_NOTICE)
            self._attendance.welcome(meeting, who, history)

    def leave(self, meeting: MeetingState, who: ParticipantId, why: str | None = None) -> None:
        """`who` is gone; the others are told, and the last one is asked whether to go on."""
        if who not in meeting.joined or meeting.status == "ended":
            return
        self._journal.note(facts.ParticipantLeft(meeting.id, who))
        text = f"{self._called(meeting, who)} has left the meeting{f' ({why})' if why else ''}"
        self._tell(meeting, text, gone=who)
        if rules.is_over(meeting):
            self.end(meeting)
        else:
            self._ask_solo(meeting)

    def to_ask_again(self) -> list[tuple[MeetingState, ParticipantId]]:
        """Those whose time has come, and who are to be asked again; those that were asked enough are let go."""
        now_s = self._clock.now().timestamp()
        due = [
            (meeting, who)
            for meeting in self.going_on()
            for who, ask in meeting.asks.items()
            if ask.due is not None and ask.due <= now_s + EXACT_S
        ]
        for meeting, who in [(meeting, who) for meeting, who in due if rules.is_last(meeting.asks[who])]:
            answer = meeting.invited.get(who) or rules.NO_ANSWER
            self._journal.note(facts.InvitationAnswered(meeting.id, who, answer, frame=self._frame(meeting)))
            self._tell_absence(meeting, who)
        again = [(m, who) for m, who in due if who in m.asks and m.asks[who].due is not None and m.status != "ended"]
        for meeting in self.going_on():
            if any(m is meeting and rules.is_silent(meeting, who) for m, who in again):
                self._tell_silent(meeting)
        return again

    def _tell_silent(self, meeting: MeetingState) -> None:
        """Host and people hear who has not answered while the meeting waits for them."""
        names = [self._called(meeting, who) for who in meeting.pending if rules.is_silent(meeting, who)]
        text = f"Waiting for {enumerated(names)} to join"
        notice = replace(self.message(meeting, text, MessageType.MEETING_NOTICE), quiet=True)
        for agent in meeting.agents:
            if agent != meeting.host or self._attendance.host_reads(meeting):
                self._attendance.hear(agent, notice)
        self._attendance.announce_absent(meeting, names)

    # -- messages

    def message(
        self,
        meeting: MeetingState,
        text: str,
        kind: MessageType,
        *,
        sender: AgentId | None = None,
        to: AgentId | None = None,
    ) -> Message:
        """Something that is said about the meeting, by its host unless `sender` says it."""
        sender_id = sender or meeting.host
        return Message(
            id=new_message_id(),
            sender_id=sender_id,
            sender_class=self._journal.state.agents[sender_id].klass,
            content=text,
            created_at=self._clock.now(),
            type=kind,
            meeting_id=MeetingId(meeting.id),
            recipient_id=to,
            recipient_class=None if to is None else self._journal.state.agents[to].klass,
        )

    def _tell(
        self,
        meeting: MeetingState,
        text: str,
        *,
        but: Sequence[ParticipantId | None] = (),
        gone: ParticipantId | None = None,
        wakes: ParticipantId | None = None,
    ) -> None:
        """All in it hear a notice, which ends the wait of no agent but `wakes`."""
        notice = replace(self.message(meeting, text, MessageType.MEETING_NOTICE), gone=gone)
        for who in meeting.agents:
            if who not in but:
                self._attendance.hear(who, notice if who == wakes else replace(notice, quiet=True))
        if meeting.people:
            self._attendance.announce(meeting, text)

    def _tell_absence(self, meeting: MeetingState, who: ParticipantId) -> None:
        if meeting.status == "active":
            self._tell(meeting, self._absence(meeting, who), wakes=meeting.asks[who].by)
            self._ask_solo(meeting)

    def _absence(self, meeting: MeetingState, who: ParticipantId) -> str:
        return f"{self._called(meeting, who)} does not join the meeting: {meeting.invited[who]}"

    def _ask_solo(self, meeting: MeetingState) -> None:
        alone = rules.solo(meeting)
        if alone is not None:
            self._attendance.hear(alone, self.message(meeting, SOLO, MessageType.MEETING_NOTICE))

    def _called(self, meeting: MeetingState, who: ParticipantId) -> str:
        """The name of a participant, with the number of an agent where the meeting knows another one of its class."""
        name = self._journal.state.name_of(who)
        known = {*meeting.joined, *meeting.invited} - {who}
        several = isinstance(who, AgentId) and any(self._journal.state.name_of(other) == name for other in known)
        return f"{name} (agent {who})" if several else name

    def _history(self, meeting: MeetingState) -> str:
        names = {who: self._called(meeting, who) for who in {m.sender_id for m in meeting.history}}
        lines = [f"{m.sender_name or names[m.sender_id]}: {m.content}" for m in meeting.history]
        text = "\n".join(lines)
        cut = len(text) > MAX_HISTORY_CHARS
        return "What was said before you came:\n" + ("…" + text[-MAX_HISTORY_CHARS:] if cut else text)

    def _frame(self, meeting: MeetingState) -> str | None:
        """The host's frame, as a fact names it for which the host may be waiting."""
        return meeting.frame if meeting.frame in self._journal.state.frames else None


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
    rules.check_takes_part(journal.state, meeting, by)
    before = meeting.shared.get(name, MISSING)
    if expected is not None and before.version != expected:
        there = f"version {before.version} is there, by {called(journal.state, before.by)}"
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

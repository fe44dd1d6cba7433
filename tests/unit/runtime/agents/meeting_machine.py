"""Meetings under joins, leaves, invitations, failures and restarts in any order, beside a model of what must be.

Everything is real but the agents' loops: the host of meetings and their rules, channels, the journal and the fold. A
step of the machine that would wait for something is an error, so every step is one whole batch of facts.
"""

from collections.abc import Collection, Coroutine
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.agents.invitations import HumanAttendees, SessionInvitations
from runtime.agents.meeting_host import MeetingHost, SessionAttendance
from runtime.agents.registry import MessageDispatcher, SessionChannels
from runtime.bus import Bus
from runtime.channels.channel import ChannelRegistry
from runtime.channels.participant import Participant
from runtime.core.clock import SystemClock
from runtime.core.errors import QueueFull
from runtime.core.ids import ANYONE, AgentId, ParticipantId, PersonId, SessionId
from runtime.core.message import HUMAN_CLASS, Message, MessageType, message_from_data, message_to_data
from runtime.core.texts import english
from runtime.execution.prompt.situation import situation
from runtime.execution.session_context import SessionContext
from runtime.meetings.meeting import BUSY, JOINED, rejected
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.state.meetings import MeetingState
from runtime.tape.tape import Fact
from tests.unit.runtime.sessions.programs import program

AGENTS = tuple(AgentId(str(1000 + n)) for n in range(5))
PEOPLE = (PersonId("test:Ada"), PersonId("test:Bob"))
MOST_AT_ONCE = 2
UNWILLING = rejected("no time")
SOLO = "End this meeting?"


@dataclass
class Known:
    """A meeting as it has to be."""

    host: AgentId
    status: str = "created"
    joined: list[ParticipantId] = field(default_factory=list)
    pending: dict[ParticipantId, float] = field(default_factory=dict)
    """When each is asked again."""
    times: dict[ParticipantId, int] = field(default_factory=dict)
    required: set[ParticipantId] = field(default_factory=set)
    busy: set[ParticipantId] = field(default_factory=set)
    """Who answered so, and was not asked again."""
    said: list[str] = field(default_factory=list)
    told: int = 0
    """Notices to the people in it."""


class Time(SystemClock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


class Screen:
    """What people are told, as facts."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.texts = english()

    def tell(self, text: str, place: object = None) -> None:
        assert place is None
        seq = self._journal.note(content_of("page", {"f": "", "agent": "", "to": "notice"}))
        self._journal.note(content_of("fin", {"page": str(seq), "text": text}))

    async def deliver(self, message: Message, /) -> None:
        """Notices are told; what is said has a page of its own."""


class People:
    """The candidates of meetings, without loops: agents hear at once."""

    def __init__(self, journal: Journal, screen: Screen, full: Collection[str]) -> None:
        self._journal = journal
        self._full = full
        self.human = Participant(ANYONE, HUMAN_CLASS, screen.deliver)
        self._known: dict[ParticipantId, Participant] = {p: Participant(p, HUMAN_CLASS, screen.deliver) for p in PEOPLE}
        for agent in AGENTS:
            self._known[agent] = Participant(AgentId(agent), "Agent", self._hears(agent))
        self.invitations: SessionInvitations

    def _hears(self, agent: AgentId) -> Any:
        def hear(message: Message) -> None:
            if agent in self._full:
                raise QueueFull(f"agent {agent} can take no more")
            if message.type == MessageType.MEETING_RESPONSE:
                self.invitations.answered(message)
            elif message.type != MessageType.MEETING_INVITATION:
                self._accept(agent, message)

        return hear

    def participant(self, who: ParticipantId) -> Participant:
        return self._known[who]

    def lives(self, agent: AgentId) -> bool:
        return agent in AGENTS

    def executes(self, agent: AgentId) -> bool:
        return agent in AGENTS

    def get(self, agent: str) -> Any:
        return SimpleNamespace(accept=partial(self._accept, agent))

    def _accept(self, agent: str, message: Message) -> None:
        self._journal.note(content_of("in", {"agent": agent, "message": message_to_data(message)}))

    def notifies(self, _person: str) -> bool:
        return True

    def classes(self) -> tuple[str, ...]:
        return ()


def done(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of what must not wait."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("a step of a meeting waits for something")


async def _kept(_: CommitBatch, /) -> None:
    """The machine keeps facts itself."""


class MeetingMachine(RuleBasedStateMachine):
    """Draws what happens. The kind of meetings may have a bug."""

    kind_of_meetings: type[SessionMeetings] = SessionMeetings

    def __init__(self) -> None:
        super().__init__()
        self.clock = Time()
        self.facts: list[Fact] = []
        self.known: dict[str, Known] = {}
        self.heard: dict[str, list[str]] = {agent: [] for agent in AGENTS}
        self.frames = 0
        self.full: set[str] = set()
        """Agents that can take no more."""
        self.start_process()
        for agent in AGENTS:
            self.journal.note(content_of("agent", {"id": agent, "class": f"Agent{agent}", "vars": {}}))
        for person in PEOPLE:
            self.journal.note(content_of("person", {"id": person, "name": person.removeprefix("test:"), "since": 0.0}))
        self.commit()

    def start_process(self) -> None:
        """A process takes the session up from what was committed."""
        self.journal = Journal(SessionId("s"), self.clock, _kept)
        for fact in self.facts:
            self.journal.restore(fact)
        screen = Screen(self.journal)
        people = People(self.journal, screen, self.full)
        agents, pages, nobody = cast("Any", people), cast("Any", screen), cast("Any", None)
        session = SessionContext(program(), self.journal, nobody, self.clock, Bus(self.clock), None)
        channels = ChannelRegistry(session.bus)
        self.channels = SessionChannels(self.journal, agents, channels, lambda _: False)
        dispatcher = MessageDispatcher(self.journal, session.bus, agents, channels, pages, nobody)
        attendance = SessionAttendance(session.program, self.journal, agents, dispatcher, pages, lambda _: False)
        meetings = self.kind_of_meetings(self.journal, attendance, self.clock, session.bus)
        self.human_attendees = HumanAttendees(self.journal, meetings, self.channels, pages, nobody)
        invitations = SessionInvitations(session, agents, self.channels, dispatcher, meetings, self.human_attendees)
        people.invitations = invitations
        self.meeting_host = MeetingHost(self.journal, agents, pages, nobody, meetings, invitations)

    @rule()
    def commit(self) -> None:
        self.facts += self.journal._facts
        self.journal._facts.clear()
        self.journal.committed = self.journal.state.seq
        self.kept = deepcopy((self.known, self.heard, self.frames, self.clock.at))

    @rule()
    def crash(self) -> None:
        at = self.clock.at
        self.known, self.heard, self.frames, _ = deepcopy(self.kept)
        self.clock.at = at
        self.start_process()
        self.look_at_the_time()

    # -- what agents and people do

    def open(self) -> list[str]:
        return [id_ for id_, known in self.known.items() if known.status != "ended"]

    def is_in(self, who: ParticipantId) -> bool:
        return any(who in known.joined for known in self.known.values() if known.status != "ended")

    def begin(self, agent: AgentId, meeting: str | None = None) -> str:
        self.frames += 1
        frame = f"{agent}.{self.frames}"
        about: dict[str, Any] = {"args": [], "kwargs": {}, "version": "v", "pb": "Talk", "meeting": meeting}
        self.journal.note(content_of("start", {"f": frame, "agent": agent, **about}))
        return frame

    def return_(self, agent: AgentId, meeting: str) -> None:
        for frame in [f.id for f in self.journal.state.frames.values() if (f.agent, f.meeting) == (agent, meeting)]:
            self.journal.note(content_of("ret", {"f": frame, "val": None}))

    @rule(host=st.sampled_from(AGENTS), at_once=st.booleans())
    def create(self, host: AgentId, at_once: bool = True) -> None:
        if self.is_in(host) or len(self.open()) == MOST_AT_ONCE:
            return
        frame = self.begin(host)
        meeting = self.meeting_host.meetings.create(host, frame, "Talk", "Talk")
        assert meeting.id not in self.known
        self.known[meeting.id] = Known(host, joined=[host])
        if at_once:
            self.begin_inviting(meeting)

    @precondition(lambda self: self.open())
    @rule(data=st.data())
    def place_is_open(self, data: st.DataObject) -> None:
        self.begin_inviting(self.one(data)[0])

    def begin_inviting(self, meeting: MeetingState) -> None:
        known = self.known[meeting.id]
        assert self.meeting_host.meetings.begin_inviting(meeting) == (known.status == "created")
        known.status = "inviting" if known.status == "created" else known.status

    @precondition(lambda self: self.open())
    @rule(data=st.data(), who=st.sampled_from(AGENTS), required=st.booleans())
    def invite(self, data: st.DataObject, who: AgentId, required: bool) -> None:
        meeting, known = self.one(data)
        by = data.draw(st.sampled_from([a for a in known.joined if isinstance(a, AgentId)]))
        if known.status == "inviting" and by == known.host and required and who not in known.joined:
            assert self.meeting_host.meetings.ask(meeting, who, by, required=True)
            self.asked(known, who, required=True)
            return
        asked = done(self.meeting_host.invite(meeting, by, [who]))
        fresh = who not in known.joined and who not in known.pending
        assert asked == ([who] if fresh else [])
        if fresh:
            self.asked(known, who)
            if known.status == "active":
                self.tell(known, f"Agent{by} invited Agent{who}. Waiting…", but=by)

    def asked(self, known: Known, who: ParticipantId, *, required: bool = False) -> None:
        times = known.times.get(who, 0) + 1 if who in known.pending else 1
        known.times[who] = times
        known.pending[who] = self.clock.at.timestamp() + 30 * 2 ** (times - 1)
        known.required |= {who} if required else set()
        known.busy.discard(who)

    @precondition(lambda self: any(known.pending for known in self.known.values()))
    @rule(data=st.data(), answer=st.sampled_from([JOINED, JOINED, BUSY, UNWILLING]))
    def answer(self, data: st.DataObject, answer: str) -> None:
        waiting = [(id_, who) for id_, known in self.known.items() for who in known.pending]
        id_, who = data.draw(st.sampled_from(waiting))
        assert isinstance(who, AgentId)
        meeting, known = self.meeting_host.meetings.get(id_), self.known[id_]
        if answer == JOINED and self.is_in(who):
            answer = BUSY
        if answer == JOINED:
            self.comes(meeting, known, who)
            return
        done(self.meeting_host.invitations.answer(meeting, who, answer))
        if answer != BUSY:
            self.does_not_come(known, who, answer)
        else:
            known.busy.add(who)

    def comes(self, meeting: MeetingState, known: Known, who: AgentId) -> None:
        self.begin(who, meeting.id)
        done(self.meeting_host.invitations.answer(meeting, who, JOINED))
        self.joins(known, who, f"Agent{who} (agent {who})")

    def joins(self, known: Known, who: ParticipantId, called: str) -> None:
        if known.status == "active":
            self.tell(known, f"{called} has joined the meeting")
        known.pending.pop(who, None)
        known.required.discard(who)
        known.joined.append(who)
        if known.said and who in AGENTS:
            self.heard[who].append("\n".join(["What was said before you came:", *known.said]))

    def does_not_come(self, known: Known, who: ParticipantId, answer: str) -> None:
        known.pending.pop(who)
        if known.status == "active":
            self.tell(known, f"Agent{who} does not join the meeting: {answer}")
            self.solo(known)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), number=st.integers(1, 3))
    def gather(self, data: st.DataObject, number: int) -> None:
        """Those who have time are asked, come, and the meeting starts: it is where most can go wrong."""
        meeting, known = self.one(data)
        self.begin_inviting(meeting)
        for who in [agent for agent in AGENTS if not self.is_in(agent)][:number]:
            if who not in known.pending:
                by = next(agent for agent in known.joined if isinstance(agent, AgentId))
                done(self.meeting_host.invite(meeting, by, [who]))
                self.asked(known, who)
                if known.status == "active":
                    self.tell(known, f"Agent{by} invited Agent{who}. Waiting…", but=by)
            self.comes(meeting, known, who)
        self.start_one(meeting, known)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), person=st.sampled_from(PEOPLE))
    def person_comes_or_goes(self, data: st.DataObject, person: PersonId) -> None:
        meeting, known = self.one(data)
        if person in known.joined:
            self.human_attendees.leave(meeting, person)
            self.leaves(known, person, person.removeprefix("test:"))
        else:
            said = self.meeting_host.meetings.message(meeting, "here I am", MessageType.DIRECT)
            self.human_attendees._said(meeting, replace_sender(said, person))
            self.joins(known, person, person.removeprefix("test:"))

    @precondition(lambda self: self.open())
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        self.start_one(*self.one(data))

    def start_one(self, meeting: MeetingState, known: Known) -> None:
        if known.status != "inviting" or known.host not in known.joined or known.required:
            return
        self.meeting_host.meetings.start(meeting)
        known.status = "active"
        self.tell(known, "Meeting started", but=known.host)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), who=st.sampled_from((*AGENTS, *PEOPLE)))
    def say(self, data: st.DataObject, who: AgentId | PersonId) -> None:
        meeting, known = self.one(data)
        if who not in known.joined:
            return
        text = f"word {self.journal.state.seq}"
        message = self.meeting_host.meetings.message(meeting, text, MessageType.MEETING_BROADCAST)
        if isinstance(who, PersonId):
            message = replace_sender(message, who)
            done(self.human_attendees.heard(meeting, message))
        else:
            message = self.meeting_host.meetings.message(meeting, text, MessageType.MEETING_BROADCAST, sender=who)
            done(self.channels.meeting(meeting.id).send(message))
            self.journal.note(content_of("spoke", {"id": meeting.id, "message": message_to_data(message)}))
        known.said.append(f"{who.removeprefix('test:') if who in PEOPLE else f'Agent{who}'}: {text}")
        for other in known.joined:
            if other != who and other in AGENTS:
                self.heard[other].append(text)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), fails=st.sampled_from(["returns", "leaves", "dies"]))
    def leave(self, data: st.DataObject, fails: str) -> None:
        meeting, known = self.one(data)
        who = data.draw(st.sampled_from([a for a in known.joined if isinstance(a, AgentId)]))
        name = f"Agent{who}"
        if fails == "dies":
            self.return_(who, meeting.id)
            self.meeting_host.settle()
            if who == known.host:
                self.ends(known, f"{name} was stopped", by=who)
            else:
                self.leaves(known, who, name, "was stopped")
            return
        self.meeting_host.meetings.leave(meeting, who)
        self.return_(who, meeting.id)
        self.meeting_host.settle()
        self.leaves(known, who, name)

    @precondition(lambda self: self.open())
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        meeting, known = self.one(data)
        by = data.draw(st.sampled_from(known.joined))
        self.meeting_host.meetings.end(meeting, by=by)
        self.ends(known, None, by=by)

    @rule(seconds=st.sampled_from([1, 29, 31, 130, 500]))
    def time_passes(self, seconds: int) -> None:
        self.clock.at += timedelta(seconds=seconds)
        self.look_at_the_time()

    def look_at_the_time(self) -> None:
        """What the hall does when the time has come, and first of all."""
        for meeting, who in self.meeting_host.meetings.to_ask_again():
            self.meeting_host.meetings.ask(meeting, who, meeting.asks[who].by)
        now_s = self.clock.at.timestamp()
        due = [(k, who) for k in self.known.values() for who, at in k.pending.items() if at <= now_s]
        for known, who in [(known, who) for known, who in due if known.times[who] == 5]:
            busy = self.meeting_host.meetings.get(self.id_of(known)).invited[who]
            assert busy in (BUSY, "did not answer")
            self.does_not_come(known, who, busy)
        again = [(known, who) for known, who in due if who in known.pending]
        for known in self.known.values():
            silent = (known.required & known.pending.keys()) - known.busy
            if any(known is other and who in silent for other, who in again):
                asks = self.meeting_host.meetings.get(self.id_of(known)).asks
                names = [f"Agent{who}" for who in asks if who in silent]
                others = [", ".join(names[:-1])] if names[1:] else []
                self.tell(known, f"Waiting for {' and '.join([*others, names[-1]])} to join", but=known.host)
        for known, who in again:
            self.asked(known, who)

    # -- what must come of it

    def one(self, data: st.DataObject) -> tuple[MeetingState, Known]:
        id_ = data.draw(st.sampled_from(self.open()))
        return self.meeting_host.meetings.get(id_), self.known[id_]

    def id_of(self, known: Known) -> str:
        return next(id_ for id_, other in self.known.items() if other is known)

    def tell(self, known: Known, text: str, but: str = "") -> None:
        for who in known.joined:
            if isinstance(who, AgentId) and who != but:
                self.heard[who].append(text)
        known.told += any(who in PEOPLE for who in known.joined)

    def leaves(self, known: Known, who: ParticipantId, name: str, why: str = "") -> None:
        known.joined.remove(who)
        self.tell(known, f"{name} has left the meeting" + (f" ({why})" if why else ""))
        if not any(other in AGENTS for other in known.joined):
            self.ends(known, None)
        else:
            self.solo(known)

    def solo(self, known: Known) -> None:
        alone = known.status == "active" and len(known.joined) == 1 and not known.pending
        if alone and known.joined[0] in AGENTS:
            self.heard[known.joined[0]].append(SOLO)

    def ends(self, known: Known, why: str | None, by: str = "") -> None:
        self.tell(known, "Meeting has ended" + (f" ({why})" if why else ""), but=by)
        known.status, known.pending = "ended", {}

    @invariant()
    def no_notice_is_lost_or_doubled(self) -> None:
        for agent in AGENTS:
            queue = [message.content for message in self.journal.state.agents[agent].queue]
            assert queue == self.heard[agent], f"agent {agent}"
        notices = len([page for page in self.journal.state.pages.values() if page.to == "notice"])
        assert notices == sum(known.told for known in self.known.values())

    @invariant()
    def membership_is_the_same_in_every_view(self) -> None:
        state = self.journal.state
        for id_ in self.open():
            known, meeting = self.known[id_], state.meetings[id_]
            assert meeting.joined == known.joined
            assert {str(participant.id) for participant in self.channels.meeting(id_).participants} == set(known.joined)
            frame = next(f for f in state.frames.values() if f.meeting == id_ and f.agent in known.joined)
            (line,) = [line for line in situation(state, frame).splitlines() if line.startswith(f"Meeting {id_} (")]
            names = [f"agent {who})" if who in AGENTS else who.removeprefix("test:") for who in known.joined]
            present = line.split(": ", 2)[2]
            assert len(present.split(", ")) == len(names)
            assert all(name in present for name in names)

    @invariant()
    def nobody_is_stuck(self) -> None:
        now_s = self.clock.at.timestamp()
        for id_, known in self.known.items():
            meeting = self.journal.state.meetings[id_]
            assert meeting.status == known.status
            assert {who: meeting.asks[who].due for who in meeting.pending} == known.pending
            if meeting.status == "ended":
                assert not meeting.asks
                continue
            assert any(who in AGENTS for who in meeting.joined)
            assert all(now_s < at <= now_s + 480 for at in known.pending.values())
            waits_for = [who for who in known.required if who in known.pending]
            assert meeting.gathering == (known.status == "inviting" and bool(waits_for))


def replace_sender(message: Message, person: PersonId) -> Message:
    """The message as one of a person."""
    data = message_to_data(message)
    name = person.removeprefix("test:")
    return message_from_data({**data, "from": person, "class": "Human", "human": True, "name": name, "type": "direct"})

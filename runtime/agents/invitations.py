"""Invitations to the meetings of a session: brought to who is asked, considered by agents, answered, and repeated; and
the people of a session as participants of its meetings: asked in the chat, there by writing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from runtime.agents.registry import AgentRegistry, MessageDispatcher, SessionChannels, names_first
from runtime.core.address import Address
from runtime.core.background import OnDemand
from runtime.core.clock import until
from runtime.core.errors import PlaybookError, QueueFull
from runtime.core.ids import ANYONE, AgentId, MeetingId, ParticipantId, PersonId, ScheduleId, person_id
from runtime.core.markup import MarkdownPart
from runtime.core.message import Message, MessageType
from runtime.core.texts import Texts
from runtime.execution.calls.ask import SessionQuestions, answer_of
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.pages import SessionPages
from runtime.language.program import PlaybookSpec, Program
from runtime.meetings import meeting as rules
from runtime.meetings.meeting import DECLINED, JOINED, MAX_REASON_CHARS, rejected, stays_away
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.facts.meetings import MeetingAddressed
from runtime.tape.journal import Journal
from runtime.tape.rules.meetings import question_of
from runtime.tape.state.meetings import MeetingState

_CONSIDERING = "joining"
"""The position of the call by which an agent considers whether it comes."""


class SessionInvitations:
    def __init__(
        self,
        session: SessionContext,
        agents: AgentRegistry,
        channels: SessionChannels,
        dispatcher: MessageDispatcher,
        meetings: SessionMeetings,
        human_attendees: HumanAttendees,
    ) -> None:
        self._program = session.program
        self._journal = session.journal
        self._clock = session.clock
        self._agents = agents
        self._channels = channels
        self._dispatcher = dispatcher
        self._meetings = meetings
        self._human_attendees = human_attendees
        self._asking = OnDemand(self._ask_again)
        self._sleeping: anyio.CancelScope | None = None

    def start(self, tasks: TaskGroup) -> None:
        """Ask those again who have not answered, in `tasks`, when it is time."""
        self._asking.start(tasks)
        self._look()

    def _look(self) -> None:
        self._asking.wake()
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def _ask_again(self) -> None:
        while (due_s := self._next_due()) is not None:
            with anyio.CancelScope() as self._sleeping:
                await until(self._clock, due_s)
            self._sleeping = None
            for meeting, who in self._meetings.to_ask_again():
                self._meetings.ask(meeting, who, meeting.asks[who].by)
                await self.send(meeting, [who])
            self._journal.hurry()

    def _next_due(self) -> float | None:
        asks = (ask.due for meeting in self._meetings.going_on() for ask in meeting.asks.values())
        return min((due for due in asks if due is not None), default=None)

    async def send(self, meeting: MeetingState, asked: Sequence[ParticipantId]) -> None:
        """Bring invitations that are noted to those who are asked. Who can take no more is asked again in time."""
        self._look()
        for who in asked:
            if who not in meeting.asks:
                continue
            if isinstance(who, PersonId):
                self._human_attendees.ask(meeting, who)
            elif isinstance(who, AgentId) and self._agents.lives(who):
                by, text = self._inviter(meeting, who), f"You are invited to meeting {meeting.id}: {meeting.topic}"
                message = self._meetings.message(meeting, text, MessageType.MEETING_INVITATION, sender=by, to=who)
                try:
                    await self._channels.direct(by, who).send(message)
                except QueueFull as error:
                    self._dispatcher.not_taken(message, who, error)

    def _inviter(self, meeting: MeetingState, who: ParticipantId) -> AgentId:
        """The agent that asks `who`: the host does so for people, and for agents that are gone."""
        by = meeting.asks[who].by if who in meeting.asks else meeting.host
        return by if isinstance(by, AgentId) and self._agents.lives(by) else meeting.host

    async def received(self, agent: AgentId, invitation: Message) -> tuple[str, Mapping[str, Any]] | None:
        """The playbook by which an idle agent takes part in a meeting, and its arguments; None when it does not, and
        has said why where anybody waits for that."""
        meeting = self._meetings.get(str(invitation.meeting_id))
        if not meeting.is_pending(agent):
            return None
        playbooks = meetings_of(self._program, self._journal.state.agents[agent].klass)
        spec = rules.fitting(playbooks, meeting.type, meeting.topic)
        if spec is None:
            await self.answer(meeting, agent, rules.cannot_handle(playbooks))
            return None
        if any(param.default is None and param.name not in rules.AUTOMATIC for param in spec.params):
            await self.answer(
                meeting, agent, rules.rejected(f"{spec.name} needs arguments, and an invitation has none")
            )
            return None
        return spec.name, self._arguments(spec, meeting)

    async def busy(self, agent: AgentId, invitation: Message) -> None:
        """The agent is invited, and does something else. Who considers this invitation already answers when that is
        done."""
        meeting = self._meetings.get(str(invitation.meeting_id))
        considers = any(frame.meeting == meeting.id for frame in self._journal.state.roots(agent))
        if meeting.is_pending(agent) and not considers:
            await self.answer(meeting, agent, rules.BUSY)

    async def idle(self, agent: AgentId) -> None:
        """The agent does nothing: it is invited again where it is still waited for."""
        for meeting in self._meetings.going_on():
            if meeting.is_pending(agent) and meeting.invited[agent] == rules.BUSY:
                self._meetings.note_asked(meeting, agent, meeting.asks[agent])  # it counts as the same time
                await self.send(meeting, [agent])
                return

    def wants(self, agent: AgentId) -> bool:
        """Whether an agent was busy when it was asked, and is still waited for."""
        return any(
            meeting.is_pending(agent) and meeting.invited[agent] == rules.BUSY for meeting in self._meetings.going_on()
        )

    async def answer(self, meeting: MeetingState, agent: AgentId, answer: str) -> None:
        to = self._inviter(meeting, agent)
        if self._agents.lives(to):
            kind = MessageType.MEETING_RESPONSE
            await self._channels.direct(agent, to).send(
                self._meetings.message(meeting, answer, kind, sender=agent, to=to)
            )

    def answered(self, response: Message) -> None:
        meeting = self._meetings.get(str(response.meeting_id))
        self._meetings.answered(meeting, response.sender_id, response.content)

    async def come_in(self, frame: Frame, playbook: PlaybookSpec, meeting: MeetingState) -> MeetingState | str:
        """An agent that was invited executes its playbook: now it is in the meeting, unless that has ended meanwhile or
        the agent does not want to come; then the text says so."""
        agent = frame.state.agent
        if meeting.is_pending(agent):
            answer = await self._considered(frame, playbook, meeting)
            await self.answer(meeting, agent, answer)
            await self._journal.commit()
            if answer != rules.JOINED:
                return answer
        was_in = agent in meeting.joined or meeting.invited.get(agent) not in ("", rules.BUSY)
        return meeting if was_in else f"Meeting {meeting.id} has ended"

    async def _considered(self, frame: Frame, playbook: PlaybookSpec, meeting: MeetingState) -> str:
        """The agent's answer: the result of the playbook that it executes before it joins, if it has one."""
        name, klass = playbook.metadata.get(rules.BEFORE_JOINING), frame.agent.klass
        agent = self._program.agent(klass)
        spec = agent.playbook(name) if agent is not None and name is not None else None
        if spec is None:
            return rules.JOINED
        if _CONSIDERING not in frame.state.records:
            call = FrameCall(_CONSIDERING, spec.name, (), self._arguments(spec, meeting))
            try:
                found = frame.host.find(frame.state.agent, spec.name)
                assert found is not None  # the program has it
                await frame.host.run_child(frame, call, *found, hidden=True)
            except PlaybookError as error:
                return rules.rejected(str(error))
        record = frame.state.records[_CONSIDERING]
        return rules.answer_of(record.value, record.error)

    def _arguments(self, spec: PlaybookSpec, meeting: MeetingState) -> dict[str, Any]:
        """The arguments of the playbook by which an agent takes part, or considers it, as far as it has parameters."""
        names = {param.name for param in spec.params}
        told: dict[str, Any] = {"topic": meeting.topic} if "topic" in names else {}
        if "attendees" in names:
            told["attendees"] = [
                self._journal.state.name_of(who) for who in dict.fromkeys((*meeting.joined, *meeting.invited))
            ]
        return told | ({"host": self._journal.state.name_of(meeting.host)} if "host" in names else {})


def meetings_of(program: Program, klass: str) -> list[PlaybookSpec]:
    agent = program.agent(klass)
    return [spec for spec in agent.playbooks if spec.meeting] if agent is not None else []


_AROUND = " \t\n\"'\u2018\u201c\u201d*_"
_STOP = "[,.;:!()\n\u2013\u2014-]"
"""The mark at the end of a refusal that is followed by more. A question mark is none: "No?" is no answer."""


def refuses(text: str, texts: Texts) -> bool:
    """Whether `text` begins with a refusal such as "not now" and then makes a stop, gives a reason or says no more.

    Before it may stand a mention and openers ("sorry"), behind it endings ("right now"). Which words these are is in
    the texts of the language.
    """
    words = text.casefold().replace("\u2019", "'").strip(_AROUND)
    parts = (texts(f"meeting.refusal.{part}") for part in ("words", "openers", "endings", "reasons"))
    return _pattern(*parts).match(words) is not None


@cache
def _pattern(words: str, openers: str, endings: str, reasons: str) -> re.Pattern[str]:
    begins = rf"(?:@\S+\s+)?(?:{_any_of(openers)}(?:\s|{_STOP})+)*"
    ends = rf"(?:\s+{_any_of(endings)})*\s*(?:{_STOP}|$|\b{_any_of(reasons)})"
    return re.compile(rf"{begins}{_any_of(words)}(?:\s+{_any_of(words)})*{ends}")


def _any_of(phrases: str) -> str:
    """A pattern for the longest fitting one of several phrases, separated by commas."""
    each = sorted((phrase.split() for phrase in phrases.casefold().split(",")), key=len, reverse=True)
    return "(?:" + "|".join(r"\s+".join(map(re.escape, phrase)) for phrase in each if phrase) + r")(?!\w|'\w)"


class HumanAttendees(Struct, eq=False):
    """Brings people into the meetings of one session and out again, and what they say there to all in them."""

    _journal: Journal
    _meetings: SessionMeetings
    _channels: SessionChannels
    _pages: SessionPages
    _questions: SessionQuestions

    def ask(self, meeting: MeetingState, who: PersonId) -> None:
        """Invite a person whose invitation is noted: who is where the meeting is held is there at once, others are
        asked in the chat, with choices."""
        if meeting.place is None and who in self._journal.state.people:
            self._meetings.answered(meeting, who, JOINED)
            return
        name = MarkdownPart("" if who == ANYONE else f"@{self._name(who)} ")  # a mention
        host = self._journal.state.agents[meeting.host].klass
        text = self._pages.texts("meeting.invitation", name=name, host=host, id=meeting.id, topic=meeting.topic)
        if meeting.frame not in self._journal.state.frames:
            words = self._pages.texts("meeting.in_words", join=self._labels[0], decline=self._labels[1])
            self._pages.tell(f"{text.strip()} {words}", meeting.place)
            return
        frame, pos = question_of(meeting, who, meeting.asks[who].times)
        of = who if who in self._journal.state.people else None
        self._questions.put(frame, pos, text.strip(), self._labels, of)

    @property
    def _labels(self) -> list[str]:
        return [self._pages.texts("meeting.join"), self._pages.texts("meeting.decline")]

    def _name(self, who: ParticipantId) -> str:
        person = self._journal.state.person_of(who)
        return person.name if person is not None else who

    def leave(self, meeting: MeetingState, person: PersonId) -> None:
        """A person leaves, or says that they do not come."""
        if person in meeting.joined:
            self._meetings.leave(meeting, person)
        else:
            self._meetings.answered(meeting, person, DECLINED, named=self.asked_as(meeting, person))

    def concerns(self, meeting: MeetingState, person: PersonId) -> bool:
        return person in meeting.joined or self.asked_as(meeting, person) not in (None, ANYONE)

    def chosen(self, page: str, person: PersonId, label: str) -> bool:
        """Take an answer to the question of a page; False when it does not ask whether somebody joins a meeting."""
        found = self.invitation(page)
        if found is not None:
            self._answer(*found, person, label)
        return found is not None

    def invitation(self, page: str) -> tuple[MeetingState, ParticipantId] | None:
        """The meeting to which the question of a page invites somebody, and whom."""
        for meeting in self._meetings.going_on():
            for who, ask in meeting.asks.items():
                question = self._journal.state.questions.get(question_of(meeting, who, ask.times))
                if question is not None and question.page == page:
                    return meeting, who
        return None

    def _answer(self, meeting: MeetingState, asked_as: ParticipantId, person: PersonId, label: str) -> None:
        """Record an answer. Only the invited person can give it; if `user` was invited, anybody here can."""
        if self.asked_as(meeting, person) != asked_as:
            self.refuse(asked_as, meeting.place)
            return
        answer = JOINED if label == self._labels[0] else DECLINED
        self._meetings.answered(meeting, person, answer, named=asked_as)

    def refuse(self, asked_as: ParticipantId, place: Address | None) -> None:
        """Tell somebody who answers the invitation of another."""
        self._pages.tell(self._pages.texts("session.question_for", name=self._name(asked_as)), place)

    def audience(self, person: PersonId, place: Address | None, text: str = "") -> MeetingState | None:
        """The meeting that hears what a person says in a place (None: where the session lives); None when none does.

        It is the one they are in, else one they were asked to, else one with people that goes on there. Who has left it
        or does not want to come is heard by the session as before, until they say that they join; and so is what names
        another agent first.
        """
        if isinstance(person, ScheduleId):
            return None
        joins = text.strip().casefold() == self._labels[0].casefold()
        here = [m for m in self._meetings.going_on() if m.hears_from(place) and m.status != "created"]
        found = [
            *(m for m in here if person in m.joined),
            *(m for m in here if self.asked_as(m, person) is not None),
            *(
                m
                for m in here
                if m.status == "active" and (m.people or place) and not stays_away(self._journal.state, m, person)
            ),
            *(m for m in here if joins and stays_away(self._journal.state, m, person)),
        ]
        meeting = found[0] if found else None
        return None if meeting is None or self._names_another(meeting, text) else meeting

    async def heard(self, meeting: MeetingState, message: Message) -> bool:
        """Bring a person's message to everybody in the meeting; somebody who was asked joins by it.

        False when it said no more than whether they come.
        """
        said = self._said(meeting, message)
        if said is None:
            return False
        await self._channels.meeting(meeting.id).send(said)
        self._journal.note(MeetingAddressed(meeting.id, said))
        return True

    def said_in(self, message: str) -> MeetingState | None:
        """The active meeting in which a person's message was said, one of the latest there."""
        return next((m for m in self._meetings.going_on() if any(said.id == message for said in m.history)), None)

    def _said(self, meeting: MeetingState, message: Message) -> Message | None:
        """A person's text as everybody in the meeting hears it; None when it only answers the invitation."""
        person = person_id(message.sender_id)
        if person not in meeting.joined:
            asked_as = self.asked_as(meeting, person)
            comes_back = asked_as is None and stays_away(self._journal.state, meeting, person)
            answer = self._answer_in_words(message) if asked_as is not None or comes_back else None
            if answer is None and asked_as is not None and refuses(message.content, self._pages.texts):
                answer = rejected(message.content.strip()[:MAX_REASON_CHARS])
                self._confirm_refusal(meeting, asked_as)
            self._meetings.answered(meeting, person, answer or JOINED, named=asked_as)
            if answer is not None:
                return None
        kind = MessageType.MEETING_BROADCAST if message.type == MessageType.DIRECT else message.type
        return replace(message, recipient_id=None, type=kind, meeting_id=MeetingId(meeting.id))

    def _answer_in_words(self, message: Message) -> str | None:
        """The answer of an invited person; None when they only say something. A reason may follow a refusal."""
        join, decline = self._labels
        chosen = answer_of(message, self._labels)
        if chosen in self._labels:
            return JOINED if chosen == join else DECLINED
        refusal = re.match(rf"{re.escape(decline)}\b[\s,.:;-]*(?P<reason>.*)", chosen, re.IGNORECASE | re.DOTALL)
        if refusal is not None:
            return rejected(refusal["reason"].strip()[:MAX_REASON_CHARS]) if refusal["reason"].strip() else DECLINED
        return None

    def _confirm_refusal(self, meeting: MeetingState, asked_as: PersonId) -> None:
        """Say how words were understood, and how to come after all where the meeting does not end by it."""
        ends = meeting.status == "inviting" and meeting.asks[asked_as].required
        key = "meeting.declined" if ends else "meeting.declined_in_words"
        self._pages.tell(self._pages.texts(key, number=meeting.id, join=self._labels[0]), meeting.place)

    def asked_as(self, meeting: MeetingState, person: PersonId) -> PersonId | None:
        """The name under which a person is asked to a meeting: their id, whom they are declared to be, or anybody."""
        known = self._journal.state.people.get(person)
        declared = PersonId(known.declared or "") if known is not None else person
        return next((name for name in (person, declared, ANYONE) if name in meeting.pending), None)

    def _names_another(self, meeting: MeetingState, text: str) -> bool:
        named = [agent for agent in self._journal.state.agents.values() if names_first(text, agent.klass)]
        return bool(named) and all(agent.id not in meeting.joined for agent in named)

"""The handler of people's events: messages, and later changes to messages, for the agents concerned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from runtime.agents.invitations import HumanAttendees
from runtime.agents.loops import AgentLoops
from runtime.agents.registry import MessageDispatcher
from runtime.core.address import CLIENT, Address
from runtime.core.ids import AgentId, MeetingId, ScheduleId
from runtime.core.message import Message, MessageType
from runtime.core.quote import Quote
from runtime.execution.calls.ask import option_of
from runtime.execution.speech.pages import SessionPages
from runtime.meetings.meeting import meeting_held_at
from runtime.sessions.inbound.arrivals import brings_others, files_of, is_aside, message_of
from runtime.sessions.inbound.open_questions import OpenQuestions
from runtime.sessions.succession import WORDS_CHARS
from runtime.stores.inbox import ANSWER, InboxEvent
from runtime.tape.facts.frames import FrameStarted, FrameSteered, QuestionAnswered, WaitEnded
from runtime.tape.facts.people import AsideAdded, FeedbackGiven, MessageDeleted, MessageEdited, MessageHeard
from runtime.tape.facts.registry import agent_of, hears
from runtime.tape.facts.session import AgentRestarted, ExchangeBegun, ExchangeJoined
from runtime.tape.journal import Journal
from runtime.tape.state.frames import takes
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.people import QuestionState, SaidState, rated

_MAX_PRESSES = 200
"""Presses that were answered with words and are remembered, so that pressing on is not."""


class EventHandler(Struct, eq=False):
    """Takes the events of one session that are not commands; each becomes facts, for the commit that consumes it.

    A message to an agent at work is acknowledged at once: by a mark, or, where the platform has none, by a sentence,
    once until the agent has taken what waits. `interrupted` are the loops of agents, where a message to an agent at
    work is handled instead of its work.
    """

    _journal: Journal
    _dispatcher: MessageDispatcher
    _human_attendees: HumanAttendees
    _pages: SessionPages
    _open: OpenQuestions
    _interrupted: AgentLoops | None
    _marked: dict[str, str] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _since: int = 0
    _pressed: dict[tuple[str, str], None] = field(default_factory=dict)

    def restore(self) -> None:
        """Restore the marks on waiting messages from before the restart."""
        marks = self._journal.state.marks
        for agent in self._journal.state.agents.values():
            self._marked |= {m.id: m.platform_id for m in agent.queue if m.platform_id in marks and m.platform_id}

    async def take(self, event: InboxEvent, since: int) -> None:
        """Bring an event to whom it concerns; what nobody knows how to take is handled as a message.

        `since` is the last fact before all that is noted of it.
        """
        self._since = since
        match event.kind:
            case "edit":
                await self._edit(event)
            case "deletion":
                self._deletion(event)
            case "reaction":
                self._reaction(event)
            case "choice":
                await self._choice(event)
            case kind if kind == ANSWER:
                await self._answer(event)
            case _:
                await self._message(event)

    def begun(self, event: InboxEvent, since: int) -> None:
        """Write down that an exchange begins with what somebody did, unless one is going on."""
        state = self._journal.state
        seq = self._journal.rested if self._journal.at_work() else since
        if not state.exchanges or seq > state.exchanges[-1].seq:
            brought = " ".join(quote.text for quote in event.around)
            said = event.text or brought or ", ".join(str(file["name"]) for file in event.attachments)
            said = said[: WORDS_CHARS + 1]
            self._journal.note(ExchangeBegun(seq, said, event.author, event.person_name, event.message_id))
        elif event.message_id is not None:
            self._journal.note(ExchangeJoined(event.message_id))

    def heard(self, event: InboxEvent, agent: AgentId | None = None) -> None:
        """Write down that a person's message went to `agent`, to whom it is meant for where that is None."""
        heard = MessageHeard(
            f"in.{event.id}",
            agent or self._dispatcher.recipient(event.text, None, event.author),
            event.author,
            event.person_name,
            event.private,
            event.text,
            event.message_id,
            event.place,
            tuple(file.url for file in files_of(event)),
        )
        self._journal.note(heard)

    @hears(WaitEnded, FrameStarted, AgentRestarted, FrameSteered, QuestionAnswered)
    def noted(self, fact: WaitEnded | FrameStarted | AgentRestarted | FrameSteered | QuestionAnswered) -> None:
        """What was waiting and is taken now is marked as seen."""
        for message in fact.messages:
            if (pid := self._marked.pop(message, None)) is not None:
                self._pages.signs.mark(pid, "seen")
        self._told.discard(agent_of(fact, self._journal.state))

    def stopped(self, messages: Iterable[Message], events: Iterable[InboxEvent]) -> None:
        self._told.clear()
        passed = [(message.platform_id, None) for message in messages]
        for pid, place in (*passed, *((event.message_id, event.place) for event in events)):
            if pid is not None:
                self._pages.signs.mark(pid, "stopped", place)

    def ended(self) -> None:
        """Mark the waiting messages that will not be read."""
        for pid, mark in list(self._journal.state.marks.items()):
            if mark == "queued":
                self._pages.signs.mark(pid, "stopped")

    async def _message(self, event: InboxEvent) -> None:
        meeting = self._human_attendees.audience(event.author, event.place, event.text)
        if meeting is not None:
            await self._in_meeting(event, meeting)
            return
        question = self._open.questions.open_on(event.choice, event.person_id) if event.choice else None
        if question is not None and question.wants(event.person_id):
            in_task = self._journal.state.order is not None  # a reply, where a form would give no other words
            said = option_of(event.text, question.options) if in_task else event.text
            await self._give_answer(event, question, said, written=True)
            return
        order = self._journal.state.order
        if order is not None and event.choice and order.place.platform != CLIENT:
            self._pages.tell(self._pages.texts("session.question_closed"))  # a client may mean more than an answer
            return
        if await self._answers_below(event):
            return
        agent = self._recipient(event)
        self.begun(event, self._since)
        self.heard(event, agent)
        await self._hear(self._message_of(event, agent), agent)

    async def _give_answer(self, event: InboxEvent, question: QuestionState, said: str, *, written: bool) -> None:
        """Bring an answer to the agent that has asked; one that was `written` is a message of the conversation."""
        agent = self._journal.state.frames[question.frame].agent
        self.begun(event, self._since)
        if written:
            self.heard(event, agent)
        answer = self._message_of(event, agent, content=said, type=MessageType.CHOICE, answers=question.page)
        await self._dispatcher.hear(answer, agent)

    def _recipient(self, event: InboxEvent) -> AgentId:
        quoted = event.quote.message_id if event.quote is not None else None
        return self._dispatcher.recipient(event.text, quoted, event.author)

    async def _answers_below(self, event: InboxEvent) -> bool:
        """Take words in the thread below an open question, or in reply to it, as its answer. In such a thread nothing
        else is heard but what people say to each other: who has written it is told.
        """
        state, question = self._journal.state, self._open.answered(event)
        in_thread = event.place is not None and meeting_held_at(state, event.place) is None
        if is_aside(event, state):
            return False
        invitation = self._human_attendees.invitation(question.page) if question is not None else None
        if invitation is not None and in_thread:
            meeting, who = invitation
            if self._human_attendees.asked_as(meeting, event.author) == who:
                await self._in_meeting(event, meeting)
            else:
                self._human_attendees.refuse(who, event.place)
            return True
        if question is None or not question.wants(event.author) or invitation is not None:
            if in_thread and question is not None:
                self._refuse(question, event.place)
            elif in_thread:
                self._pages.tell(self._pages.texts("session.question_thread_closed"), event.place)
            return in_thread
        if not in_thread and self._recipient(event) != state.frames[question.frame].agent:
            return False
        await self._give_answer(event, question, option_of(event.text, question.options), written=True)
        return True

    async def _in_meeting(self, event: InboxEvent, meeting: MeetingState) -> None:
        """All in the meeting hear it; nobody is interrupted by it."""
        host, message = meeting.host, self._message_of(event, None)
        self.begun(event, self._since)
        self.heard(event, host)
        working = all(self._works(who, message) for who in meeting.agents)
        if await self._human_attendees.heard(meeting, message) and working and not message.aside:
            self._acknowledge(message, host)

    async def _edit(self, event: InboxEvent) -> None:
        """Give the new text and new files to agents that have not read the message; tell those that have, in a meeting
        each of its participants.
        """
        known = self._journal.state.heard.get(event.message_id or "")
        others = known is not None and brings_others(event, known.files)
        if known is None or (known.text == event.text and not others):
            return
        agent, before = AgentId(known.agent), known.text
        unread, meeting = self._unread_by(known.message), self._human_attendees.said_in(known.message)
        files = files_of(event) if others else ()
        for reader in unread or ([agent] if meeting is not None else []):
            self._journal.note(MessageEdited(reader, known.message, event.message_id or "", event.text, files))
        readers = self._readers(agent, meeting, unread)
        if not readers:
            return
        self.begun(event, self._since)
        if meeting is None:  # what was said in a meeting stays known as it stands in its history
            self.heard(event, agent)
        about = {} if meeting is None else {"meeting_id": MeetingId(meeting.id)}
        for reader in readers:
            told = self._message_of(event, None if meeting else reader, type=MessageType.EDITED, before=before, **about)
            if meeting is None:
                await self._hear(told, reader)
            else:
                self._dispatcher.notify(reader, told)

    def _deletion(self, event: InboxEvent) -> None:
        known = self._journal.state.heard.get(event.message_id or "")
        if known is None:
            return
        agent = AgentId(known.agent)
        unread, meeting = self._unread_by(known.message), self._human_attendees.said_in(known.message)
        readers = self._readers(agent, meeting, unread)
        for reader in unread or ([agent] if meeting is not None else []):
            self._journal.note(MessageDeleted(reader, known.message, event.message_id or ""))
            self._dispatcher.forget(reader, known.message)
        if not readers:
            self._marked.pop(known.message, None)
            self._pages.signs.forget(event.message_id or "")
        names = ", ".join(file.name for file in self._journal.state.files if file.url in known.files)
        for reader in readers:
            gone = {"type": MessageType.DELETED, "content": known.text or names, "attachments": ()}
            self._journal.note(AsideAdded(reader, self._message_of(event, reader, **gone)))

    def _readers(self, agent: AgentId, meeting: MeetingState | None, unread: Sequence[str]) -> list[AgentId]:
        """The agents that have read what went to `agent`, or was said in a meeting to all in it."""
        to = [agent] if meeting is None else meeting.agents
        return [reader for reader in to if reader not in unread and reader in self._journal.state.agents]

    def _unread_by(self, message: str) -> list[AgentId]:
        """The agents that have not read a message yet: several of a meeting, else the one that it went to."""
        agents = self._journal.state.agents.values()
        return [agent.id for agent in agents if any(waiting.id == message for waiting in agent.queue)]

    def _reaction(self, event: InboxEvent) -> None:
        said = self._journal.state.said.get(event.message_id or "")
        agent = self._journal.state.agent(said.agent) if said is not None else None
        if said is None or agent is None:
            return
        self._rate(event, said)
        quote = Quote(event.message_id or "", agent.klass, said.text)
        reaction = self._message_of(event, agent.id, type=MessageType.REACTION, quote=quote)
        self._journal.note(AsideAdded(agent.id, reaction))

    def _rate(self, event: InboxEvent, said: SaidState) -> None:
        """Write down what the reaction says of the message, if that is something new."""
        pid = event.message_id or ""
        before = self._journal.state.ratings.get(rated(event.author, pid), "none")
        match event.choice:
            case "up" | "down" | "none":
                rating = event.choice
            case "not_up" | "not_down" if event.choice == f"not_{before}":
                rating = "none"
            case _:
                return
        if rating != before:
            self._journal.note(FeedbackGiven(pid, event.author, rating, AgentId(said.agent), said.step, said.model))

    async def _choice(self, event: InboxEvent) -> None:
        found = self._open.questions.open_for(event.choice or "", event.person_id)
        if found is None:
            if self._first_press(event):
                self._pages.tell(self._pages.texts("session.question_closed"), event.place)
            return
        question, label = found
        if self._human_attendees.chosen(question.page, event.author, label):
            self.begun(event, self._since)
            return
        if not question.wants(event.person_id):
            if self._first_press(event):
                self._refuse(question, event.place)
            return
        await self._give_answer(event, question, label, written=False)

    async def _answer(self, event: InboxEvent) -> None:
        """Take an answer from elsewhere. Nobody here is told where it comes too late: who gave it sees that there."""
        question = self._open.questions.open_on(event.choice or "", event.person_id)
        if question is not None and question.wants(event.person_id):
            await self._give_answer(event, question, option_of(event.text, question.options), written=False)

    def _message_of(self, event: InboxEvent, agent: AgentId | None, **other: Any) -> Message:
        return message_of(event, agent, self._journal.state, **other)

    def _first_press(self, event: InboxEvent) -> bool:
        """Whether this person was not answered for this choice yet."""
        press = (event.person_id, event.choice or "")
        if press in self._pressed:
            return False
        self._pressed[press] = None
        while len(self._pressed) > _MAX_PRESSES:
            del self._pressed[next(iter(self._pressed))]
        return True

    def _refuse(self, question: QuestionState, place: Address | None) -> None:
        state = self._journal.state
        asked = list(question.each.values()) or [question.of or ""]
        names = [state.called(who) for who in asked if state.person_of(who) is not None and question.wants(who)]
        self._pages.tell(self._pages.texts("session.question_for", name=", ".join(names)), place)

    async def _hear(self, message: Message, agent: AgentId) -> None:
        working = not message.aside and self._works(agent, message)
        if working and self._interrupted is not None:
            await self._interrupted.interrupt(agent)
            working = False
        await self._dispatcher.hear(message, agent)
        if working and not isinstance(message.sender_id, ScheduleId):
            self._acknowledge(message, agent)

    def _works(self, agent: AgentId, message: Message) -> bool:
        """Whether the agent is at work and no part of it waits for such a message."""
        state = self._journal.state
        waits = (w for w in state.waits.values() if state.frames[w.frame].agent == agent and w.source is not None)
        return bool(state.roots(agent)) and not any(takes(wait.source or {}, message) for wait in waits)

    def _acknowledge(self, message: Message, agent: AgentId) -> None:
        pid = message.platform_id
        place = self._journal.state.written_at.get(pid or "")
        for key, question in self._journal.state.questions.items():
            waits = key in self._journal.state.waits  # nobody waits for who joins a meeting: other words are no answer
            certain = (question.of is not None or question.each) and not question.wants(str(message.sender_id))
            if waits and certain and self._journal.state.frames[question.frame].agent == agent:
                self._refuse(question, place)
                return
        if pid is not None and self._pages.signs.mark(pid, "queued"):
            self._marked[message.id] = pid
        elif agent not in self._told:
            self._told.add(agent)
            self._pages.tell(self._pages.texts("session.queued"), place)

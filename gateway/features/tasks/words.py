"""Words between tasks and their orderers: brought to the other's inbox, and taken in there, once each."""

from __future__ import annotations

from datetime import UTC, datetime

from runtime.core.address import Address, address_of
from runtime.core.errors import ArchiveUnavailable, QueueFull
from runtime.core.ids import ORDERER, AgentId, CounterpartId, MessageId, SessionId
from runtime.core.message import Message
from runtime.core.texts import Texts
from runtime.events.talk import MessageUndelivered
from runtime.meetings.meeting import within
from runtime.sessions.features import PostingPart, SessionParts
from runtime.sessions.node_context import NodeContext
from runtime.sessions.succession import words_within
from runtime.stores.inbox import TASK_HEARD, TASK_WORD, InboxEvent, offer, pause, shard_of
from runtime.stores.orders import JsonLetter
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts import tasks as facts
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameStarted, FrameSteered, WaitEnded
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentDismissed, AgentRestarted, AgentStopped, MessageQueued, MessagesDropped
from runtime.tape.rules.tasks import seq_of
from runtime.tape.state.tasks import WordState


class TaskWord(JsonLetter, frozen=True):
    """What an agent of the class `klass` says to task `number` of the session `orderer`, which is the session `task`,
    or `up` to that orderer. `hops` words between tasks and their orderers have led to it, itself included."""

    number: int
    orderer: SessionId
    task: SessionId
    up: bool
    klass: str
    text: str
    hops: int


class TakenWords(JsonLetter, frozen=True):
    """The words up to that of fact `seq` were taken: those to task `number` of the session `orderer`, which is the
    session `task`, or those `up` to that orderer."""

    number: int
    orderer: SessionId
    task: SessionId
    up: bool
    seq: int


class TaskWords(PostingPart):
    """The words of one session in memory. They are brought after `start`."""

    def __init__(self, parts: SessionParts) -> None:
        super().__init__(parts)
        self._dispatcher = parts.dispatcher

    @hears(
        *(facts.WordToTask, facts.WordToOrderer, facts.TaskPosted, facts.WordLost),
        *(WaitEnded, FrameStarted, FrameSteered, AgentRestarted, AgentStopped, AgentDismissed, MessagesDropped),
    )
    def noted(self, _fact: FactContent) -> None:
        """Something may be to be brought: a word, to a task only behind its order, or that words were taken."""
        if self._owed():
            self._posting.wake()

    def _owed(self) -> bool:
        return bool(self._journal.state.words_taken or self._due())

    def _due(self) -> list[WordState]:
        tasks = self._journal.state.tasks
        waiting = (word for word in self._journal.state.words if not word.brought)
        return [word for word in waiting if not word.number or "order" not in tasks[word.number].to_post]

    async def _post(self) -> None:
        """Bring each, in order, once it is on the tape. Repeated after a crash, the inbox knows it by its id. What a
        full inbox waits for holds up nothing for others."""
        while self._owed():
            due, taken = self._due(), [*self._journal.state.words_taken.items()]
            await self._journal.commit()
            full: set[int] = set()
            for word in due:
                if word.number not in full and not await self._bring_word(word):
                    full.add(word.number)
            for name, seq in taken:
                number = 0 if name == ORDERER else int(name.removeprefix("task "))
                if number not in full and not await self._tell_hearing(name, number, seq):
                    full.add(number)
            self._journal.hurry()
            if full:
                await pause(self._around.clock)

    async def _bring_word(self, word: WordState) -> bool:
        """Bring it; False where the inbox has no room now."""
        other = self._other(word.number)
        if word not in self._journal.state.words or other is None:
            return True  # its task has ended meanwhile
        address, whose = other
        letter = TaskWord(*whose, word.klass, word.text, word.hops)
        id_, said_at = f"word.{self._journal.session}.{word.seq}", datetime.fromtimestamp(word.at_s, UTC)
        event = InboxEvent(id_, address, "", "", str(letter), said_at, kind=TASK_WORD)
        if not await offer(event, self._inbox):
            return False
        self._journal.note(facts.WordBrought(word.seq))
        return True

    async def _tell_hearing(self, name: str, number: int, seq: int) -> bool:
        other = self._other(number)
        if other is not None:
            address, whose = other
            id_ = f"heard.{self._journal.session}.{number}.{seq}"
            letter, now = TakenWords(*whose, seq), self._around.clock.now()
            event = InboxEvent(id_, address, "", "", str(letter), now, kind=TASK_HEARD)
            if not await offer(event, self._inbox):
                return False
        self._journal.note(facts.HearingTold(name, seq))
        return True

    def _other(self, number: int) -> tuple[Address, tuple[int, SessionId, SessionId, bool]] | None:
        """The address of a task, or with the number 0 of the orderer, and the beginning of a letter to it; None where
        it is not there any more."""
        session, task, order = self._journal.session, self._journal.state.tasks.get(number), self._journal.state.order
        if number == 0:
            return None if order is None else (order.home, (order.number, order.orderer, session, True))
        return None if task is None or task.over else (address_of(task.id), (number, session, task.id, False))

    async def hear(self, event: InboxEvent) -> str | None:
        """Take in a word for an agent here, which hears it where it waits, or that words were taken; what people are
        told of the word of a task that nobody here has ordered."""
        if event.kind == TASK_HEARD:
            taken = TakenWords.read(event.text)
            if self._meant(taken) is not None:
                self._journal.note(facts.WordsHeard(taken.number if taken.up else 0, taken.seq))
            return None
        word = TaskWord.read(event.text)
        found = self._meant(word)
        if found is not None:
            self._queue(event, word, *found)
        elif not await stands_for(self._record, word.orderer, self._around):
            return word_late(event, self._around.texts)
        return None

    def _meant(self, letter: TaskWord | TakenWords) -> tuple[AgentId, CounterpartId] | None:
        """The agent that a letter is for, and from whom it is; None for one that is not for this session."""
        state = self._journal.state
        if letter.up:
            task = state.tasks.get(letter.number)
            known = task is not None and task.id == letter.task
            return (task.agent, CounterpartId(task.name)) if task is not None and known else None
        frame = None if state.order is None or state.order.over else state.frames.get(state.order.frame or "")
        return None if frame is None or letter.task != self._journal.session else (frame.agent, ORDERER)

    def _queue(self, event: InboxEvent, word: TaskWord, agent: AgentId, sender: CounterpartId) -> None:
        message = Message(
            MessageId(event.id),
            sender,
            word.klass,
            word.text,
            event.sent_at,
            recipient_id=agent,
            within=within(self._journal.state, agent, agent),
            hops=word.hops,
        )
        try:
            if self._dispatcher.deliver(agent, message):
                return
            if agent in self._journal.state.agents:
                self._journal.note(MessageQueued(agent, message))
                return
        except QueueFull as error:
            self._around.bus.publish(MessageUndelivered(str(error), participant_id=agent, message_id=message.id))
        self._journal.note(facts.WordLost(sender, seq_of(message)))


async def stands_for(record: SessionRecord, orderer: SessionId, around: NodeContext) -> bool:
    """Whether a session is the one that has ordered a task, or that one went on by `/undo`, which ended the task."""
    if orderer == record.id:
        return True
    try:
        found = await around.store.session(shard_of(record.address.key), orderer)
    except ArchiveUnavailable:
        return False
    return found is not None and found.replaced_by is not None


def word_late(event: InboxEvent, texts: Texts) -> str | None:
    """The text for people about the word of a task whose orderer has gone; None of one for a task."""
    try:
        word = TaskWord.read(event.text)
    except (ValueError, TypeError):
        return None
    return texts("session.task_word", text=words_within(word.text)) if word.up else None

"""The tasks that a session has ordered: its orders brought to them, their results taken in."""

from __future__ import annotations

import json

from anyio.abc import TaskGroup

from gateway.features.tasks.calls import ended_in_words, note_order
from gateway.features.tasks.words import TaskWords, stands_for
from runtime.core.address import address_data, address_of
from runtime.core.errors import ArchiveUnavailable, QueueFull
from runtime.core.ids import CounterpartId
from runtime.core.markup import MarkdownPart
from runtime.core.message import Message
from runtime.core.plain_text import shortened
from runtime.core.texts import Texts
from runtime.events.sessions import TaskUntold
from runtime.execution.standing import may_still_recall
from runtime.meetings.meeting import within
from runtime.sessions.features import PostingPart, SessionParts
from runtime.sessions.succession import words_within
from runtime.stores.inbox import NOTICE, TASK, TASK_CANCEL, TASK_OVER, InboxEvent, offer, pause, shard_of
from runtime.stores.orders import TaskAgain, TaskLimits, TaskOrder, TaskResult
from runtime.tape.facts.content import RAISED_AT, FactContent
from runtime.tape.facts.registry import hears, read_as
from runtime.tape.facts.session import MessageQueued, SessionEnded
from runtime.tape.facts.tasks import OrderOver, ResultForPlace, TaskCancelled, TaskOrdered, TaskOver, TaskPosted
from runtime.tape.journal import Journal
from runtime.tape.state.tasks import CALLER, NOBODY, TaskState

MAX_TOLD_CHARS = 10_000
"""The length of what a place is told; longer results are cut."""


class TaskOrders(PostingPart):
    """The orders of one session in memory. They are brought to the tasks after `start`."""

    def __init__(self, parts: SessionParts, limits: TaskLimits | None) -> None:
        super().__init__(parts)
        self._dispatcher = parts.dispatcher
        self._limits = limits
        self.words = TaskWords(parts)
        """What is said to tasks, and by a task to its orderer."""

    def start(self, tasks: TaskGroup) -> None:
        super().start(tasks)
        self.words.start(tasks)

    @hears(TaskOrdered, TaskCancelled, ResultForPlace, SessionEnded)
    def noted(self, _fact: FactContent) -> None:
        self._posting.wake()

    async def all_posted(self) -> None:
        await super().all_posted()
        await self.words.all_posted()

    def _owed(self) -> list[TaskState]:
        return [task for task in self._journal.state.tasks.values() if task.to_post]

    async def _post(self) -> None:
        """Bring what is to be brought to the inboxes of tasks. Repeated after a crash, they know it by its id."""
        while owed := self._owed():
            await self._journal.commit()
            room = True
            for task in owed:
                for what in task.to_post[:1]:  # nothing, where it has ended meanwhile
                    room = await self._post_one(task, what) and room
            self._journal.hurry()
            if not room:
                await pause(self._around.clock)

    async def _post_one(self, task: TaskState, what: str) -> bool:
        """Bring it; False where the inbox has no room now."""
        event = {"order": self._order, "cancel": self._cancellation, "result": self._result_for_place}[what](task)
        if event is not None and not await offer(event, self._inbox):
            return False
        if what in task.to_post:
            self._journal.note(TaskPosted(task.number, what))
        return True

    def _order(self, task: TaskState) -> InboxEvent:
        state = self._journal.state
        home = address_data(self._record.address)
        place = home if state.order is None else address_data(state.order.place)
        limits = self._limits or TaskLimits()
        root, tokens, dollars = str(task.id), limits.tokens, limits.dollars
        if state.order is not None:
            root, tokens, dollars = state.order.root, state.order.tokens, state.order.dollars
        letter = TaskOrder(
            task.number,
            self._record.id,
            task.klass,
            task.playbook,
            task.arguments,
            task.due,
            task.depth,
            home,
            place,
            root,
            tokens,
            dollars,
            scope=task.scope,
            owner=task.owner,
            unheard=task.deliver != CALLER or task.keep,
            hops=0 if state.order is None else state.order.hops,
        )
        person = state.agents[task.agent].person or state.person
        known = None if person is None else state.people.get(person)
        return InboxEvent(
            id=task.id,
            address=address_of(task.id),
            person_id=person or "",
            person_name="" if known is None else known.name,
            text=str(letter),
            sent_at=self._around.clock.now(),
            kind=TASK,
            private=state.private,
            program=self._record.program,
            by_guest=known is not None and known.guest,
        )

    def _cancellation(self, task: TaskState) -> InboxEvent:
        now = self._around.clock.now()
        return InboxEvent(f"cancel.{task.id}", address_of(task.id), "", "", "", now, kind=TASK_CANCEL)

    def _result_for_place(self, task: TaskState) -> InboxEvent | None:
        """What people in the place of a task are told; None where the settings do not name it any more, and who has
        ordered it is told instead."""
        place = self._around.task_places.get(task.deliver)
        if place is None:
            self._tell(task)
            return None
        texts, does = self._around.on(place.platform).texts, f"{task.klass}.{task.playbook}"
        if task.status == "completed":
            text = texts("session.task_place_done", does=does, result=MarkdownPart(in_words(task.value)))
        else:
            text = texts("session.task_place_failed", does=does, how=ended_in_words(task))
        text, now = shortened(text, MAX_TOLD_CHARS), self._around.clock.now()
        return InboxEvent(f"told.{task.id}", place, "", "", text, now, kind=NOTICE, private=False)

    def order_again(self, event: InboxEvent) -> None:
        """Order a task that is over once more, for who ordered it. Nothing where it is not known any more."""
        again, state, limits = TaskAgain.read(event.text), self._journal.state, self._limits
        task = state.tasks.get(again.number)
        if task is None or not task.over or limits is None or state.ended:
            return
        due = self._around.clock.now().timestamp() + task.due - task.since
        if state.order is not None and not task.keep:
            due = min(due, state.order.due)
        what = (task.klass, task.playbook, again.arguments)
        recalls = (task.scope, task.owner) if may_still_recall(state, task.scope) else ("", "")
        ordered = TaskOrdered(task.agent, again.task, *what, due, task.deliver, task.depth, task.keep, *recalls)
        note_order(self._journal, ordered, limits)

    async def hear(self, event: InboxEvent) -> str | None:
        """Take in how a task has ended, or a word, once; what people are told where nobody here has ordered the
        task."""
        if event.kind != TASK_OVER:
            return await self.words.hear(event)
        result = TaskResult.read(event.text)
        task = self._journal.state.tasks.get(result.number)
        if task is not None and task.id == result.task:
            self._over(task, result)
            return None
        if await stands_for(self._record, result.orderer, self._around):
            return None
        return told_late(event, self._around.texts)

    def _over(self, task: TaskState, result: TaskResult) -> None:
        if task.over:
            return
        how, where = (result.status, result.value, result.error), (result.first, result.last)
        self._journal.note(TaskOver(task.number, *how, *where, result.error_type, result.raised_at))
        sources = [wait.source or {} for wait in self._journal.state.waits.values()]
        if any(task.name in source.get("agents", ()) for source in sources):
            self._tell(task)  # that it says nothing more
        elif result.status == "canceled" or task.deliver == NOBODY:
            return
        elif task.deliver in self._around.task_places:
            self._journal.note(ResultForPlace(task.number))
        elif all(source.get("task") != task.number for source in sources):
            self._tell(task)

    def _tell(self, task: TaskState) -> None:
        """One message to who has ordered it."""
        how = "is completed" if task.status == "completed" else ended_in_words(task)
        said = f" Its result: {in_words(task.value)}" if task.status == "completed" else ""
        facts = f" (facts {task.first} to {task.last} of session {task.id})" if task.last else ""
        message = Message(
            task.message,
            CounterpartId(task.name),
            "Task",
            f"{task.name.capitalize()}, {task.klass}.{task.playbook}, {how}.{said}{facts}",
            self._around.clock.now(),
            recipient_id=task.agent,
            within=within(self._journal.state, task.agent, task.agent),
        )
        try:
            if not self._dispatcher.deliver(task.agent, message):
                self._journal.note(MessageQueued(task.agent, message))
        except QueueFull:
            self._around.bus.publish(TaskUntold(self._record.id, task.number))

    async def catch_up(self) -> None:
        """Learn of the tasks that ended in what was undone: no event will tell of them again."""
        for task in self._journal.state.tasks_at_work():
            result = await self._result_of(task)
            if result is not None:
                self._over(task, result)

    async def _result_of(self, task: TaskState) -> TaskResult | None:
        """The result of a task, by its own tape; None while it is at work."""
        store, id_ = self._around.store, task.id
        try:
            if await store.session(shard_of(address_of(task.id).key), id_) is None:
                return None
            done, last, ended = OrderOver("completed"), 0, False
            async for fact in store.read_session(id_):
                done, last = read_as(fact, OrderOver) or done, fact.seq
                ended = ended or fact.kind == SessionEnded.kind
        except ArchiveUnavailable:
            return None
        if not ended:
            return None
        where = None if done.raised_at is None else RAISED_AT.write(done.raised_at)
        how = (done.status, done.value, done.error, 1, last, done.error_type, where)
        return TaskResult(task.number, self._record.id, task.id, *how)


def cancel_tasks(journal: Journal, *, after: int = 0) -> bool:
    """End the tasks that are at work and were ordered after a fact; whether there are some."""
    at_work = [task for task in journal.state.tasks_at_work() if task.seq > after]
    for task in at_work:
        journal.note(TaskCancelled(task.number))
    return bool(at_work)


def told_late(event: InboxEvent, texts: Texts) -> str | None:
    """The text for people about a result whose orderer has gone; None of a task that came to none, and of no result."""
    try:
        result = TaskResult.read(event.text)
    except (ValueError, TypeError):
        return None
    if result.status != "completed":
        return None
    return texts("session.task_over", text=words_within(in_words(result.value)))


def in_words(value: object) -> str:
    """A result as people and models read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

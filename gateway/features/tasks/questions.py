"""Questions of tasks: told to who ordered them, and answered by what people do there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from anyio.abc import TaskGroup
from msgspec.structs import replace

from runtime.core.address import CLIENT, address_of, thread_name, threads_below
from runtime.core.background import OnDemand
from runtime.core.ids import SessionId
from runtime.meetings.meeting import meeting_held_at
from runtime.sessions.features import SessionPart, SessionParts
from runtime.sessions.inbound.arrivals import message_of
from runtime.sessions.meetings.places import UNANSWERED_IN_PLACES, given_back
from runtime.stores.inbox import SESSION_COMMANDS, TASK_ASKS, InboxEvent, bring
from runtime.stores.orders import JsonLetter
from runtime.stores.sessions import HeldPlace, is_below_question
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.tasks import AnswerMeant, OrderAsks, OrderTold, TaskAsks
from runtime.tape.state.frames import takes
from runtime.tape.state.tasks import TaskQuestion, TaskState

_PREFIX_CHARS = 8

_Asking: TypeAlias = tuple[TaskState, str, TaskQuestion]
"""An open question with its id, and the task that asks it."""


class TaskAsking(JsonLetter, frozen=True):
    """Task `number` of the session that reads it waits for an answer, or no longer (`waits`).

    `ask` is the id of the question, which its choices begin with, `messages` are the platform's ids of what people see
    of it, `people` those whose answer counts (ids, none for anybody). `words`: it has no choices.
    """

    number: int
    task: SessionId
    ask: str
    waits: bool
    messages: list[str]
    people: list[str]
    words: bool


class TaskQuestions(SessionPart):
    """The questions that tasks of one session have asked, and its own, where it is a task.

    The threads below those of tasks are held in the store before a question is taken in, so that a crash leaves none
    out, and stay held after it is closed: who writes there late is told.
    """

    def __init__(self, parts: SessionParts) -> None:
        super().__init__(parts)
        self._store = parts.around.places
        self._telling = OnDemand(self._tell)
        self._prefix = str(parts.journal.session)[:_PREFIX_CHARS]

    # -- of a task

    def start(self, tasks: TaskGroup) -> None:
        self._telling.start(tasks)
        self._compare()
        self._telling.wake()

    def noted(self, _fact: FactContent) -> None:
        """Hears every fact: a question may have been asked or answered."""
        order = self._journal.state.order
        if order is not None and not order.over:
            self._compare()
            if order.to_tell:
                self._telling.wake()

    def _compare(self) -> None:
        """Note what the orderer is to hear: questions that people see now, and those that wait no longer."""
        state, order = self._journal.state, self._journal.state.order
        if order is None or order.over or not (state.questions or order.asks):
            return
        waiting = {f"{self._prefix}.{question.page}": question for question in state.questions.values()}
        for ask in [ask for ask in order.asks if ask.startswith(f"{self._prefix}.") and ask not in waiting]:
            self._journal.note(OrderAsks(ask, over=True))
        for ask, question in waiting.items():
            if ask in order.asks or question.page in state.pages:
                continue
            people = [question.of] if question.of is not None else [*question.each.values()]
            self._journal.note(OrderAsks(ask, [*question.parts.values()], list(map(str, people)), not question.options))

    async def _tell(self) -> None:
        """Bring what is to be told to the orderer. Repeated after a crash, its inbox knows it by its id."""
        order = self._journal.state.order
        while order is not None and order.to_tell and not self._journal.state.ended:
            await self._journal.commit()
            ask = next(iter(order.to_tell), None)
            if ask is None:
                return  # it has ended meanwhile, and the end says enough
            found = order.asks.get(ask)
            open_ = TaskQuestion([], [], words=False) if found is None else found
            letter = TaskAsking(
                *(order.number, self._journal.session, ask, found is not None),
                *(open_.messages, open_.people, open_.words),
            )
            event = InboxEvent(
                id=f"{TASK_ASKS if letter.waits else 'task_asked'}.{self._journal.session}.{ask}",
                address=order.home,
                person_id=self._journal.state.person or "",
                person_name="",
                text=str(letter),
                sent_at=self._around.clock.now(),
                kind=TASK_ASKS,
            )
            if order.home.platform != CLIENT:  # a client reads it on the tape
                await bring(event, self._inbox, self._around.clock)
            self._journal.note(OrderTold(ask))
            self._journal.hurry()

    # -- of who ordered it

    async def hold(self, event: InboxEvent) -> None:
        """Hold the threads below a question, before the event that tells of it is consumed."""
        if self._store is None or self._journal.state.order is not None:  # people write where the orderer is
            return
        for thread in threads_below(self._record.address, TaskAsking.read(event.text).messages):
            await self._store.put(thread, HeldPlace(self._record.address, self._record.id, None))

    async def turned_away(self, event: InboxEvent, /) -> bool | None:
        if self._store is None or event.place is None or not await is_below_question(event.place, self._store):
            return None
        command = SESSION_COMMANDS.get(event.kind)
        if event.kind in UNANSWERED_IN_PLACES:
            return True
        if command is None or not command.whole:
            return False
        if event.kind != "new":
            self._pages.answer(self._pages.texts("session.question_thread_only"), event)
        elif not await given_back(event, self._store, self._inbox):
            self._pages.answer(self._pages.texts("inbound.full"), event)
        return True

    def take(self, event: InboxEvent, /) -> None:
        letter = TaskAsking.read(event.text)
        task = self._journal.state.tasks.get(letter.number)
        if task is None or task.id != letter.task or task.over or (letter.ask in task.asks) == letter.waits:
            return
        self._journal.note(
            TaskAsks(letter.number, letter.ask, letter.messages, letter.people, letter.words, over=not letter.waits)
        )

    def answers(self, event: InboxEvent) -> bool:
        """Whether an event answers a question that a task may have asked, and not this session."""
        asker, page = _asked_by(event)
        if not asker or self._journal.session.startswith(asker) or not self._journal.state.tasks_at_work():
            return False
        return not any(f"{asker}.{page}" in task.closed for task in self._journal.state.tasks.values())

    def refusal(self, event: InboxEvent) -> str | None:
        """What somebody is told whose words reply to a question of a task and answer nothing: it waits no longer, or
        for others. None for all other words."""
        state, message = self._journal.state, self._replied_to(event)
        if any(event.id in task.answers for task in state.tasks.values()):
            return None
        if message is None:
            return self._too_late(event)
        if any(_shown_in(question.parts.values(), message) for question in state.questions.values()):
            return None  # the session itself asks
        found = [one for one in self._asking() if _shown_in(one[2].messages, message)]
        if any(self._may_answer(one, event) for one in found):
            return None
        if found and not any(self._counts(asked, event) for *_, asked in found):
            names = ", ".join(state.called(person) for *_, asked in found for person in asked.people)
            return None if event.place is None else self._around.texts("session.question_for", name=names)
        if event.place is not None:
            return self._around.texts("session.question_thread_closed")
        over = (asked for task in state.tasks.values() for asked in task.closed.values())
        closed = any(_shown_in(asked.messages, message) for asked in over)
        return self._around.texts("session.question_closed") if found or closed else None

    def _too_late(self, event: InboxEvent) -> str | None:
        """What somebody is told who chooses an answer after another has given one, though the task has not taken that
        yet, or whose answer does not count."""
        chosen = ".".join(_asked_by(event))
        for one in self._asking():
            if one[1] == chosen and not self._counts(one[2], event):
                names = ", ".join(map(self._journal.state.called, one[2].people))
                return self._around.texts("session.question_for", name=names)
            if one[1] == chosen and not self._may_answer(one, event):
                return self._around.texts("session.question_closed")
        return None

    def _replied_to(self, event: InboxEvent) -> str | None:
        """The message that somebody's words answer: the one that they quote, or below which their thread is."""
        if event.kind != "message" or event.choice:
            return None
        if event.place is not None:
            return None if meeting_held_at(self._journal.state, event.place) is not None else event.place.thread
        return event.quote.message_id if event.quote is not None else None

    def _asking(self) -> list[_Asking]:
        return [(task, ask, asked) for task in self._journal.state.tasks_at_work() for ask, asked in task.asks.items()]

    async def meant(self, event: InboxEvent) -> bool:
        """Whether somebody's words answer a question of a task. That is decided once: it is written down before the
        words go there, so that they go nowhere else after a crash."""
        message = self._replied_to(event)
        if event.kind != "message" or event.choice or (event.place is not None and message is None):
            return False
        asking = self._asking()
        if not asking or any(event.id in task.answers for task, *_ in asking):
            return bool(asking)
        if message is not None:
            found = [one for one in asking if _shown_in(one[2].messages, message) and self._may_answer(one, event)]
        else:
            found = self._next_words(event, [one for one in asking if one[2].words])
        if len(found) != 1:
            return False
        task, ask, _ = found[0]
        self._journal.note(AnswerMeant(task.number, event.id, ask))
        await self._journal.commit()
        return True

    def _may_answer(self, one: _Asking, event: InboxEvent) -> bool:
        """Whether somebody's words still answer a question: those of one person, or of each who is asked."""
        task, ask, asked = one
        return self._counts(asked, event) and (ask not in task.answers.values() or len(asked.people) > 1)

    def _counts(self, asked: TaskQuestion, event: InboxEvent) -> bool:
        return not asked.people or event.author in asked.people

    def _next_words(self, event: InboxEvent, asking: list[_Asking]) -> list[_Asking]:
        """The one open question for words, where nothing here waits for the words of people: those of who is asked."""
        state = self._journal.state
        message = message_of(event, None, state)
        going_on = any(meeting.status != "ended" for meeting in state.meetings.values())
        waited_for = state.questions or any(takes(wait.source or {}, message) for wait in state.waits.values())
        if len(asking) != 1 or going_on or waited_for or not event.text.strip() or event.text.startswith("@"):
            return []
        task, _, asked = asking[0]
        whose = asked.people or [one for one in (state.agents[task.agent].person or state.person,) if one]
        return asking if not whose or event.author in whose else []

    async def forward(self, event: InboxEvent) -> None:
        """Bring an answer to the task that asked, or to all that are at work when one that they ordered may have."""
        ask = next(
            (task.answers[event.id] for task in self._journal.state.tasks_at_work() if event.id in task.answers), None
        )
        if ask is not None and event.choice is None:
            event = replace(event, choice=f"{ask}.")
        asker, page = _asked_by(event)
        at_work = self._journal.state.tasks_at_work()
        chosen = [task for task in at_work if f"{asker}.{page}" in task.asks]
        if ask is None:
            for task in chosen:  # who answers it before the task has taken this is told so
                self._journal.note(AnswerMeant(task.number, event.id, f"{asker}.{page}"))
        chosen = chosen or [task for task in at_work if task.id.startswith(asker)] or at_work
        for task in chosen:
            await bring(replace(event, address=address_of(task.id), place=None), self._inbox, self._around.clock)


def _shown_in(messages: Iterable[str], replied_to: str) -> bool:
    """Whether a question that is shown in `messages` is the one that somebody replied to, or below which they wrote."""
    return any(replied_to in (message, thread_name(message)) for message in messages)


def _asked_by(event: InboxEvent) -> tuple[str, str]:
    """Who asked what somebody has chosen: the beginning of the session's id, and the page; "" for what is no choice."""
    asker, _, rest = (event.choice or "").partition(".")
    return asker, rest.partition(".")[0]

"""Tasks in a process that serves conversations."""

from __future__ import annotations

from collections.abc import Callable

from anyio.abc import TaskGroup

from gateway.clients.scopes import PROGRAM, ClientScopes, refusals_of, scopes_from
from gateway.feature import FeatureGround, ServingGround
from gateway.features.tasks.calls import TaskCalls, TellCalls
from gateway.features.tasks.orders import TaskOrders, cancel_tasks, in_words, told_late
from gateway.features.tasks.questions import TaskQuestions
from gateway.features.tasks.words import word_late
from gateway.features.tasks.work import TaskWork
from gateway.settings.clients import client_scopes, publisher_scopes
from runtime.core.address import SCRATCH
from runtime.core.texts import Texts
from runtime.sessions.commands.session_commands import lasting
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.sessions.succession import SessionSuccession, words_within
from runtime.stores.inbox import (
    TASK,
    TASK_AGAIN,
    TASK_ASKS,
    TASK_CANCEL,
    TASK_HEARD,
    TASK_OVER,
    TASK_WORD,
    InboxEvent,
)
from runtime.stores.orders import SpentOf, TaskLimits
from runtime.tape.facts.tasks import TaskCancelled
from runtime.tape.journal import Journal
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import TaskState

MAX_SHOWN = 20
"""The latest tasks that are shown."""


class SessionTasks(SessionPart):
    """The tasks of one session, which may be one."""

    kinds = frozenset({TASK, TASK_CANCEL, TASK_OVER, TASK_ASKS, TASK_AGAIN, TASK_WORD, TASK_HEARD})

    def __init__(self, parts: SessionParts, limits: TaskLimits | None, spent: SpentOf | None) -> None:
        super().__init__(parts)
        calls = TaskCalls(parts, limits)
        self._orders = TaskOrders(parts, limits)
        self._work = TaskWork(parts, spent)
        self._questions = TaskQuestions(parts)
        self.calls = (calls, TellCalls(parts, calls))
        self.commands = {"tasks": self._command}
        self.listeners = (
            *(calls.noted, self._orders.noted, self._orders.words.noted, self._work.noted, self._questions.noted),
        )
        self.may_ask = self._work.may_ask

    async def restored(self, succession: SessionSuccession | None, /) -> None:
        if succession is not None:
            await self._orders.catch_up()

    def start(self, tasks: TaskGroup) -> None:
        self._orders.start(tasks)
        self._work.start(tasks)
        self._questions.start(tasks)

    async def concerns(self, event: InboxEvent, /) -> bool:
        if event.kind == TASK_ASKS:
            await self._questions.hold(event)
        if event.kind in self.kinds or self._questions.answers(event) or self._questions.refusal(event):
            return True
        return await self._questions.meant(event)

    async def take_own(self, event: InboxEvent, /) -> None:
        """An order it has taken already, where it is none that it begins with."""
        if event.kind not in self.kinds:
            await self._answer(event)
        elif event.kind == TASK and self._journal.state.order is None:
            self._work.begin(event)
        elif event.kind == TASK_CANCEL:
            self._work.cancel()
        elif event.kind == TASK_ASKS:
            self._questions.take(event)
        elif event.kind == TASK_AGAIN:
            self._orders.order_again(event)
        elif event.kind in (TASK_OVER, TASK_WORD, TASK_HEARD) and (told := await self._orders.hear(event)):
            self._pages.tell(told)

    async def _answer(self, event: InboxEvent) -> None:
        """Bring what people answer to the task that has asked, or tell them that it is no answer."""
        refusal = self._questions.refusal(event)
        if refusal is None:
            await self._questions.forward(event)
        else:
            self._pages.tell(refusal, event.place)

    async def turned_away(self, event: InboxEvent, /) -> bool | None:
        return await self._questions.turned_away(event)

    def stopped(self) -> bool:
        return cancel_tasks(self._journal)

    def undoing(self, after: int, /) -> None:
        cancel_tasks(self._journal, after=after)

    async def all_posted(self) -> None:
        await self._orders.all_posted()

    async def settled(self) -> None:
        await self._work.settled()

    async def _command(self, event: InboxEvent) -> None:
        word, _, which = event.text.strip().partition(" ")
        texts = self._pages.texts
        if not word:
            said = tasks_text(self._journal.state, self._around.clock.now().timestamp(), texts)
        elif word.lower() == "stop":
            self._pages.tell(stop_task(self._journal, which, texts), event.place)
            return
        else:
            said = texts("tasks.usage")
        self._pages.answer(said, event)


def tasks_text(state: SessionState, now_s: float, texts: Texts) -> str:
    """The tasks of a session, one a line, the latest last."""
    shown = list(state.tasks.values())[-MAX_SHOWN:]
    return "\n".join(_line(task, now_s, texts) for task in shown) if shown else texts("tasks.none")


def _line(task: TaskState, now_s: float, texts: Texts) -> str:
    came = in_words(task.value) if task.status == "completed" else task.error or ""
    return texts(
        "tasks.line" if not came else "tasks.line_over",
        task=task.number,
        does=f"{task.klass}.{task.playbook}",
        status=texts(f"tasks.{task.status}"),
        time=lasting(now_s - task.since, texts),
        result=words_within(came),
    )


def stop_task(journal: Journal, asked: str, texts: Texts) -> str:
    """End the task of this number; what people are told."""
    number = asked.strip()
    known = (task for task in journal.state.tasks.values() if str(task.number) == number)
    task = next(known, None)
    if task is None:
        return texts("tasks.unknown", task=words_within(number))
    if task.over:
        return texts("tasks.over", task=task.number)
    journal.note(TaskCancelled(task.number))
    return texts("tasks.stopped", task=task.number)


class NodeTasks(NodePart):
    """The tasks of the sessions of a process; without `limits` none is ordered, as in scratch rooms."""

    def __init__(
        self,
        limits: TaskLimits | None,
        spent: SpentOf | None = None,
        objection: Callable[[InboxEvent], str] | None = None,
    ) -> None:
        """`spent` counts what they cost; `objection` says why one may not begin that was ordered, "" where it may."""
        self._limits = limits
        self._spent = spent
        self._objection = objection

    @property
    def alone(self) -> NodeTasks:
        return self

    def objection(self, event: InboxEvent, /) -> str:
        return "" if self._objection is None else self._objection(event)

    def session(self, parts: SessionParts, /) -> SessionTasks:
        limits = None if parts.record.address.platform == SCRATCH else self._limits
        return SessionTasks(parts, limits, self._spent)

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """What people are told whose task has ended, or says something, when the session has gone that ordered it."""
        late = {TASK_OVER: told_late, TASK_WORD: word_late}.get(event.kind)
        told = None if late is None else late(event, texts)
        return None if told is None else (told, "")


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeTasks:
    """The tasks of this node. Clients, programs that publish events and features order them, within their scopes."""
    own, limits = ground.settings, serving.limits
    scopes = client_scopes(own.clients)
    scopes |= {f"{PROGRAM}{name}": found for name, found in publisher_scopes(own.publishers).items()}

    def scopes_of(name: str) -> ClientScopes | None:
        of_feature = any(name in part.programs for part in serving.parts)
        return scopes_from([f"tasks:write:{name}"]) if of_feature else scopes.get(name)

    return NodeTasks(own.tasks.limits, limits.spent, refusals_of(scopes_of, console=own.has_console))

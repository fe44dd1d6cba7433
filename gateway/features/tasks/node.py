"""Tasks in a process that serves conversations, and the work of one in its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyio.abc import TaskGroup

from gateway.clients.scopes import PROGRAM, ClientScopes, refusals_of, scopes_from
from gateway.feature import FeatureGround, ServingGround, TriedGround
from gateway.features.tasks.calls import TaskCalls, TellCalls
from gateway.features.tasks.orders import TaskOrders, cancel_tasks, in_words, told_late
from gateway.features.tasks.questions import TaskQuestions
from gateway.features.tasks.words import word_late
from gateway.settings.operation import client_scopes, publisher_scopes
from runtime.core.address import CLIENT, SCRATCH, Address
from runtime.core.background import OnDemand
from runtime.core.clock import until
from runtime.core.errors import CommandRefused, ConfigError, PlaybookError, UnknownTarget
from runtime.core.plain_text import error_text
from runtime.core.texts import Texts
from runtime.execution.frames.outcomes import reason
from runtime.language.event_triggers import PLACE
from runtime.sessions.commands.session_commands import lasting
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.sessions.succession import SessionSuccession, words_within
from runtime.stores import inbox
from runtime.stores.orders import SpentOf, TaskLimits, TaskOrder, TaskResult
from runtime.tape.facts.content import ADDRESS, RAISED_AT
from runtime.tape.facts.frames import FrameReturned, FrameStarted
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentPaused
from runtime.tape.facts.tasks import OrderAnswered, OrderBegun, OrderOver, OrderTaken, TaskCancelled
from runtime.tape.journal import Journal
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import PROGRAM_BROKEN, TASK_LATE, TASK_LIMIT, OrderState, TaskState, TaskStatus

MAX_SHOWN = 20


class TaskWork(SessionPart):
    """One session in memory that may be a task. Does nothing where it is none."""

    def __init__(self, parts: SessionParts, spent: SpentOf | None) -> None:
        super().__init__(parts)
        self._parts = parts
        self._spent = spent
        self._ending = OnDemand(self._end_if_over)

    async def may_ask(self, _person: str | None, /) -> str | None:
        """Why a model may not be called; None if it may. A task that has used its limit is ended."""
        order = self._journal.state.order
        over = None if order is None else await self._over_limit(order)
        if over is not None:
            self._break_off("failed", over, TASK_LIMIT)
        return over

    async def _over_limit(self, order: OrderState) -> str | None:
        if self._spent is None or not (order.tokens or order.dollars):
            return None
        spent = await self._spent(order.root)
        if order.tokens and spent.tokens >= order.tokens:
            return self._around.texts("session.task_tokens", limit=f"{order.tokens:,}")
        if order.dollars and spent.dollars >= order.dollars:
            return self._around.texts("session.task_dollars", limit=f"{order.dollars:g}")
        return None

    def begin(self, event: inbox.InboxEvent) -> None:
        """Take an order, and have its playbook executed; an order that cannot be executed is rejected."""
        order = TaskOrder.read(event.text)
        same = {name: getattr(order, name) for name in order.__struct_fields__ if name != "arguments"}
        places = {"home": ADDRESS.read(order.home), "place": ADDRESS.read(order.place)}
        self._journal.note(OrderTaken(**{**same, **places, "root": order.root or self._journal.session}))
        try:
            if self._parts.broken() is None:
                self._execute(order)
        except (PlaybookError, UnknownTarget) as error:
            at = RaisedAt(order.klass, order.playbook)
            self._over("rejected", error=error_text(error), error_type=type(error).__name__, raised_at=at)
        self._keep_time()

    def _execute(self, order: TaskOrder) -> None:
        agent = self._parts.agents.create(order.klass, {})
        self._journal.note(AgentPaused(agent))  # what it does by itself at the beginning of a program is not ordered
        executable = self._parts.find(order.klass, order.playbook)
        if executable is None:
            raise UnknownTarget(f"{order.klass} has no playbook {order.playbook!r}")
        args, kwargs, variables = executable.bind((), order.arguments)
        frame = f"{agent}.0"
        started = FrameStarted(frame, agent, executable.name, args, kwargs, executable.version, variables)
        self._journal.note(started)
        self._journal.note(OrderBegun(frame))

    @hears(FrameReturned)
    def noted(self, fact: FrameReturned) -> None:
        order = self._journal.state.order
        if order is None or order.over or fact.frame != order.frame:
            return
        if fact.error is None:
            self._over("completed", fact.value)
        else:
            text = reason(fact.error, self._around.texts)
            self._over("failed", error=text, error_type=fact.error[0], raised_at=fact.raised_at)

    def _over(
        self,
        status: TaskStatus,
        value: object = None,
        error: str | None = None,
        *,
        error_type: str = "",
        raised_at: RaisedAt | None = None,
    ) -> None:
        self._journal.note(OrderOver(status, value, error, error_type, raised_at))
        self._ending.wake()

    def start(self, tasks: TaskGroup) -> None:
        """End the task when its time is over, or at once with a program that is broken."""
        self._ending.start(tasks)
        self._keep_time()

    def _keep_time(self) -> None:
        order = self._journal.state.order
        if order is None or self._journal.state.ended:
            return
        if (broken := self._parts.broken()) is not None:
            self._break_off("failed", broken, PROGRAM_BROKEN)
        if order.over:
            self._ending.wake()
        else:
            self._parts.tasks.start_soon(self._end_in_time, order.due)

    async def _end_in_time(self, due_s: float) -> None:
        await until(self._around.clock, due_s)
        self._break_off("failed", self._around.texts("session.task_late"), TASK_LATE)

    def cancel(self) -> None:
        """The orderer does not need it any more. Waits for nothing: the end follows the commit that takes the event."""
        self._break_off("canceled")

    def _break_off(self, status: TaskStatus, error: str | None = None, error_type: str = "") -> None:
        """End the task without a result, if it has not ended: where it was is the place of the error."""
        state = self._journal.state
        if state.order is None or state.order.over or state.ended:
            return
        frame = state.frames.get(state.order.frame or "")
        at = frame and error_type and RaisedAt(state.agents[frame.agent].klass, frame.playbook, frame.step)
        self._over(status, error=error, error_type=error_type, raised_at=at or None)

    async def _end_if_over(self) -> None:
        order = self._journal.state.order
        if order is not None and order.over:
            await self._parts.builtins.end(wanted=True)

    async def settled(self) -> None:
        """Put the result of a task that has ended into its orderer's inbox, once."""
        state = self._journal.state
        order = state.order
        if order is None or order.answered or not state.ended:
            return
        status: TaskStatus = order.status if order.over else "completed"  # its program has ended by itself
        where = None if order.raised_at is None else RAISED_AT.write(order.raised_at)
        how = (status, order.value, order.error, order.first, state.seq, order.error_type, where)
        letter = TaskResult(order.number, order.orderer, self._journal.session, *how)
        event = inbox.InboxEvent(
            id=f"{inbox.TASK_OVER}.{self._journal.session}",
            address=order.home,
            person_id=state.person or "",
            person_name="",
            text=str(letter),
            sent_at=self._around.clock.now(),
            kind=inbox.TASK_OVER,
        )
        await self._journal.commit()
        if order.home.platform != CLIENT:
            await inbox.bring(event, self._inbox, self._around.clock)
        self._journal.note(OrderAnswered())


class SessionTasks(SessionPart):
    kinds = frozenset(
        {
            inbox.TASK,
            inbox.TASK_CANCEL,
            inbox.TASK_OVER,
            inbox.TASK_ASKS,
            inbox.TASK_AGAIN,
            inbox.TASK_WORD,
            inbox.TASK_HEARD,
        }
    )

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

    async def may_ask(self, person: str | None, /) -> str | None:
        return await self._work.may_ask(person)

    async def restored(self, succession: SessionSuccession | None, /) -> None:
        if succession is not None:
            await self._orders.catch_up()

    def start(self, tasks: TaskGroup) -> None:
        self._orders.start(tasks)
        self._work.start(tasks)
        self._questions.start(tasks)

    async def concerns(self, event: inbox.InboxEvent, /) -> bool:
        if event.kind == inbox.TASK_ASKS:
            await self._questions.hold(event)
        if event.kind in self.kinds or self._questions.answers(event) or self._questions.refusal(event):
            return True
        return await self._questions.meant(event)

    async def take_own(self, event: inbox.InboxEvent, /) -> None:
        """An order it has taken already, where it is none that it begins with."""
        if event.kind not in self.kinds:
            await self._answer(event)
        elif event.kind == inbox.TASK and self._journal.state.order is None:
            self._work.begin(event)
        elif event.kind == inbox.TASK_CANCEL:
            self._work.cancel()
        elif event.kind == inbox.TASK_ASKS:
            self._questions.take(event)
        elif event.kind == inbox.TASK_AGAIN:
            self._orders.order_again(event)
        elif event.kind in (inbox.TASK_OVER, inbox.TASK_WORD, inbox.TASK_HEARD) and (
            told := await self._orders.hear(event)
        ):
            self._pages.tell(told)

    async def _answer(self, event: inbox.InboxEvent) -> None:
        """Bring what people answer to the task that has asked, or tell them that it is no answer."""
        refusal = self._questions.refusal(event)
        if refusal is None:
            await self._questions.forward(event)
        else:
            self._pages.tell(refusal, event.place)

    async def turned_away(self, event: inbox.InboxEvent, /) -> bool | None:
        return await self._questions.turned_away(event)

    def stopped(self) -> bool:
        return cancel_tasks(self._journal)

    def undoing(self, after: int, /) -> None:
        cancel_tasks(self._journal, after=after)

    async def all_posted(self) -> None:
        await self._orders.all_posted()

    async def settled(self) -> None:
        await self._work.settled()

    async def _command(self, event: inbox.InboxEvent) -> None:
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
    """End the task of this number; what people are told. Raises CommandRefused."""
    number = asked.strip()
    known = (task for task in journal.state.tasks.values() if str(task.number) == number)
    task = next(known, None)
    if task is None:
        raise CommandRefused(texts("tasks.unknown", task=words_within(number)))
    if task.over:
        raise CommandRefused(texts("tasks.over", task=task.number))
    journal.note(TaskCancelled(task.number))
    return texts("tasks.stopped", task=task.number)


class NodeTasks(NodePart):
    """The tasks of the sessions of a process; without `limits` none is ordered, as in scratch rooms."""

    def __init__(
        self,
        limits: TaskLimits | None,
        spent: SpentOf | None = None,
        objection: Callable[[inbox.InboxEvent], str] | None = None,
        places: Mapping[str, Address] | None = None,
    ) -> None:
        """`spent` counts what they cost; `objection` says why one may not begin that was ordered, "" where it may."""
        self._limits = limits
        self._spent = spent
        self._objection = objection
        self.places = places or {}

    @property
    def alone(self) -> NodeTasks:
        return NodeTasks(self._limits, self._spent, self._objection)

    def objection(self, event: inbox.InboxEvent, /) -> str:
        return "" if self._objection is None else self._objection(event)

    def session(self, parts: SessionParts, /) -> SessionTasks:
        limits = None if parts.record.address.platform == SCRATCH else self._limits
        return SessionTasks(parts, limits, self._spent)

    async def answer(self, event: inbox.InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """What people are told whose task has ended, or says something, when the session has gone that ordered it."""
        late = {inbox.TASK_OVER: told_late, inbox.TASK_WORD: word_late}.get(event.kind)
        told = None if late is None else late(event, texts)
        return None if told is None else (told, "")


def tried(ground: TriedGround) -> NodeTasks:
    return NodeTasks(ground.settings.tasks.limits)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeTasks:
    """The tasks of this node. Clients, programs that publish events and features order them, within their scopes."""
    own, limits = ground.settings, serving.limits
    scopes = client_scopes(own.clients)
    scopes |= {f"{PROGRAM}{name}": found for name, found in publisher_scopes(own.publishers).items()}

    def scopes_of(name: str) -> ClientScopes | None:
        of_feature = any(name in part.programs for part in serving.parts)
        return scopes_from([f"tasks:write:{name}"]) if of_feature else scopes.get(name)

    refusals = refusals_of(scopes_of, console=own.has_console)
    return NodeTasks(own.tasks.limits, limits.spent, refusals, _places(ground))


def _places(ground: FeatureGround) -> Mapping[str, Address]:
    """The conversations that tasks may tell something, by name. Raises ConfigError where a program names another."""
    places = ground.settings.tasks.addresses(ground.settings.platform_names)
    for name, program in ground.programs.items():
        wanted = str(program.metadata.get(PLACE, ""))
        if wanted and wanted not in places:
            known = ", ".join(places) or "none"
            raise ConfigError(f"Program {name} says `{PLACE}: {wanted}`, no place of tasks.places; known are: {known}.")
    return places

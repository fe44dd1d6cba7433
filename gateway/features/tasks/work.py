"""A session that is a task: begun by its order, ended by its result, its time or its orderer, and answered once."""

from __future__ import annotations

from dataclasses import fields

from anyio.abc import TaskGroup

from runtime.core.address import CLIENT
from runtime.core.background import OnDemand
from runtime.core.clock import until
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.plain_text import error_text
from runtime.execution.frames.outcomes import reason
from runtime.sessions.features import SessionPart, SessionParts
from runtime.stores.inbox import TASK_OVER, InboxEvent, bring
from runtime.stores.orders import SpentOf, TaskOrder, TaskResult
from runtime.tape.facts.content import ADDRESS, RAISED_AT
from runtime.tape.facts.frames import FrameReturned, FrameStarted
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentPaused
from runtime.tape.facts.tasks import OrderAnswered, OrderBegun, OrderOver, OrderTaken
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import PROGRAM_BROKEN, TASK_LATE, TASK_LIMIT, OrderState, TaskStatus


class TaskWork(SessionPart):
    """One session in memory that may be a task. Does nothing where it is none."""

    def __init__(self, parts: SessionParts, spent: SpentOf | None) -> None:
        super().__init__(parts)
        self._parts = parts
        self._spent = spent
        self._ending = OnDemand(self._end_if_over)

    async def may_ask(self, person: str | None) -> str | None:
        """Why a model may not be called for a person; None if it may. A task that has used its limit is ended; the
        limits of the conversation that it works for hold as well."""
        order = self._journal.state.order
        if order is None:
            return await self._around.allowance(self._record.address, person)
        over = await self._over_limit(order)
        if over is not None:
            self._break_off("failed", over, TASK_LIMIT)
            return over
        return await self._around.allowance(order.place, person)

    async def _over_limit(self, order: OrderState) -> str | None:
        if self._spent is None or not (order.tokens or order.dollars):
            return None
        spent = await self._spent(order.root)
        if order.tokens and spent.tokens >= order.tokens:
            return self._around.texts("session.task_tokens", limit=f"{order.tokens:,}")
        if order.dollars and spent.dollars >= order.dollars:
            return self._around.texts("session.task_dollars", limit=f"{order.dollars:g}")
        return None

    def begin(self, event: InboxEvent) -> None:
        """Take an order, and have its playbook executed; an order that cannot be executed is rejected."""
        order = TaskOrder.read(event.text)
        same = {one.name: getattr(order, one.name) for one in fields(order) if one.name != "arguments"}
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
        """The ordered playbook may have returned."""
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
        event = InboxEvent(
            id=f"{TASK_OVER}.{self._journal.session}",
            address=order.home,
            person_id=state.person or "",
            person_name="",
            text=str(letter),
            sent_at=self._around.clock.now(),
            kind=TASK_OVER,
        )
        await self._journal.commit()
        if order.home.platform != CLIENT:
            await bring(event, self._inbox, self._around.clock)
        self._journal.note(OrderAnswered())

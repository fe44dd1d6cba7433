"""The tasks of a database: found, read, ended and ordered again, by the console, too."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import anyio
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.clients.requests import BusClient, answer, known_mark, limit_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.database import GatewayDatabase
from gateway.feature import FeatureGround
from runtime.core.address import CLIENT, TASK_PLATFORM, address_data, address_of
from runtime.core.clock import Clock
from runtime.core.errors import Divergence, NoSuchTask, TaskRefused
from runtime.core.ids import SessionId
from runtime.core.near_names import name_advice
from runtime.storage.redis.inbox import RedisInbox
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.inbox import TASK, TASK_AGAIN, TASK_CANCEL, InboxEvent
from runtime.stores.orders import TaskAgain, TaskOrder
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderOver, OrderTaken, TaskOrdered
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import WORKING, OrderState, TaskStatus
from runtime.tape.tape import TapeReader

_PAGE_OF_SESSIONS = 500

_LOOKED_AT = 5_000
"""The other sessions among which one page looks for tasks."""

_ORDERED_WITHIN_S = 3.0
"""The wait for a node to order a task again. Chosen: an idle one takes milliseconds."""

_WORDS = ("arguments", "value", "error")
"""What people and models wrote, of a task."""


class KnownTask(Struct, frozen=True):
    """A task that has begun, as its tape has it. `arguments` are by name, None where its playbook never began."""

    session: KnownSession
    klass: str
    playbook: str
    arguments: dict[str, Any] | None
    order: OrderState
    status: TaskStatus

    @property
    def over(self) -> bool:
        return self.status not in WORKING

    def data(self) -> dict[str, Any]:
        record, order = self.session.record, self.order
        found = {
            "task": record.id,
            "does": f"{self.klass}.{self.playbook}",
            "arguments": self.arguments,
            "status": self.status,
            "program": record.program,
            "ordered_by": order.home.key,
            "number": order.number,
            "started_at": record.started_at.isoformat(),
            "last_at": self.session.last_at.isoformat(),
            "due_at": datetime.fromtimestamp(order.due, UTC).isoformat(),
            "depth": order.depth,
            "facts": record.seq,
        }
        if order.event:
            found["began_on"] = order.event
        if self.status == "completed":
            found["value"] = order.value
        return found if order.error is None else {**found, "error": order.error}


class TaskRegister(Struct, frozen=True):
    """Reads tasks from their tapes, whether gateways run or not. Raises StorageUnavailable."""

    _catalog: SessionCatalog
    _tapes: TapeReader
    _inbox: RedisInbox
    _clock: Clock

    async def latest(self, limit: int) -> tuple[list[KnownTask], bool]:
        """Up to `limit` tasks (0: all), the latest active first, and whether there are more."""
        found: list[KnownTask] = []
        mark, more = "", True
        while more:
            page = await self._catalog.page(mark, limit=_PAGE_OF_SESSIONS)
            for known in page.sessions:
                if known.record.address.platform != TASK_PLATFORM:
                    continue
                if limit and len(found) == limit:
                    return found, True
                task = await self._read(known)
                found += [] if task is None else [task]
            mark, more = page.next, bool(page.next)
        return found, False

    async def page(self, after: str, limit: int) -> tuple[list[KnownTask], str]:
        """The tasks after a mark, the most recently active first, `limit` of them where there are so many; and the mark
        of the next page, "" at the end. Raises ValueError for what is no mark."""

        async def task_of(known: KnownSession) -> KnownTask | None:
            return await self._read(known) if known.record.address.platform == TASK_PLATFORM else None

        return await among_sessions(self._catalog, after, limit, task_of, _LOOKED_AT)

    async def find(self, id_: str) -> KnownTask | None:
        """A task; None for one that has not begun. Raises TaskRefused, NoSuchTask where there is none."""
        order = await self._inbox.known(address_of(SessionId(id_)), id_)
        known = await self._catalog.find(SessionId(id_))
        task = None if known is None or known.record.address.platform != TASK_PLATFORM else await self._read(known)
        if task is None and order is None:
            latest = (await self._catalog.page("", limit=_PAGE_OF_SESSIONS)).sessions
            ids = [one.record.id for one in latest if one.record.address.platform == TASK_PLATFORM]
            raise NoSuchTask(f"There is no task {id_}; {name_advice(id_, ids, 'see parley tasks list.')}")
        if task is None and order is not None and not order.waits:
            raise TaskRefused(f"The task {id_} is gone: its session was deleted, or its order was put aside.")
        return task

    async def over(self, id_: str, within_s: float) -> KnownTask | None:
        """A task as soon as it is over, or as it is after `within_s`. See `find`."""
        task = await self.find(id_)
        if task is None or task.over:
            return task
        with anyio.move_on_after(within_s):
            async for fact in self._tapes.follow(SessionId(id_)):
                if read_as(fact, OrderOver) is not None:
                    break
        return await self.find(id_)

    async def cancel(self, id_: str) -> None:
        """Have a task end. Raises TaskRefused for one that has ended, and InboxFull."""
        task = await self.find(id_)
        if task is not None and task.over:
            raise TaskRefused(f"The task {id_} has ended already: {task.status}.")
        address = address_of(SessionId(id_))
        await self._inbox.add(InboxEvent(f"cancel.{id_}", address, "", "", "", self._clock.now(), kind=TASK_CANCEL))

    async def order_again(self, id_: str, within_s: float = _ORDERED_WITHIN_S) -> tuple[SessionId, str | None]:
        """Order what a task did once more. Gives the new task's id, and its name in the conversation that orders it
        where a gateway does so within `within_s`; a client's task has none.

        Raises TaskRefused where that cannot be done, and InboxFull.
        """
        task = await self.find(id_)
        if task is None or not task.over:
            raise TaskRefused(f"The task {id_} is not over. parley tasks cancel ends it.")
        if task.arguments is None:
            raise TaskRefused(f"The task {id_} never began, so the same order would end alike: {task.order.error}")
        new = SessionId(uuid.uuid4().hex)
        if task.order.home.platform == CLIENT:
            await self._order_for_client(task, task.arguments, new)
            return new, None
        orderer = await self._orderer(task)
        letter = TaskAgain(task.order.number, new, task.arguments)
        event = InboxEvent(
            f"again.{new}", orderer.record.address, "", "", str(letter), self._clock.now(), kind=TASK_AGAIN
        )
        await self._inbox.add(event)
        return new, await self._name_of(new, orderer, within_s)

    async def _order_for_client(self, task: KnownTask, arguments: dict[str, Any], new: SessionId) -> None:
        order, record, now = task.order, task.session.record, self._clock.now()
        due = now.timestamp() + order.due - record.started_at.timestamp()
        home, place = address_data(order.home), address_data(order.place)
        what = (task.klass, task.playbook, arguments)
        letter = TaskOrder(0, SessionId(""), *what, due, order.depth, home, place, event=order.event, hops=order.hops)
        client = order.home.conversation
        event = InboxEvent(
            *(new, address_of(new), f"{CLIENT}:{client}", client, str(letter), now), kind=TASK, program=record.program
        )
        await self._inbox.add(event)

    async def _orderer(self, task: KnownTask) -> KnownSession:
        """The session that has ordered a task, if it goes on and knows the task. Raises TaskRefused."""
        number, id_ = task.order.number, task.session.record.id
        known = await self._catalog.find(task.order.orderer)
        if known is None or known.record.ended or known.record.replaced_by is not None:
            raise TaskRefused(f"The conversation that ordered the task {id_} has ended.")
        state = await self._state(known)
        ordered = state.tasks.get(number)
        if ordered is None or ordered.id != id_:
            raise TaskRefused(f"The conversation that ordered the task {id_} does not know it any more.")
        if not ordered.over:
            raise TaskRefused(f"The conversation that ordered the task {id_} has not heard of its end yet.")
        return known

    async def _name_of(self, new: SessionId, orderer: KnownSession, within_s: float) -> str | None:
        """The name of a task where it was ordered. Raises TaskRefused for one that is over a limit."""
        with anyio.move_on_after(within_s):
            async for fact in self._tapes.follow(orderer.record.id, after=orderer.record.seq):
                ordered = read_as(fact, TaskOrdered)
                if ordered is None or ordered.task != new:
                    continue
                task = next(task for task in (await self._state(orderer)).tasks.values() if task.id == new)
                if task.over and not task.last:
                    raise TaskRefused(f"The task is not ordered again: {task.error}")
                return task.name
        return None

    async def _state(self, known: KnownSession) -> SessionState:
        state = SessionState()
        async for fact in self._tapes.read_session(known.record.id):
            apply_fact(state, fact)
        return state

    async def _read(self, known: KnownSession) -> KnownTask | None:
        """A task from its tape, as far as that can be read; None for a session that took no order."""
        state, taken, started = SessionState(), None, {}
        with suppress(Divergence, LookupError):
            async for fact in self._tapes.read_session(known.record.id):
                taken = read_as(fact, OrderTaken) or taken
                begun = read_as(fact, FrameStarted)
                if begun is not None:
                    started[begun.frame] = begun
                apply_fact(state, fact)
        order = state.order
        if order is None or taken is None:
            return None
        frame = None if order.frame is None else started.get(order.frame)
        status: TaskStatus = "input_required" if order.asks else order.status
        if state.ended and not order.over:
            status = "completed"  # its program has ended by itself
        arguments = None if frame is None else dict(frame.kwargs)
        return KnownTask(known, taken.klass, taken.playbook, arguments, order, status)


def register_in(database: GatewayDatabase, clock: Clock) -> TaskRegister:
    return TaskRegister(database.catalog, database.tapes, database.inbox, clock)


class KnownTaskRoutes(GatewayView, frozen=True):
    register: TaskRegister

    @looks("/tasks")
    async def tasks(self, request: Request, client: BusClient) -> Response:
        """The tasks that have begun, the latest active first. What they are given and return needs `content`."""
        with known_mark():
            tasks, next_ = await self.register.page(request.query_params.get("after", ""), limit_of(request))
        rows = [_task(task, await self.door.rooms.words(client.scopes, task.session.record)) for task in tasks]
        return answer({"tasks": rows, "next": next_ or None})

    @acts("/tasks/{task}/retry")
    async def retry(self, request: Request, _: BusClient) -> Response:
        try:
            new, name = await self.register.order_again(str(request.path_params["task"]))
        except TaskRefused as error:
            raise HTTPException(409, str(error)) from error
        return answer({"task": new, "name": name}, 202)


def task_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    return KnownTaskRoutes(door, register_in(ground.database, ground.clock)).routes()


def _task(task: KnownTask, content: bool) -> Mapping[str, Any]:
    data = {**task.data(), "conversation": task.session.record.address.key}
    return data if content else {name: value for name, value in data.items() if name not in _WORDS}

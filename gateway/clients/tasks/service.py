"""The service behind every protocol for tasks: order them, look at them, wait, speak to them and end them."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from gateway.clients.feed import EventFeed
from gateway.clients.journals import is_closed_task
from gateway.clients.requests import BusClient
from gateway.clients.tasks.view import QuestionOfTask, TaskView, TaskViews
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.clock import Clock
from runtime.core.cloud_event import MAX_NAME_CHARS
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.core.near_names import name_advice
from runtime.execution.frames.signatures import LONGEST_WAIT_S
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.stores.inbox import TASK, TASK_CANCEL, Inbox, InboxEvent, KnownEvent, shard_of
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.stores.sessions import SessionRecord, SessionStore
from runtime.tape.tape import TapeReader

_TASK_CHARS = 32

What: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""The class, the playbook and the arguments of an order."""


class TaskStore(SessionStore, TapeReader, Protocol):
    """Finds and reads sessions."""


class TaskDoor(Struct, frozen=True):
    """The parts behind clients' tasks."""

    programs: Mapping[str, Program]
    store: TaskStore
    inbox: Inbox
    clock: Clock
    limits: TaskLimits


class TaskOrdering(Struct, frozen=True):
    """Puts orders into inboxes. Raises HTTPException where too much waits."""

    door: TaskDoor

    async def begin(self, client: BusClient, program: str, what: What, key: str, *, event: str, hops: int) -> None:
        """Have any playbook executed as a task of a client that has sent an event of this type, once for each key.
        `hops` events of programs led to it."""
        task = task_id(client, key)
        letter = replace(self.letter(client, task, what, self.door.limits.within_s), event=event, hops=hops)
        await self.put(client, task, program, letter)

    def letter(
        self, client: BusClient, task: SessionId, what: What, within_s: float, context: str | None = None
    ) -> TaskOrder:
        home, place = Address(CLIENT, client.name, context), Address(CLIENT, client.name)
        due, limits = self.door.clock.now().timestamp() + within_s, self.door.limits
        where = (address_data(home), address_data(place))
        return TaskOrder(0, SessionId(""), *what, due, 1, *where, task, limits.tokens, limits.dollars)

    async def put(self, client: BusClient, task: SessionId, program: str, letter: TaskOrder) -> bool:
        """Put an order into the inbox of its task, unless the task is known; whether it is new."""
        address, now = address_of(task), self.door.clock.now()
        event = InboxEvent(task, address, person_of(client), client.name, str(letter), now, kind=TASK, program=program)
        return await self.record(task) is None and await self.add(event)  # the inbox forgets orders after some days

    async def add(self, event: InboxEvent) -> bool:
        """Put an event into the inbox; whether it is new."""
        try:
            return await self.door.inbox.add(event)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error

    async def record(self, id_: SessionId) -> SessionRecord | None:
        """The session of a task; those of conversations are none."""
        address = address_of(id_)
        record = await self.door.store.session(shard_of(address.key), id_)
        return record if record is not None and record.address == address else None


def task_id(client: BusClient, key: str) -> SessionId:
    """The id of the task that a client orders under a key."""
    return SessionId(hashlib.sha256(f"{client.source}\0{key}".encode()).hexdigest()[:_TASK_CHARS])


def person_of(client: BusClient) -> str:
    """A client as those know it to whom it speaks."""
    return f"{CLIENT}:{client.name}"


_KEYS = frozenset({"program", "agent", "playbook", "arguments", "within_s", "limits", "key"})
_ANY = 1e12
"""More tokens and dollars than any task costs."""


class ClientTask(Struct, frozen=True):
    """A task as its client sees it. `program` is "" while it has not begun."""

    id: SessionId
    program: str
    view: TaskView
    question: QuestionOfTask | None = None
    """The oldest question that waits for an answer."""

    @property
    def over(self) -> bool:
        return self.view.over

    def asks_more_than(self, answered: str | None) -> bool:
        """Whether it waits for an answer, and to another question than that."""
        return self.question is not None and self.question.ask != answered

    def data(self) -> dict[str, Any]:
        """As JSON data: the status, and the value, the error with its type and place, or the question."""
        found: dict[str, Any] = {"task": self.id, "status": self.view.status}
        if self.view.status == "completed":
            found["value"] = self.view.value
        if self.question is not None:
            found["question"] = self.question.data()
        if self.view.error is None:
            return found
        known = {"error_type": self.view.error_type, "raised_at": self.view.raised_at}
        return {**found, "error": self.view.error} | {name: text for name, text in known.items() if text}


class TaskService:
    """The tasks of clients. Raises HTTPException, with one sentence, for what a client may not do."""

    def __init__(self, feed: EventFeed, door: TaskDoor) -> None:
        self._feed = feed
        self.door = door
        self.ordering = TaskOrdering(door)
        self._views = TaskViews(door.store)

    def orderable(self, client: BusClient) -> Iterator[tuple[Program, AgentSpec, PlaybookSpec]]:
        for name, program in self.door.programs.items():
            if client.scopes.may_use("write", name):
                known = _called(name, program)
                for agent in program.agents:
                    yield from ((known, agent, playbook) for playbook in agent.playbooks if playbook.public)

    def program(self, task: ClientTask) -> Program | None:
        """The program of a task that has begun, if it is still there."""
        program = self.door.programs.get(task.program)
        return None if program is None else _called(task.program, program)

    async def order(self, client: BusClient, order: object, *, context: str | None = None) -> tuple[SessionId, bool]:
        """Order a task, as the JSON object `order` says; its id, and whether it is new. `context` is the client's name
        for what the task belongs to."""
        if not isinstance(order, Mapping) or not set(order) <= _KEYS:
            raise HTTPException(422, f"An order is a JSON object with {', '.join(sorted(_KEYS))}.")
        program = self._program(client, order.get("program"))
        klass, playbook = _ordered(program, order)
        arguments, key = order.get("arguments", {}), order.get("key")
        if not isinstance(arguments, Mapping):
            raise HTTPException(422, "arguments is a JSON object: values by the names of the parameters.")
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= MAX_NAME_CHARS):
            raise HTTPException(422, f"key is a text of 1 to {MAX_NAME_CHARS} characters.")
        if context is not None and not (len(context) <= MAX_NAME_CHARS and context.isprintable()):
            raise HTTPException(422, f"A context is a text of at most {MAX_NAME_CHARS} characters.")
        task, what = task_id(client, key or uuid.uuid4().hex), (klass, playbook, arguments)
        letter = self.ordering.letter(client, task, what, self._seconds(order.get("within_s")), context)
        tokens, dollars = _within(order.get("limits", {}), self.door.limits)
        letter = replace(letter, tokens=tokens, dollars=dollars)
        new = await self.ordering.put(client, task, program.name, letter)
        if not new and await self.gone(task):
            raise HTTPException(410, "The task of this key is gone. Order another one under another key.")
        return task, new

    async def find(self, client: BusClient, id_: SessionId, action: str = "read") -> ClientTask:
        """A task that a client may look at, or change ("write"). Raises HTTPException: 410 for one that was deleted,
        404 for every one that is not for this client, known or not."""
        record, order = await self.ordering.record(id_), await self._order(id_)
        program = record.program if record is not None else order.program if order is not None else None
        if program is None or not client.scopes.may_use("write" if action == "write" else "read", program):
            raise HTTPException(404, "There is no such task for you.")
        if record is None:
            if await self.gone(id_):
                raise HTTPException(410, "This task is gone: its session was deleted, or its order was put aside.")
            return await self.own(id_)
        seen = await self._seen(record.id, record.program)
        if action != "write" and not client.scopes.private and await is_closed_task(self.door.store, id_):
            raise HTTPException(404, "There is no such task for you.")
        return seen

    async def own(self, id_: SessionId) -> ClientTask:
        """A task that a client has just ordered, which it sees even without the scope to look at others."""
        record = await self.ordering.record(id_)
        return ClientTask(id_, "", TaskView()) if record is None else await self._seen(record.id, record.program)

    async def gone(self, id_: SessionId) -> bool:
        """Whether a task has no session, and no order that waits for one."""
        order = await self._order(id_)
        return not (order is not None and order.waits) and await self.ordering.record(id_) is None

    async def _order(self, id_: SessionId) -> KnownEvent | None:
        return await self.door.inbox.known(address_of(id_), id_)

    async def wait(self, task: ClientTask, wait_s: float, *, answered: str | None = None) -> ClientTask:
        """A task once it is over, or asks something else than `answered`; as it is when the time is over first."""
        return await self._until(task, wait_s, lambda now: now.over or now.asks_more_than(answered))

    async def heard(self, task: ClientTask, wait_s: float) -> ClientTask:
        """The task once it has taken the answer to its oldest question; as it is when the time is over first."""
        asked = task.question
        if asked is None:
            return task
        return await self._until(task, wait_s, lambda now: asked.ask not in now.view.asks)

    async def spoken(self, task: ClientTask, told: int, wait_s: float) -> ClientTask:
        """The task once it has said something after fact `told`, or more of what it says, is over, or asks; as it is
        when the time is over."""
        before = {**task.view.growing}

        def has_news(now: ClientTask) -> bool:
            grew = bool(now.view.growing) and now.view.growing != before
            said = any(each.own and each.seq > told for each in now.view.said)
            return grew or said or now.over or now.question is not None

        return await self._until(task, wait_s, has_news)

    async def begun(self, task: ClientTask, wait_s: float) -> ClientTask:
        """The task once a session has taken its order; as it is when the time is over first."""
        return await self._until(task, wait_s, lambda now: bool(now.program))

    async def _until(self, task: ClientTask, wait_s: float, holds: Callable[[ClientTask], bool]) -> ClientTask:
        """The task as soon as something holds of it; as it is when the time is over, or nothing more comes of it."""
        found = task
        with anyio.move_on_after(wait_s):
            async with aclosing(self.changes(task)) as changes:
                async for found in changes:
                    if holds(found):
                        break
        return found

    async def at(self, task: ClientTask, seq: int) -> ClientTask:
        """The task as it was at fact `seq`, from which `changes` goes on."""
        view = TaskView()
        async for fact in self.door.store.read_session(task.id, until=seq):
            view.note(fact)
        return ClientTask(task.id, task.program, view, await self._question(view))

    async def changes(self, task: ClientTask) -> AsyncGenerator[ClientTask]:
        """The task, and then the task as it is after each further fact, until it is over."""
        found = task
        yield found
        while not found.program:  # no session has taken the order
            rung = self._feed.rung
            found = await self.own(task.id)
            if not found.program:
                if await self.gone(task.id):
                    return
                await rung.wait()
        if found is not task:
            yield found
        if found.over:
            return
        view = found.view
        async with aclosing(self.door.store.follow(task.id, after=view.seq)) as facts:  # type: ignore[type-var]
            async for fact in facts:
                view.note(fact)
                yield ClientTask(task.id, found.program, view, await self._question(view))
                if view.over:
                    return

    async def cancel(self, task: ClientTask) -> None:
        event = InboxEvent(
            f"cancel.{task.id}", address_of(task.id), "", "", "", self.door.clock.now(), kind=TASK_CANCEL
        )
        if not task.over:
            await self.ordering.add(event)

    async def speak(self, client: BusClient, task: ClientTask, named: object, text: object, ask: object = None) -> bool:
        """Say something to a task, once for each id; False where the id is known. What is said answers the question
        `ask`, or the oldest that is open."""
        texts = isinstance(named, str) and isinstance(text, str) and isinstance(ask, str | None)
        if not texts or not text or not 0 < len(str(named)) <= MAX_NAME_CHARS:
            raise HTTPException(422, "A message is a JSON object with an id that identifies it, a text, and ask.")
        id_, address = f"{client.source}.{named}", address_of(task.id)
        late = ask is not None and ask not in task.view.asks
        if task.over or late:
            if await self.door.inbox.known(address, id_):
                return False
            raise HTTPException(409, "The task does not ask that, or no longer." if late else "The task has ended.")
        meant = ask if ask is not None else task.question.ask if task.question is not None else None
        choice = None if meant is None else f"{meant}."
        who, now = (person_of(client), client.name), self.door.clock.now()
        event = InboxEvent(id_, address, *who, str(text), now, choice=choice, program=task.program)
        return await self.ordering.add(event)

    def _program(self, client: BusClient, name: object) -> Program:
        program = self.door.programs.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not client.scopes.may_use("write", name):
            raise HTTPException(403, f"{client.name} has no scope to order tasks of this program.")
        if program is None:
            raise HTTPException(422, f"There is no program {name!r}.")
        return _called(name, program)

    def _seconds(self, within_s: object) -> float:
        if within_s is None:
            return self.door.limits.within_s
        if isinstance(within_s, bool) or not isinstance(within_s, int | float) or not 0 < within_s <= LONGEST_WAIT_S:
            raise HTTPException(422, f"within_s is a number of seconds, more than 0 and at most {LONGEST_WAIT_S:,.0f}.")
        return float(within_s)

    async def _seen(self, id_: SessionId, program: str) -> ClientTask:
        view = await self._views.view(id_)
        return ClientTask(id_, program, view, await self._question(view))

    async def _question(self, view: TaskView) -> QuestionOfTask | None:
        return await self._views.question(next(iter(view.asks.values()))) if view.asks else None


def _called(name: str, program: Program) -> Program:
    """A program under the name that the settings give it, where its own title is another."""
    return program if program.name == name else replace(program, name=name)


def _ordered(program: Program, order: Mapping[str, Any]) -> tuple[str, str]:
    """The class and the playbook of an order: the playbook has to be public."""
    klass, playbook = order.get("agent"), order.get("playbook")
    agent = program.agent(klass) if isinstance(klass, str) else None
    spec = agent.playbook(playbook) if agent is not None and isinstance(playbook, str) else None
    if spec is None or not spec.public:
        public = [f"{one.name}.{each.name}" for one in program.agents for each in one.playbooks if each.public]
        advice = name_advice(f"{klass}.{playbook}", public, "" if public else "it has none.")
        raise HTTPException(422, f"{program.name} has no public playbook {playbook!r} of an agent {klass!r}; {advice}")
    return str(klass), spec.name


def _within(asked: object, limits: TaskLimits) -> tuple[int, float]:
    """The tokens and dollars of an order, which are never more than the settings allow; 0 for any number."""
    if not isinstance(asked, Mapping) or not set(asked) <= {"tokens", "dollars"}:
        raise HTTPException(422, "limits is a JSON object with tokens, dollars, or both.")
    numbers = {}
    for name, of_settings in (("tokens", limits.tokens), ("dollars", limits.dollars)):
        wanted = asked.get(name, math.inf)
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not wanted > 0:
            raise HTTPException(422, f"limits.{name} is a number, more than 0.")
        least = min(wanted, of_settings or math.inf)
        numbers[name] = 0 if least > _ANY else least
    return math.ceil(numbers["tokens"]), float(numbers["dollars"])

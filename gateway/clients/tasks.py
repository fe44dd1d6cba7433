"""`/bus/v1/tasks`: clients order tasks, look at them, wait for their results, speak to them and end them."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.admission import Admission, Client
from gateway.clients.feed import Feed
from gateway.clients.requests import MAX_WAIT_S, answer, body_of, number
from runtime.core.address import CLIENT, Address, address_data
from runtime.core.clock import Clock
from runtime.core.cloud_event import MAX_NAME_CHARS
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.execution.calls.tasks import TaskLimits
from runtime.language.program import Program
from runtime.sessions.tasks.letters import Order, address_of
from runtime.stores.inbox import TASK, TASK_CANCEL, Inbox, InboxEvent, shard_of
from runtime.stores.sessions import SessionRecord, SessionStore
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.tape import TapeReader, last_facts
from runtime.tape.task_state import TaskStatus

_TASK_CHARS = 32
_LATEST_FACTS = 200
"""Where a task is at work, its end is looked for among so many of its last facts: they are of one commit with it."""

_KEYS = frozenset({"program", "agent", "playbook", "arguments", "within_s", "limits", "key"})


class TaskStore(SessionStore, TapeReader, Protocol):
    """Where sessions are, and read."""


@dataclass(frozen=True, slots=True)
class TaskDoor:
    """What the requests about tasks need. `known` says whether an event of an id was taken in at an address."""

    programs: Mapping[str, Program]
    store: TaskStore
    inbox: Inbox
    known: Callable[[Address, str], Awaitable[bool]]
    clock: Clock
    limits: TaskLimits


@dataclass(frozen=True, slots=True)
class _Task:
    """A task as far as it is known. `program` is "" while it has not begun."""

    id: SessionId
    program: str
    status: TaskStatus
    value: Any = None
    error: str | None = None

    @property
    def over(self) -> bool:
        return self.status not in ("submitted", "working")

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"task": self.id, "status": self.status}
        if self.status == "completed":
            found["value"] = self.value
        return found if self.error is None else {**found, "error": self.error}


class TaskRoutes:
    """The requests about tasks."""

    def __init__(self, admission: Admission, feed: Feed, door: TaskDoor) -> None:
        self._admission = admission
        self._feed = feed
        self._door = door

    async def order(self, request: Request) -> Response:
        """Order a task: 201, or 200 where its key is known."""
        client = self._admission.client(request)
        body = await body_of(request)
        if not isinstance(body, Mapping) or not set(body) <= _KEYS:
            raise HTTPException(422, f"An order is a JSON object with {', '.join(sorted(_KEYS))}.")
        program = self._program(client, body.get("program"))
        klass, playbook = self._ordered(program, body)
        arguments, key = body.get("arguments", {}), body.get("key")
        if not isinstance(arguments, Mapping):
            raise HTTPException(422, "arguments is a JSON object: values by the names of the parameters.")
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= MAX_NAME_CHARS):
            raise HTTPException(422, f"key is a text of 1 to {MAX_NAME_CHARS} characters.")
        task = _task_id(client, key or uuid.uuid4().hex)
        now, place = self._door.clock.now(), address_data(Address(CLIENT, client.name))
        due = now.timestamp() + self._seconds(body.get("within_s"))
        tokens, dollars = _within(body.get("limits", {}), self._door.limits)
        letter = Order(0, SessionId(""), klass, playbook, arguments, due, 1, place, place, task, tokens, dollars)
        event = InboxEvent(
            task, address_of(task), _person(client), client.name, str(letter), now, kind=TASK, program=program.name
        )
        new = not await self._begun(task) and await self._add(event)
        return answer({"task": task}, 201 if new else 200)

    async def look(self, request: Request) -> Response:
        """How far a task has come, and its result once it is over."""
        _, task = await self._found(request, "read")
        return answer(task.data())

    async def result(self, request: Request) -> Response:
        """The same, waited for: 202 where the time is over first."""
        client, task = await self._found(request, "read")
        deadline = anyio.current_time() + number(request, "wait_s", 0.0, MAX_WAIT_S)
        while not task.over and anyio.current_time() < deadline:
            rung = self._feed.rung
            task = await self._task(client, task.id, "read")
            if not task.over:
                with anyio.CancelScope(deadline=deadline):
                    await rung.wait()
        return answer(task.data(), 200 if task.over else 202)

    async def cancel(self, request: Request) -> Response:
        """End a task."""
        _, task = await self._found(request, "write")
        event = InboxEvent(
            f"cancel.{task.id}", address_of(task.id), "", "", "", self._door.clock.now(), kind=TASK_CANCEL
        )
        if not task.over:
            await self._add(event)
        return answer({"task": task.id, "status": task.status}, 202)

    async def speak(self, request: Request) -> Response:
        """Say something to a task, once for each id."""
        client, task = await self._found(request, "write")
        body = await body_of(request)
        text, named = (body.get("text"), body.get("id")) if isinstance(body, Mapping) else (None, None)
        if not isinstance(text, str) or not text or not isinstance(named, str) or not 0 < len(named) <= MAX_NAME_CHARS:
            raise HTTPException(422, "A message is a JSON object with an id, by which it is known, and a text.")
        if task.over:
            raise HTTPException(409, "The task has ended.")
        id_, now = f"{client.source}.{named}", self._door.clock.now()
        new = await self._add(InboxEvent(id_, address_of(task.id), _person(client), client.name, text, now))
        return answer({"accepted": int(new), "known": int(not new)}, 202)

    def _program(self, client: Client, name: object) -> Program:
        program = self._door.programs.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not client.scopes.may_use("write", name):
            raise HTTPException(403, f"{client.name} has no scope to order tasks of this program.")
        if program is None:
            raise HTTPException(422, f"There is no program {name!r}.")
        return program

    def _ordered(self, program: Program, body: Mapping[str, Any]) -> tuple[str, str]:
        """The class and the playbook of an order: the playbook has to be public."""
        klass, playbook = body.get("agent"), body.get("playbook")
        agent = program.agent(klass) if isinstance(klass, str) else None
        spec = agent.playbook(playbook) if agent is not None and isinstance(playbook, str) else None
        if spec is None or not spec.public:
            raise HTTPException(422, f"{program.name} has no public playbook {playbook!r} of an agent {klass!r}.")
        return str(klass), spec.name

    def _seconds(self, within_s: object) -> float:
        if within_s is None:
            return self._door.limits.within_s
        if isinstance(within_s, bool) or not isinstance(within_s, int | float) or not 0 < within_s < math.inf:
            raise HTTPException(422, "within_s is a number of seconds, more than 0.")
        return float(within_s)

    async def _add(self, event: InboxEvent) -> bool:
        try:
            return await self._door.inbox.add(event)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error

    async def _found(self, request: Request, action: str) -> tuple[Client, _Task]:
        client = self._admission.client(request)
        return client, await self._task(client, SessionId(str(request.path_params["task"])), action)

    async def _task(self, client: Client, id_: SessionId, action: str) -> _Task:
        """A task that a client may look at, or change. Raises HTTPException: 404 for every other, known or not."""
        record = await self._record(id_)
        if record is None:
            if any((client.scopes.tasks_read, client.scopes.tasks_write)) and await self._submitted(id_):
                return _Task(id_, "", "submitted")
        elif client.scopes.may_use("write" if action == "write" else "read", record.program):
            return await self._read(record)
        raise HTTPException(404, "There is no such task for you.")

    async def _record(self, id_: SessionId) -> SessionRecord | None:
        """The session of a task; those of conversations are none."""
        address = address_of(id_)
        record = await self._door.store.session(shard_of(address.key), id_)
        return record if record is not None and record.address == address else None

    async def _begun(self, id_: SessionId) -> bool:
        """Whether a task has a session: the inbox has forgotten its order after some days."""
        return await self._record(id_) is not None

    async def _submitted(self, id_: SessionId) -> bool:
        return await self._door.known(address_of(id_), id_)

    async def _read(self, record: SessionRecord) -> _Task:
        for fact in reversed(await last_facts(self._door.store, record.id, _LATEST_FACTS)):
            over = read_as(fact, OrderOver)
            if over is not None:
                return _Task(record.id, record.program, over.status, over.value, over.error)
        return _Task(record.id, record.program, "completed" if record.ended else "working")


def _task_id(client: Client, key: str) -> SessionId:
    """The id of the task that a client orders under a key."""
    return SessionId(hashlib.sha256(f"{client.source}\0{key}".encode()).hexdigest()[:_TASK_CHARS])


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
        numbers[name] = 0 if least == math.inf else least
    return math.ceil(numbers["tokens"]), float(numbers["dollars"])


def _person(client: Client) -> str:
    """A client as those know it to whom it speaks."""
    return f"{CLIENT}:{client.name}"

"""Orders of clients, as letters in the inboxes of tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from starlette.exceptions import HTTPException

from gateway.clients.requests import Client
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.inbox import TASK, Inbox, InboxEvent, KnownEvent, shard_of
from runtime.stores.orders import Order, TaskLimits
from runtime.stores.sessions import SessionRecord, SessionStore
from runtime.tape.tape import TapeReader

_TASK_CHARS = 32

What: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""The class, the playbook and the arguments of an order."""


class TaskStore(SessionStore, TapeReader, Protocol):
    """Finds and reads sessions."""


@dataclass(frozen=True, slots=True)
class TaskDoor:
    """The parts behind clients' tasks. `known` finds an event that was taken in at an address, by its id."""

    programs: Mapping[str, Program]
    store: TaskStore
    inbox: Inbox
    known: Callable[[Address, str], Awaitable[KnownEvent | None]]
    clock: Clock
    limits: TaskLimits


class TaskOrdering:
    """Puts orders into inboxes. Raises HTTPException where too much waits."""

    def __init__(self, door: TaskDoor) -> None:
        self._door = door

    @property
    def programs(self) -> Mapping[str, Program]:
        """All programs, by name."""
        return self._door.programs

    async def begin(self, client: Client, program: str, what: What, key: str, *, event: str, hops: int) -> None:
        """Have any playbook executed as a task of a client that has sent an event of this type, once for each key.
        `hops` events of programs led to it."""
        task = task_id(client, key)
        letter = replace(self.letter(client, task, what, self._door.limits.within_s), event=event, hops=hops)
        await self.put(client, task, program, letter)

    def letter(self, client: Client, task: SessionId, what: What, within_s: float, context: str | None = None) -> Order:
        """An order of a client, within the limits of the settings."""
        home, place = Address(CLIENT, client.name, context), Address(CLIENT, client.name)
        due, limits = self._door.clock.now().timestamp() + within_s, self._door.limits
        where = (address_data(home), address_data(place))
        return Order(0, SessionId(""), *what, due, 1, *where, task, limits.tokens, limits.dollars)

    async def put(self, client: Client, task: SessionId, program: str, letter: Order) -> bool:
        """Put an order into the inbox of its task, unless the task is known; whether it is new."""
        address, now = address_of(task), self._door.clock.now()
        event = InboxEvent(task, address, person_of(client), client.name, str(letter), now, kind=TASK, program=program)
        return await self.record(task) is None and await self.add(event)  # the inbox forgets orders after some days

    async def add(self, event: InboxEvent) -> bool:
        """Put an event into the inbox; whether it is new."""
        try:
            return await self._door.inbox.add(event)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error

    async def record(self, id_: SessionId) -> SessionRecord | None:
        """The session of a task; those of conversations are none."""
        address = address_of(id_)
        record = await self._door.store.session(shard_of(address.key), id_)
        return record if record is not None and record.address == address else None


def task_id(client: Client, key: str) -> SessionId:
    """The id of the task that a client orders under a key."""
    return SessionId(hashlib.sha256(f"{client.source}\0{key}".encode()).hexdigest()[:_TASK_CHARS])


def person_of(client: Client) -> str:
    """A client as those know it to whom it speaks."""
    return f"{CLIENT}:{client.name}"

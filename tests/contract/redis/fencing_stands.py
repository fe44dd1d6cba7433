"""The stores as the model of fencing needs them: time that a test moves, what is inside, and faults to switch on."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

import anyio
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import event_from_json
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.storage.redis.client.connection import RedisConnection, RedisScript
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.location import locate
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import Inbox, InboxEntry, shard_of
from runtime.stores.sessions import LeaseHolder, LeaseStore, SessionRecord, SessionStore
from runtime.tape.tape import Fact
from tests.contract.storage_samples import SHARD, event

ELSEWHERE = next(address for address in (Address("web", str(n)) for n in range(100)) if shard_of(address.key) != SHARD)
OTHER_SHARD = shard_of(ELSEWHERE.key)

TTL_S = 3600.0
"""So long that a lease runs out only when the test wants it."""


class Fault(Enum):
    """A rule of the protocol that is switched off."""

    NO_FENCING = auto()
    """A void token is good for commits and discards, also of events that are not there any more."""
    SAME_TOKEN = auto()
    """A lease that changes hands keeps its token."""


@dataclass(frozen=True)
class Contents:
    """All of one shard that can be seen: event ids in the inbox and among the dead letters, and the sessions."""

    waiting: tuple[str, ...]
    dead: tuple[str, ...]
    facts: Mapping[SessionId, tuple[Fact, ...]]
    records: Mapping[SessionId, SessionRecord | None]
    unfinished: Mapping[SessionId, frozenset[str]]
    current: Mapping[str, SessionId | None]


class FencingStand(Protocol):
    """The stores of one kind."""

    sessions: SessionStore
    inbox: Inbox
    leases: LeaseStore

    @property
    def sent(self) -> int:
        """How many calls that change something can be made again by `send_again`."""
        ...

    async def send_again(self, number: int) -> None:
        """Let a second copy of an earlier call arrive, as a network may that was cut and came back."""
        ...

    async def let_leases_run_out(self) -> None:
        """Longer than a lease passes without a renewal."""
        ...

    async def dead_letters(self) -> tuple[str, ...]:
        """The ids of the events that were discarded."""
        ...


async def waiting(stand: FencingStand, after: str = "0") -> list[InboxEntry]:
    """The shard's entries behind `after`, at once: an event elsewhere that is always there ends the waiting."""
    return [
        entry for entry in await stand.inbox.read({SHARD: after, OTHER_SHARD: "0"}, wait_s=1) if entry.shard == SHARD
    ]


async def contents(stand: FencingStand, sessions: Sequence[SessionId], conversations: Sequence[str]) -> Contents:
    """What the ports show."""
    current = {key: await stand.sessions.current(SHARD, key) for key in conversations}
    return Contents(
        waiting=tuple(entry.event.id for entry in await waiting(stand)),
        dead=await stand.dead_letters(),
        facts={s: tuple([fact async for fact in stand.sessions.read_session(s)]) for s in sessions},
        records={s: await stand.sessions.session(SHARD, s) for s in sessions},
        unfinished=dict(await stand.sessions.unfinished(SHARD)),
        current={key: None if record is None else record.id for key, record in current.items()},
    )


class _MovedClock(SystemClock):
    def __init__(self) -> None:
        self._at_s = 0.0

    def monotonic(self) -> float:
        return self._at_s

    def pass_by(self, seconds: float) -> None:
        self._at_s += seconds


class _FaultyLeases(MemoryLeaseStore):
    def __init__(self, clock: _MovedClock, fault: Fault | None) -> None:
        super().__init__(clock)
        self._fault = fault

    async def acquire(self, name: str, holder: LeaseHolder, /, *, living: Collection[str] = ()) -> int | None:
        token = await super().acquire(name, holder, living=living)
        if token is not None and self._fault is Fault.SAME_TOKEN:
            token = self._leases[name].token = 1
        return token

    def check(self, shard: int, token: int) -> None:
        if self._fault is not Fault.NO_FENCING:
            super().check(shard, token)


class _FaultyInbox(MemoryInbox):
    def __init__(self, leases: MemoryLeaseStore, fault: Fault | None) -> None:
        super().__init__(leases)
        self._fault = fault

    def has(self, shard: int, entry_ids: Sequence[str]) -> bool:
        return self._fault is Fault.NO_FENCING or super().has(shard, entry_ids)


class MemoryStand:
    """The stores in memory. Its calls are made in the same process: none arrives twice."""

    sent = 0

    def __init__(self, fault: Fault | None) -> None:
        self._clock = _MovedClock()
        self._dead = _FaultyInbox(leases := _FaultyLeases(self._clock, fault), fault)
        self.leases: LeaseStore = leases
        self.inbox: Inbox = self._dead
        self.sessions: SessionStore = MemorySessionStore(leases, self._dead)

    async def send_again(self, number: int) -> None:
        raise NotImplementedError

    async def let_leases_run_out(self) -> None:
        self._clock.pass_by(TTL_S + 1)

    async def dead_letters(self) -> tuple[str, ...]:
        return tuple(entry.event.id for entry, _reason in self._dead.dead)


_FENCE = "redis.call('HGET', KEYS[1], 'token') ~= ARGV[1]"
_NEW_TOKEN = "string.format('%.0f', math.max((tonumber(held[3]) or 0) + 1, time[1] * 1000000 + time[2]))"
_TAKEN = "#redis.call('XRANGE', KEYS[3], ARGV[i], ARGV[i]) == 0"
_FAULTS: Mapping[Fault, Sequence[tuple[str, str]]] = {
    Fault.NO_FENCING: ((_FENCE, "false"), (_TAKEN, "false")),
    Fault.SAME_TOKEN: ((_NEW_TOKEN, "'1'"),),
}
"""What is changed in the scripts' text."""


Call = tuple[RedisScript, Sequence[str], Sequence[str | int]]


class _Wire(RedisConnection):
    """A connection that remembers what it sent, and runs the scripts with a fault."""

    def __init__(self, connection: RedisConnection, fault: Fault | None) -> None:
        super().__init__(connection._location, connection._tasks)
        self._topology = connection._topology
        self._fault = fault
        self.changes: list[Call] = []

    async def run(
        self, script: RedisScript, keys: Sequence[str], arguments: Sequence[str | int], *, replicated: bool = True
    ) -> Any:
        if self._fault is not None:
            script = _changed(script, _FAULTS[self._fault])
        if keys != [ShardKeys(SHARD).lease]:
            self.changes.append((script, keys, arguments))
        return await super().run(script, keys, arguments, replicated=replicated)


def _changed(script: RedisScript, faults: Sequence[tuple[str, str]]) -> RedisScript:
    text = script.text
    for rule, fault in faults:
        text = text.replace(rule, fault)
    return RedisScript(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class RedisStand:
    """The stores on a real server, whose data it wipes."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self.leases: LeaseStore = RedisLeaseStore(wire)
        self.inbox: Inbox = RedisInbox(wire)
        self.sessions: SessionStore = RedisSessionStore(wire)

    @property
    def sent(self) -> int:
        return len(self._wire.changes)

    async def send_again(self, number: int) -> None:
        await RedisConnection.run(self._wire, *self._wire.changes[number])

    async def let_leases_run_out(self) -> None:
        async def call(client: Redis) -> Any:
            if await client.exists(ShardKeys(SHARD).lease):
                await client.hset(ShardKeys(SHARD).lease, "expires", "0")

        await self._wire.retrying(call, ShardKeys(SHARD).lease)

    async def dead_letters(self) -> tuple[str, ...]:
        async def call(client: Redis) -> Any:
            return await client.xrange(ShardKeys(SHARD).dead)

        return tuple(
            event_from_json(fields["e"]).id for _id, fields in await self._wire.retrying(call, ShardKeys(SHARD).dead)
        )


class Stands:
    """Makes empty stores of one kind, one after the other; with `socket` they are on that server."""

    def __init__(self, connection: RedisConnection | None) -> None:
        self._connection = connection

    async def empty(self, fault: Fault | None) -> FencingStand:
        """With nothing in the shard of the model."""
        stand = MemoryStand(fault) if self._connection is None else await self._wiped(self._connection, fault)
        await stand.inbox.add(event("elsewhere", address=ELSEWHERE))
        return stand

    async def _wiped(self, connection: RedisConnection, fault: Fault | None) -> FencingStand:

        async def call(client: Redis) -> Any:
            return await client.flushall()

        await connection.everywhere(call)
        return RedisStand(_Wire(connection, fault))


@asynccontextmanager
async def stands(socket: Path | None) -> AsyncIterator[Stands]:
    """Stores in memory, or on the server at `socket`."""
    if socket is None:
        yield Stands(None)
        return
    # Opened and closed in tasks of their own, between which no task group can live; a server alone needs none.
    connection = RedisConnection(locate(socket), anyio.create_task_group(), patience_s=20)
    try:
        yield Stands(connection)
    finally:
        await connection.aclose()

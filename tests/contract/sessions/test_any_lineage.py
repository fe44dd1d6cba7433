"""Sessions that begin, grow, go on from each other, are replaced, deleted, taken out and in, in any order: each has at
every moment the facts that it should have, however it is read; and when all are gone, nothing is left."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.fact_form import LARGE_BYTES
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, Lease, LeaseStore, SessionRecord, SessionStore
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import ANCHORS, Fact, TapeBranch, TapeReader, agent_tape, session_tape
from tests.contract.conftest import Stores
from tests.contract.sessions.test_tape_service import reader_of
from tests.contract.storage_samples import T0, shard_lease

pytestmark = pytest.mark.anyio

PLACES = tuple(Address("web", str(number)) for number in range(4))
KINDS = ("said", "said", "compact", "begin")
OPERATIONS = 25
SEEDS = 4
CHECKED = 3
"""So many sessions are looked at after every deed."""

Told = tuple[str, Any]
"""Kind and value of a fact."""


@dataclass
class Known:
    """What a session has to be."""

    place: Address
    facts: list[Told]
    parent: TapeBranch | None = None
    ended: bool = False
    replaced_by: SessionId | None = None
    kept: int = 0


@dataclass
class Life:
    """Does anything to sessions, and knows what they must be then."""

    rng: random.Random
    tapes: SessionStore
    readers: TapeReader
    catalog: SessionCatalog
    leases: LeaseStore
    known: dict[SessionId, Known] = field(default_factory=dict)
    current: dict[Address, SessionId] = field(default_factory=dict)
    made: int = 0

    async def act(self) -> str:
        """One deed; its name."""
        deeds = [self.begin, self.append, self.append, self.append, self.fork, self.undo, self.delete, self.move]
        deed = self.rng.choice([*deeds, self.keep])
        await deed()
        return deed.__name__

    async def lease(self, place: Address) -> Lease:
        return await shard_lease(self.leases, shard=shard_of(place.key))

    def told(self) -> list[Told]:
        """New facts, some of them large, some of these alike."""
        values: tuple[Any, ...] = (1, "ü", {"a": [None]}, "x" * (LARGE_BYTES + 1), "y" * (LARGE_BYTES + 1))
        return [(self.rng.choice(KINDS), self.rng.choice(values)) for _ in range(self.rng.randrange(1, 5))]

    def one(self, *, alive: bool = False) -> SessionId | None:
        fitting = [session for session, known in self.known.items() if not (alive and known.replaced_by)]
        return self.rng.choice(fitting) if fitting else None

    def named(self) -> SessionId:
        self.made += 1
        return SessionId(f"s{self.made}")

    async def begin(self) -> None:
        place, session, told = self.rng.choice(PLACES), self.named(), self.told()
        record = SessionRecord(session, place, "hello", T0, 0)
        await self.tapes.commit(
            Commit(await self.lease(place), session, 0, facts=written(session, 0, told), begin=record)
        )
        self.known[session] = Known(place, told)
        self.current[place] = session

    async def append(self) -> None:
        session = self.one(alive=True)
        if session is None:
            return
        known, told = self.known[session], self.told()
        expect = len(known.facts)
        commit = Commit(await self.lease(known.place), session, expect, facts=written(session, expect, told))
        for _ in range(self.rng.choice([1, 1, 2])):
            await self.tapes.commit(commit)
        known.facts += told

    async def fork(self) -> None:
        await self._go_on(self.rng.choice(PLACES), None)

    async def undo(self) -> None:
        place = self.rng.choice(PLACES)
        old = self.current.get(place)
        if old is not None:
            await self._go_on(place, old)

    async def _go_on(self, place: Address, replaces: SessionId | None) -> None:
        parent = replaces or self.one()
        if parent is None:
            return
        facts, session = self.known[parent].facts, self.named()
        seq = self.rng.randrange(len(facts) + 1)
        told = self.told()
        branch = TapeBranch(parent, seq)
        record = SessionRecord(session, place, "hello", T0, seq, parent=branch)
        new = written(session, seq, told)
        await self.tapes.commit(
            Commit(await self.lease(place), session, seq, facts=new, begin=record, replaces=replaces)
        )
        self.known[session] = Known(place, [*facts[:seq], *told], branch)
        self.current[place] = session
        if replaces is not None:
            self.known[replaces].ended, self.known[replaces].replaced_by = True, session

    async def delete(self) -> None:
        session = self.one()
        if session is not None:
            await self.remove(session)

    async def remove(self, session: SessionId) -> None:
        assert await self.catalog.delete(session, force=True)
        known = self.known.pop(session)
        if self.current.get(known.place) == session:
            del self.current[known.place]
        for other in self.known.values():
            if other.parent is not None and other.parent.session == session:
                other.parent = None

    async def move(self) -> None:
        """Out as a file has it, and in again."""
        session = self.one(alive=True)
        if session is None or self.current.get(self.known[session].place) != session:
            return
        known = self.known[session]
        whole = await self.catalog.whole(session)
        assert whole is not None
        await self.remove(session)
        await self.catalog.insert(whole)
        self.known[session] = replace(known, parent=None, kept=0)
        self.current[known.place] = session

    async def keep(self) -> None:
        session = self.one(alive=True)
        if session is None:
            return
        known = self.known[session]
        seq = self.rng.randrange(known.kept, len(known.facts) + 1)
        await self.tapes.keep_snapshot(await self.lease(known.place), session, Snapshot(seq, "v", f"{session} {seq}"))
        known.kept = max(known.kept, seq)

    async def check(self) -> None:
        """All of some sessions, and some of all, is as it should be."""
        for session in self.rng.sample(sorted(self.known), min(len(self.known), CHECKED)):
            known = self.known[session]
            record = await self.tapes.session(shard_of(known.place.key), session)
            assert record == SessionRecord(
                session, known.place, "hello", T0, len(known.facts), known.ended, known.parent, known.replaced_by
            )
            after, until = sorted(self.rng.randrange(len(known.facts) + 2) for _ in range(2))
            expected = written(session, 0, known.facts)
            assert [fact async for fact in self.tapes.read_session(session)] == list(expected)
            part = [fact async for fact in self.tapes.read_session(session, after=after, until=until)]
            assert part == list(expected[after:until])
            back = [fact async for fact in self.readers.read_back(session, before=until + 1)]
            assert back == list(expected[:until][::-1])
            for kind in sorted(ANCHORS & set(KINDS)):
                before = [seq for seq, told in enumerate(known.facts[:until], start=1) if told[0] == kind]
                assert await self.readers.last_anchor(session, kind, until=until) == (before[-1] if before else None)
            snapshot = await self.tapes.snapshot(session, "v")
            assert snapshot is None or snapshot.seq <= len(known.facts)
            assert known.kept == 0 or snapshot is not None
        for place in PLACES:
            found = await self.tapes.current(shard_of(place.key), place.key)
            assert (found and found.id) == self.current.get(place)
        assert {known.record.id async for known in self.catalog.sessions()} == set(self.known)
        assert await self.catalog.count() == len(self.known)


def written(session: SessionId, after: int, told: list[Told]) -> tuple[Fact, ...]:
    tapes = [agent_tape(session, "1000"), session_tape(session), agent_tape(session, "1001")]
    return tuple(
        Fact(tapes[seq * seq % 3], seq, kind, T0, {"value": value, "n": seq})
        for seq, (kind, value) in enumerate(told, start=after + 1)
    )


async def live(life: Life, seed: int) -> None:
    deeds: list[str] = []
    try:
        for _ in range(OPERATIONS):
            deeds.append(await life.act())
            await life.check()
        while life.known:
            deeds.append("delete")
            await life.delete()
            await life.check()
    except Exception as error:
        raise AssertionError(f"seed {seed}, after {', '.join(deeds)}: {error!r}") from error


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_every_session_has_its_facts_whatever_becomes_of_the_others(stores: Stores, seed: int) -> None:
    await live(Life(random.Random(seed), stores.sessions, reader_of(stores), stores.catalog, stores.leases), seed)


@pytest.fixture
async def client(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[Redis]:
    opened = Redis(unix_socket_path=str(valkey_socket), decode_responses=True)
    yield opened
    await opened.aclose()


@pytest.mark.parametrize("seed", range(100, 104))
async def test_when_all_sessions_are_gone_nothing_of_them_is_left(
    valkey_socket: Path, client: Redis, seed: int
) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        store, catalog = RedisSessionStore(connection), RedisSessionCatalog(connection)
        await live(Life(random.Random(seed), store, store, catalog, RedisLeaseStore(connection)), seed)
    kept = {key.partition(":lease")[1] or key.partition("}:")[2].partition(":")[0] async for key in client.scan_iter()}
    assert kept <= {":lease", "news", "sessions-known"}, sorted(kept)

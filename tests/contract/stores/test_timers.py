"""Every store of timers, in memory and on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore, RedisTimers
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Commit, Lease, LeaseStore, SessionStore, SessionTimer, SessionTimers
from tests.contract.setups import SETUPS, location_of
from tests.contract.storage_samples import SESSION, beginning, facts, shard_lease
from tests.fakes.memory.sessions import OpenSessionStore
from tests.fakes.memory.timers import MemoryTimers

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Stand:
    """A session of one fact that is awake, under a lease."""

    timers: SessionTimers
    sessions: SessionStore
    leases: LeaseStore
    lease: Lease
    session: SessionId = SESSION

    @property
    def shard(self) -> int:
        return self.lease.shard

    async def awake(self) -> bool:
        return self.session in await self.sessions.unfinished(self.shard)


@pytest.fixture(params=["memory", *SETUPS])
async def stand(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Stand]:
    if request.param == "memory":
        leases = MemoryLeaseStore()
        sessions = OpenSessionStore(leases, MemoryInbox(leases))
        yield await _with_session(MemoryTimers(leases, sessions), sessions, leases)
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield await _with_session(RedisTimers(connection), RedisSessionStore(connection), RedisLeaseStore(connection))


async def _with_session(timers: SessionTimers, sessions: SessionStore, leases: LeaseStore) -> Stand:
    lease = await shard_lease(leases)
    await sessions.commit(replace(beginning(lease), facts=facts(1, "one")))
    return Stand(timers, sessions, leases, lease)


async def test_a_timer_brings_a_session_back_instead_of_a_restart(stand: Stand) -> None:
    assert await stand.timers.first(stand.shard) is None
    assert await stand.timers.set(stand.lease, SessionTimer(stand.session, 1_800_000_000.25), 1)
    assert not await stand.awake()
    assert await stand.timers.first(stand.shard) == 1_800_000_000.25


async def test_a_timer_is_due_when_its_time_has_come(stand: Stand) -> None:
    timer = SessionTimer(stand.session, 50.5)
    await stand.timers.set(stand.lease, timer, 1)
    assert await stand.timers.due(stand.shard, 50.25, 10) == []
    assert await stand.timers.due(stand.shard, 50.5, 10) == [timer]
    assert await stand.timers.due(stand.shard, 50.5, 0) == []


async def test_a_timer_that_is_done_is_gone_and_doing_it_again_changes_nothing(stand: Stand) -> None:
    timer = SessionTimer(stand.session, 50.0)
    await stand.timers.set(stand.lease, timer, 1)
    await stand.timers.done(stand.shard, timer)
    await stand.timers.done(stand.shard, timer)
    assert await stand.timers.first(stand.shard) is None


async def test_a_timer_that_was_set_to_a_later_time_is_not_done(stand: Stand) -> None:
    await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
    await stand.timers.set(stand.lease, SessionTimer(stand.session, 70.0), 1)
    await stand.timers.done(stand.shard, SessionTimer(stand.session, 50.0))
    assert await stand.timers.due(stand.shard, 100.0, 10) == [SessionTimer(stand.session, 70.0)]


async def test_a_session_that_is_in_memory_again_has_no_timer_and_is_awake(stand: Stand) -> None:
    await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
    assert await stand.timers.cancel(stand.lease, stand.session, 1)
    assert await stand.timers.first(stand.shard) is None
    assert await stand.awake()


async def test_a_late_copy_of_a_call_changes_nothing(stand: Stand) -> None:
    await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
    await stand.sessions.commit(Commit(stand.lease, stand.session, 1, facts=facts(2, "two"), awake=True))
    await stand.timers.set(stand.lease, SessionTimer(stand.session, 80.0), 2)
    assert not await stand.timers.cancel(stand.lease, stand.session, 1)
    assert not await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
    assert await stand.timers.first(stand.shard) == 80.0


async def test_who_has_lost_the_shard_sets_and_cancels_nothing(stand: Stand) -> None:
    await shard_lease(stand.leases)
    with pytest.raises(LeaseLost):
        await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
    with pytest.raises(LeaseLost):
        await stand.timers.cancel(stand.lease, stand.session, 1)
    assert await stand.timers.first(stand.shard) is None


async def test_a_session_that_has_ended_sets_no_timer(stand: Stand) -> None:
    await stand.sessions.commit(Commit(stand.lease, stand.session, 1, facts=facts(2, "two"), awake=False, end=True))
    assert not await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 2)
    assert await stand.timers.first(stand.shard) is None


async def test_a_session_that_is_deleted_takes_its_timer_along(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        stand = await _with_session(RedisTimers(connection), RedisSessionStore(connection), RedisLeaseStore(connection))
        await stand.timers.set(stand.lease, SessionTimer(stand.session, 50.0), 1)
        assert await RedisSessionCatalog(connection).delete(stand.session)
        assert await stand.timers.first(stand.shard) is None

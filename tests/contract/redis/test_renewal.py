"""Leases over a real server while the loop that they serve does nothing but one thing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import pytest
from redis import Redis

from gateway.cluster.node import ClusterNode
from gateway.cluster.renewal import LeaseRenewal, Stores, in_thread
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.storage.redis.client.connection import RedisConnection, load_script, open_connection
from runtime.storage.redis.client.keys import lease_key
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.stores.sessions import SHARDS, LeaseHolder
from tests.contract.storage_samples import SHARD
from tests.fakes.servers.shard_server import IdleServer
from tests.fakes.servers.valkey_cluster import wait_until

pytestmark = pytest.mark.anyio

TTL_S = 1.5
LEASE = lease_key(f"shard:{SHARD}")


@dataclass
class Losing(IdleServer):
    """Hears which shards are lost."""

    losses: list[int] = field(default_factory=list)
    lost_one: anyio.Event = field(default_factory=anyio.Event)

    def lost(self, shard: int, /) -> None:
        self.losses.append(shard)
        self.lost_one.set()


@dataclass(frozen=True)
class Stage:
    """A node that serves, what it told, and a way to its server that needs no loop."""

    node: ClusterNode
    served: Losing
    told: list[str]
    server: Redis

    def expires(self) -> int:
        """When the lease of a shard runs out, by the server's clock, in ms."""
        return int(cast("bytes", self.server.hget(LEASE, "expires")))

    def take(self) -> bool:
        """Another node tries to have the lease; whether it has it."""
        return bool(self.server.eval(load_script("lease_acquire").text, 1, LEASE, "thief", 60_000))


@asynccontextmanager
async def stage(socket: Path, *, hung_s: float) -> AsyncIterator[Stage]:
    clock, holder, told, served = SystemClock(), LeaseHolder("ada", TTL_S), list[str](), Losing()
    bus = Bus(clock)
    bus.subscribe("node.*", lambda event: told.append(event.name))
    async with open_connection(socket) as connection, anyio.create_task_group() as tasks:
        renewal = LeaseRenewal(lambda: _stores(connection), holder, clock, runner=in_thread, hung_s=hung_s)
        roster = ClusterRoster(RedisNodeStore(connection), holder, clock)
        node = ClusterNode(RedisLeaseStore(connection), RedisInbox(connection), roster, renewal, bus)
        await node.run(tasks, served)
        with Redis(unix_socket_path=str(socket)) as server:
            yield Stage(node, served, told, server)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _stores(connection: RedisConnection) -> AsyncIterator[Stores]:
    async with connection.in_another_loop() as other:
        yield RedisLeaseStore(other), RedisNodeStore(other)


async def test_a_loop_that_is_busy_for_longer_than_its_leases_last_keeps_them(valkey_socket: Path) -> None:
    async with stage(valkey_socket, hung_s=600) as on:
        first = on.expires()

        def renewed_for_long() -> bool:
            sum(range(100_000))  # the interpreter's lock is wanted too
            assert not on.take()
            return on.expires() > first + 3000 * TTL_S

        wait_until(renewed_for_long, "nobody renewed the leases of a busy loop")
        assert on.node.may_show(SHARD)
        await anyio.lowlevel.checkpoint()
        assert (len(on.node.shards), on.served.losses) == (SHARDS, [])
        assert "node.isolated" not in on.told


async def test_a_loop_that_hangs_loses_its_leases_and_shows_nothing_of_what_it_has_lost(valkey_socket: Path) -> None:
    async with stage(valkey_socket, hung_s=TTL_S) as on:
        wait_until(on.take, "the leases of a loop that hangs did not run out")
        assert not on.node.may_show(SHARD)
        with anyio.fail_after(60):
            await on.served.lost_one.wait()
        assert on.served.losses == [SHARD]
        assert len(on.node.shards) == SHARDS - 1

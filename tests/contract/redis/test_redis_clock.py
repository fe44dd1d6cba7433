"""The Redis stores while the server's clock is set: back, nobody who died is taken to live until it has caught up;
forward, nobody who lives is taken to have released anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from time import time

import anyio
import pytest

from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore, RedisShareStore
from runtime.stores.sessions import LeaseHolder
from tests.chaos.clock import FakeTime
from tests.chaos.valkey import OutsideServer, ask

pytestmark = pytest.mark.anyio

DEAD, LIVING = LeaseHolder("dead", 10), LeaseHolder("living", 10)
HOUR_S = 3600.0
TIME_IN_SCRIPTS = b"""EVAL "return redis.call('TIME')[1] + 0" 0"""


@dataclass(frozen=True)
class Stage:
    """A server whose clock can be moved."""

    connection: RedisConnection
    clock: FakeTime
    server: OutsideServer

    async def jump(self, size_s: float) -> None:
        """Move its clock, and return when it has noticed: it does not look at it for every command."""
        self.clock.jump(size_s)
        with anyio.fail_after(60):
            while abs(await self._seen() - time() - self.clock.offset_s) > 2:
                pass

    async def _seen(self) -> int:
        return int((await ask(self.server.socket, TIME_IN_SCRIPTS)).removeprefix(b":"))


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    clock = FakeTime(tmp_path / "clock", at_once=True)
    assert clock.available, "libfaketime is missing. On Debian and Ubuntu: apt-get install faketime"
    server = OutsideServer(tmp_path, clock.environment)
    await server.start()
    try:
        async with open_connection(server.socket) as connection:
            yield Stage(connection, clock, server)
    finally:
        server.kill()


@pytest.mark.parametrize("name", ["shard:3", "bot:telegram"])
async def test_a_dead_nodes_lease_runs_out_though_the_clock_was_set_back(stage: Stage, name: str) -> None:
    leases = RedisLeaseStore(stage.connection)
    assert await leases.acquire(name, DEAD) is not None
    await stage.jump(-HOUR_S)
    assert await leases.acquire(name, LIVING) is None
    await stage.jump(DEAD.ttl_s + 1)
    assert await leases.acquire(name, LIVING) is not None


async def test_a_living_nodes_lease_is_kept_though_the_clock_was_set_back(stage: Stage) -> None:
    leases = RedisLeaseStore(stage.connection)
    token = await leases.acquire("shard:3", LIVING)
    assert token is not None
    await stage.jump(-HOUR_S)
    assert await leases.acquire("shard:3", DEAD) is None
    await stage.jump(LIVING.ttl_s / 2)
    assert await leases.renew("shard:3", LIVING, token)
    await stage.jump(LIVING.ttl_s / 2 + 1)
    assert await leases.acquire("shard:3", DEAD) is None


async def test_a_living_nodes_lease_is_kept_though_the_clock_was_put_forward(stage: Stage) -> None:
    leases = RedisLeaseStore(stage.connection)
    token = await leases.acquire("shard:3", LIVING)
    assert token is not None
    await stage.jump(HOUR_S)
    assert await leases.acquire("shard:3", DEAD, living=["living"]) is None
    assert await leases.renew("shard:3", LIVING, token)
    await stage.jump(HOUR_S)
    assert await leases.acquire("shard:3", DEAD) is not None


async def test_whom_the_clock_makes_run_out_has_not_left(stage: Stage) -> None:
    nodes = RedisNodeStore(stage.connection)
    await nodes.announce(LeaseHolder("gone", 2 * HOUR_S))
    await nodes.leave(LeaseHolder("gone", 2 * HOUR_S))
    await nodes.announce(LIVING)
    await stage.jump(HOUR_S)
    living = await nodes.living()
    assert (list(living.nodes), list(living.left)) == ([], ["gone"])


async def test_a_dead_node_leaves_the_roster_though_the_clock_was_set_back(stage: Stage) -> None:
    nodes = RedisNodeStore(stage.connection)
    await nodes.announce(DEAD)
    await stage.jump(-HOUR_S)
    assert set((await nodes.announce(LIVING)).nodes) == {"dead", "living"}
    await stage.jump(DEAD.ttl_s + 1)
    assert set((await nodes.announce(LIVING)).nodes) == {"living"}


async def test_a_dead_node_leaves_its_share_though_the_clock_was_set_back(stage: Stage) -> None:
    shares = RedisShareStore(stage.connection)
    assert await shares.claim(DEAD, 1.0) == 1.0
    await stage.jump(-HOUR_S)
    assert await shares.claim(LIVING, 0.0) < 1.0
    await stage.jump(DEAD.ttl_s + 1)
    assert await shares.claim(LIVING, 0.0) == 1.0

"""The contract of every ShareStore."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.core.clock import SystemClock
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisShareStore
from runtime.stores.sessions import LeaseHolder, ShareStore
from tests.contract.setups import SETUPS, location_of
from tests.fakes.memory.shares import MemoryShareStore

pytestmark = pytest.mark.anyio

ADA, BOB, CAI = (LeaseHolder(name, ttl_s=60.0) for name in ("ada", "bob", "cai"))
GONE = LeaseHolder("gone", ttl_s=0.001)


@pytest.fixture(params=["memory", *SETUPS])
async def shares(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[ShareStore]:
    if request.param == "memory":
        yield MemoryShareStore()
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield RedisShareStore(connection)


async def test_a_node_alone_has_everything(shares: ShareStore) -> None:
    assert await shares.claim(ADA, 0.0) == 1.0
    assert await shares.claim(ADA, 1.0) == 1.0


async def test_a_newcomer_has_nothing_until_the_other_uses_less(shares: ShareStore) -> None:
    assert await shares.claim(ADA, 0.0) == 1.0
    assert await shares.claim(BOB, 0.0) == 0.0
    assert await shares.claim(ADA, 1.0) == 0.5
    assert await shares.claim(BOB, 0.0) == 0.0
    assert await shares.claim(ADA, 0.5) == 0.5
    assert await shares.claim(BOB, 0.0) == 0.5


async def test_parts_never_sum_to_more_than_the_whole_and_become_equal(shares: ShareStore) -> None:
    in_use = {ADA: 0.0, BOB: 0.0, CAI: 0.0}
    for round_number in range(9):
        for node in list(in_use)[: 1 + round_number // 2]:
            in_use[node] = await shares.claim(node, in_use[node])
            assert sum(in_use.values()) <= 1.0 + 1e-9
    assert list(in_use.values()) == pytest.approx([1 / 3] * 3)


async def test_what_a_node_had_that_left_is_free(shares: ShareStore) -> None:
    await shares.claim(ADA, 0.0)
    await shares.leave(ADA)
    assert await shares.claim(BOB, 0.0) == 1.0


async def test_what_a_node_had_that_died_is_free_after_its_time(shares: ShareStore) -> None:
    assert await shares.claim(GONE, 0.0) == 1.0
    clock = SystemClock()
    await clock.sleep_until(clock.monotonic() + 0.01)
    assert await shares.claim(BOB, 0.0) == 1.0


async def test_parts_are_as_the_weights(shares: ShareStore) -> None:
    assert await shares.claim(ADA, 0.0, weight=0.25) == 1.0
    assert await shares.claim(BOB, 0.0) == 0.0
    assert await shares.claim(ADA, 1.0, weight=0.25) == 0.2
    assert await shares.claim(ADA, 0.2, weight=0.25) == 0.2
    assert await shares.claim(BOB, 0.0) == 0.8
    assert await shares.claim(ADA, 0.2, weight=0.25) == pytest.approx(0.2)

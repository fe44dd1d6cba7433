"""The contract of every store with snapshots of sessions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.stores.sessions import Lease
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import TapeBranch
from tests.contract.conftest import Stores
from tests.contract.sessions.test_lineage import CHILD, GRANDCHILD, going_on
from tests.contract.storage_samples import HERE, NODE, SESSION, SHARD, beginning, facts, shard_lease

pytestmark = pytest.mark.anyio


def taken(seq: int, version: str = "v1") -> Snapshot:
    return Snapshot(seq, version, f"the state after {seq}: Grüße")


async def begun(stores: Stores, *texts: str) -> Lease:
    lease = await shard_lease(stores.leases)
    await stores.sessions.commit(replace(beginning(lease), facts=facts(1, *texts)))
    return lease


async def test_the_newest_snapshot_is_kept_and_the_facts_stay(stores: Stores) -> None:
    lease = await begun(stores, "one", "two", "three")
    assert await stores.sessions.snapshot(SESSION, "v1") is None
    for seq in (1, 3, 2):
        await stores.sessions.keep_snapshot(lease, SESSION, taken(seq))
    assert await stores.sessions.snapshot(SESSION, "v1") == taken(3)
    assert [fact.seq async for fact in stores.sessions.read_session(SESSION)] == [1, 2, 3]


async def test_a_snapshot_of_another_version_is_not_there_and_gives_way_to_an_older_one(stores: Stores) -> None:
    lease = await begun(stores, "one", "two", "three")
    await stores.sessions.keep_snapshot(lease, SESSION, taken(3, "v1"))
    assert await stores.sessions.snapshot(SESSION, "v2") is None
    await stores.sessions.keep_snapshot(lease, SESSION, taken(2, "v2"))
    assert await stores.sessions.snapshot(SESSION, "v2") == taken(2, "v2")


async def test_a_snapshot_of_facts_that_are_not_there_is_let_go(stores: Stores) -> None:
    lease = await begun(stores, "one")
    await stores.sessions.keep_snapshot(lease, SESSION, taken(2))
    await stores.sessions.keep_snapshot(lease, SessionId("nobody"), taken(0))
    assert await stores.sessions.snapshot(SESSION, "v1") is None
    assert await stores.sessions.snapshot(SessionId("nobody"), "v1") is None


async def test_who_lost_the_shard_keeps_no_snapshot(stores: Stores) -> None:
    lease = await begun(stores, "one")
    await stores.leases.acquire(f"shard:{SHARD}", NODE)
    with pytest.raises(LeaseLost):
        await stores.sessions.keep_snapshot(lease, SESSION, taken(1))
    assert await stores.sessions.snapshot(SESSION, "v1") is None


async def test_a_fork_goes_on_from_a_snapshot_before_its_branch(stores: Stores) -> None:
    lease = await begun(stores, "one", "two", "three")
    await stores.sessions.keep_snapshot(lease, SESSION, taken(2))
    await stores.sessions.commit(going_on(lease, TapeBranch(SESSION, 3), "own", at=HERE))
    await stores.sessions.commit(going_on(lease, TapeBranch(CHILD, 1), session=GRANDCHILD, at=HERE))
    assert await stores.sessions.snapshot(CHILD, "v1") == taken(2)
    assert await stores.sessions.snapshot(GRANDCHILD, "v1") is None
    await stores.sessions.keep_snapshot(lease, CHILD, taken(4))
    assert await stores.sessions.snapshot(CHILD, "v1") == taken(4)
    assert await stores.sessions.snapshot(SESSION, "v1") == taken(2)


async def test_a_deleted_session_leaves_no_snapshot(stores: Stores) -> None:
    lease = await begun(stores, "one", "two")
    await stores.sessions.keep_snapshot(lease, SESSION, taken(2))
    whole = await stores.catalog.whole(SESSION)
    assert whole is not None
    await stores.catalog.delete(SESSION, force=True)
    assert await stores.sessions.snapshot(SESSION, "v1") is None
    await stores.catalog.insert(whole)
    assert await stores.sessions.snapshot(SESSION, "v1") is None

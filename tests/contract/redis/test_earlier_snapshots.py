"""The snapshots along a tape, by which a look into the past of a long session is quick."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.ids import SessionId
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions import store as store_module
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Lease
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import TapeBranch
from tests.contract.sessions.test_lineage import CHILD, going_on
from tests.contract.storage_samples import HERE, SESSION, beginning, facts, shard_lease

pytestmark = pytest.mark.anyio

FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))


@pytest.fixture(autouse=True)
def close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "EARLIER_FACTS", 3)


def taken(seq: int, version: str = "v1", more: str = "") -> Snapshot:
    return Snapshot(seq, version, f"after {seq}{more}")


class Long:
    """A session of twelve facts, with a snapshot after every second."""

    def __init__(self, store: RedisSessionStore, lease: Lease) -> None:
        self.store = store
        self.lease = lease

    async def keep(self, *seqs: int, version: str = "v1", more: str = "") -> None:
        for seq in seqs:
            await self.store.keep_snapshot(self.lease, SESSION, taken(seq, version, more))

    async def before(self, *seqs: int, session: SessionId = SESSION, version: str = "v1") -> list[int | None]:
        found = [await self.store.snapshot(session, version, until=seq) for seq in seqs]
        return [None if one is None else one.seq for one in found]


@pytest.fixture
async def long(valkey_socket: Path) -> AsyncIterator[Long]:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        await store.commit(replace(beginning(lease), facts=facts(1, *"abcdefghijkl")))
        yield Long(store, lease)


async def test_some_of_the_snapshots_that_gave_way_stay_and_the_last_one_before_a_fact_is_found(long: Long) -> None:
    await long.keep(2, 4, 6, 8, 10, 12)
    assert await long.before(3, 4, 7, 8, 11, 12, 20) == [None, 4, 4, 8, 8, 12, 12]
    assert await long.store.snapshot(SESSION, "v1") == taken(12)
    assert await long.store.snapshot(SESSION, "v1", until=9) == taken(8)


async def test_large_ones_stay_less_often(long: Long, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "EARLIER_BYTES", 2)
    await long.keep(2, 4, 6, 8, 10, 12, more="xxxxxx")  # 13 or 14 bytes, which are those of seven facts
    assert await long.before(7, 8, 11, 12) == [None, 8, 8, 12]


async def test_those_of_other_rules_go(long: Long) -> None:
    await long.keep(2, 4, 6, 8)
    await long.keep(8, version="v2")
    assert await long.before(4, 8) == [None, None]
    await long.keep(10, 12, version="v2")
    assert await long.before(5, 9, 12, version="v2") == [None, 8, 12]


async def test_a_fork_from_the_past_begins_with_one_before_its_branch(long: Long) -> None:
    await long.keep(2, 4, 6, 8, 10, 12)
    await long.store.commit(going_on(long.lease, TapeBranch(SESSION, 9), "own", at=HERE))
    assert await long.store.snapshot(CHILD, "v1") == taken(8)
    assert await long.before(10, 7, 3, session=CHILD) == [8, 4, None]


async def test_they_are_encrypted_and_renewed_with_the_session_and_go_with_it(valkey_socket: Path) -> None:
    old, new, only_new = ContentEncryption([FIRST]), ContentEncryption([SECOND, FIRST]), ContentEncryption([SECOND])
    async with open_connection(valkey_socket, patience_s=20, sealing=old) as connection:
        store, lease = RedisSessionStore(connection), await shard_lease(RedisLeaseStore(connection))
        await store.commit(replace(beginning(lease), facts=facts(1, *"abcdefghijkl"), awake=False))
        await Long(store, lease).keep(2, 4, 6, 8, 10, 12, more=", a secret")
    async with open_connection(valkey_socket, patience_s=20, sealing=new) as connection:
        rekeying = DatabaseRekeying(connection, "web")
        assert (await rekeying.survey())[FIRST.id] > 4
        await rekeying.run()
        assert set(await rekeying.survey()) <= {SECOND.id, ""}
    async with open_connection(valkey_socket, patience_s=20, sealing=only_new) as connection:
        store = RedisSessionStore(connection)
        assert await store.snapshot(SESSION, "v1", until=5) == taken(4, more=", a secret")
        assert await store.snapshot(SESSION, "v1") == taken(12, more=", a secret")
        assert await RedisSessionCatalog(connection).delete(SESSION, force=True)
        assert await store.snapshot(SESSION, "v1", until=5) is None

"""The Redis stores while servers that stand in for each other are killed, frozen, promoted and emptied of slots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from redis.crc import key_slot

from gateway.assembly.foundation import renewal_of
from gateway.cluster.node import ClusterNode
from gateway.cluster.roster import ClusterRoster
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.sessions.idle import TimerAlarm
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.server import ALONE_AFTER_S
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore, RedisTimers
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import InboxEntry, shard_of
from runtime.stores.sessions import SHARDS, TIMER, Commit, Lease, LeaseHolder, SessionRecord, SessionTimer
from runtime.tape.tape import Fact, agent_tape
from tests.contract.storage_samples import HERE, SESSION, SHARD, T0, beginning, event, facts, shard_lease
from tests.fakes.servers.shard_server import IdleServer
from tests.fakes.servers.valkey_cluster import PortServer, ValkeyCluster, ValkeySentinel, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.several_servers]

NODE = LeaseHolder("node-a", ttl_s=600.0)
"""A lease that does not run out while a test waits for a failover."""

WRITERS = 6
INBOX = ShardKeys(SHARD).inbox
in_thread = anyio.to_thread.run_sync


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyCluster]:
    """Three primaries with a replica each, which take over within seconds."""
    cluster = ValkeyCluster(tmp_path_factory.mktemp("six"), replicas=1, node_timeout_ms=2000)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeySentinel]:
    """A primary and a replica, which takes over within seconds."""
    servers = ValkeySentinel(tmp_path_factory.mktemp("watched"), down_after_ms=2000)
    try:
        servers.start()
        yield servers
    finally:
        servers.kill()


@dataclass(frozen=True)
class Ground:
    """Servers of one set-up, and what their tests do to them."""

    url: str
    primary: Callable[[], PortServer]
    """Who serves the shard of the samples."""
    replica: Callable[[], PortServer]
    taken_over: Callable[[PortServer], PortServer]
    restart: Callable[[], None]
    kill: Callable[[], None]
    restore_stale: Callable[[PortServer], None]
    promote: Callable[[], None]
    """Let the replica take over from a primary that lives, and return when it has."""


def _ground(servers: ValkeyCluster | ValkeySentinel) -> Ground:
    if isinstance(servers, ValkeySentinel):
        return Ground(
            servers.url,
            lambda: servers.primary,
            lambda: servers.replica,
            servers.wait_for_another_primary,
            servers.restart,
            servers.kill,
            servers.restore_stale,
            servers.promote,
        )
    return Ground(
        servers.url,
        lambda: servers.primary_of(INBOX),
        lambda: servers.replica_of(servers.primary_of(INBOX)),
        lambda than: servers.wait_for_another_primary(INBOX, than),
        servers.restart,
        servers.kill,
        lambda stale: servers.restore_stale(INBOX, stale),
        lambda: servers.promote(INBOX),
    )


@pytest.fixture(params=["cluster", "sentinel"])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    servers: ValkeyCluster | ValkeySentinel = request.getfixturevalue(
        "six" if request.param == "cluster" else "watched"
    )
    servers.flush()
    yield _ground(servers)
    servers.restart()


@dataclass
class Load:
    """People and sessions at work: events go into every third shard, are taken out and written down by a session each.

    `added` are the events that were acknowledged, `written` the facts, `handed` what the reader was given.
    """

    connection: RedisConnection
    added: dict[int, list[str]] = field(default_factory=dict)
    written: dict[int, list[str]] = field(default_factory=dict)
    handed: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inbox, self.sessions = RedisInbox(self.connection), RedisSessionStore(self.connection)
        self._more = anyio.Event()
        self._stopped = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Everything runs while the block does; afterwards it is brought to an end, and everything is written."""
        leases = RedisLeaseStore(self.connection)
        shards = sorted({SHARD, *range(0, SHARDS, SHARDS // (WRITERS - 1))})
        held = {shard: Lease(shard, await leases.acquire(f"shard:{shard}", NODE) or 0) for shard in shards}
        async with anyio.create_task_group() as tasks:
            for shard in shards:
                self.added[shard], self.written[shard], self.handed[shard] = [], [], []
                await self.sessions.commit(Commit(held[shard], _session(shard), 0, begin=_record(shard)))
                tasks.start_soon(self._add, shard)
            async with anyio.create_task_group() as reading:
                reading.start_soon(self._read, held)
                yield
                self._stopped = True
                await self.until(lambda: all(len(self.written[s]) == len(self.added[s]) for s in shards))
                reading.cancel_scope.cancel()

    async def until(self, true: Callable[[], bool]) -> None:
        """Return when what was done comes to this."""
        while not true():
            await self._more.wait()

    async def until_more(self, count: int) -> None:
        """Return when so many more events were written down in each shard."""
        before = {shard: len(texts) for shard, texts in self.written.items()}
        await self.until(lambda: all(len(self.written[s]) >= n + count for s, n in before.items()))

    async def check(self) -> None:
        """Everything acknowledged is there once and in order, on the tapes and out of the inbox."""
        for shard, added in self.added.items():
            tape = [fact.data["text"] async for fact in self.sessions.read_session(_session(shard))]
            assert tape == self.written[shard] == self.handed[shard] == added
        assert not await self.inbox.read(dict.fromkeys(self.added, "0"), wait_s=0.2)

    async def _add(self, shard: int) -> None:
        number = 0
        while not self._stopped:
            number += 1
            await anyio.lowlevel.checkpoint()
            await self.until(lambda: self._stopped or len(self.added[shard]) < len(self.written[shard]) + 5)
            assert await self.inbox.add(event(str(number), address=_address(shard)))
            self.added[shard].append(str(number))
            self._tell()

    async def _read(self, held: dict[int, Lease]) -> None:
        cursors = dict.fromkeys(held, "0")
        while True:
            for entry in await self.inbox.read(cursors, wait_s=30):
                cursors[entry.shard] = entry.entry_id
                written, id_ = self.written[entry.shard], entry.event.id
                self.handed[entry.shard].append(id_)
                session, at = _session(entry.shard), len(written)
                fact = Fact(agent_tape(session, "1000"), at + 1, "said", T0, {"text": id_})
                commit = Commit(held[entry.shard], session, at, facts=(fact,), consume=(entry.entry_id,))
                await self.sessions.commit(commit)
                written.append(id_)
                self._tell()

    def _tell(self) -> None:
        more, self._more = self._more, anyio.Event()
        more.set()


def _session(shard: int) -> SessionId:
    return SessionId(f"s{shard}")


def _address(shard: int) -> Address:
    return next(one for one in (Address("web", str(n)) for n in range(10_000)) if shard_of(one.key) == shard)


def _record(shard: int) -> SessionRecord:
    return SessionRecord(_session(shard), _address(shard), "hello", T0, 0)


async def test_a_killed_primary_costs_nothing_that_was_acknowledged(ground: Ground) -> None:
    async with open_connection(ground.url) as connection:
        load = Load(connection)
        async with load.running():
            await load.until_more(20)
            old = await in_thread(ground.primary)
            await in_thread(old.kill)
            await in_thread(ground.taken_over, old)
            await load.until_more(20)
            await in_thread(ground.restart)
            await load.until_more(20)
        await load.check()


async def test_a_timer_outlasts_the_primary_that_it_was_set_on_and_rings(ground: Ground) -> None:
    async with open_connection(ground.url) as connection, anyio.create_task_group() as tasks:
        sessions, timers, inbox = RedisSessionStore(connection), RedisTimers(connection), RedisInbox(connection)
        alarm = TimerAlarm(timers, sessions, inbox, SystemClock())
        tasks.start_soon(alarm.run)
        lease = await shard_lease(RedisLeaseStore(connection), NODE)
        await sessions.commit(beginning(lease))
        await alarm.watch(SHARD)
        timer = SessionTimer(SESSION, SystemClock().now().timestamp() + 3600)
        assert await alarm.set(lease, timer, 0)
        old = await in_thread(ground.primary)
        await in_thread(old.kill)
        assert await timers.due(SHARD, timer.due_s, 10) == [timer]
        assert await alarm.set(lease, SessionTimer(SESSION, 1.0), 0)
        (entry,) = await inbox.read({SHARD: "0"}, wait_s=30)
        assert (entry.event.kind, entry.event.address) == (TIMER, HERE)
        tasks.cancel_scope.cancel()


async def test_a_frozen_primary_that_comes_back_costs_nothing(ground: Ground) -> None:
    async with open_connection(ground.url) as connection:
        load = Load(connection)
        async with load.running():
            await load.until_more(20)
            old = await in_thread(ground.primary)
            old.freeze()
            await load.until_more(20)
            old.thaw()
            await load.until_more(20)
        await load.check()


@pytest.mark.parametrize("happens", [("promote",), ("kill", "restart")], ids=["promoted", "killed"])
async def test_a_promoted_replica_and_servers_that_were_all_killed_go_on_with_everything(
    ground: Ground, happens: tuple[str, ...]
) -> None:
    async with open_connection(ground.url) as connection:
        load = Load(connection)
        async with load.running():
            await load.until_more(20)
            for each in happens:
                await in_thread(getattr(ground, each))
            await load.until_more(20)
        await load.check()


class SkippingClock(SystemClock):
    """The machine's clock, of which a test may leave some out."""

    skipped_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        await super().sleep_until(monotonic_s - self.skipped_s)


async def lose_the_replica(ground: Ground, clock: SkippingClock) -> PortServer:
    """Kill the replica for so long that the primary goes on without it; returns what was killed."""
    primary, replica = await in_thread(lambda: (ground.primary(), ground.replica()))
    await in_thread(replica.kill)
    await in_thread(wait_until, lambda: primary.info("replication")["connected_slaves"] == "0", "it is connected")
    clock.skipped_s += ALONE_AFTER_S + 1
    return replica


async def test_what_a_stale_replica_lacks_is_noticed_and_done_again(ground: Ground) -> None:
    clock = SkippingClock()
    async with open_connection(ground.url, clock=clock) as connection:
        inbox, sessions, leases = RedisInbox(connection), RedisSessionStore(connection), RedisLeaseStore(connection)
        lease = await shard_lease(leases, NODE)
        await inbox.add(event("1"))
        await sessions.commit(beginning(lease))
        stale = await lose_the_replica(ground, clock)
        (entry,) = await inbox.read({SHARD: "0"}, wait_s=30)
        await sessions.commit(Commit(lease, SESSION, 0, facts=facts(1, "lost"), consume=(entry.entry_id,)))
        await in_thread(lambda: ground.primary().kill())
        await in_thread(ground.restore_stale, stale)

        with pytest.raises(LeaseLost, match="lost the last commits"):
            await sessions.commit(Commit(lease, SESSION, 1, facts=facts(2, "on what was lost")))
        assert not await leases.renew(f"shard:{SHARD}", NODE, lease.token)
        again = await shard_lease(leases, NODE)
        assert again.token > lease.token
        assert await leases.renew(f"shard:{SHARD}", NODE, again.token)
        assert list(await inbox.read({SHARD: "0"}, wait_s=30)) == [entry]
        await sessions.commit(Commit(again, SESSION, 0, facts=facts(1, "again"), consume=(entry.entry_id,)))
        assert [fact.data["text"] async for fact in sessions.read_session(SESSION)] == ["again"]


async def test_a_node_is_handed_again_what_a_stale_replica_has_in_its_inbox(ground: Ground) -> None:
    clock, holder = SkippingClock(), LeaseHolder("node-a", ttl_s=3.0)
    handed, alone, again = anyio.Event(), anyio.Event(), anyio.Event()
    tokens: list[int] = []
    async with open_connection(ground.url, clock=clock) as connection:
        inbox, sessions = RedisInbox(connection), RedisSessionStore(connection)

        async def take(entry: InboxEntry, lease: Lease) -> None:
            tokens.append(lease.token)
            (handed if len(tokens) == 1 else again).set()
            await alone.wait()
            await sessions.commit(beginning(lease, consume=(entry.entry_id,)))

        async with anyio.create_task_group() as tasks:
            roster = ClusterRoster(RedisNodeStore(connection), holder, SystemClock())
            renewal = renewal_of(connection, holder, SystemClock())
            bus = Bus(SystemClock())
            await ClusterNode(RedisLeaseStore(connection), inbox, roster, renewal, bus).run(tasks, IdleServer(take))
            await inbox.add(event("1"))
            await handed.wait()
            stale = await lose_the_replica(ground, clock)
            alone.set()
            while await sessions.session(SHARD, SESSION) is None:
                await anyio.lowlevel.checkpoint()
            await in_thread(lambda: ground.primary().kill())
            await in_thread(ground.restore_stale, stale)
            await again.wait()
            while await sessions.session(SHARD, SESSION) is None:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert tokens[0] < tokens[1]


def _slots_of(cluster: ValkeyCluster) -> tuple[int, PortServer, PortServer]:
    """The slot of the samples' shard, who has it, and another primary."""
    source = cluster.primary_of(INBOX)
    target = next(one for one in cluster.servers if one is not source and one.runs and one.is_primary)
    return key_slot(INBOX.encode()), source, target


@pytest.mark.parametrize("move", [ValkeyCluster.move, ValkeyCluster.move_by_key], ids=["at_once", "key_by_key"])
async def test_a_slot_that_moves_is_followed(
    six: ValkeyCluster, move: Callable[[ValkeyCluster, int, PortServer], None]
) -> None:
    six.flush()
    async with open_connection(six.url) as connection:
        load = Load(connection)
        async with load.running():
            await load.until_more(20)
            slot, _source, target = await in_thread(_slots_of, six)
            await in_thread(move, six, slot, target)
            await load.until_more(20)
            assert await in_thread(six.primary_of, INBOX) is target
        await load.check()


async def test_a_primary_that_is_away_holds_up_no_other_shards_lease(six: ValkeyCluster) -> None:
    six.flush()
    ttl_s = 4.0

    def lose_both() -> None:
        primary = six.primary_of(INBOX)
        six.replica_of(primary).kill()
        primary.kill()

    elsewhere = next(s for s in range(SHARDS) if six.primary_of(ShardKeys(s).lease) is not six.primary_of(INBOX))
    lease, other = ShardKeys(elsewhere).lease, six.primary_of(ShardKeys(elsewhere).lease)
    async with open_connection(six.url) as connection, anyio.create_task_group() as tasks:
        holder, clock = LeaseHolder("node-a", ttl_s=ttl_s), SystemClock()
        roster, renewal = (
            ClusterRoster(RedisNodeStore(connection), holder, clock),
            renewal_of(connection, holder, clock),
        )
        node = ClusterNode(RedisLeaseStore(connection), RedisInbox(connection), roster, renewal, Bus(clock))
        await node.run(tasks, IdleServer())
        await in_thread(lose_both)
        ends_at = int(await in_thread(other.ask, "HGET", lease, "expires"))
        later = str(ends_at + 1500 * ttl_s)
        await in_thread(wait_until, lambda: other.ask("HGET", lease, "expires") > later, "it was not renewed")
        with anyio.fail_after(60):
            while not node.may_show(elsewhere):
                await anyio.lowlevel.checkpoint()
        assert not node.may_show(SHARD)
        tasks.cancel_scope.cancel()
    await in_thread(six.restart)


async def test_a_connection_of_another_loop_needs_the_server_that_the_url_names_only_when_it_is_opened(
    tmp_path: Path,
) -> None:
    cluster = ValkeyCluster(tmp_path / "three", replicas=0)
    try:
        await in_thread(cluster.start)
        named = next(server for server in cluster.servers if cluster.url.endswith(f":{server.port}"))
        key = next(
            ShardKeys(shard).inbox for shard in range(SHARDS) if cluster.primary_of(ShardKeys(shard).inbox) != named
        )
        async with open_connection(cluster.url) as connection, connection.in_another_loop() as other:
            await in_thread(named.kill)
            with anyio.fail_after(20):
                assert await other.retrying(lambda client: client.xlen(key), key) == 0
    finally:
        await in_thread(cluster.kill)

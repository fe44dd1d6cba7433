"""Where URLs lead, and what is said about the servers there, also about those that are away at the start."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
import pytest
from anyio.abc import SocketStream

from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.location import locate
from runtime.storage.redis.client.server import ALONE_AFTER_S, Server
from runtime.storage.redis.client.server_check import START_LIMIT_S, ServerCheck, examine, ping, reach
from runtime.storage.redis.records import RedisRecords
from tests.fakes.clock import FakeClock, HastyClock
from tests.fakes.servers.ports import free_port
from tests.fakes.servers.valkey import RealValkey
from tests.fakes.servers.valkey_cluster import PortServer, ValkeyCluster, ValkeySentinel, durable, wait_until

pytestmark = pytest.mark.anyio

MANUAL = (Path(__file__).parents[3] / "docs" / "running" / "nodes.md").read_text(encoding="utf-8")

Start = Callable[..., PortServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers with the given settings, and ends them."""
    started: list[PortServer] = []

    def make(*, sentinel: bool = False, **settings: str) -> PortServer:
        named = {name.replace("_", "-"): value for name, value in settings.items()}
        started.append(PortServer(tmp_path / str(len(started)), named, sentinel=sentinel))
        started[-1].start()
        return started[-1]

    yield make
    for server in started:
        server.kill()


async def keep(url: str) -> None:
    """Write and read something there."""
    async with open_connection(url, patience_s=20) as connection:
        records = RedisRecords(connection, "marks:test")
        await records.put("name", "value")
        assert await records.get("name") == "value"


async def fitness(url: str) -> ServerCheck:
    async with open_connection(url, patience_s=20) as connection:
        return await examine(connection)


async def what_answers(server: PortServer) -> str:
    found = (await fitness(f"redis://127.0.0.1:{server.port}")).servers
    matched = re.fullmatch(r"(?:Valkey|Redis) [\d.]+ answers(?:: )?(.*)", found)
    assert matched is not None, found
    return matched[1]


@pytest.mark.several_servers
async def test_any_host_of_a_url_that_answers_is_enough(
    valkey_cluster: ValkeyCluster, valkey_sentinel: ValkeySentinel, start: Start
) -> None:
    for url in (valkey_cluster.url, valkey_sentinel.url, start(**durable()).url):
        await keep(f"redis://127.0.0.1:{free_port()},{url.removeprefix('redis://')}/0")


@pytest.mark.several_servers
async def test_every_server_of_a_cluster_and_every_sentinel_leads_to_the_same(
    valkey_cluster: ValkeyCluster, valkey_sentinel: ValkeySentinel
) -> None:
    for server in valkey_cluster.servers:
        assert await what_answers(server) == "a Cluster of 3 primaries, 0 replicas"
    for sentinel in valkey_sentinel.sentinels:
        assert await what_answers(sentinel) == "a primary that Sentinels watch, 1 replica"


async def test_sentinels_that_watch_several_primaries_are_asked_for_the_one_that_is_named(start: Start) -> None:
    sentinel = start(sentinel=True)
    servers = {name: start(**durable()) for name in ("green", "blue")}
    for name, server in servers.items():
        sentinel.ask("SENTINEL", "MONITOR", name, "127.0.0.1", server.port, 1)
    url = f"redis://127.0.0.1:{sentinel.port}/0"
    with pytest.raises(ConfigError, match=r"green, blue|blue, green.*redis://host:26379/0\?master=name"):
        await keep(url)
    with pytest.raises(ConfigError, match="'red'"):
        await keep(f"{url}?master=red")
    await keep(f"{url}?master=blue")
    assert (servers["green"].ask("DBSIZE"), servers["blue"].ask("DBSIZE")) == (0, 1)


async def test_sentinels_that_watch_nothing_are_named(start: Start) -> None:
    with pytest.raises(ConfigError, match="watch nothing"):
        await keep(f"redis://127.0.0.1:{start(sentinel=True).port}")


async def test_the_password_goes_to_the_primary_and_to_a_sentinel_only_where_it_has_one(start: Start) -> None:
    open_sentinel = start(sentinel=True)
    guarded_sentinel = start(sentinel=True, requirepass="geheim")
    primary = start(requirepass="geheim")
    for sentinel in (open_sentinel, guarded_sentinel):
        sentinel.ask("SENTINEL", "MONITOR", "parley", "127.0.0.1", primary.port, 1)
        sentinel.ask("SENTINEL", "SET", "parley", "auth-pass", "geheim")
        await keep(f"redis://:geheim@127.0.0.1:{sentinel.port}")
        with pytest.raises(StorageUnavailable, match="Check the URL's password") as raised:
            await keep(f"redis://:falsch@127.0.0.1:{sentinel.port}")
        assert "falsch" not in str(raised.value)


@pytest.mark.several_servers
async def test_a_database_of_a_cluster_is_refused(valkey_cluster: ValkeyCluster) -> None:
    with pytest.raises(ConfigError, match="database 3 of a Cluster"):
        await keep(f"{valkey_cluster.url}/3")


@pytest.mark.several_servers
async def test_a_database_behind_a_sentinel_is_used(valkey_sentinel: ValkeySentinel) -> None:
    valkey_sentinel.flush()
    await keep(f"{valkey_sentinel.url}/3")
    assert "db3" in valkey_sentinel.primary.info("keyspace")


async def test_a_server_that_forgets_when_it_is_full_is_refused_or_warned_of(start: Start) -> None:
    server = start(**durable(), maxmemory="100mb", maxmemory_policy="allkeys-lru")
    url = f"redis://127.0.0.1:{server.port}"
    with pytest.raises(ConfigError, match=r"allkeys-lru.*noeviction"):
        await fitness(url)
    server.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    (warning,) = (await fitness(url)).warnings
    assert "repetitions are answered twice" in warning
    server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert not (await fitness(url)).warnings
    assert await what_answers(server) == ""


@pytest.mark.several_servers
async def test_what_a_restart_and_a_death_would_cost_is_told(start: Start, valkey_cluster: ValkeyCluster) -> None:
    (warning,) = (await fitness(f"redis://127.0.0.1:{start().port}")).warnings
    assert "set appendonly to yes" in warning
    warnings = (await fitness(valkey_cluster.url)).warnings
    assert ["no replica follows it" in warning for warning in warnings] == [True] * 3
    assert len(set(warnings)) == 3


@pytest.mark.several_servers
async def test_a_replica_is_told_from_its_primary(valkey_sentinel: ValkeySentinel) -> None:
    url = f"redis://127.0.0.1:{valkey_sentinel.replica.port}"
    async with open_connection(url, patience_s=0.05) as connection:
        with pytest.raises(StorageUnavailable, match="read only replica"):
            await examine(connection)


async def test_missing_rights_are_named(start: Start) -> None:
    server = start(**durable())
    server.ask("ACL", "SETUSER", "shy", "on", ">geheim", "~{parley:*", "+@all", "-xadd")
    url = f"redis://shy:geheim@127.0.0.1:{server.port}"
    with pytest.raises(StorageUnavailable, match=r"docs/running/nodes\.md") as raised:
        await ping(url)
    assert "geheim" not in str(raised.value)


async def test_the_rights_of_the_manual_are_enough(start: Start) -> None:
    rights = MANUAL.partition("ACL SETUSER parley ")[2].split("\n")[0]
    server = start(**durable())
    server.ask("ACL", "SETUSER", "parley", *rights.replace("PASSWORD", "geheim").split())
    url = f"redis://parley:geheim@127.0.0.1:{server.port}"
    await keep(url)
    assert "warning" not in await ping(url)


async def test_an_older_server_is_refused() -> None:
    async with _telling("redis_version:6.2.14", "redis_mode:standalone", "maxmemory_policy:noeviction") as port:
        with pytest.raises(ConfigError, match=r"Redis 6\.2\.14; Redis 7\.0 or newer"):
            await ping(f"redis://127.0.0.1:{port}")


@asynccontextmanager
async def _telling(*lines: str) -> AsyncIterator[int]:
    """A server that tells this of itself, whenever it is asked for it."""
    told = "\r\n".join(lines).encode()

    async def answer(client: SocketStream) -> None:
        async with client:
            async for asked in client:
                for command in asked.split(b"*")[1:]:
                    info = b"\r\nINFO\r\n" in command
                    await client.send(b"$%d\r\n%s\r\n" % (len(told), told) if info else b"+OK\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("replica", "follows"),
    [
        ("state=online,offset=9,lag=1", True),
        ("state=online,offset=9,lag=30", False),
        ("state=wait_bgsave,lag=0", False),
    ],
    ids=["heard of", "silent", "not there yet"],
)
async def test_a_replica_follows_while_it_is_heard_of(replica: str, follows: bool) -> None:
    async with _telling("role:master", "connected_slaves:1", f"slave0:ip=127.0.0.1,port=1,{replica}") as port:
        server = Server(locate(f"redis://127.0.0.1:{port}"), ("127.0.0.1", port), FakeClock())
        assert await server.followed() is follows
        await server.aclose()


async def test_a_primary_that_lost_its_replica_is_alone_after_a_while(start: Start) -> None:
    primary = start(**durable())
    replica = start(**durable(), replicaof=f"127.0.0.1 {primary.port}")
    await anyio.to_thread.run_sync(
        wait_until, lambda: replica.info("replication")["master_link_status"] == "up", "it does not follow"
    )
    clock = FakeClock()
    server = Server(locate(f"redis://127.0.0.1:{primary.port}"), ("127.0.0.1", primary.port), clock)
    assert await server.followed()
    await anyio.to_thread.run_sync(replica.kill)
    await anyio.to_thread.run_sync(
        wait_until, lambda: primary.info("replication")["connected_slaves"] == "0", "it is connected still"
    )
    await clock.advance(ALONE_AFTER_S)
    assert await server.followed(look=True)
    await clock.advance(1)
    assert not await server.followed()
    await server.aclose()


class StartsAServer(HastyClock):
    """A clock during whose first pause somebody starts the server."""

    def __init__(self, server: RealValkey) -> None:
        super().__init__()
        self._server = server

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if not self.pauses_s:
            self._server.start()
        await super().sleep_until(monotonic_s)


async def test_a_server_that_never_answers_is_said_at_once_and_ends_the_start() -> None:
    told: list[str] = []
    clock, port = HastyClock(), free_port()
    with pytest.raises(StorageUnavailable) as caught:
        await reach(f"redis://parley:secret@127.0.0.1:{port}/0", told.append, clock=clock)
    assert f"No Redis or Valkey answered at redis://127.0.0.1:{port}/0 within 60 s" in str(caught.value)
    assert "Start it, or correct PARLEY_REDIS_URL." in str(caught.value)
    assert len(told) == 1
    assert f"redis://127.0.0.1:{port}/0" in told[0]
    assert "Trying again for 60 s." in told[0]
    assert "secret" not in told[0] + str(caught.value)
    assert START_LIMIT_S - 2 < clock.monotonic() <= START_LIMIT_S


async def test_a_server_that_comes_late_is_told_and_the_start_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    server = RealValkey(tmp_path)
    try:
        await reach(f"unix://{server.socket}", told.append, clock=StartsAServer(server))
    finally:
        server.kill()
    assert told[0].startswith(f"No Redis or Valkey answers at unix://{server.socket}: ")
    assert told[1:] == [f"The database at unix://{server.socket} answers."]


async def test_nothing_is_said_of_a_server_that_answers(tmp_path: Path) -> None:
    told: list[str] = []
    server = RealValkey(tmp_path)
    server.start()
    try:
        await reach(f"unix://{server.socket}", told.append)
    finally:
        server.kill()
    assert told == []

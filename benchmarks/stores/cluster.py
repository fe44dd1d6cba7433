"""The same durable commits and the same way from inbox to session on servers that stand in for each other:
`python -m benchmarks.stores.cluster`."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import anyio

from benchmarks.stores.storage import NODE, ROUNDS, Writers, measure_hand_over
from benchmarks.table import Row, show
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.sessions import Lease
from tests.fakes.servers.valkey_cluster import PortServer, ValkeyCluster, ValkeySentinel, durable


async def measure(name: str, url: str) -> list[Row]:
    """The rows of one set-up."""
    async with open_connection(url) as connection:
        rate = await _commits(connection)
        middle, slow = await measure_hand_over(connection)
    return [
        Row(f"fenced commits, {name}", rate, "1/s"),
        Row(f"inbox add to hand-over, {name}, p50", middle.value, "ms", middle.floor, "the add alone"),
        Row(f"inbox add to hand-over, {name}, p99", slow.value, "ms"),
    ]


async def _commits(connection: RedisConnection) -> float:
    token = await RedisLeaseStore(connection).acquire("shard:0", NODE)
    assert token is not None
    writers = Writers(Lease(0, token), RedisSessionStore(connection))
    return statistics.median([await writers.ours() for _ in range(ROUNDS)])


def run() -> list[Row]:
    """The rows of every set-up."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        alone = PortServer(place / "alone", durable())
        three, six = ValkeyCluster(place / "three"), ValkeyCluster(place / "six", replicas=1)
        watched = ValkeySentinel(place / "watched")
        for name, servers in (
            ("a server alone", alone),
            ("a Cluster", three),
            ("a Cluster with replicas", six),
            ("behind Sentinels, a replica", watched),
        ):
            servers.start()
            rows += anyio.run(measure, name, servers.url)
            servers.kill()
    return rows


if __name__ == "__main__":
    print(show(run()))

"""Nodes on a real Cluster of three primaries and their replicas, under people who talk all the time."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.e2e.crowd import Crowd
from tests.e2e.gateway_process import ROOT, parley
from tests.e2e.several_nodes import Nodes, Record, noted, several_nodes
from tests.e2e.talks import TelegramTalk
from tests.e2e.tellers import TELLER, greeted, telegram_settings, until_last, until_told
from tests.fakes.servers.valkey_cluster import ValkeyCluster
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.several_servers, pytest.mark.timeout(240)]

CHATS = range(741, 745)
LISTENERS = range(751, 753)
NODE_TIMEOUT_MS = 2000
SEED = 20261122
"""Chooses which primary dies, and which node stands still."""

NEXT_VERSION = "99.0.0"


def next_version(directory: Path) -> dict[str, str]:
    """The environment of a gateway of another version."""
    for package in ("parley", "gateway", "adapters", "runtime"):
        shutil.copytree(ROOT / package, directory / package, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "gateway" / "version.py").write_text(f'VERSION = "{NEXT_VERSION}"\n')
    return {"PYTHONPATH": str(directory)}


def unhurried(address: str) -> dict[str, str]:
    """Settings with leases that no busy machine lets run out."""
    return telegram_settings(address, PARLEY_NODES__LEASE_S="20")


async def at_rest(crowd: Crowd, nodes: Nodes) -> None:
    """Return when everybody is answered, and every message that they see is on a tape: between the two is the one
    moment at which the death of a node may leave a second copy on a platform without nonces."""
    await crowd.fall_silent()
    await nodes.until(lambda: sum(len(nodes.logged(name, "page.sent")) for name in nodes.by_name) >= crowd.messages)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ValkeyCluster]:
    made = ValkeyCluster(tmp_path / "cluster", replicas=1, node_timeout_ms=NODE_TIMEOUT_MS)
    made.start()
    yield made
    made.kill()


async def test_nodes_and_primaries_die_a_node_stands_still_and_everything_is_answered_once(
    tmp_path: Path, cluster: ValkeyCluster, record_property: Record
) -> None:
    chance = random.Random(SEED)
    platform = TelegramPlatform(limits=FloodLimits())
    crowd, times = Crowd(platform, CHATS), dict[str, float]()
    async with (
        serving(platform) as address,
        several_nodes(tmp_path, TELLER, cluster.url, ["a", "b", "c"], telegram_settings(address)) as nodes,
        anyio.create_task_group() as tasks,
    ):
        await nodes.balanced("a", "b", "c")
        crowd.begin(tasks)
        await crowd.more()

        await at_rest(crowd, nodes)
        holder = await nodes.listener("telegram")
        await nodes.end(holder)
        crowd.go_on()
        await crowd.more()
        times["node_killed_s"], crowd.longest_s = crowd.longest_s, 0.0

        primary = cluster.primary_of(f"{{parley:{chance.randrange(64)}}}:lease")
        primary.kill()
        await crowd.more(2)
        times["primary_killed_s"], crowd.longest_s = crowd.longest_s, 0.0

        left = sorted(set(nodes.by_name) - {holder})
        stopped, other = chance.sample(left, 2)
        await at_rest(crowd, nodes)
        told = nodes.balances(other)
        os.kill(nodes[stopped].process_id, signal.SIGSTOP)
        crowd.go_on()
        await nodes.has(other, 64, after=told)
        await crowd.more()
        os.kill(nodes[stopped].process_id, signal.SIGCONT)
        await nodes.until(lambda: nodes.logged(stopped, "node.shard_lost") != [])
        await crowd.more(2)
        times["node_stopped_s"] = crowd.longest_s
        await crowd.fall_silent()
        tasks.cancel_scope.cancel()
        orphans = sum(len(nodes.logged(name, "page.orphaned")) for name in nodes.by_name)
    crowd.check(orphans=orphans)
    noted(record_property, times | {"orphans": orphans})


async def test_an_upgrade_of_one_node_after_the_other_loses_and_doubles_nothing_and_nobody_waits_long(
    tmp_path: Path, cluster: ValkeyCluster, record_property: Record
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    crowd, listeners = Crowd(platform, CHATS), [TelegramTalk(platform, chat=chat) for chat in LISTENERS]
    upgraded = next_version(tmp_path / "next")
    assert (await parley(tmp_path, "--version", **upgraded))[1].strip().endswith(NEXT_VERSION)
    async with (
        serving(platform) as address,
        several_nodes(tmp_path, TELLER, cluster.url, ["a", "b"], unhurried(address)) as nodes,
        anyio.create_task_group() as tasks,
    ):
        await nodes.balanced("a", "b")
        crowd.begin(tasks)
        await greeted(listeners)
        await crowd.more()
        crowd.longest_s = 0.0
        await nodes.begin("c", "d", **upgraded)
        await nodes.balanced("a", "b", "c", "d")
        for old in ("a", "b"):
            for talk in listeners:
                await talk.say("long")
            await until_last(listeners, "Once")
            assert await nodes[old].stop(signal.SIGTERM) == 0
            assert nodes.logged(old, "node.drained") != []
            await crowd.more(2)
        await until_told(listeners, times=2)
        await crowd.fall_silent()
        tasks.cancel_scope.cancel()
    crowd.check()
    for talk in listeners:
        assert [text.split()[0] for text in talk.texts()] == ["I", "Once", "Once"]
        assert talk.posts() == 3
    assert [call for call in platform.calls_of("getUpdates") if call.status == 409] == []
    noted(record_property, {"longest_wait_s": crowd.longest_s})

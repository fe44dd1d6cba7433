"""A gateway that is told where one server of a Cluster, or one Sentinel, is, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio.to_thread
import pytest

from runtime.core.address import Address
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.inbox import shard_of
from tests.e2e.gateway_process import gateway, parley
from tests.e2e.talks import WebTalk, until, until_begun
from tests.e2e.tellers import END_OF_STORY, HELLO, TELLER
from tests.fakes.servers.valkey_cluster import PortServer, ValkeyCluster, ValkeySentinel

pytestmark = [pytest.mark.anyio, pytest.mark.several_servers, pytest.mark.timeout(240)]

ROOM = "gate"
INBOX = ShardKeys(shard_of(Address("web", ROOM).key)).inbox

Servers = ValkeyCluster | ValkeySentinel


@pytest.fixture(params=["cluster", "sentinel"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Servers]:
    """Servers of which each has another that takes its place."""
    made: Servers = (
        ValkeyCluster(tmp_path / "servers", replicas=1, node_timeout_ms=1500)
        if request.param == "cluster"
        else ValkeySentinel(tmp_path / "servers", down_after_ms=1500)
    )
    try:
        made.start()
        yield made
    finally:
        made.kill()


def primary(servers: Servers) -> PortServer:
    """Who has the conversation."""
    return servers.primary_of(INBOX) if isinstance(servers, ValkeyCluster) else servers.primary


def taken_over(servers: Servers, old: PortServer) -> Callable[[], PortServer]:
    if isinstance(servers, ValkeyCluster):
        return lambda: servers.wait_for_another_primary(INBOX, old)
    return lambda: servers.wait_for_another_primary(old)


async def test_an_answer_goes_on_when_the_primary_is_killed_in_its_middle(servers: Servers, tmp_path: Path) -> None:
    async with gateway(tmp_path, TELLER, {"PARLEY_REDIS_URL": servers.url}) as running, AsyncExitStack() as stack:
        talk = WebTalk(ROOM)
        await talk.look(running, stack)
        await talk.say("hi")
        await until(talk, HELLO)
        await talk.say("long")
        await until_begun(talk, "Once")
        old = await anyio.to_thread.run_sync(primary, servers)
        await anyio.to_thread.run_sync(old.kill)
        await talk.until_that(lambda: talk.texts()[-1].endswith(END_OF_STORY))
        await talk.say("and then?")
        await talk.until_that(lambda: talk.texts()[-1] == "You said: and then?")
        await anyio.to_thread.run_sync(taken_over(servers, old))
        assert len(talk.texts()) == 3
        assert running.running


async def test_a_conversation_is_there_again_after_all_servers_and_the_gateway_were_killed(
    servers: Servers, tmp_path: Path
) -> None:
    async with gateway(tmp_path, TELLER, {"PARLEY_REDIS_URL": servers.url}) as running:
        talk = WebTalk(ROOM)
        async with AsyncExitStack() as stack:
            await talk.look(running, stack)
            await talk.say("hi")
            await until(talk, HELLO)
        running.kill()
        await anyio.to_thread.run_sync(servers.kill)
        await anyio.to_thread.run_sync(servers.restart)
        await running.start()
        async with AsyncExitStack() as stack:
            await talk.look(running, stack)
            await talk.say("again")
            await until(talk, HELLO, "You said: again")


async def test_check_says_what_is_there(servers: Servers, tmp_path: Path) -> None:
    _code, printed, errors = await parley(tmp_path, "check", PARLEY_REDIS_URL=servers.url)
    what = "a Cluster of 3 primaries, 3 replicas" if isinstance(servers, ValkeyCluster) else "that Sentinels watch"
    assert what in printed, errors
    assert "warning:" not in printed

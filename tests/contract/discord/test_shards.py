"""Several connections of one bot: as many as Discord wants, begun as slowly as it wants, each resumed by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordOptions
from runtime.core.errors import AuthFailed
from tests.contract.discord.speaking import listening, new_adapter
from tests.fakes.clock import FakeClock, HastyClock
from tests.fakes.discord.gateway import BETWEEN_SESSIONS_S
from tests.fakes.discord.wire import DiscordPlatform, serving
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio


def servers_of_shards(platform: DiscordPlatform, count: int) -> list[str]:
    """A channel of a server of each shard."""
    backend = platform.world.backend
    servers = [backend.create_guild(f"Server {n}", shard_id=n, shard_count=count) for n in range(count)]
    return [str(backend.create_channel(server.id, "there").id) for server in servers]


def everywhere(platform: DiscordPlatform, channels: Sequence[str], text: str) -> None:
    for number, channel in enumerate(channels):
        platform.world.say(f"{text} {number}", channel)
    platform.world.say(f"{text} in private", platform.world.private())


async def heard(inbound: AsyncIterator[Inbound], *texts: str) -> None:
    """Return when all these were heard; at a beginning one may come live and from history."""
    missing = set(texts)
    while missing:
        missing.discard((await anext(inbound)).text)


@pytest.mark.parametrize("shards", [3, None])
async def test_all_connections_are_heard_each_its_own_servers(
    options: DiscordOptions, platform: DiscordPlatform, shards: int | None
) -> None:
    platform.gateway.recommends = 3
    channels = servers_of_shards(platform, 3)
    async with (
        aclosing(new_adapter(replace(options, shards=shards), clock=HastyClock())) as adapter,
        listening(adapter, platform) as inbound,
    ):
        await platform.until(lambda: platform.gateway.shards == {(0, 3), (1, 3), (2, 3)})
        everywhere(platform, channels, "hello")
        await heard(inbound, "hello 0", "hello 1", "hello 2", "hello in private")


async def test_one_connection_that_drops_is_resumed_by_itself(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    gateway = platform.gateway
    channels = servers_of_shards(platform, 2)
    async with (
        aclosing(new_adapter(replace(options, shards=2), clock=HastyClock())) as adapter,
        listening(adapter, platform) as inbound,
    ):
        await platform.until(lambda: len(gateway.shards) == 2)
        everywhere(platform, channels, "hello")
        await heard(inbound, "hello 0", "hello 1", "hello in private")
        await gateway.drop(shard=1)
        await platform.until(lambda: gateway.shards == {(0, 2)})
        everywhere(platform, channels, "meanwhile")
        await heard(inbound, "meanwhile 0", "meanwhile 1", "meanwhile in private")
    assert (gateway.identified, gateway.resumed) == (2, 1)


@pytest.mark.parametrize(("at_once", "pauses"), [(1, [5, 10]), (2, [5]), (3, [])])
async def test_connections_begin_as_slowly_as_discord_wants(
    anyio_backend: str, at_once: int, pauses: list[int]
) -> None:
    clock = FakeClock()
    platform = DiscordPlatform(clock=clock)
    gateway = platform.gateway
    gateway.recommends, gateway.at_once, gateway.strict = 3, at_once, True
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10")
        async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect():
            at_first = min(3, at_once)
            await platform.until(lambda: len(gateway.shards) == at_first)
            for number, _ in enumerate(pauses, start=1):
                await clock.advance(4.9)
                assert len(gateway.shards) == at_first + (number - 1) * at_once
                await clock.advance(0.1)
                wanted = min(3, at_first + number * at_once)
                await platform.until(lambda: len(gateway.shards) == wanted)  # noqa: B023 - awaited at once
    assert gateway.too_early == 0


async def test_what_a_broken_connection_missed_is_read_however_far_the_others_are(anyio_backend: str) -> None:
    clock = FakeClock()
    platform = DiscordPlatform(clock=clock)
    gateway, world = platform.gateway, platform.world
    channels = servers_of_shards(platform, 2)
    gateway.at_once = 2
    marks = MemoryRecords()
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10", shards=2)
        async with (
            aclosing(new_adapter(options, marks, clock=clock)) as adapter,
            listening(adapter, platform) as inbound,
        ):
            await platform.until(lambda: len(gateway.shards) == 2)
            world.say("before", channels[1])
            await anext(inbound)
            await clock.advance(1)
            lost = next(session for session in gateway.sessions.values() if session.shard[0] == 1)
            del gateway.sessions[lost.id]
            await gateway.drop(shard=1)
            world.say("missed", channels[1])
            await clock.advance(600)
            world.say("elsewhere, later", channels[0])
            await clock.advance(600)
            async with anyio.create_task_group() as tasks:
                done = anyio.Event()

                async def listen() -> None:
                    await heard(inbound, "missed", "elsewhere, later")
                    done.set()

                tasks.start_soon(listen)
                while not done.is_set():
                    await clock.advance(BETWEEN_SESSIONS_S)


async def test_too_few_connections_are_an_error_that_says_what_to_set(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    platform.gateway.least_shards = 2
    async with aclosing(new_adapter(replace(options, shards=1))) as adapter:
        with pytest.raises(AuthFailed, match=r"discord\.shards"):
            async with adapter.connect() as inbound:
                await anext(inbound)


async def test_more_connections_are_opened_when_discord_wants_more(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    gateway = platform.gateway
    gateway.least_shards = 2
    async with aclosing(new_adapter(options, clock=HastyClock())) as adapter, adapter.connect() as inbound:
        await platform.until(lambda: gateway.identified > 0)
        gateway.recommends = 2
        await platform.until(lambda: len(gateway.shards) == 2)
        platform.world.say("hello", platform.world.private())
        assert (await anext(inbound)).text == "hello"

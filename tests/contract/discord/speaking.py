"""Messages and options for the tests of the Discord adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock, SystemClock
from tests.fakes.discord.wire import TOKEN, DiscordPlatform
from tests.fakes.observing.records import MemoryRecords

COMMANDS = {"help": "what can be done", "new": "begin anew", "stop": "interrupt", "status": "what is going on"}
HOST = Speaker("1000", "Host")
GUEST = Speaker("1001", "Guest")


def new_adapter(
    options: DiscordOptions,
    marks: MemoryRecords | None = None,
    *,
    posts: MemoryRecords | None = None,
    token: str = TOKEN,
    clock: Clock | None = None,
) -> DiscordAdapter:
    kept = posts or MemoryRecords()
    return DiscordAdapter(
        token, clock=clock or SystemClock(), marks=marks or MemoryRecords(), posts=kept, options=options
    )


@asynccontextmanager
async def listening(adapter: DiscordAdapter, platform: DiscordPlatform) -> AsyncIterator[AsyncIterator[Inbound]]:
    """A connection that hears what is said from now on."""
    async with adapter.connect() as inbound:
        await platform.until(lambda: platform.gateway.connected)
        yield inbound


def general(platform: DiscordPlatform) -> Address:
    return Address("discord", platform.world.general)


def private(platform: DiscordPlatform) -> Address:
    return Address("discord", f"dm:{platform.world.private()}")


async def send(
    adapter: DiscordAdapter, text: str, *, to: Address, speaker: Speaker = HOST, nonce: str = "page.0"
) -> str:
    return await adapter.send(to, text, speaker=speaker, nonce=nonce, final=True)


async def edit(adapter: DiscordAdapter, message: str, text: str, *, to: Address, speaker: Speaker = HOST) -> None:
    await adapter.edit(to, message, text, speaker=speaker, nonce="page.0", final=False)

"""A Discord, and an adapter that is connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from tests.contract.discord.speaking import COMMANDS, new_adapter
from tests.fakes.discord.wire import DiscordPlatform, serving
from tests.fakes.observing.records import MemoryRecords


@pytest.fixture
def platform(anyio_backend: str) -> DiscordPlatform:
    return DiscordPlatform()


@pytest.fixture
def marks() -> MemoryRecords:
    return MemoryRecords()


@pytest.fixture
async def options(platform: DiscordPlatform) -> AsyncIterator[DiscordOptions]:
    async with serving(platform) as address:
        yield DiscordOptions(base_url=f"{address}/api/v10", commands=COMMANDS)


@pytest.fixture
async def adapter(options: DiscordOptions, marks: MemoryRecords) -> AsyncIterator[DiscordAdapter]:
    async with aclosing(new_adapter(options, marks)) as made:
        yield made

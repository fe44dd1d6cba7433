"""A Telegram, and an adapter that is connected to it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from tests.contract.stands.stand import COMMANDS
from tests.contract.telegram.speaking import new_adapter
from tests.fakes.telegram.platform import TelegramPlatform
from tests.fakes.telegram.server import serving

collect_ignore = [] if os.environ.get("PARLEY_MOCKPOST") else ["test_mockpost.py"]


@pytest.fixture
def platform(anyio_backend: str) -> TelegramPlatform:
    return TelegramPlatform()


@pytest.fixture
async def options(platform: TelegramPlatform) -> AsyncIterator[TelegramOptions]:
    async with serving(platform) as address:
        yield TelegramOptions(base_url=f"{address}/bot", commands=COMMANDS)


@pytest.fixture
async def adapter(options: TelegramOptions) -> AsyncIterator[TelegramAdapter]:
    async with aclosing(new_adapter(options)) as made:
        yield made

"""A Slack, and an adapter that talks to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from adapters.slack.adapter import SlackAdapter, SlackOptions
from tests.contract.slack.speaking import new_adapter
from tests.contract.stands.stand import COMMANDS
from tests.fakes.clock import FakeClock
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.slack.server import serving


@pytest.fixture
def clock() -> FakeClock:
    """The platform's time; what the adapter waits for is the machine's."""
    return FakeClock()


@pytest.fixture
def platform(anyio_backend: str, clock: FakeClock) -> SlackPlatform:
    return SlackPlatform(clock=clock)


@pytest.fixture
async def options(platform: SlackPlatform) -> AsyncIterator[SlackOptions]:
    async with serving(platform) as address:
        yield SlackOptions(base_url=f"{address}/api/", commands={name: name for name in COMMANDS})


@pytest.fixture
async def adapter(options: SlackOptions, clock: FakeClock) -> AsyncIterator[SlackAdapter]:
    async with aclosing(new_adapter(options, clock=clock)) as made:
        yield made

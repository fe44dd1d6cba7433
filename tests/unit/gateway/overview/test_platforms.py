"""The platforms as a process has seen them."""

from __future__ import annotations

import pytest

from gateway.overview.platforms import SeenPlatforms
from runtime.bus import Bus
from runtime.events.talk import AdapterConnected, AdapterFailed, AdapterRateLimited, MessageAdmitted, PageSent
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_a_platform_has_when_it_was_connected_and_what_went_through_it_last() -> None:
    clock = FakeClock()
    bus = Bus(clock)
    seen = SeenPlatforms(bus)
    assert seen.data() == []
    connected = clock.now().isoformat()
    bus.publish(AdapterConnected("telegram"))
    await clock.advance(60)
    bus.publish(MessageAdmitted("telegram", "telegram:1", "m", "message"))
    bus.publish(PageSent("s", "7", "1000.0", 0, "telegram"))
    bus.publish(AdapterRateLimited("7", "telegram:1:2", 0, 3.0))
    later = clock.now().isoformat()
    assert seen.data() == [
        {
            "name": "telegram",
            "connected_at": connected,
            "last_in_at": later,
            "last_out_at": later,
            "paused_at": later,
            "pauses": 1,
            "trouble": None,
        }
    ]


async def test_a_platform_that_refuses_us_says_why_until_it_is_connected() -> None:
    bus = Bus(FakeClock())
    seen = SeenPlatforms(bus)
    bus.publish(AdapterFailed("slack", "the token is refused"))
    assert [(one["trouble"], one["connected_at"]) for one in seen.data()] == [("the token is refused", None)]
    bus.publish(AdapterConnected("slack"))
    assert [one["trouble"] for one in seen.data()] == [None]

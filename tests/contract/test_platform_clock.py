"""How old a message is, is judged by its platform's clock: ours may be hours off, and may be set while we run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from adapters.platform_clock import clock_of
from gateway.inbound.late import LateMessages
from tests.contract.stands.kinds import stand_of
from tests.fakes.clock import WrongClock
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import TEXTS, Kept

pytestmark = pytest.mark.anyio

HOUR_S = 3600.0


@pytest.mark.parametrize("ahead_s", [1.1 * HOUR_S, -26 * HOUR_S])
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_a_live_message_is_not_late_and_one_from_before_the_connection_is(platform: str, ahead_s: float) -> None:
    wrong = WrongClock(ahead_s)
    async with stand_of(platform) as stand, stand.another(wrong) as adapter, adapter.connect() as inbound:
        late = LateMessages(MemoryRecords(), cast("Any", Kept()), clock_of(adapter, wrong), TEXTS, HOUR_S)
        for set_s in (0.0, 5 * HOUR_S):
            wrong.set_calendar(set_s)
            await stand.say("now", stand.private)
            said = await anext(inbound)
            assert not await late.takes(said)
            assert await late.takes(replace(said, sent_at=said.sent_at - timedelta(seconds=HOUR_S + 60)))

"""How fast what participants say is read."""

import pytest

from gateway.features.participants.door import FRAMES_AT_ONCE, FRAMES_PER_S, _Pace
from tests.fakes.clock import HastyClock


async def test_some_come_at_once_and_the_others_at_their_pace() -> None:
    clock = HastyClock()
    pace = _Pace(clock)
    for _ in range(int(FRAMES_AT_ONCE)):
        await pace.turn()
    assert sum(clock.pauses_s) == pytest.approx(0)
    for _ in range(100):
        await pace.turn()
    assert sum(clock.pauses_s) == pytest.approx(100 / FRAMES_PER_S)


async def test_who_was_silent_may_say_some_at_once_again_and_no_more() -> None:
    clock = HastyClock()
    pace = _Pace(clock)
    await clock.sleep_until(1000.0)
    clock.pauses_s.clear()
    for _ in range(int(FRAMES_AT_ONCE) + 100):
        await pace.turn()
    assert sum(clock.pauses_s) == pytest.approx(100 / FRAMES_PER_S)

"""The mirror of a token bucket."""

import math

import pytest

from adapters.capabilities import Budget, CallWindow
from adapters.pacing.bucket import BucketMirror
from adapters.pacing.constants import CLEAN_S, DOUBT_HOLDS_S, FLOOD_MARGIN_S
from runtime.core.errors import ConfigError
from tests.fakes.clock import FakeClock


async def test_the_cap_is_the_burst_less_the_calls_in_flight(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(1.0, 3), clock)
    mirror.take()
    await clock.advance(100)
    assert mirror.level() == pytest.approx(2.0)
    mirror.landed()
    assert mirror.level() == pytest.approx(2.0)
    await clock.advance(1)
    assert mirror.level() == pytest.approx(3.0)


async def test_a_bucket_of_one_waits_for_the_answer(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(2.0, 1), clock)
    mirror.take()
    assert mirror.next_token_at() == math.inf
    await clock.advance(1)
    mirror.landed()
    assert mirror.next_token_at() == pytest.approx(1.5)


async def test_a_flood_is_a_state_that_ends_by_itself(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(1.0, 3), clock)
    mirror.take()
    mirror.flooded(7.0)
    assert not mirror.can_take()
    assert mirror.next_token_at() == pytest.approx(7.0 + FLOOD_MARGIN_S)
    await clock.advance(7.0 + FLOOD_MARGIN_S)
    assert mirror.can_take()


async def test_a_call_without_an_answer_stays_in_flight_for_a_while(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(1.0, 1), clock)
    mirror.take()
    mirror.doubted()
    assert mirror.next_token_at() == pytest.approx(DOUBT_HOLDS_S)
    await clock.advance(DOUBT_HOLDS_S)
    assert mirror.in_flight == 0


async def test_a_flood_lowers_the_rate_to_what_accepted_calls_prove_and_calm_raises_it_again(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(1.0, 3), clock)
    for _ in range(103):
        mirror.take()
        mirror.landed()
        await clock.advance(1 / 0.9)
    mirror.take()
    mirror.flooded(3.0)
    lowered = mirror.rate_per_s
    assert 0.8 <= lowered <= 0.9
    await clock.advance(CLEAN_S)
    assert mirror.rate_per_s == pytest.approx(lowered / 0.97)
    await clock.advance(10 * CLEAN_S)
    assert mirror.rate_per_s == 1.0


async def test_one_flood_of_many_calls_lowers_the_rate_once(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(1.0, 3), clock)
    for _ in range(3):
        mirror.take()
    for _ in range(3):
        mirror.flooded(1.0)
    assert mirror.rate_per_s == pytest.approx(0.8)


async def test_a_window_counts_calls_until_its_length_has_passed_since_their_answers(clock: FakeClock) -> None:
    mirror = BucketMirror(Budget(10.0, 10, window=CallWindow(3, 60.0)), clock)
    for _ in range(3):
        mirror.take()
    assert not mirror.can_take()
    assert mirror.next_token_at() == math.inf
    await clock.advance(4)
    mirror.landed()
    await clock.advance(1)
    mirror.landed()
    mirror.doubted()
    assert mirror.next_token_at() == 64.0
    await clock.advance(58.9)
    assert not mirror.can_take()
    await clock.advance(0.1)
    assert mirror.can_take()
    mirror.take()
    assert mirror.next_token_at() == 65.0
    await clock.advance(1)
    assert mirror.left == 1
    await clock.advance(DOUBT_HOLDS_S)
    assert mirror.left == 2


async def test_nodes_share_a_window(clock: FakeClock) -> None:
    assert BucketMirror(Budget(10.0, 10, window=CallWindow(20, 60.0)), clock, share=1 / 3).left == 6


def test_a_budget_that_never_pays_for_a_call_is_refused(clock: FakeClock) -> None:
    with pytest.raises(ConfigError, match="burst"):
        BucketMirror(Budget(1.0, 0.5), clock)

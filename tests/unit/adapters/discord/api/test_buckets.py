"""Rate limits as headers tell them."""

from __future__ import annotations

import pytest

from adapters.discord.api.calls import MAX_KEPT, Buckets
from adapters.discord.limits import within
from tests.fakes.clock import FakeClock

USED_UP = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "2.5"}


def test_used_up_bucket_is_closed_until_it_is_reset() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP)
    assert buckets.wait_s("POST /x", "1") == 2.5
    assert buckets.wait_s("POST /x", "2") == 0


def test_bucket_with_something_left_is_open() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Remaining": "1"})
    buckets.learn("POST /x", "1", {})
    assert buckets.wait_s("POST /x", "1") == 0


def test_methods_that_name_the_same_bucket_are_counted_apart() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Bucket": "b"})
    buckets.learn("PATCH /x", "1", USED_UP | {"X-RateLimit-Bucket": "b", "X-RateLimit-Remaining": "3"})
    assert buckets.wait_s("POST /x", "1") == 2.5
    assert buckets.wait_s("PATCH /x", "1") == 0


def test_size_of_a_route_is_learned_from_the_first_call_of_a_window() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Remaining": "3", "X-RateLimit-Reset-After": "1.2"})
    assert buckets.size("POST /x") is None
    told = {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-RateLimit-Reset-After": "4.998"}
    buckets.learn("POST /x", "1", told)
    assert buckets.size("POST /x") == within(10, 5.0)


@pytest.mark.parametrize("headers", [{}, {"X-RateLimit-Limit": "many"}])
def test_headers_that_tell_nothing_change_nothing(headers: dict[str, str]) -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", headers)
    assert (buckets.wait_s("POST /x", "1"), buckets.size("POST /x")) == (0, None)


def test_whole_bot_waits() -> None:
    buckets = Buckets(FakeClock())
    buckets.close_all(4.0)
    assert buckets.wait_s("POST /anything", "9") == 4.0


@pytest.mark.anyio
async def test_wait_ends() -> None:
    clock = FakeClock()
    buckets = Buckets(clock)
    for n in range(MAX_KEPT + 1):
        buckets.close("POST /x", str(n), 1.0)
    await clock.advance(1.0)
    buckets.close("POST /x", "0", 5.0)
    assert [buckets.wait_s("POST /x", str(n)) for n in range(3)] == [5.0, 0.0, 0.0]

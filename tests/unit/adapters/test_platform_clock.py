"""The platform's calendar, by the dates of its answers, whatever ours says, and the pauses that it asks for."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

import pytest

from adapters.platform_clock import PlatformClock, asked_pause_s
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_our_calendar_counts_until_the_platform_answers_and_then_theirs_which_goes_on_by_itself() -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    assert clock.now() == ours.now()
    theirs = ours.now() - timedelta(hours=1)
    clock.hear(format_datetime(theirs, usegmt=True))
    await ours.advance(90)
    assert clock.now() == theirs.replace(microsecond=0) + timedelta(seconds=90)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_an_answer_without_a_date_changes_nothing(date: str | None) -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    clock.hear(date)
    assert clock.now() == ours.now()


def test_a_date_of_whole_seconds_leaves_a_calendar_that_is_right_as_exact_as_it_is() -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    clock.hear(format_datetime(ours.now() - timedelta(seconds=1), usegmt=True))
    assert clock.now() == ours.now()


@pytest.mark.parametrize(("told", "pause_s"), [(7, 7.0), ("7", 7.0), (0.25, 0.25), ("0", 0.0), (13_938, 13_938.0)])
def test_a_number_of_seconds_is_waited_for(told: object, pause_s: float) -> None:
    assert asked_pause_s(told, 60.0) == pause_s


@pytest.mark.parametrize(
    "told", [None, "", "Wed, 21 Oct 2026 07:28:00 GMT", "nan", float("inf"), "-5", -5, "soon", [7]]
)
def test_what_is_no_number_of_seconds_is_the_pause_of_those_who_say_nothing(told: object) -> None:
    assert asked_pause_s(told, 60.0) == 60.0

"""Times in English, times of the calendar, and waiting for what another task does."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import anyio
import pytest

from runtime.core.background import WakeSignal
from runtime.core.clock import until
from runtime.core.times import SetTimes, read_times, zone_named
from tests.fakes.clock import FakeClock

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
"""A Monday; it is 13:00 in Berlin."""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def timing(text: str, now: datetime = NOON, zone: ZoneInfo = BERLIN) -> SetTimes:
    found = read_times(text, now, zone)
    assert found is not None, text
    return found[0]


def runs(text: str, count: int, now: datetime, zone: ZoneInfo = BERLIN) -> list[str]:
    """The first times of a schedule made at `now`."""
    times = timing(text, now, zone)
    due = times.first(now, zone)
    found = [due]
    while len(found) < count and (following := times.next(found[-1], found[-1], zone)) is not None:
        found.append(following)
    return [at.strftime("%m-%d %H:%M") for at in found]


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("every weekday at 9 x", "0 9 * * 1-5"),
        ("weekdays at 9:05 x", "5 9 * * 1-5"),
        ("at 9 every weekday x", "0 9 * * 1-5"),
        ("every day at 9:30 x", "30 9 * * *"),
        ("daily at 9.30pm x", None),
        ("daily at 9:30 pm x", "30 21 * * *"),
        ("each day at 12am x", "0 0 * * *"),
        ("every day at 12 p.m. x", "0 12 * * *"),
        ("every day 9:30 x", "30 9 * * *"),
        ("Every Monday at 9am x", "0 9 * * 1"),
        ("every Tue and Thursday at 17:00 x", "0 17 * * 2,4"),
        ("every Monday, Wednesday and Sun at noon x", "0 12 * * 0,1,3"),
        ("on Mondays at 9 x", "0 9 * * 1"),
        ("at 9 on Mondays and Fridays x", "0 9 * * 1,5"),
        ("every weekend at midnight x", "0 0 * * 0,6"),
        ("every month on the 1st at 8 x", "0 8 1 * *"),
        ("every hour x", "0 * * * *"),
        ("0 9 * * 1-5 x", "0 9 * * 1-5"),
        ("cron: */10 * * * * x", "*/10 * * * *"),
        ("cron 0 9 * * MON-FRI x", "0 9 * * MON-FRI"),
    ],
)
def test_repeated_times_are_read_as_crontab(text: str, cron: str | None) -> None:
    found = read_times(text, NOON, BERLIN)
    assert (None if found is None else found[0].cron) == cron
    assert found is None or found[2] == "x"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("in 20 minutes x", "2026-11-23T12:20"),
        ("in half an hour x", "2026-11-23T12:30"),
        ("in an hour x", "2026-11-23T13:00"),
        ("in two days x", "2026-11-25T12:00"),
        ("in a week x", "2026-11-30T12:00"),
        ("tomorrow at 9 x", "2026-11-24T08:00"),
        ("at 9 tomorrow x", "2026-11-24T08:00"),
        ("today at 23:00 x", "2026-11-23T22:00"),
        ("today at 9 x", "2026-11-23T08:00"),
        ("at 9 x", "2026-11-24T08:00"),
        ("at 14 x", "2026-11-23T13:00"),
        ("Monday at 9 x", "2026-11-30T08:00"),
        ("next Friday at 5 p.m. x", "2026-11-27T16:00"),
        ("on 2026-12-24 at 18:00 x", "2026-12-24T17:00"),
        ("2026-12-24T18:00 x", "2026-12-24T17:00"),
        ("2026-12-24T18:00:00+02:00 x", "2026-12-24T16:00"),
        ("2026-12-24T18:00:00Z x", "2026-12-24T18:00"),
    ],
)
def test_single_times_are_those_of_the_zone(text: str, at: str) -> None:
    found = read_times(text, NOON, BERLIN)
    assert found is not None
    assert (found[0].at, found[2]) == (utc(at), "x")


def test_the_rest_is_the_text_and_the_words_of_the_times_stay_as_they_were() -> None:
    found = read_times("  Every  Monday at 9:  ask,\nhow it went ", NOON, BERLIN)
    assert found is not None
    assert found[1:] == ("Every Monday at 9", "ask,\nhow it went")
    assert read_times("in 20 minutes", NOON, BERLIN) == (SetTimes(at=utc("2026-11-23T12:20")), "in 20 minutes", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ask everybody",
        "every day x",
        "every Monday x",
        "every hour at 9 x",
        "every 2 days at 9 x",
        "every day at 25 x",
        "every day at 13pm x",
        "every day at 9:60 x",
        "every day at 9.30 x",
        "every 0 minutes x",
        "in 99999 weeks x",
        "2026-02-30 at 9 x",
        "0 0 31 2 * x",
        "0 25 * * * x",
        "0 9 * * x",
        "2 in 3 of us are ill",
        "at 9monkeys",
        "Monday x",
        "someday at 9 x",
    ],
)
def test_other_words_are_no_times(text: str) -> None:
    assert read_times(text, NOON, BERLIN) is None


def test_a_time_that_does_not_exist_comes_right_after_and_one_that_exists_twice_comes_once() -> None:
    assert runs("every day at 2:30 x", 3, utc("2026-03-28T12:00")) == ["03-29 01:00", "03-30 00:30", "03-31 00:30"]
    assert runs("every day at 2:30 x", 3, utc("2026-10-24T12:00")) == ["10-25 00:30", "10-26 01:30", "10-27 01:30"]
    assert runs("tomorrow at 2:30 x", 2, utc("2026-03-28T12:00")) == ["03-29 01:00"]
    assert runs("2026-10-25 at 2:30 x", 2, utc("2026-10-24T12:00")) == ["10-25 00:30"]
    assert runs("at 2:30 x", 2, utc("2026-10-25T00:30")) == ["10-26 01:30"]


def test_the_same_hour_of_the_day_stays_over_a_change_of_the_clocks() -> None:
    assert runs("every day at 9 x", 3, utc("2026-10-23T12:00")) == ["10-24 07:00", "10-25 08:00", "10-26 08:00"]
    away = ZoneInfo("America/New_York")
    assert runs("every day at 9 x", 2, utc("2026-10-24T14:00"), away) == ["10-25 13:00", "10-26 13:00"]


def test_times_that_passed_are_not_made_up_for() -> None:
    every = timing("every 20 minutes x")
    assert every.first(NOON, BERLIN) == utc("2026-11-23T12:20")
    assert every.next(utc("2026-11-23T12:20"), utc("2026-11-23T12:20"), BERLIN) == utc("2026-11-23T12:40")
    assert every.next(utc("2026-11-23T12:20"), utc("2026-11-23T18:05"), BERLIN) == utc("2026-11-23T18:20")
    daily = timing("every day at 9 x")
    assert daily.next(utc("2026-11-24T08:00"), utc("2026-11-29T20:00"), BERLIN) == utc("2026-11-30T08:00")
    assert timing("in 20 minutes x").next(utc("2026-11-23T12:20"), NOON, BERLIN) is None


def test_times_are_the_same_after_they_were_kept() -> None:
    for text in ("every day at 9 x", "every 20 minutes x", "tomorrow at 9 x"):
        assert SetTimes.read(timing(text).data()) == timing(text)


def test_zones_have_their_names_of_the_tz_database() -> None:
    assert zone_named("Europe/Berlin") == BERLIN
    assert [zone_named(name) for name in ("Berlin", "Europe", "../etc/passwd", "")] == [None] * 4


async def waiting(clock: FakeClock, seconds: float, over: anyio.Event) -> None:
    await until(clock, clock.now().timestamp() + seconds, at_most_s=seconds)
    over.set()


async def test_a_time_comes_when_the_calendar_says_so() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 100, over)
        await clock.advance(99)
        assert not over.is_set()
        await clock.advance(1)
        assert over.is_set()


async def test_a_time_comes_early_when_the_calendar_is_put_on() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 1000, over)
        await clock.advance(1)
        clock.set_calendar(86_400)
        await clock.advance(60)
        assert over.is_set()


async def test_a_time_does_not_come_later_when_the_calendar_is_put_back() -> None:
    clock, over = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(waiting, clock, 100, over)
        await clock.advance(50)
        clock.set_calendar(-86_400)
        await clock.advance(49)
        assert not over.is_set()
        await clock.advance(1)
        assert over.is_set()


async def test_a_signal_wakes_all_who_wait_and_nobody_who_comes_later() -> None:
    signal, woken = WakeSignal(), list[str]()

    async def wait(name: str) -> None:
        await signal.wait()
        woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "one")
        tasks.start_soon(wait, "two")
        await anyio.wait_all_tasks_blocked()
        signal.send()
        tasks.start_soon(wait, "late")
        await anyio.wait_all_tasks_blocked()
        assert sorted(woken) == ["one", "two"]
        tasks.cancel_scope.cancel()


async def test_who_is_cancelled_while_it_waits_leaves_the_others_waiting() -> None:
    signal, woken, gone = WakeSignal(), list[str](), anyio.CancelScope()

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            await signal.wait()
            woken.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "gone", gone)
        tasks.start_soon(wait, "there", anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        gone.cancel()
        await anyio.wait_all_tasks_blocked()
        signal.send()
    assert woken == ["there"]

"""Runs of schedules: each has one end, whatever dies meanwhile."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from gateway.features.schedules.redis import ScheduleRun, kept_key, run_of
from gateway.features.schedules.schedules import Runs
from gateway.features.schedules.settings import ScheduleSettings
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import InboxEvent
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.memory.schedule_runs import MemoryRuns
from tests.fakes.sleepers import Sleepers
from tests.unit.gateway.features.schedules.test_schedules import Desk as Conversation
from tests.unit.runtime.sessions.programs import DOES, MAIN, agent, program, python

KEY = f"{ADDRESS.key} schedule.1"


def worker() -> Program:
    """Does what it is told: fails, asks, takes its time, or answers."""
    code = f"""{DOES}
async def Do(text):
    if text == "fail":
        raise ValueError("no such cake")
    if text == "sleep":
        await Sleep(3000)
    await Say("user", "done: " + text)
"""
    return program(agent("Worker", MAIN, python("Listen"), python("Do", "text"), code=code))


async def of(sleepers: Sleepers, key: str = KEY) -> list[tuple[str, str]]:
    return [(run.status, run.why) for run in await sleepers.runs.of(key)]


async def rang(sleepers: Sleepers, count: int, *, pass_s: float = 300) -> list[tuple[str, str]]:
    """What has become of the runs once so many have ended."""
    runs = sleepers.runs

    def ended() -> bool:
        return sum(run.over for run in runs._kept.get(KEY, {}).values()) >= count

    while not await sleepers.live(ended, pass_s=pass_s):
        pass
    return await of(sleepers)


async def test_a_run_that_is_answered_says_so_with_its_session_and_how_long_it_took(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(worker(), sandbox)
    await sleepers.post("1", "in 10 minutes hello", "schedule")
    assert await rang(sleepers, 1) == [("answered", "")]
    (run,) = await sleepers.runs.of(KEY)
    assert run.seq > 0
    assert run.ended_s is not None
    assert run.ended_s >= run.at_s
    assert "done: hello" in sleepers.chat


async def test_a_run_whose_work_waits_for_a_time_ends_with_it(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(worker(), sandbox)
    await sleepers.post("1", "in 10 minutes sleep", "schedule")
    assert await rang(sleepers, 1) == [("answered", "")]


async def test_a_failure_that_nobody_catches_is_the_end_of_the_run(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(worker(), sandbox)
    await sleepers.post("1", "in 10 minutes fail", "schedule")
    assert await rang(sleepers, 1) == [("failed", "ValueError")]
    (run,) = await sleepers.runs.of(KEY)
    facts = [fact async for fact in sleepers.store.read_session(SessionId(run.session))]
    (failed,) = [fact for fact in facts if fact.seq == run.seq]
    assert failed.kind == "ret"
    assert failed.data["exc"] == ["ValueError", "no such cake"]


async def test_three_failures_in_a_row_are_told_once(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(worker(), sandbox)
    await sleepers.post("1", "every 10 minutes fail", "schedule")
    assert await rang(sleepers, 4) == [("failed", "ValueError")] * 4
    assert [failing.schedule for failing in sleepers.failing] == [KEY]
    assert sleepers.failing[0].run.id.endswith("00:30:00+00:00")


async def test_crashes_anywhere_leave_a_run_with_one_end(sandbox: MontySandbox) -> None:
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        sleepers = Sleepers(worker(), sandbox, World((), crashes=[point]))
        await sleepers.post("1", "in 10 minutes fail", "schedule")
        assert await rang(sleepers, 1) == [("failed", "ValueError")], f"killed at point {point}"
        while not await sleepers.live(lambda: True):
            pass
        deaths += sleepers.world.deaths
        (run,) = await sleepers.runs.of(KEY)
        facts = [fact async for fact in sleepers.store.read_session(SessionId(run.session))]
        assert [fact.kind for fact in facts].count("run_over") == 1, f"killed at point {point}"
    assert deaths > 20


async def test_a_run_that_goes_on_has_the_next_one_skipped_where_the_settings_say_so(sandbox: MontySandbox) -> None:
    for overlap, expected in (("queue", ["working", "working"]), ("skip", ["working", "skipped"])):
        limits = ScheduleSettings(overlap=overlap)
        sleepers = Sleepers(worker(), sandbox, limits=limits)
        await sleepers.post("1", "every 20 minutes sleep", "schedule")
        kept = sleepers.runs._kept
        assert await sleepers.live(lambda kept=kept: len(kept.get(KEY, {})) == 2, pass_s=300)  # type: ignore[misc]
        assert await sleepers.live(lambda: True)
        assert [status for status, _ in await of(sleepers)] == expected
    assert await rang(sleepers, 3) == [("answered", ""), ("skipped", "overlap"), ("skipped", "overlap")]


class Desk:
    """Runs on a store in memory."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryRuns()
        self.told: list[str] = []
        self.runs = Runs(self.store, self.clock, self._tell)

    async def _tell(self, failing: object) -> None:
        self.told.append(failing.run.id)  # type: ignore[attr-defined]

    def event(self) -> InboxEvent:
        due = self.clock.now()
        return InboxEvent(
            f"schedule:standup.{due.isoformat()}", ADDRESS, "schedule:standup", "standup", "x", due, program="test"
        )

    async def ends(self, status: str) -> None:
        event = self.event()
        if await self.runs.admit(event, ScheduleSettings()):
            await self.runs.ended(event.id, ADDRESS, status)  # type: ignore[arg-type]
        await self.clock.advance(3600)

    async def statuses(self) -> list[tuple[str, str]]:
        return [(run.status, run.why) for run in await self.store.of("schedule:standup")]


async def test_two_nodes_that_both_ring_over_a_change_of_the_clocks_have_one_run_for_each_time() -> None:
    for start, expected in (
        ("2026-03-29T00:10", ["03-29 01:00"]),
        ("2026-10-25T00:10", ["10-25 00:30"]),  # and not again at 01:30, when it is 2:30 once more
    ):
        desk = await Conversation.opened(start, timezone="Europe/Berlin", missed="skip")
        other = desk.node()
        await desk.says("every day at 2:30 x")
        await other.watch(desk.lease)
        assert [due for due, _, _ in await desk.passes(2 * 3600, desk.schedules, other)] == expected
        runs = await desk.runs.of(f"{ADDRESS.key} schedule.1")
        assert [f"{datetime.fromtimestamp(run.due_s, UTC):%m-%d %H:%M} {run.status}" for run in runs] == [
            f"{due} waiting" for due in expected
        ]


async def test_a_missed_time_is_made_up_for_or_skipped() -> None:
    for missed, expected in (("once", ("waiting", "")), ("skip", ("skipped", "missed"))):
        desk = Desk()
        event = desk.event()
        await desk.clock.advance(timedelta(minutes=5).total_seconds())
        assert await desk.runs.admit(event, ScheduleSettings(missed=missed)) is (missed == "once")
        assert await desk.statuses() == [expected]


async def test_what_was_decided_about_a_time_stays_so_when_it_is_asked_again() -> None:
    desk = Desk()
    event = desk.event()
    assert await desk.runs.admit(event, ScheduleSettings(missed="skip", overlap="skip"))
    await desk.clock.advance(3600)  # its node died, and the next one rings again
    assert await desk.runs.admit(event, ScheduleSettings(missed="skip", overlap="skip"))
    assert await desk.statuses() == [("waiting", "")]


async def test_a_paused_schedule_skips_its_times_until_it_goes_on() -> None:
    desk = Desk()
    await desk.store.pause("schedule:standup", paused=True)
    await desk.ends("answered")
    await desk.store.pause("schedule:standup", paused=False)
    await desk.ends("answered")
    assert await desk.statuses() == [("skipped", "paused"), ("answered", "")]


async def test_a_schedule_that_people_pause_skips_its_times_until_they_resume_it() -> None:
    desk = await Conversation.opened("2026-11-23T12:00")
    await desk.says("every hour look")
    await desk.says("every day at 20 sleep")
    assert await desk.says("pause 1") == (
        "Schedule 1 is paused. /schedule resume 1 continues it."
    )  # fmt: skip
    assert (await desk.says("list")).splitlines()[1:] == [
        "- 1: every hour · paused · “look” · Ada",
        "- 2: every day at 20 · next 2026-11-23 20:00 · “sleep” · Ada",
    ]
    assert await desk.passes(2 * 3600 + 60) == []
    assert await desk.says("resume #1") == "Schedule 1 continues. Next: 2026-11-23 15:00 (UTC)."
    assert [due for due, _, _ in await desk.passes(3600)] == ["11-23 15:00"]
    runs = await desk.runs.of(f"{ADDRESS.key} schedule.1")
    assert [(run.status, run.why) for run in runs] == [("skipped", "paused"), ("skipped", "paused"), ("waiting", "")]


async def test_a_schedule_that_is_removed_leaves_no_pause_behind() -> None:
    desk = await Conversation.opened("2026-11-23T12:00")
    await desk.says("every hour look")
    await desk.says("pause 1")
    await desk.says("remove 1")
    assert not await desk.runs.is_paused(f"{ADDRESS.key} schedule.1")


class Jumping:
    """A node's clock whose calendar somebody sets, beside the one that measures time."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.ahead_s = 0.0
        self.monotonic = clock.monotonic
        self.sleep_until = clock.sleep_until

    def now(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self.ahead_s)


@pytest.mark.parametrize("seed", range(3))
async def test_two_nodes_whose_calendars_jump_over_a_change_of_the_clocks_say_each_time_once(seed: int) -> None:
    chance = random.Random(seed)
    start = chance.choice(["2026-03-28T22:30", "2026-10-24T22:30"])
    desk = await Conversation.opened(start, timezone="Europe/Berlin")
    clocks = [Jumping(desk.clock), Jumping(desk.clock)]
    nodes = [desk.node(clock) for clock in clocks]
    await desk.says("every hour x")
    for node in nodes:
        await node.watch(desk.lease)
    for _ in range(12):
        chance.choice(clocks).ahead_s = chance.choice((-3000.0, -600.0, 0.0, 600.0, 3000.0))
        await desk.passes(chance.choice((600.0, 1800.0, 3000.0)), *nodes)
    for clock in clocks:
        clock.ahead_s = 0.0
    come = [due for due, _, _ in await desk.passes(2 * 3600, *nodes)]
    first, now = datetime.fromisoformat(f"{start}+00:00").replace(minute=0), desk.clock.now()
    hours = (first + timedelta(hours=number) for number in range(1, 100))
    assert come == [f"{hour:%m-%d %H:%M}" for hour in hours if hour <= now]


async def test_a_success_between_failures_begins_the_count_again_and_a_skipped_time_does_not() -> None:
    desk = Desk()
    for status in ("failed", "failed", "answered", "failed", "failed"):
        await desk.ends(status)
    await desk.store.pause("schedule:standup", paused=True)
    await desk.ends("failed")
    await desk.store.pause("schedule:standup", paused=False)
    assert not desk.told
    await desk.ends("failed")
    await desk.ends("failed")
    assert len(desk.told) == 1


async def test_a_run_without_an_end_keeps_the_next_one_away_for_a_day_at_most() -> None:
    desk = Desk()
    assert await desk.runs.admit(desk.event(), ScheduleSettings(overlap="skip"))
    await desk.clock.advance(3600)
    assert not await desk.runs.admit(desk.event(), ScheduleSettings(overlap="skip"))
    await desk.clock.advance(86_400)
    assert await desk.runs.admit(desk.event(), ScheduleSettings(overlap="skip"))


def test_an_event_names_its_schedule_and_its_time_and_others_name_none() -> None:
    of_settings = run_of("schedule:stand.up.2026-11-23T08:00:00.250000+00:00", ADDRESS)
    assert of_settings is not None
    assert (of_settings.schedule, of_settings.due.microsecond) == ("schedule:stand.up", 250_000)
    event = InboxEvent("telegram.17", ADDRESS, "test:ada", "Ada", "", of_settings.due)
    of_people = run_of("schedule.telegram.17.2026-11-23T08:00:00+00:00", ADDRESS)
    assert of_people is not None
    assert of_people.schedule == kept_key(event)
    assert run_of("telegram.17", ADDRESS) is None
    assert run_of("telegram.17.2026-11-23T08:00:00+00:00", ADDRESS) is None
    assert run_of("schedule:x.2026-99-99T08:00:00", ADDRESS) is None
    assert not ScheduleRun("a", 0.0, "working", 0.0).over

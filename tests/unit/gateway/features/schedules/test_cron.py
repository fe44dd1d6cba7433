"""Schedules of the settings: read with their lines, checked at the start, and said to programs at their times. All
schedules with their runs, and a run that is wanted now.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.features.schedules.cron import (
    CronEntry,
    Schedule,
    all_schedules,
    begin_run,
    build_schedules,
    check_schedules,
)
from gateway.features.schedules.redis import ScheduleRun
from gateway.features.schedules.schedules import Runs
from gateway.inbound.routing import Routes, build_routes
from gateway.jobs.runner import JobRunner
from gateway.settings.execution import read_routes
from gateway.settings.tree import Settings, changed, load
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.schedule_runs import MemoryRuns
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.features.schedules.test_schedules import Desk

PLATFORMS = ("web", "telegram", "slack")
STANDUP = """
[[cron]]
name = "standup"
schedule = "0 9 * * 1-5"
timezone = "Europe/Berlin"
platform = "slack"
channel = "T1:C1"
text = "What are you at?"
"""
REPORT = """
[[cron]]
name = "report"
schedule = "*/10 * * * *"
platform = "telegram"
chat = -42
thread = 7
program = "a"
"""


def read(tmp_path: Path, toml: str) -> Settings:
    (tmp_path / "parley.toml").write_text(toml)
    return load(environment={}, directory=tmp_path)


def routes(tmp_path: Path, *rows: dict[str, Any]) -> Routes:
    (tmp_path / "a.pb").write_text("# A\n")
    (tmp_path / "b.pb").write_text("# B\n")
    return build_routes(
        read_routes(list(rows), place="parley.toml", directory=tmp_path), platforms=PLATFORMS, reserved=()
    )


def schedules(tmp_path: Path, toml: str, *rows: dict[str, Any]) -> list[Schedule]:
    table = routes(tmp_path, *(rows or ({"program": "a.pb"}, {"program": "b.pb", "choose": True})))
    own = read(tmp_path, toml)
    check_schedules(own, table, dict.fromkeys(PLATFORMS, True))
    return build_schedules(own.cron, table)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_text_is_said_to_the_program_that_serves_the_place(tmp_path: Path) -> None:
    (standup,) = schedules(
        tmp_path,
        STANDUP + 'workspace = "T1"\n',
        {"program": "b.pb", "platform": "slack", "workspace": "T1"},
        {"program": "a.pb"},
    )
    event = standup.event(at("2026-11-23T08:00"))
    assert (event.kind, event.text, event.program) == ("message", "What are you at?", "b")
    assert event.address == Address("slack", "T1:C1")
    assert (event.person_id, event.person_name, event.private) == ("schedule:standup", "standup", False)
    assert event.id == "schedule:standup.2026-11-23T08:00:00+00:00"


def test_a_schedule_with_a_program_begins_it(tmp_path: Path) -> None:
    (report,) = schedules(tmp_path, REPORT)
    event = report.event(at("2026-11-23T08:00"))
    assert (event.kind, event.program, event.address) == ("new", "a", Address("telegram", "-42", "7"))


def test_times_are_those_of_the_time_zone_also_when_its_clocks_change(tmp_path: Path) -> None:
    (standup,) = schedules(tmp_path, STANDUP)
    assert standup.own.next_run(at("2026-10-23T07:00")) == at("2026-10-26T08:00")
    assert standup.own.next_run(at("2026-10-26T08:00")) == at("2026-10-27T08:00")
    (night,) = schedules(tmp_path, STANDUP.replace("0 9 * * 1-5", "30 2 * * *"))
    times = [at("2026-03-28T12:00")]
    for _ in range(3):
        times.append(night.own.next_run(times[-1]))
    assert times[1:] == [at("2026-03-29T01:00"), at("2026-03-30T00:30"), at("2026-03-31T00:30")]
    assert night.own.next_run(at("2026-10-25T00:30")) == at("2026-10-26T01:30")


def test_what_becomes_of_times_that_cannot_be_kept_is_a_setting_of_each_schedule(tmp_path: Path) -> None:
    standup, report = schedules(tmp_path, STANDUP + 'missed = "skip"\noverlap = "skip"\n' + REPORT)
    assert [(one.own.missed, one.own.overlap) for one in (standup, report)] == [("skip", "skip"), ("once", "queue")]


def test_schedules_are_listed_with_their_next_time(tmp_path: Path) -> None:
    standup, report = schedules(tmp_path, STANDUP + REPORT)
    now = at("2026-11-21T12:03")
    assert standup.line(now) == (
        'standup: 0 9 * * 1-5 (Europe/Berlin), next 2026-11-23 09:00, says "What are you at?" to a in slack:T1:C1'
    )
    assert report.line(now) == ("report: */10 * * * * (UTC), next 2026-11-21 12:10, begins a in telegram:-42#7")
    assert changed(read(tmp_path, STANDUP + REPORT))["cron"] == "2 tables"


@pytest.mark.parametrize(
    ("change", "line", "complaint"),
    [
        (("0 9 * * 1-5", "0 9 * *"), 4, r'schedule is "0 9 \* \*": wrong number of fields; expected minute, hour'),
        (("0 9 * * 1-5", "0 25 * * *"), 4, r'schedule is "0 25 \* \* \*": bad hour; expected'),
        (("0 9 * * 1-5", "0 0 31 2 *"), 4, r'schedule is "0 0 31 2 \*": bad day-of-month'),
        (("Europe/Berlin", "Europe/Berlim"), 5, r'timezone is "Europe/Berlim": no such time zone; expected'),
        (("channel", "chanel"), 7, r'there is no key "chanel"; did you mean "channel"\?'),
        (('name = "standup"\n', ""), 2, r"name is missing"),
        (('channel = "T1:C1"', ""), 2, r"it names no place; write chat"),
        (('text = "What are you at?"', ""), 2, r"it does nothing; write text"),
        (('text = "What', 'missed = "twice"\ntext = "What'), 8, r'missed is "twice": input should be'),
        (('"standup"', '"stand up"'), 3, r'name is "stand up"'),
        (('"slack"', '"slak"'), 2, r'there is no platform "slak"; did you mean "slack"\?'),
        (('text = "What', 'program = "c"\ntext = "What'), 2, r'there is no program "c"'),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=rf"parley\.toml:{line}: \[\[cron\]\] 1: {complaint}"):
        schedules(tmp_path, STANDUP.replace(*change))


def test_the_line_is_that_of_the_table_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"parley\.toml:12: \[\[cron\]\] 2: schedule is"):
        schedules(tmp_path, STANDUP + REPORT.replace("*/10", "x"))
    with pytest.raises(ConfigError, match=r'\[\[cron\]\] 2: "standup" is the name of another schedule'):
        schedules(tmp_path, STANDUP + STANDUP)
    with pytest.raises(ConfigError, match=r"no route serves slack:T1:C1; name a program"):
        schedules(tmp_path, STANDUP, {"program": "a.pb", "platform": "telegram"})
    with pytest.raises(ConfigError, match=r"environment: cron must be a list of tables"):
        load(environment={"PARLEY_CRON": "x"}, directory=tmp_path)


async def test_several_nodes_say_it_once_and_make_up_for_one_missed_time(tmp_path: Path) -> None:
    clock, done = FakeClock(), MemoryRecords()
    leases = MemoryLeaseStore(clock)
    inbox, runs = MemoryInbox(leases), MemoryRuns()
    (report,) = schedules(tmp_path, REPORT)
    shard = shard_of(report.own.address.key)

    async def times() -> list[str]:
        return [entry.event.sent_at.strftime("%H:%M") for entry in await inbox.read({shard: "0"}, wait_s=0)]

    async def nodes(seconds: float) -> None:
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b"):
                job = report.job(inbox, Runs(runs, clock))
                tasks.start_soon(JobRunner([job], leases, done, LeaseHolder(name), clock, Bus(clock)).run)
            await clock.advance(seconds)
            tasks.cancel_scope.cancel()

    await nodes(1500)
    assert await times() == ["00:10", "00:20"]
    await clock.advance(timedelta(hours=5).total_seconds())
    await nodes(1)
    assert await times() == ["00:10", "00:20", "00:30"]
    await nodes(600)
    assert await times() == ["00:10", "00:20", "00:30", "05:30"]


async def listed(desk: Desk, runs: MemoryRuns, tmp_path: Path) -> list[CronEntry]:
    return await all_schedules(read(tmp_path, STANDUP).cron, desk.store, runs, at("2026-11-23T12:00"))


async def test_schedules_of_the_settings_and_of_conversations_are_listed_with_their_runs(tmp_path: Path) -> None:
    desk, runs = await Desk.opened(), MemoryRuns()
    await desk.says("every hour look")
    await runs.pause("schedule:standup", paused=True)
    await runs.begin(f"{ADDRESS.key} schedule.1", ScheduleRun("r", 1.0, "answered", 1.0, 2.0))
    standup, hourly = await listed(desk, runs, tmp_path)
    assert (standup.name, standup.when, standup.paused) == ("standup", "0 9 * * 1-5 (Europe/Berlin)", True)
    assert standup.next_at == at("2026-11-24T08:00")
    assert (hourly.name, hourly.when, hourly.text) == ("test:1/1", "every hour", "look")
    assert [run.status for run in hourly.runs] == ["answered"]


async def test_a_run_that_is_wanted_now_is_a_message_of_whoever_made_the_schedule(tmp_path: Path) -> None:
    desk, runs = await Desk.opened(), MemoryRuns()
    await desk.says("every hour look")
    standup, hourly = await listed(desk, runs, tmp_path)
    assert standup.event(desk.clock.now()) is None
    event = hourly.event(desk.clock.now())
    assert event is not None
    assert await begin_run(hourly, event, runs, desk.inbox)
    assert not await begin_run(hourly, event, runs, desk.inbox)
    (entry,) = await desk.inbox.read({shard_of(ADDRESS.key): "0"}, wait_s=0)
    assert (entry.event.kind, entry.event.text, entry.event.person_name) == ("message", "look", "Ada")
    (_, again) = await listed(desk, runs, tmp_path)
    assert [run.status for run in again.runs] == ["waiting"]

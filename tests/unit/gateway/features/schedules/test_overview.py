"""All schedules with their runs, and a run that is wanted now."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.features.schedules.cron import CronEntry, all_schedules, begin_run
from gateway.features.schedules.store import ScheduleRun
from runtime.stores.inbox import shard_of
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.schedule_runs import MemoryRuns
from tests.unit.gateway.features.schedules.test_cron import STANDUP, at, read
from tests.unit.gateway.features.schedules.test_schedules import Desk

pytestmark = pytest.mark.anyio


async def listed(desk: Desk, runs: MemoryRuns, tmp_path: Path) -> list[CronEntry]:
    return await all_schedules(read(tmp_path, STANDUP).cron, desk.store, runs, at("2026-11-23T12:00"))


async def test_schedules_of_the_settings_and_of_conversations_are_listed_with_their_runs(tmp_path: Path) -> None:
    desk, runs = Desk(), MemoryRuns()
    await desk.open()
    await desk.says("every hour look")
    await runs.pause("schedule:standup", paused=True)
    await runs.begin(f"{ADDRESS.key} schedule.1", ScheduleRun("r", 1.0, "answered", 1.0, 2.0))
    standup, hourly = await listed(desk, runs, tmp_path)
    assert (standup.name, standup.when, standup.paused) == ("standup", "0 9 * * 1-5 (Europe/Berlin)", True)
    assert standup.next_at == at("2026-11-24T08:00")
    assert (hourly.name, hourly.when, hourly.text) == ("test:1/1", "every hour", "look")
    assert [run.status for run in hourly.runs] == ["answered"]


async def test_a_run_that_is_wanted_now_is_a_message_of_whoever_made_the_schedule(tmp_path: Path) -> None:
    desk, runs = Desk(), MemoryRuns()
    await desk.open()
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

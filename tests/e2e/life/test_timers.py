"""Times that programs wait for, and schedules, with a gateway that is killed meanwhile: everything comes once."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from runtime.core.clock import SystemClock, until
from runtime.storage.embedded.data_directory import socket_path
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.records import RedisRecords
from tests.e2e.gateway_process import Gateway, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = Path(__file__).parents[1] / "programs" / "sleeper.pb"
RESTLESS = {"PARLEY_NODES__IDLE_S": "0.2", "PARLEY_LOGS__LEVEL": "debug"}


async def asleep(made: Gateway, seconds: int) -> float:
    """Have the program sleep, until its session has left memory; when it is to wake, in seconds since the epoch."""
    async with made.page() as page:
        room = Room(page)
        await room.join()
        await room.say("hello")
        await room.until("I am here.")
        await room.say(str(seconds))
        await room.until("I am here.", "good night")
    (rested,) = await made.prints(r'"until": "([^"]+)".*session\.rested')
    return datetime.fromisoformat(rested[1]).timestamp()


async def test_a_sleep_outlasts_a_kill_and_ends_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM, RESTLESS) as made:
        await asleep(made, 8)
        made.kill()
        await made.gone()
        await made.start()
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "good night", "good morning")
            await room.say("and now?")
            await room.until("I am here.", "good night", "good morning", "Ada: and now?")


async def test_a_time_that_passed_while_the_gateway_was_dead_comes_at_its_start(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM, RESTLESS) as made:
        due_s = await asleep(made, 6)
        made.kill()
        await made.gone()
        await until(SystemClock(), due_s)
        await made.start()
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "good night", "good morning")


async def test_a_kill_before_the_session_left_memory_loses_no_sleep(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM) as made:
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hello")
            await room.until("I am here.")
            await room.say("2")
            await room.until("I am here.", "good night")
        made.kill()
        await made.gone()
        await made.start()
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "good night", "good morning")


async def test_a_schedule_is_said_once_also_when_its_time_passed_while_the_gateway_was_dead(tmp_path: Path) -> None:
    (tmp_path / "parley.toml").write_text(
        '[[cron]]\nname = "bell"\nschedule = "0 0 * * *"\nplatform = "web"\nchat = "lobby"\ntext = "ding"\n'
    )
    async with gateway(tmp_path, PROGRAM) as made:
        await made.prints(r"schedules +bell: 0 0 \* \* \* \(UTC\), next .* says \"ding\" to sleeper in web:lobby")
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hello")
            await room.until("I am here.")
        made.kill()
        await made.gone()
        await _long_ago(tmp_path)
        for _ in range(2):
            await made.start()
            async with made.page() as page:
                room = Room(page)
                await room.join()
                await room.until("I am here.", "bell: ding")
            made.kill()
            await made.gone()


async def test_a_schedule_made_in_the_chat_is_said_once_after_a_kill(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM) as made:
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hello")
            await room.until("I am here.")
            due = (SystemClock().now() + timedelta(seconds=20)).isoformat(timespec="seconds")
            await room.say(f"/schedule {due} ding")
            await room.until_some(f"🗓 Schedule 1: {due}. Next: {due[:10]} {due[11:16]} (UTC).")
        made.kill()
        await made.gone()
        await made.start()
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "Ada: ding")
        made.kill()
        await made.gone()
        await made.start()
        async with made.page() as page:
            room = Room(page)
            await room.join()
            await room.say("and now?")
            await room.until("I am here.", "Ada: ding", "Ada: and now?")


async def _long_ago(data_dir: Path) -> None:
    """Let the schedule have been met long ago, without a gateway since."""
    async with EmbeddedValkey(data_dir), open_connection(socket_path(data_dir)) as connection:
        jobs = RedisRecords(connection, "jobs")
        (name,) = [name for name in await jobs.all() if name.startswith("cron.bell.")]
        await jobs.put(name, "2026-01-01T12:00:00+00:00")


async def test_check_lists_schedules_and_says_what_is_wrong(tmp_path: Path) -> None:
    table = '[[cron]]\nname = "bell"\nschedule = "0 9 * * 1-5"\nplatform = "web"\nchat = "lobby"\ntext = "ding"\n'
    (tmp_path / "parley.toml").write_text(table)
    _, output, errors = await parley(tmp_path, "check")
    assert "✓ schedules bell: 0 9 * * 1-5 (UTC), next" in output + errors
    (tmp_path / "parley.toml").write_text(table.replace("9 *", "nine *"))
    code, output, errors = await parley(tmp_path, "run")
    assert code == 2
    assert 'parley.toml:3: [[cron]] 1: schedule is "0 nine * * 1-5": bad hour; expected minute' in output + errors

"""Times on several nodes: when a node dies whose sessions sleep, another wakes them; a schedule is said once."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from gateway.features.schedules.cron import Schedule
from gateway.features.schedules.redis import RedisRuns
from gateway.features.schedules.schedules import Runs
from gateway.features.schedules.settings import CronSettings
from gateway.jobs.runner import JOBS_TABLE
from runtime.core.clock import SystemClock
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.records import RedisRecords
from tests.e2e.gateway_process import Room
from tests.e2e.several_nodes import Nodes, one_valkey, rooms_of, several_nodes

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = Path(__file__).parents[1] / "programs" / "sleeper.pb"
NIGHT_S = 15
"""So long that everybody sleeps before it is over, however slow the machine."""


def _asleep(nodes: Nodes, room: str) -> bool:
    """Whether a room's session has left memory until a time."""
    rested = [one for name in nodes.by_name for one in nodes.logged(name, "session.rested", conversation=f"web:{room}")]
    return any("until" in one for one in rested)


async def test_sessions_that_sleep_are_woken_once_when_the_node_that_put_them_to_sleep_is_dead(tmp_path: Path) -> None:
    async with (
        one_valkey() as url,
        several_nodes(tmp_path, PROGRAM, url, ["a", "b"], {"PARLEY_NODES__IDLE_S": "0.1"}) as nodes,
        AsyncExitStack() as stack,
    ):
        await nodes.balanced("a", "b")
        rooms = await rooms_of(nodes, nodes["a"], stack, 2, "I am here.")
        for room in (*rooms["a"], *rooms["b"]):
            await room.say(str(NIGHT_S))
        for room in (*rooms["a"], *rooms["b"]):
            await nodes.until(partial(_asleep, nodes, room.name))
        await nodes.end("b")
        for room in (*rooms["a"], *rooms["b"]):
            await room.until("I am here.", "good night", "good morning")
        for room in rooms["b"]:
            assert nodes.logged("a", "session.restored", conversation=f"web:{room.name}")


async def test_a_schedule_is_said_by_one_of_several_nodes(tmp_path: Path) -> None:
    own = CronSettings(where="", name="bell", schedule="0 0 1 * *", platform="web", chat="lobby", text="ding")
    bell = Schedule(own, "sleeper")
    table = '[[cron]]\nname = "bell"\nschedule = "0 0 1 * *"\nplatform = "web"\nchat = "lobby"\ntext = "ding"\n'
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "parley.toml").write_text(table)
    async with one_valkey() as url:
        async with open_connection(url) as connection:
            job = bell.job(RedisInbox(connection), Runs(RedisRuns(connection), SystemClock()))
            await RedisRecords(connection, JOBS_TABLE).put(job.name, "2026-01-15T00:00:00+00:00")
        async with several_nodes(tmp_path, PROGRAM, url, ["a", "b"], {}) as nodes, nodes["a"].page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.")
            await room.say("hi")
            await room.until("I am here.", "Ada: hi")
            heard = [one for name in nodes.by_name for one in nodes.logged(name, "session.started")]
            assert len(heard) == 1
        async with open_connection(url) as connection:
            (run,) = await RedisRuns(connection).of("schedule:bell")
            assert run.status == "answered"

"""Old sessions go where the settings say, and a plan says so before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.jobs.retention import RetentionResult, RetentionRules, SessionErasure
from gateway.settings.operation import RetentionSettings
from runtime.bus import Bus
from runtime.core.address import TASK_PLATFORM, Address
from runtime.core.errors import ArchiveUnavailable
from runtime.core.ids import SessionId
from runtime.events.happening import BusEvent
from runtime.storage.archive.sqlite import SqliteArchive, open_sqlite
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.records import RedisPlaceStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.tape import Fact, TapeBranch, session_tape
from tests.contract.storage_samples import shard_lease
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


class House:
    """A database, an archive, and rules; the time is `days` after the first session began."""

    def __init__(self, connection: RedisConnection, archive: SqliteArchive) -> None:
        self.connection = connection
        self.archive = archive
        self.clock = FakeClock()
        self.store = RedisSessionStore(connection, archive)
        self.catalog = RedisSessionCatalog(connection, archive)

    async def session(
        self, name: str, *, day: int, awake: bool = False, of: str | None = None, task: bool | None = None
    ) -> None:
        """A session whose last fact is of that day; `of`: it replaces another from its first fact on; `task`: it is
        one, which has ended or not."""
        address = Address("telegram" if task is None else TASK_PLATFORM, of or name)
        lease = await shard_lease(RedisLeaseStore(self.connection), shard=shard_of(address.key))
        parent = None if of is None else TapeBranch(SessionId(of), 1)
        seq = 1 if of is None else 2
        at = self.clock.now() + timedelta(days=day)
        fact = Fact(session_tape(SessionId(name)), seq, "noted", at, {"text": name})
        begin = SessionRecord(SessionId(name), address, "greeter", at, seq - 1, parent=parent)
        replaces = None if of is None else SessionId(of)
        commit = Commit(
            lease, SessionId(name), seq - 1, (fact,), awake=awake, begin=begin, end=bool(task), replaces=replaces
        )
        await self.store.commit(commit)

    def retention(self, *, archiving: bool = True, **rules: float) -> RetentionRules:
        all_rules = (
            dict.fromkeys(("archive_after_days", "delete_after_days", "replaced_days", "tasks_days"), 0.0) | rules
        )
        erasure = SessionErasure(
            self.catalog, self.store, RedisTraces(self.connection), RedisPlaceStore(self.connection), lambda _: False
        )
        cold = self.catalog if archiving else None
        return RetentionRules(self.catalog, cold, erasure, RetentionSettings.model_validate(all_rules), self.clock)

    async def states(self) -> dict[str, str]:
        return {known.record.id: known.state async for known in self.catalog.sessions()}


@pytest.fixture
async def house(valkey_socket: Path, tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    async with (
        open_connection(valkey_socket, patience_s=20) as connection,
        open_sqlite(tmp_path / "archive.sqlite") as archive,
    ):
        yield House(connection, archive)


async def planned(retention: RetentionRules) -> dict[str, tuple[str, str]]:
    return {step.session.record.id: (step.doing, step.rule) async for step in retention.plan()}


async def test_a_plan_says_what_is_done_and_changes_nothing(house: House) -> None:
    await house.session("old", day=0)
    await house.session("older", day=-40)
    await house.session("new", day=80)
    await house.session("at-work", day=-40, awake=True)
    await house.clock.advance(timedelta(days=90).total_seconds())
    retention = house.retention(archive_after_days=30, delete_after_days=120)
    assert await planned(retention) == {
        "old": ("archive", "retention.archive_after_days"),
        "older": ("delete", "retention.delete_after_days"),
    }
    assert await house.states() == {"old": "resting", "older": "resting", "new": "resting", "at-work": "working"}
    assert await retention.apply() == RetentionResult(archived=1, deleted=1)
    assert await house.states() == {"old": "archived", "new": "resting", "at-work": "working"}
    assert await planned(retention) == {}


async def test_what_is_in_the_archive_is_deleted_there_in_its_time(house: House) -> None:
    await house.session("old", day=0)
    await house.clock.advance(timedelta(days=40).total_seconds())
    retention = house.retention(archive_after_days=30, delete_after_days=60)
    assert await retention.apply() == RetentionResult(archived=1)
    await house.clock.advance(timedelta(days=30).total_seconds())
    assert await retention.apply() == RetentionResult(deleted=1)
    assert [session async for session in house.archive.sessions()] == []
    assert await house.states() == {}


async def test_what_undo_replaced_goes_and_what_went_on_from_it_stays_whole(house: House) -> None:
    await house.session("before", day=0)
    await house.session("after", day=0, of="before")
    await house.clock.advance(timedelta(days=20).total_seconds())
    retention = house.retention(replaced_days=14, archive_after_days=0)
    assert await planned(retention) == {"before": ("delete", "retention.replaced_days")}
    assert await retention.apply() == RetentionResult(deleted=1)
    facts = [fact.data["text"] async for fact in house.store.read_session(SessionId("after"))]
    assert facts == ["before", "after"]


async def test_tasks_that_have_ended_are_deleted_in_their_time_and_no_others(house: House) -> None:
    await house.session("done", day=0, task=True)
    await house.session("waits", day=0, task=False)
    await house.session("owes", day=0, task=True, awake=True)
    await house.session("lately", day=20, task=True)
    await house.session("talk", day=0)
    await house.clock.advance(timedelta(days=40).total_seconds())
    retention = house.retention(tasks_days=30)
    assert await planned(retention) == {"done": ("delete", "retention.tasks_days")}
    assert await retention.apply() == RetentionResult(deleted=1)
    assert (await house.states()).keys() == {"waits", "owes", "lately", "talk"}


async def test_zero_days_are_never(house: House) -> None:
    await house.session("old", day=0)
    await house.clock.advance(timedelta(days=4_000).total_seconds())
    assert await planned(house.retention()) == {}


async def test_without_an_archive_nothing_is_archived(house: House) -> None:
    await house.session("old", day=0)
    await house.clock.advance(timedelta(days=40).total_seconds())
    assert await planned(house.retention(archiving=False, archive_after_days=30)) == {}


async def test_job_tells_what_it_did_and_that_the_archive_failed(house: House, tmp_path: Path) -> None:
    await house.session("old", day=0)
    await house.clock.advance(timedelta(days=40).total_seconds())
    bus, told = Bus(house.clock), list[BusEvent]()
    bus.subscribe("*", told.append)
    job = house.retention(archive_after_days=30).job(bus)
    house.archive._database.close()
    with pytest.raises(ArchiveUnavailable):
        await job.run(house.clock.now())
    async with open_sqlite(tmp_path / "archive.sqlite") as archive:
        again = House(house.connection, archive)
        again.clock = house.clock
        await again.retention(archive_after_days=30).job(bus).run(house.clock.now())
    assert [event.name for event in told] == ["archive.failed", "sessions.retired"]
    assert told[1].data == {"archived": 1, "deleted": 0, "left": 0}
    assert await house.states() == {"old": "archived"}

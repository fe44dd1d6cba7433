"""When snapshots are taken, and what of the facts is read after one; the crash sweeps check what they say."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import pairwise

import anyio
import pytest

from runtime.core.ids import SessionId
from runtime.sandbox.monty import MontySandbox
from runtime.sessions import snapshots
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.snapshot import snapshot_of
from runtime.tape.tape import Fact, session_tape
from tests.fakes.crashes.world import ADDRESS, World, live
from tests.unit.runtime.sessions.crashes.album import Album, folded
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.programs.tales import HELLO
from tests.unit.runtime.tape.random_facts import Facts

pytestmark = pytest.mark.anyio

T0 = datetime(2026, 1, 1, tzinfo=UTC)


async def test_sessions_that_are_short_have_no_snapshots(sandbox: MontySandbox) -> None:
    album = Album(HELLO.people)
    await live(album, HELLO.program, Company(HELLO, random.Random(0)), sandbox)
    assert album.taken == []


class Counting(World):
    """Counts the facts that are read."""

    read_facts = 0

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        async for fact in super().read_session(session, after=after, until=until):
            self.read_facts += 1
            yield fact


async def unused(_batch: CommitBatch) -> None:
    raise AssertionError("nothing is written here")


async def test_restoring_reads_only_the_facts_behind_the_snapshot() -> None:
    draw, session, world = Facts(random.Random(3)), SessionId("s1"), Counting(())
    told = [draw() for _ in range(1200)]
    facts = tuple(Fact(session_tape(session), seq, kind, T0, data) for seq, (kind, data) in enumerate(told, start=1))
    record = SessionRecord(session, ADDRESS, "test", T0, 0)
    await world.commit(Commit(Lease(0, 1), session, 0, facts=facts, begin=record))
    await world.keep_snapshot(Lease(0, 1), session, snapshot_of(folded(facts[:1000])))
    journal = Journal(session, world.clock, unused)
    await snapshots.Snapshots(world, record, lambda: Lease(0, 1), journal).restore()
    assert world.read_facts == 200
    assert journal.state == folded(facts)
    assert journal.settled


async def test_the_larger_a_snapshot_is_the_later_comes_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that grows with every fact costs so many characters a fact at most, however long it becomes."""
    monkeypatch.setattr(snapshots, "FACTS_BETWEEN", 10)
    monkeypatch.setattr(snapshots, "LARGE_CHARS", 1_000)
    session, world = SessionId("s1"), Album(())
    record = SessionRecord(session, ADDRESS, "test", T0, 0, taken_in="mark")
    await world.commit(Commit(Lease(0, 1), session, 0, begin=record, awake=False))

    async def write(batch: CommitBatch) -> None:
        await world.commit(Commit(Lease(0, 1), session, batch.expect, facts=batch.facts, awake=batch.awake))

    journal = Journal(session, world.clock, write)
    kept = snapshots.Snapshots(world, record, lambda: Lease(0, 1), journal)
    async with anyio.create_task_group() as tasks:
        journal.start(tasks)
        kept.start(tasks)
        for number in range(600):
            journal.note(content_of("person", {"id": f"test:{number}", "name": "x" * 80}))
            await journal.commit()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert set(world.taken_of) == {"mark"}
    numbers = [taken.seq for _, taken in world.taken]
    gaps = [after - before for before, after in pairwise(numbers)]
    assert numbers[0] == 10
    assert gaps == sorted(gaps)
    assert gaps[-1] > 5 * gaps[0]
    assert sum(len(taken.text) for _, taken in world.taken) / numbers[-1] < 2 * 1_000 / 10 + 200

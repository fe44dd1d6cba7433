"""Sessions restored from snapshots are what their facts make them, wherever the process died."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import anyio
import pytest

from runtime.core.ids import SessionId
from runtime.sandbox.monty import MontySandbox
from runtime.sessions import snapshots
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply_fact
from runtime.tape.journal import Batch, Journal
from runtime.tape.snapshot import Snapshot, snapshot_of, state_from
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact, session_tape, tape_owner
from tests.fakes.crashes.world import ADDRESS, World, live
from tests.unit.runtime.sessions.crashes.crash_cases import CASES
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.tape.random_facts import Facts

pytestmark = pytest.mark.anyio

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def folded(facts: Sequence[Fact], state: SessionState | None = None) -> SessionState:
    state = state or SessionState()
    for fact in facts:
        apply_fact(state, fact)
    return state


class Album(World):
    """Keeps every snapshot that was ever taken, and which ones were asked for."""

    def __init__(self, people: Sequence[str], crashes: Sequence[int], seed: int) -> None:
        super().__init__(people, crashes=crashes, seed=seed)
        self.taken: list[tuple[SessionId, Snapshot]] = []
        self.taken_of: list[str | None] = []
        self.used = 0

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        self.taken.append((session, snapshot))
        self.taken_of.append(taken_in)
        await super().keep_snapshot(lease, session, snapshot, taken_in=taken_in)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        found = await super().snapshot(session, version)
        self.used += found is not None
        return found


def shown(world: World) -> list[str]:
    """What people see."""
    return sorted(each.text for each in world.chat)


async def run(name: str, sandbox: MontySandbox, crashes: Sequence[int], seed: int) -> Album:
    case = CASES[name]
    world = Album(case.people, crashes, seed)
    await live(
        world, case.program, Company(case, random.Random(seed)), sandbox, busy=case.busy, questions_alone=case.alone
    )
    return world


@pytest.mark.parametrize("name", CASES)
async def test_a_snapshot_at_any_fact_and_the_rest_say_what_all_facts_say(name: str, sandbox: MontySandbox) -> None:
    world = await run(name, sandbox, (7, 23), 1)
    for session in {tape_owner(fact.tape) for fact in world.facts}:
        facts = [fact async for fact in world.read_session(session)]
        whole = folded(facts)
        for cut in range(len(facts) + 1):
            restored = state_from(snapshot_of(folded(facts[:cut])))
            assert restored is not None
            assert folded(facts[cut:], restored) == whole, f"cut after fact {cut}"


@pytest.mark.parametrize("name", CASES)
async def test_nothing_is_lost_when_sessions_are_restored_from_snapshots(
    name: str, sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FACTS_BETWEEN", 1)
    monkeypatch.setattr(snapshots, "AT_WORK", 3)
    calm, used = await run(name, sandbox, (), 0), 0
    for seed in range(8):
        crashes = tuple(sorted(random.Random(seed).sample(range(1, 80), 4)))
        world = await run(name, sandbox, crashes, seed)
        assert CASES[name].loose or shown(world) == shown(calm), f"seed {seed}"
        used += world.used
        for session, taken in world.taken:
            facts = [fact async for fact in world.read_session(session, until=taken.seq)]
            assert state_from(taken) == folded(facts)
    assert used > 0


async def test_sessions_that_are_short_have_no_snapshots(sandbox: MontySandbox) -> None:
    assert (await run("hello", sandbox, (), 0)).taken == []


class Counting(World):
    """Counts the facts that are read."""

    read_facts = 0

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        async for fact in super().read_session(session, after=after, until=until):
            self.read_facts += 1
            yield fact


async def unused(_batch: Batch) -> None:
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
    session, world = SessionId("s1"), Album((), (), 0)
    record = SessionRecord(session, ADDRESS, "test", T0, 0, taken_in="mark")
    await world.commit(Commit(Lease(0, 1), session, 0, begin=record, awake=False))

    async def write(batch: Batch) -> None:
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

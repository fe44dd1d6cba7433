"""Sessions restored from snapshots are what their facts make them, wherever the process died."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from runtime.core.ids import SessionId
from runtime.sandbox.monty import MontySandbox
from runtime.sessions import snapshots
from runtime.tape.fold import apply
from runtime.tape.snapshot import Snapshot, snapshot_of, state_from
from runtime.tape.state import SessionState
from runtime.tape.tape import Fact, tape_owner
from tests.fakes.crash_world import World, live
from tests.unit.runtime.sessions.crash_cases import CASES
from tests.unit.runtime.sessions.crash_sweep import Company

pytestmark = pytest.mark.anyio


def folded(facts: Sequence[Fact], state: SessionState | None = None) -> SessionState:
    state = state or SessionState()
    for fact in facts:
        apply(state, fact.seq, fact.kind, fact.data)
    return state


class Album(World):
    """Keeps every snapshot that was ever taken, and which ones were asked for."""

    def __init__(self, people: Sequence[str], crashes: Sequence[int], seed: int) -> None:
        super().__init__(people, crashes=crashes, seed=seed)
        self.taken: list[tuple[SessionId, Snapshot]] = []
        self.used = 0

    async def keep_snapshot(self, lease: object, session: SessionId, snapshot: Snapshot, /) -> None:
        self.taken.append((session, snapshot))
        await super().keep_snapshot(lease, session, snapshot)  # type: ignore[arg-type]

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        found = await super().snapshot(session, version)
        self.used += found is not None
        return found


def shown(world: World) -> list[str]:
    return sorted(each.text for each in world.chat)


async def run(name: str, sandbox: MontySandbox, crashes: Sequence[int], seed: int) -> Album:
    case = CASES[name]
    world = Album(case.people, crashes, seed)
    await live(world, case.program, Company(case, random.Random(seed)), sandbox, busy=case.busy)
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

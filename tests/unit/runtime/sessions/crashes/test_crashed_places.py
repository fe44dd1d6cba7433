"""Whenever the process dies, a meeting has one place, and what is said there is heard by it and by nobody else."""

import random
from dataclasses import replace
from functools import partial

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.errors import StorageUnavailable
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.sandbox.monty import MontySandbox
from runtime.stores.sessions import HeldPlace
from tests.fakes.crashes.rig import PLATFORMS, Rig, thread_in_shard
from tests.fakes.crashes.rig import live as live_in
from tests.fakes.crashes.world import ADDRESS, World, WorldPlaces, live
from tests.fakes.memory.places import MemoryPlaceStore
from tests.sampling import sample
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import FAULTS, LIMIT_S, Company
from tests.unit.runtime.sessions.crashes.crash_sweep import check as check_rig
from tests.unit.runtime.sessions.crashes.programs.places import HELD, HELD_IN_PLACES
from tests.unit.runtime.sessions.crashes.test_crashes import check

PLACE = Address("test", "1", "t1")


async def run(case: Case, sandbox: MontySandbox, *, crashes: tuple[int, ...], seed: int, nonce: bool = True) -> World:
    world = World(case.people, crashes=crashes, seed=seed, nonce=nonce)
    world.places = WorldPlaces(world)
    await live(world, case.program, Company(case, random.Random(seed)), sandbox)
    return world


def check_places(world: World, case: Case) -> None:
    """Everything is seen once, where it belongs, and the one place leads to the session."""
    check(world, case)
    assert world.places is not None
    assert list(world.threads) == [PLACE]
    assert [(key, held.home, held.meeting) for key, held in world.places.held.items()] == [(PLACE.key, ADDRESS, "100")]
    home = [shown.text for shown in world.chat if shown.spec is not None and shown.spec.address == ADDRESS]
    there = [shown.text for shown in world.chat if shown.spec is not None and shown.spec.address == PLACE]
    assert len(home) + len(there) == len(world.chat)
    assert (home[0], "1: a red one" in there) == ("hello", True)


@pytest.mark.parametrize("name", HELD_IN_PLACES)
async def test_a_place_is_opened_told_of_spoken_in_and_left_when_the_process_dies_at_any_one_point(
    name: str, sandbox: MontySandbox
) -> None:
    case = HELD_IN_PLACES[name]
    await dying_at_each_point(partial(run, case, sandbox), partial(check_places, case=case))


async def test_a_place_that_is_gone_is_left_once_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    case = replace(HELD, people=("hi", "meet", "a red one", "done"))
    lost = english()("session.meeting_place_lost", topic="The boat")

    async def lived(*crashes: int) -> World:
        world = World(case.people, crashes=crashes, seed=1)
        world.places, world.gone = WorldPlaces(world), {PLACE}
        await live(world, case.program, Company(case, random.Random(1)), sandbox)
        return world

    calm = await lived()
    for point in sample().of(range(calm.points + 1)):
        world = await lived(point)
        home = [shown.text for shown in world.chat if shown.spec is not None and shown.spec.address == ADDRESS]
        said = [home.count(text) for text in (lost, "1: a red one", "it came to 1")]
        assert (said, len(home) - len(world.chat)) == ([1, 1, 1], 0), f"crashed at point {point} of {calm.points}"


@pytest.mark.parametrize("name", HELD_IN_PLACES)
async def test_a_place_is_one_place_through_several_deaths(name: str, sandbox: MontySandbox) -> None:
    case = HELD_IN_PLACES[name]
    await dying_often(partial(run, case, sandbox), partial(check_places, case=case), lives=12, times=4, points=120)


class FaultyPlaces(MemoryPlaceStore):
    """What is kept of a place may not be, or the answer may be lost."""

    def __init__(self, rig: Rig) -> None:
        super().__init__()
        self._rig = rig

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        if self._rig.point("place", applied=False):
            raise StorageUnavailable("it was not kept")
        await super().put(place, held)
        if self._rig.point("place", applied=True):
            raise StorageUnavailable("it was kept, and the answer is lost")

    async def release(self, place: Address, session: SessionId, /) -> None:
        raise AssertionError(f"{place.key} of {session} is nobody's to give back here")


@pytest.mark.parametrize("seed", range(3))
async def test_a_place_is_one_place_when_answers_of_stores_and_platforms_are_lost(
    seed: int, sandbox: MontySandbox
) -> None:
    draw = random.Random(seed)
    with_nonces = [name for name, capabilities in PLATFORMS.items() if capabilities.idempotent_send]
    people = [does.replace("in:t1:", f"in:{thread_in_shard(1)}:") for does in HELD.people]
    seen = tuple(
        text.replace("[The boat](at:test:1#t1)", "The boat. It has a place of its own.")
        .replace(" [The conversation it belongs to](at:test:1)", "")
        .replace("@Ada Host", "[@Ada](person:test:1) Host")
        for text in HELD.seen
    )
    case = Case(HELD.program, tuple(people), seen, replies=HELD.replies, in_order=False)
    plans = [
        {point: draw.choice(FAULTS) for point in draw.sample(range(1, 120), draw.randint(1, 4))} for _ in range(15)
    ]
    drawn = [(plan, draw.choice(with_nonces), draw.randrange(1_000_000)) for plan in plans]
    for plan, platform, number in sample().of(drawn):
        rig = Rig(people.copy(), PLATFORMS[platform], plan)
        model = Company(case, random.Random(number))
        try:
            with anyio.fail_after(LIMIT_S):
                await live_in(rig, case.program, model, sandbox, busy="queue", places=FaultyPlaces(rig))
            await check_rig(rig, case)
            assert len(rig.threads) == 1
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"{platform}, {number}, {plan}: {error!r}") from error


async def test_without_a_nonce_a_crash_leaves_an_empty_place_at_most(sandbox: MontySandbox) -> None:
    case = Case(HELD.program, ("hi", "meet"), (), replies=HELD.replies)
    calm = await run(case, sandbox, crashes=(), seed=0, nonce=False)
    empty = 0
    for point in range(1, calm.points + 1):
        world = await run(case, sandbox, crashes=(point,), seed=point, nonce=False)
        assert world.places is not None
        known = [fact.data["place"] for fact in world.facts if fact.kind == "place"]
        assert len(known) == 1, f"crashed at point {point}"
        assert Address(*known[0]).key in world.places.held
        empty += len(world.threads) - 1
    assert empty == 4, "between the platform's answer and the commit that says so are the two of the store, too"

"""The process dies at every point at which something leaves it; nothing is lost and nothing is said twice."""

import random
from functools import partial
from typing import TypeVar

import pytest

from runtime.sandbox.monty import MontySandbox
from runtime.sessions import rest
from tests.fakes.crashes.world import World, WorldPlaces, live
from tests.fakes.people.player import Player
from tests.sampling import sample
from tests.unit.runtime.sessions.crashes.album import Album
from tests.unit.runtime.sessions.crashes.crash_case import Case, calls_in
from tests.unit.runtime.sessions.crashes.crash_cases import CASES
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.programs.meetings import ASKED, UNANSWERED

W = TypeVar("W", bound=World)


async def run(case: Case, sandbox: MontySandbox, *, crashes: tuple[int, ...], seed: int, nonce: bool = True) -> World:
    world = World(case.people, crashes=crashes, seed=seed, nonce=nonce)
    return await lived(world, case, sandbox, seed=seed)


async def lived(world: W, case: Case, sandbox: MontySandbox, *, seed: int) -> W:
    """The world at its end."""
    world.player = Player(world.mailboxes, case.plays, world, world.clock)
    world.places = WorldPlaces(world) if case.places else None
    company, more = Company(case, random.Random(seed)), {"task_places": case.task_places}
    await live(world, case.program, company, sandbox, busy=case.busy, questions_alone=case.alone, **more)
    return world


def check(world: World, case: Case) -> None:
    """Every sentence once, whole and in order; every message taken once by each agent."""
    seen = [shown.text for shown in world.chat]
    kinds = ("took", "start", "anew", "steer", "fetched", "answered")
    taken = [(fact.tape, mid) for fact in world.facts if fact.kind in kinds for mid in fact.data.get("mids") or ()]
    assert len(taken) == len(set(taken))
    assert not world.waiting
    assert not case.calls or calls_in(world.facts) == case.calls
    if case.loose:
        assert [seen.count(text) for text in case.seen] == [1] * len(case.seen)
        assert f"in.{len(case.people)}" in {message for _, message in taken}
    else:
        assert (seen if case.in_order else sorted(seen)) == (list(case.seen) if case.in_order else sorted(case.seen))


@pytest.mark.parametrize("name", CASES)
async def test_nothing_is_lost_or_said_twice_when_the_process_dies_at_any_one_point(
    name: str, sandbox: MontySandbox
) -> None:
    case = CASES[name]
    deadly = await dying_at_each_point(partial(run, case, sandbox), partial(check, case=case))
    assert case.loose or deadly > 0.8  # agents that work at the same time may share a write


@pytest.mark.parametrize("name", CASES)
async def test_several_deaths_lose_nothing_whether_sessions_are_restored_from_facts_or_from_snapshots(
    name: str, sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]

    async def with_snapshots(crashes: tuple[int, ...], seed: int) -> Album:
        with monkeypatch.context() as often:
            often.setattr(rest, "FACTS_BETWEEN", 1)
            often.setattr(rest, "AT_WORK", 3)
            album = await lived(Album(case.people, crashes=crashes, seed=seed), case, sandbox, seed=seed)
        album.check_taken()
        return album

    async def live_one(*, crashes: tuple[int, ...], seed: int) -> World:
        if seed % 2:
            return await with_snapshots(crashes, seed)
        return await run(case, sandbox, crashes=crashes, seed=seed)

    album = await with_snapshots((7, 23, 37, 51), 1)
    check(album, case)
    album.check_cuts()
    assert album.used > 0
    await dying_often(live_one, partial(check, case=case), times=4, points=80)


@pytest.mark.parametrize("last", range(66, 84))
async def test_a_question_that_all_have_answered_is_gone_on_with_whenever_the_process_dies_after_that(
    last: int, sandbox: MontySandbox
) -> None:
    world = await run(CASES["walkout"], sandbox, crashes=(5, 55, 62, last), seed=10)
    check(world, CASES["walkout"])


async def test_nobody_is_asked_oftener_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    calm = await run(UNANSWERED, sandbox, crashes=(), seed=0)
    check(calm, UNANSWERED)
    assert [shown.text for shown in calm.chat].count(ASKED) == 5
    for point in sample().of(range(1, calm.points + 1)):
        world = await run(UNANSWERED, sandbox, crashes=(point,), seed=point)
        check(world, UNANSWERED)
        asked = [fact.data["times"] for fact in world.facts if fact.kind == "asked"]
        assert asked == [1, 2, 3, 4, 5]

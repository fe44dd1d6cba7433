"""Whenever the process dies, a fork is one place with one session, and the original is as it was."""

import random
from dataclasses import replace
from functools import partial

import anyio
import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.rig import PLATFORMS, Rig
from tests.fakes.crashes.rig import live as live_in
from tests.fakes.crashes.world import World
from tests.sampling import sample
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import FAULTS, LIMIT_S, Company
from tests.unit.runtime.sessions.crashes.crash_sweep import check as check_rig
from tests.unit.runtime.sessions.crashes.programs.lineage import FORKED_ELSEWHERE, FORKING
from tests.unit.runtime.sessions.crashes.test_crashes import check, run


def check_fork(world: World, case: Case) -> None:
    check(world, case)
    assert (len(world.threads), len(world._records)) == (1, 2)


@pytest.mark.parametrize("name", FORKING)
async def test_a_fork_is_made_once_when_the_process_dies_at_any_one_point(name: str, sandbox: MontySandbox) -> None:
    case = FORKING[name]
    await dying_at_each_point(partial(run, case, sandbox), partial(check_fork, case=case))


@pytest.mark.parametrize("name", FORKING)
async def test_a_fork_is_made_once_through_several_deaths(name: str, sandbox: MontySandbox) -> None:
    case = FORKING[name]
    await dying_often(partial(run, case, sandbox), partial(check_fork, case=case))


@pytest.mark.parametrize("seed", range(3))
async def test_a_fork_is_made_once_when_answers_of_stores_and_platforms_are_lost(
    seed: int, sandbox: MontySandbox
) -> None:
    draw = random.Random(seed)
    with_nonces = [name for name, capabilities in PLATFORMS.items() if capabilities.idempotent_send]
    plans = [{point: draw.choice(FAULTS) for point in draw.sample(range(1, 90), draw.randint(1, 4))} for _ in range(40)]
    drawn = [(plan, draw.choice(with_nonces), draw.randrange(1_000_000)) for plan in plans]
    for plan, platform, number in sample().of(drawn):
        rig = Rig(list(FORKED_ELSEWHERE.people), PLATFORMS[platform], plan)
        model = Company(FORKED_ELSEWHERE, random.Random(number))
        try:
            with anyio.fail_after(LIMIT_S):
                await live_in(rig, FORKED_ELSEWHERE.program, model, sandbox, busy="queue")
            await check_rig(rig, FORKED_ELSEWHERE)
            assert len(rig.threads) == 1
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"{platform}, {number}, {plan}: {error!r}") from error


async def test_without_a_nonce_a_crash_leaves_an_empty_place_at_most(sandbox: MontySandbox) -> None:
    case = replace(FORKING["forked"], people=("hi", "one", "fork:Another way"))
    calm = await run(case, sandbox, crashes=(), seed=0, nonce=False)
    empty = 0
    for point in range(1, calm.points + 1):
        world = await run(case, sandbox, crashes=(point,), seed=point, nonce=False)
        assert len(world._records) == 2, f"crashed at point {point}"
        empty += len(world.threads) - 1
    assert empty == 2, "between the answer of the platform and the commit that says so are two points"

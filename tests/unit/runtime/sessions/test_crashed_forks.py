"""Whenever the process dies, a fork is one place with one session, and the original is as it was."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.unit.runtime.sessions.crash_lineage import FORKING
from tests.unit.runtime.sessions.test_crashes import check, run

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", FORKING)
async def test_a_fork_is_made_once_when_the_process_dies_at_any_one_point(name: str, sandbox: MontySandbox) -> None:
    case = FORKING[name]
    calm = await run(case, sandbox, crashes=(), seed=0)
    check(calm, case)
    for point in range(1, calm.points + 1):
        world = await run(case, sandbox, crashes=(point,), seed=point)
        try:
            check(world, case)
            assert (len(world.threads), len(world._records)) == (1, 2)
        except AssertionError as error:
            raise AssertionError(f"crashed at point {point} of {calm.points}: {error}") from error


@pytest.mark.parametrize("name", FORKING)
async def test_a_fork_is_made_once_through_several_deaths(name: str, sandbox: MontySandbox) -> None:
    case = FORKING[name]
    for seed in range(25):
        crashes = tuple(sorted(random.Random(seed).sample(range(1, 60), 3)))
        world = await run(case, sandbox, crashes=crashes, seed=seed)
        try:
            check(world, case)
            assert (len(world.threads), len(world._records)) == (1, 2)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, crashed at {crashes}: {error}") from error


async def test_without_a_nonce_a_crash_leaves_an_empty_place_at_most(sandbox: MontySandbox) -> None:
    case = replace(FORKING["forked"], people=("hi", "one", "fork:Another way"))
    calm = await run(case, sandbox, crashes=(), seed=0, nonce=False)
    empty = 0
    for point in range(1, calm.points + 1):
        world = await run(case, sandbox, crashes=(point,), seed=point, nonce=False)
        assert len(world._records) == 2, f"crashed at point {point}"
        empty += len(world.threads) - 1
    assert empty == 2, "between the answer of the platform and the commit that says so are two points"

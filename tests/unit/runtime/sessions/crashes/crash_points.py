"""A story lived again and again, with the process dying at another point each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from tests.fakes.crashes.world import World


class Live(Protocol):
    """Lives a story whose process dies at these points, counted from 1."""

    async def __call__(self, *, crashes: tuple[int, ...], seed: int) -> World: ...


Check = Callable[[World], None]
"""Raises AssertionError for a world that is not as it has to be."""


async def dying_at_each_point(live: Live, check: Check) -> float:
    """Live once undisturbed, then once for each point; which share of those lives had a death."""
    calm = await live(crashes=(), seed=0)
    check(calm)
    deaths = 0
    for point in range(1, calm.points + 1):
        world = await live(crashes=(point,), seed=point)
        deaths += world.deaths
        _check(check, world, f"crashed at point {point} of {calm.points}")
    return deaths / calm.points


async def dying_often(live: Live, check: Check, *, lives: int = 25, times: int = 3, points: int = 60) -> None:
    """Live many times, dying at some points among the first ones."""
    for seed in range(lives):
        crashes = tuple(sorted(random.Random(seed).sample(range(1, points), times)))
        _check(check, await live(crashes=crashes, seed=seed), f"seed {seed}, crashed at {crashes}")


def _check(check: Check, world: World, life: str) -> None:
    try:
        check(world)
    except AssertionError as error:
        raise AssertionError(f"{life}: {error}") from error

"""A story lived again and again, with the process dying at another point each time: those of this run's sample."""

import random
from collections.abc import Callable
from typing import Protocol

from tests.fakes.crashes.world import World
from tests.sampling import Sample, sample


class Live(Protocol):
    """Lives a story whose process dies at these points, counted from 1."""

    async def __call__(self, *, crashes: tuple[int, ...], seed: int) -> World: ...


Check = Callable[[World], None]
"""Raises AssertionError for a world that is not as it has to be."""


async def dying_at_each_point(live: Live, check: Check, chosen: Sample | None = None) -> float:
    """Live once undisturbed, then once for each point; which share of those lives had a death.

    In a sample, which may be few lives, one without a death is not counted: what a share has to be is for all of them.
    """
    chosen = chosen or sample()
    calm = await live(crashes=(), seed=0)
    check(calm)
    points = chosen.of(range(1, calm.points + 1))
    deaths = 0
    for point in points:
        world = await live(crashes=(point,), seed=point)
        deaths += world.deaths
        _check(check, world, f"{chosen}, crashed at point {point} of {calm.points}")
    passed_over = 0 if chosen.is_whole else 1
    return min(1.0, (deaths + passed_over) / len(points))


async def dying_often(
    live: Live, check: Check, *, lives: int = 25, times: int = 3, points: int = 60, chosen: Sample | None = None
) -> None:
    """Live many times, dying at some points among the first ones."""
    chosen = chosen or sample()
    for seed in chosen.of(range(lives)):
        crashes = tuple(sorted(random.Random(seed).sample(range(1, points), times)))
        _check(check, await live(crashes=crashes, seed=seed), f"{chosen}, seed {seed}, crashed at {crashes}")


def _check(check: Check, world: World, life: str) -> None:
    try:
        check(world)
    except AssertionError as error:
        raise AssertionError(f"{life}: {error}") from error

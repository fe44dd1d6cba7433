"""A sweep leaves out no life: what one run does not live, the runs of the other turns do."""

from collections import Counter
from functools import partial

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.sampling import RUNS, Sample
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.programs.tales import HELLO
from tests.unit.runtime.sessions.crashes.test_crashes import check, run


async def test_a_story_dies_at_every_one_of_its_points_over_all_turns(sandbox: MontySandbox) -> None:
    lived: Counter[tuple[int, ...]] = Counter()

    async def live(*, crashes: tuple[int, ...], seed: int) -> World:
        lived[crashes] += 1
        return await run(HELLO, sandbox, crashes=crashes, seed=seed)

    calm = await live(crashes=(), seed=0)
    for turn in range(RUNS):
        await dying_at_each_point(live, partial(check, case=HELLO), Sample(turn))
    assert calm.points > RUNS
    assert {crashes for crashes in lived if crashes} == {(point,) for point in range(1, calm.points + 1)}
    assert {times for crashes, times in lived.items() if crashes} == {1}


async def test_all_lives_with_several_deaths_are_lived_over_all_turns() -> None:
    async def seeds(*chosen: Sample) -> list[int]:
        lived: list[int] = []

        async def live(*, crashes: tuple[int, ...], seed: int) -> World:
            lived.append(seed)
            return World(())

        for each in chosen:
            await dying_often(live, lambda world: None, chosen=each)
        return lived

    parts = await seeds(*(Sample(turn) for turn in range(RUNS)))
    assert sorted(parts) == await seeds(Sample(None))

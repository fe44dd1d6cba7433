"""Deaths, lost answers and refused deeds over real stores, and a real presenter on platforms of every kind."""

from itertools import islice

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.rig import PLATFORMS
from tests.sampling import sample
from tests.unit.runtime.sessions.crashes.crash_sweep import Run, random_runs

RUNS = 40
"""A platform; longer sweeps by hand, see `crash_sweep`."""


async def passes(run: Run, sandbox: MontySandbox) -> None:
    try:
        await run.checked(sandbox)
    except (AssertionError, TimeoutError) as error:
        raise AssertionError(f"python -m {Run.__module__} {run}: {error}") from error


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_nothing_is_lost_or_said_twice_on_any_platform_whatever_goes_wrong(
    platform: str, sandbox: MontySandbox
) -> None:
    for run in sample().of(islice(random_runs(seed=20, platforms=[platform]), RUNS)):
        await passes(run, sandbox)


@pytest.mark.parametrize("case", ["sandwich", "walked_talk", "walked_loops"])
@pytest.mark.parametrize("fault", ["die", "lose", "refuse"])
async def test_each_point_of_a_talk_may_go_wrong_once(fault: str, case: str, sandbox: MontySandbox) -> None:
    calm = await Run(case, "edits").checked(sandbox)
    for point in sample().of(range(1, calm.points + 1)):
        await passes(Run(case, "edits", {point: fault}, seed=point), sandbox)  # type: ignore[dict-item]


async def test_what_was_chosen_stands_below_the_question_of_each(sandbox: MontySandbox) -> None:
    rig = await Run("vote", "edits").checked(sandbox)
    assert rig.platform.pages[0].endswith("Shall we? ✓ No, by Bob ✓ Yes, by Alice")


async def test_without_nonces_only_a_death_between_a_post_and_its_record_leaves_an_orphan(
    sandbox: MontySandbox,
) -> None:
    calm = await Run("nested", "no nonce").checked(sandbox)
    left = 0
    for point in range(1, calm.points + 1):
        rig = await Run("nested", "no nonce", {point: "die"}, seed=0).checked(sandbox)
        assert len(rig.platform.orphans) == len(rig.unrecorded), point
        left += len(rig.unrecorded)
    assert left > 0

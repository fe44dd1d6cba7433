"""A short run of everything that can break. A long one, and a failing seed again: `make chaos`."""

import sys
from pathlib import Path

import pytest

from tests.chaos.clock import find_library
from tests.chaos.disk import LEFT_OUT
from tests.chaos.plan import KINDS, kinds_of, make_plan
from tests.chaos.run import Outcome, run

pytestmark = pytest.mark.timeout(600)

AROUND_THE_MODEL = ("kill workers", "cut model", "full disk", "kill server")
OWN_SERVER = ("kill gateway and server", "kill gateway")
PAIR = tuple(kind for kind in kinds_of("pair") if kind not in (*AROUND_THE_MODEL, *OWN_SERVER))


async def played(tmp_path: Path, seed: int, rounds: int, **options: object) -> Outcome:
    """A run that must go well; its plan is printed when it does not."""
    plan = make_plan(seed, rounds=rounds, in_haste=True, **options)  # type: ignore[arg-type]
    outcome = await run(plan, tmp_path)
    assert outcome.problems == [], "\n".join(outcome.lines())
    assert outcome.rounds == len(plan.rounds)
    return outcome


def struck(outcome: Outcome) -> set[str]:
    """The kinds that have hit something, each at least once; a full disk counts as well where there can be none."""
    return {kind for kind, times in outcome.strikes.items() if times} | (
        {"full disk"} if outcome.counts[LEFT_OUT] else set()
    )


def test_the_clock_can_be_moved_here() -> None:
    assert find_library() is not None, (
        "The chaos tests need libfaketime. On Debian and Ubuntu: apt-get install faketime"
    )


def test_the_short_runs_have_every_kind_of_fault() -> None:
    assert {*AROUND_THE_MODEL, *OWN_SERVER, *PAIR} == set(KINDS)


async def test_nothing_is_lost_or_doubled_around_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = await played(tmp_path, 16, 2, shape="alone", with_model=True, only=AROUND_THE_MODEL, workshops=False)
    assert struck(outcome) == set(AROUND_THE_MODEL)
    assert outcome.counts["model replies"] > 3
    if outcome.counts[LEFT_OUT]:
        with capsys.disabled():
            sys.stdout.write(f"\n{LEFT_OUT} (that needs root)\n")


async def test_nothing_is_lost_or_doubled_with_a_server_of_its_own(tmp_path: Path) -> None:
    outcome = await played(tmp_path, 13, 2, shape="alone", with_model=False, only=OWN_SERVER)
    assert struck(outcome) == set(OWN_SERVER)
    assert outcome.counts["messages"] > 10


async def test_nothing_is_lost_or_doubled_by_two_gateways_on_one_server(tmp_path: Path) -> None:
    outcome = await played(
        tmp_path, 12, (len(PAIR) + 1) // 2, shape="pair", with_model=False, only=PAIR, meetings=False, workshops=False
    )
    assert struck(outcome) == set(PAIR)
    assert outcome.counts["messages"] > 30

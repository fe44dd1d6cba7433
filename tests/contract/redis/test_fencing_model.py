"""Leases, fencing and commits: a search for an order of events that does harm, and what it finds with a fault."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from runtime.core.errors import TapeConflict
from runtime.stores.sessions import Commit
from tests.contract.redis.fencing_model import FencingModel, Wish
from tests.contract.redis.fencing_stands import Fault, Stands, stands
from tests.contract.storage_samples import SESSION, SHARD, beginning, shard_lease

EXAMPLES = {"memory": 200, "redis": 60}
UNTIL_FOUND = 300


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The loop in which the model's calls run."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(params=["memory", "redis"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_stores(kind: str, request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Stands]:
    opened = stands(request.getfixturevalue("valkey_socket") if kind == "redis" else None)
    yield runner.run(opened.__aenter__())
    runner.run(opened.__aexit__(None, None, None))


def search(empty_stores: Stands, fault: Fault | None, runner: asyncio.Runner, examples: int, *phases: Phase) -> None:
    """Raises what the model finds, with the steps that lead there in its notes."""

    class Model(FencingModel):
        def __init__(self) -> None:
            super().__init__(empty_stores, fault, runner)

    few = settings(max_examples=examples, stateful_step_count=30, database=None, print_blob=False, phases=phases)
    run_state_machine_as_test(Model, settings=few)


def test_no_order_of_events_does_harm(kind: str, empty_stores: Stands, runner: asyncio.Runner) -> None:
    search(empty_stores, None, runner, EXAMPLES[kind], Phase.generate, Phase.shrink)


@pytest.mark.parametrize("fault", Fault)
def test_a_rule_that_is_switched_off_is_missed(empty_stores: Stands, runner: asyncio.Runner, fault: Fault) -> None:
    with pytest.raises(AssertionError, match=r"an event was processed twice|two sessions live in one conversation"):
        search(empty_stores, fault, runner, UNTIL_FOUND, Phase.generate)


@pytest.mark.parametrize("fault", [None, Fault.NO_FENCING])
def test_the_shortest_harm_is_a_late_process_beside_its_successor(
    empty_stores: Stands, runner: asyncio.Runner, fault: Fault | None
) -> None:
    takes_one = Wish(reads=False, events=1, facts=1, opens=True, shows=False, awake=None, ends=False)
    model = FencingModel(empty_stores, fault, runner)
    model.two_write_and_a_process_takes_the_shard()
    model.tries_for_the_lease(who=1, late=True)
    for who in (1, 0):
        model.commits(who=who, place=0, wishes=[takes_one])
    if fault is None:
        model.no_harm_is_done()
        model.the_stores_show_what_was_applied()
    else:
        with pytest.raises(AssertionError, match="an event was processed twice"):
            model.no_harm_is_done()


def test_a_late_copy_of_a_commit_without_facts_changes_nothing(valkey_socket: Path, runner: asyncio.Runner) -> None:
    runner.run(_late_copy(valkey_socket))


async def _late_copy(socket: Path) -> None:
    async with stands(socket) as made:
        stand = await made.empty(None)
        lease = await shard_lease(stand.leases)
        for awake in (True, False):
            await stand.sessions.commit(replace(beginning(lease), awake=awake))
        await stand.send_again(stand.sent - 2)
        assert await stand.sessions.unfinished(SHARD) == {}


@pytest.mark.parametrize("awake", [True, False])
def test_a_commit_without_facts_is_refused_at_a_wrong_place(
    empty_stores: Stands, runner: asyncio.Runner, awake: bool
) -> None:
    runner.run(_wrong_place(empty_stores, awake))


async def _wrong_place(empty_stores: Stands, awake: bool) -> None:
    stand = await empty_stores.empty(None)
    lease = await shard_lease(stand.leases)
    await stand.sessions.commit(beginning(lease))
    await stand.sessions.commit(Commit(lease, SESSION, 0, awake=True))
    with pytest.raises(TapeConflict):
        await stand.sessions.commit(Commit(lease, SESSION, 7, awake=awake))

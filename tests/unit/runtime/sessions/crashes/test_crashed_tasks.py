"""Orders, results and cancellations are done once each, whichever process dies at whichever commit."""

from __future__ import annotations

from functools import partial

import pytest

from runtime.sandbox.monty import MontySandbox
from runtime.tape.tape import tape_owner
from tests.fakes.crash_world import World
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_tasks import TASKS
from tests.unit.runtime.sessions.crashes.test_crashes import check, run

pytestmark = pytest.mark.anyio


def check_tasks(world: World, case: Case) -> None:
    """Each order is taken once, and each result comes once to whoever ordered it."""
    check(world, case)
    orders = [fact.data["task"] for fact in world.facts if fact.kind == "spawn"]
    begun = [tape_owner(fact.tape) for fact in world.facts if fact.kind == "order"]
    over = [(tape_owner(fact.tape), fact.data["task"]) for fact in world.facts if fact.kind == "task_over"]
    told = [fact.data["message"]["id"] for fact in world.facts if fact.kind == "in"]
    assert sorted(orders) == sorted(begun)
    assert len(over) == len(set(over))
    assert len(told) == len(set(told))


@pytest.mark.parametrize("name", TASKS)
async def test_every_task_is_done_and_answered_once_when_the_process_dies_at_any_one_point(
    name: str, sandbox: MontySandbox
) -> None:
    case = TASKS[name]
    await dying_at_each_point(partial(run, case, sandbox), partial(check_tasks, case=case))


@pytest.mark.parametrize("name", TASKS)
async def test_several_deaths_lose_and_double_no_result(name: str, sandbox: MontySandbox) -> None:
    case = TASKS[name]
    await dying_often(partial(run, case, sandbox), partial(check_tasks, case=case))

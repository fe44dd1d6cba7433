"""What is remembered is kept once, and what was undone is forgotten, whichever process dies at whichever moment."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import pytest

from gateway.features.memories.node import NodeMemories
from runtime.sandbox.monty import MontySandbox
from runtime.stores.memories import MemoryScope, StoredMemory
from tests.fakes.crashes.world import World, live
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.people.player import Player
from tests.fakes.remembering import memories_of, remembering
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import Company

pytestmark = pytest.mark.anyio

CASE = Case(
    remembering(),
    (),
    (
        "remember The user lives in Oslo",
        "remember The user has a dog",
        "order:undo:",
        "remember The user lives in Bergen now",
        "recall where does the user live",
    ),
    ("remembered", "remembered", "remembered", "The user lives in Bergen now"),
)


class DeadlyMemories(MemoryMemories):
    """A process may die before and after everything that the store does."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def keep(self, memory: StoredMemory, /, *, keep_s: float) -> None:
        self._world.point()
        await super().keep(memory, keep_s=keep_s)
        self._world.point()

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        self._world.point()
        found = await super().forget(scope, ids)
        self._world.point()
        return found


async def run(sandbox: MontySandbox, stores: list[DeadlyMemories], *, crashes: tuple[int, ...], seed: int) -> World:
    world = World(CASE.people, crashes=crashes, seed=seed)
    world.player = Player(world.mailboxes, CASE.plays, world, world.clock)
    stores.append(DeadlyMemories(world))
    kept = memories_of(stores[-1], world.clock)
    await live(world, CASE.program, Company(CASE, random.Random(seed)), sandbox, features=[NodeMemories(kept)])
    return world


def check(world: World, stores: list[DeadlyMemories]) -> None:
    assert stores[-1].texts() == ["The user lives in Oslo", "The user lives in Bergen now"]
    made = [fact.data["id"] for fact in world.facts if fact.kind == "memory"]
    assert len(made) == len(set(made)) == 3
    shown = [text.text for text in world.chat]
    assert shown.count("remembered") == 3
    assert shown[-1] == "The user lives in Bergen now"


async def test_a_memory_is_kept_once_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    stores: list[DeadlyMemories] = []
    await dying_at_each_point(partial(run, sandbox, stores), partial(check, stores=stores))


async def test_several_deaths_lose_and_double_no_memory(sandbox: MontySandbox) -> None:
    stores: list[DeadlyMemories] = []
    await dying_often(partial(run, sandbox, stores), partial(check, stores=stores), lives=10)

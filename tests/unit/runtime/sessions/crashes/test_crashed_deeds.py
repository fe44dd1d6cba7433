"""Orders and memories are done and kept once each, whichever process dies at whichever moment."""

import random
from collections.abc import Sequence
from functools import partial

import pytest

from gateway.features.memories.node import memories_part
from gateway.features.tasks.node import TaskWork
from runtime.core.errors import InboxFull
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import TASK, TASK_HEARD, TASK_OVER, TASK_WORD, InboxEvent
from runtime.stores.memories import MemoryScope, StoredMemory
from runtime.tape.tape import tape_owner
from tests.fakes.crashes.world import World, live
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.people.player import Player
from tests.fakes.remembering import memories_of, remembering
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.programs.tasks import TASKS, ordering
from tests.unit.runtime.sessions.crashes.test_crashes import check, lived, run


def check_tasks(world: World, case: Case) -> None:
    """Each order is taken once, each result comes once to whoever ordered it, and each word once to whom it is for."""
    check(world, case)
    orders = [fact.data["task"] for fact in world.facts if fact.kind == "spawn"]
    begun = [tape_owner(fact.tape) for fact in world.facts if fact.kind == "order"]
    over = [(tape_owner(fact.tape), fact.data["task"]) for fact in world.facts if fact.kind == "task_over"]
    told = [fact.data["message"]["id"] for fact in world.facts if fact.kind == "in"]
    assert sorted(orders) == sorted(begun)
    assert len(over) == len(set(over))
    assert len(told) == len(set(told))
    words = [
        f"word.{tape_owner(fact.tape)}.{fact.seq}" for fact in world.facts if fact.kind in ("word_down", "word_up")
    ]
    assert sorted(words) == sorted(message for message in told if message.startswith("word."))


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


class Crowded(World):
    """A world whose inbox has no room for what goes between tasks and orderers when it is first offered."""

    _refused: frozenset[str] = frozenset()

    async def add(self, event: InboxEvent, /) -> bool:
        if event.kind in (TASK, TASK_WORD, TASK_HEARD, TASK_OVER) and event.id not in self._refused:
            self._refused |= {event.id}
            raise InboxFull("no room")
        return await super().add(event)


async def test_words_that_find_an_inbox_full_are_heard_once_when_the_process_dies_at_any_one_point(
    sandbox: MontySandbox,
) -> None:
    case = TASKS["words to and from two tasks"]

    async def in_a_crowd(*, crashes: tuple[int, ...], seed: int) -> World:
        return await lived(Crowded(case.people, crashes=crashes, seed=seed), case, sandbox, seed=seed)

    await dying_at_each_point(in_a_crowd, partial(check_tasks, case=case))


REFUSED = Case(
    ordering("""
async def Main():
    try:
        await Result(await Spawn("Researcher", "Study", ["tides"]))
    except Exception as error:
        await Say("user", str(error).partition(": ")[0])
    await EndProgram()
"""),
    ("start",),
    ("task 1 (Researcher.Study) failed",),
)


def check_refused(world: World) -> None:
    """The orderer hears once that its task has failed, and the order is set aside once."""
    check(world, REFUSED)
    assert [fact.data["status"] for fact in world.facts if fact.kind == "task_over"] == ["failed"]
    assert len({entry.event.id for entry in world.discarded}) == 1


async def test_an_order_that_no_session_can_take_has_failed_once_when_the_process_dies_at_any_one_point(
    sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(self: TaskWork, event: InboxEvent) -> None:
        raise KeyError("a fault in the order")

    monkeypatch.setattr(TaskWork, "begin", fault)

    async def refused(*, crashes: tuple[int, ...], seed: int) -> World:
        world = World(REFUSED.people, crashes=crashes, seed=seed)
        world.bears = (KeyError,)
        await live(world, REFUSED.program, Company(REFUSED, random.Random(seed)), sandbox)
        return world

    await dying_at_each_point(refused, check_refused)


CASE = Case(
    remembering(),
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


async def with_memories(
    sandbox: MontySandbox, stores: list[DeadlyMemories], *, crashes: tuple[int, ...], seed: int
) -> World:
    world = World(CASE.people, crashes=crashes, seed=seed)
    world.player = Player(world.mailboxes, CASE.plays, world, world.clock)
    stores.append(DeadlyMemories(world))
    kept = memories_of(stores[-1], world.clock)
    await live(world, CASE.program, Company(CASE, random.Random(seed)), sandbox, features=[memories_part(kept)])
    return world


def check_memories(world: World, stores: list[DeadlyMemories]) -> None:
    assert stores[-1].texts() == ["The user lives in Oslo", "The user lives in Bergen now"]
    made = [fact.data["id"] for fact in world.facts if fact.kind == "memory"]
    assert len(made) == len(set(made)) == 3
    shown = [text.text for text in world.chat]
    assert shown.count("remembered") == 3
    assert shown[-1] == "The user lives in Bergen now"


async def test_a_memory_is_kept_once_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    stores: list[DeadlyMemories] = []
    await dying_at_each_point(partial(with_memories, sandbox, stores), partial(check_memories, stores=stores))


async def test_several_deaths_lose_and_double_no_memory(sandbox: MontySandbox) -> None:
    stores: list[DeadlyMemories] = []
    await dying_often(partial(with_memories, sandbox, stores), partial(check_memories, stores=stores), lives=10)

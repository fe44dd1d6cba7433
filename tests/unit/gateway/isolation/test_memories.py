"""Memories in isolated tasks: those alone that the order lets the task recall, whatever its process asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.inbound.memory import RecordedSilence
from gateway.isolation.forms import MEMORIES
from gateway.isolation.node.memory_calls import MemoryCalls
from gateway.isolation.node.rights import Rights
from runtime.core.address import Address
from runtime.core.errors import TaskRefused
from runtime.core.ids import SessionId
from runtime.memories.books import Memories
from runtime.sandbox.monty import MontySandbox
from runtime.stores.memories import NOBODY, Memory, Scope
from tests.fakes.crashes.world import World
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.talk import Model, Reply, talking
from tests.fakes.remembering import memories_of
from tests.unit.gateway.isolation.test_rights import CHILD, LETTER, TASK_ID, event, rights
from tests.unit.runtime.sessions.memory.test_memories_in_tasks import HALL, ordering, said

pytestmark = pytest.mark.anyio

ADA, BOB = "test:Ada", "test:Bob"
HERE, PROGRAM = Scope("place", "p", "web:lobby"), Scope("program", "p")


async def test_an_isolated_task_recalls_and_is_told_what_its_orderers_place_may_use(sandbox: MontySandbox) -> None:
    world, model, made = World(()), Model(Reply("A curry.")), ordering()
    near = NearAgents(made, lambda: world.tasks, model, sandbox, world.clock)
    more = {"memories": memories_of(MemoryMemories(), world.clock), "task_conversation": near.conversations}
    async with talking(made, model, sandbox, world=world, **more) as talk:
        await said(talk, "remember is vegetarian")
        await said(talk, "remember likes rye", HALL, private=False)
        assert await said(talk, "Recall_it vegetarian rye") == "is vegetarian"
        assert await said(talk, "Recall_it vegetarian rye", HALL, private=False) == "likes rye"
        assert await said(talk, "Recall_it vegetarian rye", HALL, private=False, name="Bob") == "nothing"
        assert (await said(talk, "Keep likes rye")).startswith("not remembered: a task only recalls")
        await said(talk, "Answer_it dish")
        assert '"is vegetarian"' in model.told(0)
        assert len(near.started) == 5


def memory(id_: str, owner: str, scope: Scope = HERE) -> Memory:
    return Memory(id_, scope, owner, "", f"words of {id_}", 1767225600.0, "web:lobby", SessionId("s"))


async def kept(world: World, silence: RecordedSilence | None = None) -> Memories:
    store = MemoryMemories()
    for one in (memory("ada", ADA), memory("bob", BOB), memory("place", NOBODY), memory("all", NOBODY, PROGRAM)):
        await store.keep(one, keep_s=1e9)
    await store.keep(memory("private", ADA, Scope("person", "p", ADA)), keep_s=1e9)
    return memories_of(store, world.clock, "p", silence=silence)


def recalling() -> Rights:
    made = rights()
    made.order = replace(made.order, scope=HERE.key, owner=ADA)
    return made


async def texts(calls: MemoryCalls, scope: Scope) -> list[str]:
    _, found = await calls.memories([scope.key, ""])
    return [one.id for one in MEMORIES.read(found)]


async def test_a_process_reads_the_scopes_of_its_order_and_in_them_nothing_of_others() -> None:
    calls = MemoryCalls(await kept(World(())), recalling())
    assert await texts(calls, HERE) == ["ada", "place"]
    assert await texts(calls, PROGRAM) == ["all"]
    for other in (Scope("person", "p", ADA), Scope("place", "p", "web:hall"), Scope("program", "q")):
        with pytest.raises(TaskRefused, match="no such memories"):
            await texts(calls, other)
    with pytest.raises(TaskRefused):
        await texts(MemoryCalls(await kept(World(())), rights()), PROGRAM)
    with pytest.raises(TaskRefused):
        await texts(MemoryCalls(None, recalling()), HERE)


async def test_what_is_known_is_not_sent_again_and_who_turned_memory_off_is_left_out() -> None:
    silence = RecordedSilence(MemoryRecords())
    calls = MemoryCalls(await kept(World(()), silence), recalling())
    version, _ = await calls.memories([HERE.key, ""])
    assert await calls.memories([HERE.key, version]) == [version, []]
    await silence.begin("p", ADA)
    changed, found = await calls.memories([HERE.key, version])
    assert changed != version
    assert [one["id"] for one in found] == ["place"]


@pytest.mark.parametrize(
    ("scope", "owner", "allowed"),
    [
        ("", "", True),
        (HERE.key, ADA, True),
        (HERE.key, "", True),
        (HERE.key, BOB, False),
        (Scope("person", "p", ADA).key, ADA, False),
    ],
)
def test_a_task_hands_on_no_more_than_it_has(scope: str, owner: str, *, allowed: bool) -> None:
    made = recalling()
    made.children.add(CHILD)
    home: list[str | None] = ["task", TASK_ID, None]
    letter = replace(LETTER, orderer=TASK_ID, depth=2, home=home, scope=scope, owner=owner)
    ordered = event("task", Address("task", CHILD), str(letter), CHILD, program="p")
    if allowed:
        made.check_letter(ordered)
    else:
        with pytest.raises(TaskRefused):
            made.check_letter(ordered)

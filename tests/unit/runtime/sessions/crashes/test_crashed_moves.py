"""Whenever the process dies, what a closed place refuses is said once in the next."""

import random

from msgspec.structs import replace

from runtime.core.texts import english
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import ADDRESS, Scripted, World, live
from tests.sampling import sample
from tests.unit.runtime.sessions.programs import MAIN, agent, program

TOPIC = replace(ADDRESS, thread="t1")
ECHO = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "heard " + message["text"])
"""
MADE = program(agent("Host", MAIN, code=ECHO))


async def test_what_a_closed_topic_refuses_is_said_once_in_its_group_when_the_process_dies_at_any_one_point(
    sandbox: MontySandbox,
) -> None:
    moved = english()("session.moved")

    async def lived(*crashes: int) -> World:
        world = World(("at:t1:hi", "at:t1:one", "at:t1:two"), crashes=crashes, seed=1)
        world.gone = {TOPIC}
        await live(world, MADE, Scripted([], random.Random(1)), sandbox)
        return world

    calm = await lived()
    for point in sample().of(range(calm.points + 1)):
        world = await lived(point)
        seen = [(shown.spec.address, shown.text) for shown in world.chat if shown.spec is not None]
        told = f"crashed at point {point} of {calm.points}"
        assert sorted(seen) == [(ADDRESS, f"{moved}\n\nheard one"), (ADDRESS, f"{moved}\n\nheard two")], told

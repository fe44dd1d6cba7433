"""What a program publishes is seen once by others and begins another program once, whenever the process dies."""

import random

from gateway.clients.scopes import ClientScopes
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World, live
from tests.fakes.published import events_of
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point, dying_often
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.test_crashes import check
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

SHOP = """
async def Main():
    for item in ("tea", "rice"):
        await Say("user", f"published {await Publish('orders.taken', {'item': item})}")
    await EndProgram()

async def Restock(item):
    return item
"""
RESTOCK = python("Restock", "item", trigger="EVT When the event orders.taken arrives")
MADE = program(agent("Main", MAIN, RESTOCK, code=SHOP))
MAY = ClientScopes(events_write=("orders.*",), triggers=("test",))


async def lived(sandbox: MontySandbox, crashes: tuple[int, ...], seed: int) -> World:
    world = World(("start",), crashes=crashes, seed=seed)
    events = events_of(world, {MADE.name: MADE}, {MADE.name: MAY})
    company = Company(Case(MADE, ("start",), ()), random.Random(seed))
    await live(world, MADE, company, sandbox, events=events, seen=True)
    return world


def check_published(world: World) -> None:
    """Each event is a line of the log, the result of its call, and the beginning of one task."""
    published = [fact for fact in world.facts if fact.kind == "publish"]
    assert [fact.data["values"] for fact in published] == [{"item": "tea"}, {"item": "rice"}]
    assert [(seq, type_) for _, seq, type_ in world.seen_outside if type_ == "orders.taken"] == [
        (fact.seq, "orders.taken") for fact in published
    ]
    seen = tuple(f"published {fact.seq}" for fact in published)
    check(world, Case(MADE, ("start",), seen))
    done = [fact.data for fact in world.facts if fact.kind == "order_over"]
    assert sorted(fact["val"] for fact in done) == ["rice", "tea"]


async def test_an_event_is_published_once_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    async def live_once(*, crashes: tuple[int, ...], seed: int) -> World:
        return await lived(sandbox, crashes, seed)

    await dying_at_each_point(live_once, check_published)
    await dying_often(live_once, check_published)

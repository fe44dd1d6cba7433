"""Events that programs publish: in their scope, once, seen by others, and beginning what the settings allow."""

from typing import Any

import pytest
from msgspec.structs import replace

from gateway.clients.scopes import ClientScopes
from gateway.features.publishing.calls import MAX_HOPS
from gateway.features.publishing.node import ProgramEvents
from gateway.features.reports.node import NodeReports
from runtime.language.program import Program
from runtime.sessions.failures import ReportReference, SessionFailure
from runtime.stores.orders import TaskLimits
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import EventPublished
from runtime.tape.tape import tape_owner
from runtime.tape.view import event_of, source_of
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, answered, block, talking
from tests.fakes.published import events_of
from tests.unit.runtime.sessions.programs import MAIN, agent, compiled, program, python

ORDERS = ClientScopes(events_write=("orders.>",), triggers=("store",))
STORE = """
async def Restock(item, event):
    return [item, event["type"], event["source"]]
"""


def shop(code: str) -> Program:
    main = agent("Main", MAIN, code=f"async def Main():\n{code}")
    return replace(program(main), name="shop")


def store() -> Program:
    restock = python("Restock", "item", "event", trigger="EVT When the event orders.taken arrives")
    return replace(program(agent("Keeper", restock, code=STORE)), name="store")


def served(*programs: Program, **publishers: ClientScopes) -> tuple[dict[str, Program], World, ProgramEvents]:
    found, world = {one.name: one for one in programs}, World(())
    return found, world, events_of(world, found, publishers)


async def said(code: str, **publishers: ClientScopes) -> tuple[list[str], World]:
    """What people see of a program that publishes, beside a store."""
    programs, world, events = served(shop(code), store(), **publishers)
    async with talking(programs, Model(), world=world, events=events, tasks=TaskLimits(), after="hi") as talk:
        return talk.chat, world


def of_kind(world: World, kind: str) -> list[Any]:
    return [fact.data for fact in world.facts if fact.kind == kind]


async def test_what_a_program_publishes_is_a_fact_that_others_see_and_begins_a_program_once() -> None:
    code = """
    name = await Publish("orders.taken", {"item": "tea", "pieces": 2})
    await Say("user", f"published {name}")
"""
    chat, world = await said(code, shop=ORDERS)
    fact = next(fact for fact in world.facts if read_as(fact, EventPublished) is not None)
    assert chat == [f"published {fact.seq}"]
    assert event_of(fact, "orders.taken").as_data(content=False) == {
        "specversion": "1.0",
        "id": str(fact.seq),
        "type": "orders.taken",
        "sequence": str(fact.seq),
        "source": source_of(tape_owner(fact.tape)),
        "time": fact.at.isoformat(),
        "subject": "1000",
        "datacontenttype": "application/json",
        "data": {"item": "tea", "pieces": 2},
    }
    assert [order["pb"] for order in of_kind(world, "order")] == ["Restock"]
    assert [done["val"] for done in of_kind(world, "order_over")] == [
        ["tea", "orders.taken", source_of(tape_owner(fact.tape))]
    ]


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ('"stock.low", {}', "nothing was published: the settings do not let shop publish stock.low"),
        ('"orders taken", {}', "nothing was published: 'orders taken' is no type of events"),
        ('"orders." + "x" * 300, {}', "nothing was published: 'orders.xxx"),
        ('"agent.done", {}', "nothing was published: only Parley itself has events of the type agent.done"),
        ('"bus.ack", {}', "nothing was published: only Parley itself has events of the type bus.ack"),
        ('"orders.taken", [1]', "nothing was published: the data are values by names"),
        ('"orders.taken", "tea"', "nothing was published: the data are values by names"),
        ('"orders.taken", {"item": object()}', "data"),
        ('"orders.taken", {"item": "x" * 70_000}', "nothing was published: an event has at most 65,536 bytes of data"),
    ],
)
async def test_what_may_not_be_published_is_an_error_that_says_why(call: str, wrong: str) -> None:
    code = f"""
    try:
        await Publish({call})
    except Exception as error:
        await Say("user", str(error))
"""
    allowed = ClientScopes(events_write=("orders.>", "agent.*", "bus.>"), triggers=("store",))
    chat, world = await said(code, shop=allowed)
    assert len(chat) == 1
    assert wrong in chat[0]
    assert of_kind(world, "publish") == of_kind(world, "order") == []


@pytest.mark.parametrize(
    ("publishers", "orders"),
    [
        ({}, None),
        ({"store": ORDERS}, None),
        ({"shop": ClientScopes(events_write=(">",))}, 0),
        ({"shop": ClientScopes(events_write=(">",), triggers=("shop",))}, 0),
        ({"shop": ClientScopes(events_write=(">",), triggers=("st*",))}, 1),
    ],
)
async def test_a_program_publishes_and_begins_only_what_the_settings_give_it(
    publishers: dict[str, ClientScopes], orders: int | None
) -> None:
    code = """
    try:
        await Publish("orders.taken", {"item": "tea", "event": 1})
    except Exception as error:
        await Say("user", str(error))
"""
    chat, world = await said(code, **publishers)
    assert len(chat) == (1 if orders is None else 0)
    assert len(of_kind(world, "order")) == (orders or 0)


class Desk:
    """Implements ReportDesk."""

    def __init__(self) -> None:
        self.taken: list[SessionFailure] = []

    async def take(self, failure: SessionFailure, /) -> ReportReference:
        self.taken.append(failure)
        return ReportReference(len(self.taken), 1)


async def test_two_programs_that_begin_each_other_end_with_a_report_that_says_so() -> None:
    def player(name: str, hears: str, says: str) -> Program:
        hit = python("Hit", trigger=f"EVT When the event ball.{hears} arrives")
        start = python("Start", trigger="BGN When program starts")
        code = f'async def Hit():\n    await Publish("ball.{says}")\n\nasync def Start():\n    await Hit()\n'
        return replace(program(agent("Player", start, hit, code=code)), name=name)

    scopes = ClientScopes(events_write=("ball.*",), triggers=("p*",))
    programs, world, events = served(
        player("ping", "pong", "ping"), player("pong", "ping", "pong"), ping=scopes, pong=scopes
    )
    desk = Desk()
    async with talking(
        programs, Model(), world=world, events=events, tasks=TaskLimits(), features=[NodeReports(desk)]
    ) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(desk.taken))
    assert [fact["hops"] for fact in of_kind(world, "publish")] == list(range(1, MAX_HOPS + 1))
    assert [failure.error_type for failure in desk.taken] == ["PlaybookError"]
    assert "the programs seem to begin each other without end" in of_kind(world, "order_over")[-1]["error"]


STEPS = """# Shop

## Main
### Triggers
- At the beginning
### Steps
- $item = "tea"
- {step}
- End program
"""


@pytest.mark.parametrize(
    ("step", "model"),
    [
        ('Publish("orders.taken", {"item": $item})', Model()),
        (
            "Publish that the order was taken, as orders.taken, with the item",
            Model(block('await Publish("orders.taken", {"item": item})', "await Done()")),
        ),
    ],
)
async def test_steps_publish_by_a_call_or_in_words(step: str, model: Model) -> None:
    made = replace(await compiled(STEPS.replace("{step}", step)), name="shop")
    programs, world, events = served(made, shop=ORDERS)
    await answered(programs, model, "hi", world=world, events=events)
    assert [fact["values"] for fact in of_kind(world, "publish")] == [{"item": "tea"}]

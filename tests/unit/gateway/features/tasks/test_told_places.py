"""What a playbook says that began on an event of another program: seen in the place that its program names."""

import pytest
from msgspec.structs import replace

from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.inbox import TASK
from runtime.stores.orders import TaskLimits, TaskOrder
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import agent, program, python

TEAM, SHOP, TASK_ID = Address("test", "team"), Address(CLIENT, "shop"), SessionId("5" * 32)
CODE = """
async def Low(item: str):
    await Say("user", f"{item} is low")
    return await Ask("Order more?")
"""


def told(place: str) -> Program:
    store = agent("Store", python("Low", "item", trigger="EVT When the event stock.low arrives"), code=CODE)
    return replace(program(store), metadata={"deliver": place} if place else {})


async def seen(made: Program, *, event: str = "stock.low") -> list[tuple[str, Address | None]]:
    """What is said, and where."""
    async with talking(made, Model(), tasks=TaskLimits(), task_places={"team": TEAM}) as talk:
        order(talk, event)
        await talk.until(lambda: any(shown.text == "Order more?" for shown in talk.world.chat))
        return [(shown.text, shown.spec.address if shown.spec else None) for shown in talk.world.chat]


def order(talk: Talk, event: str) -> None:
    due, whose = talk.world.clock.now().timestamp() + 600, address_data(SHOP)
    what = ("Store", "Low", {"item": "tea"})
    letter = TaskOrder(0, SessionId(""), *what, due, 1, whose, whose, TASK_ID, event=event)
    talk.post(str(letter), at=address_of(TASK_ID), kind=TASK)


async def test_its_words_are_seen_in_the_place_and_its_questions_go_to_the_client() -> None:
    assert await seen(told("team")) == [("tea is low", TEAM), ("Order more?", SHOP)]


async def test_a_task_that_a_client_orders_itself_stays_with_the_client() -> None:
    assert await seen(told("team"), event="") == [("tea is low", SHOP), ("Order more?", SHOP)]


@pytest.mark.parametrize("place", ["", "elsewhere"])
async def test_without_a_place_of_the_settings_nobody_sees_it(place: str) -> None:
    assert await seen(told(place)) == [("tea is low", SHOP), ("Order more?", SHOP)]

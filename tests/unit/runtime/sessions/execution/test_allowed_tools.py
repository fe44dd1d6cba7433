"""Tools that may be called, that are asked for first, and that are forbidden."""

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.ids import SessionId
from runtime.execution.calls.remote import ToolRules
from runtime.language.program import AgentSpec, Program
from runtime.playbooks.remote import QUESTION as APPROVAL
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import ANSWER, TASK
from runtime.stores.orders import TaskOrder
from tests.fakes.crashes.world import Scripted, World, live
from tests.fakes.people.remote_stand import Stand, in_memory, standing
from tests.fakes.people.talk import Model, Talk, talking
from tests.fakes.protocols.mcp_server import Ledger
from tests.sampling import sample
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

ASKED = '🔧 I want to call Weather.buy(what="bread"). Is that allowed?'

SHOPPING = """
async def Main():
    try:
        text = await {call}
    except NotAllowed as error:
        text = str(error)
    await Say("user", text)
    await WaitForMessage("user")
"""


@pytest.fixture
def weather(tmp_path: Path) -> AgentSpec:
    return in_memory(tmp_path)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing() as made:
        yield made


def shop(weather: AgentSpec, call: str = 'Weather.buy(what="bread")') -> Program:
    main = agent("Main", MAIN, code=SHOPPING.format(call=call))
    return program(main, weather)


ASKING = ToolRules(ask=("Weather.*",))


def press(talk: Talk, index: int) -> dict[str, Any]:
    return {"kind": "choice", "choice": talk.world.offered[-1].choices[index].id}


async def told(talk: Talk, count: int) -> list[str]:
    """What people have read, once it is so much."""
    await talk.until(lambda: len(talk.chat) >= count)
    return talk.chat


async def test_a_pressed_button_allows_a_call_or_not(
    weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    for index, done in ((0, "bought bread"), (1, "Weather.buy was not allowed: the answer was Do not allow")):
        async with talking(shop(weather), Model(), sandbox, servers=stand.pool, tool_rules=ASKING) as talk:
            talk.post("hi")
            assert await told(talk, 1) == [ASKED]
            assert [choice.label for choice in talk.world.offered[-1].choices] == ["Allow", "Do not allow"]
            talk.post(talk.world.offered[-1].choices[index].label, **press(talk, index))
            assert await told(talk, 2) == [ASKED, done]
    assert len(ledger.lines) == 1


async def test_an_owner_allows_a_call_from_elsewhere(weather: AgentSpec, stand: Stand, ledger: Ledger) -> None:
    async with talking(shop(weather), Model(), servers=stand.pool, tool_rules=ASKING) as talk:
        talk.post("hi")
        await told(talk, 1)
        assert [fact.data["pos"] for fact in talk.world.facts if fact.kind == "ask"] == [APPROVAL]
        talk.post("Allow", name="Olga", kind=ANSWER, choice=talk.world.offered[-1].choices[0].id)
        assert await told(talk, 2) == [ASKED, "bought bread"]
    assert len(ledger.lines) == 1


@pytest.mark.parametrize(
    ("words", "allowed"), [("Yes.", True), ("ok", True), ("allow", True), ("1", True), ("no", False), ("why?", False)]
)
async def test_words_allow_a_call_only_where_they_say_so(
    words: str, allowed: bool, weather: AgentSpec, stand: Stand, ledger: Ledger
) -> None:
    async with talking(shop(weather), Model(), servers=stand.pool, tool_rules=ASKING) as talk:
        talk.post("hi")
        await told(talk, 1)
        talk.post(words)
        [_, said] = await told(talk, 2)
    assert said == ("bought bread" if allowed else f"Weather.buy was not allowed: the answer was {words}")
    assert len(ledger.lines) == int(allowed)


async def test_no_answer_in_time_is_a_no(weather: AgentSpec, stand: Stand, ledger: Ledger) -> None:
    within = ToolRules(ask=("*",), within_s=60)
    async with talking(shop(weather), Model(), servers=stand.pool, tool_rules=within) as talk:
        talk.post("hi")
        assert await told(talk, 2) == [ASKED, "Weather.buy was not allowed: nobody answered in 60 s"]
    assert ledger.lines == []


async def test_a_forbidden_tool_is_not_called(weather: AgentSpec, stand: Stand, ledger: Ledger) -> None:
    forbidden = ToolRules(deny=("Weather.*",))
    async with talking(shop(weather), Model(), servers=stand.pool, tool_rules=forbidden) as talk:
        assert await talk.say("hi") == ["Weather.buy may not be called here: [tools] in the settings says so"]
    assert ledger.lines == []


async def test_the_longest_pattern_decides_and_of_equally_long_ones_the_strictest(
    weather: AgentSpec, stand: Stand
) -> None:
    await stand.pool.ready_for(weather)
    tool = stand.pool.tool(weather, "buy")
    assert tool is not None
    many = ToolRules(allow=("Weather.buy", "Shop.*"), ask=("Weather.*", "Shop.*"), deny=("*.look", "Shop.*"))
    names = ("Weather.buy", "Weather.pay", "Weather.look", "Bank.look", "Shop.buy", "Bank.pay")
    found = [many.verdict(name, tool, in_task=False) for name in names]
    assert found == ["allow", "ask", "ask", "deny", "deny", "allow"]
    assert replace(many, careful=True).verdict("Weather.buy", tool, in_task=False) == "ask"
    assert replace(many, careful=True).verdict("Bank.pay", tool, in_task=False) == "ask"
    assert replace(many, careful=True).verdict("Shop.buy", tool, in_task=False) == "deny"
    looking = stand.pool.tool(weather, "look")
    assert looking is not None
    assert replace(many, careful=True).verdict("Weather.buy", looking, in_task=False) == "allow"


@pytest.mark.parametrize(("tool", "asks"), [("buy", True), ("look", False)])
async def test_a_task_asks_for_what_does_not_only_read(
    tool: str, asks: bool, weather: AgentSpec, stand: Stand, ledger: Ledger
) -> None:
    ledger.add("look first 1")  # the first call of it never ends
    call = f"Weather.{tool}({'what=' + repr('bread') if asks else ''})"
    buyer = agent("Buyer", python("Buy", public=True), code=f"async def Buy():\n    return await {call}\n")
    ordering = 'async def Main():\n    await Say("user", await Result(await Spawn("Buyer", "Buy")))\n'
    main = agent("Main", MAIN, code=ordering)
    async with talking(program(main, buyer, weather), Model(), servers=stand.pool) as talk:
        talk.post("hi")
        if asks:
            await talk.until(lambda: bool(talk.chat))
            assert talk.chat == [f"Task 1 (Buyer.Weather.buy) asks: {ASKED}"]
            talk.post("Allow", **press(talk, 0))
        await talk.until(lambda: talk.chat[-1:] == ["bought bread" if asks else "look done"])


async def test_a_call_is_asked_for_once_and_made_once_whenever_the_process_dies(
    weather: AgentSpec, stand: Stand, ledger: Ledger, sandbox: MontySandbox
) -> None:
    main = llm("Main", "01:QUE Buy what is said", begins=True)
    statements = [
        'await Step("Main:01:QUE")',
        'text = await Weather.order(what="bread")',
        'await Say("user", text)',
        'await Yld("exit")',
    ]

    async def run(*crashes: int) -> World:
        world = World(["go", "!yes"], crashes=crashes, seed=len(crashes))
        world.servers = stand.pool
        model = Scripted([statements], random.Random(1))
        await live(world, program(agent("Main", main), weather), model, sandbox, tool_rules=ASKING)
        return world

    calm = await run()
    assert [shown.text for shown in calm.chat] == [ASKED.replace("buy", "order"), "ordered bread"]
    for point in sample().of(range(1, calm.points + 1)):
        before = len(ledger.lines)
        world = await run(point)
        assert [shown.text for shown in world.chat] == [shown.text for shown in calm.chat], f"crashed at {point}"
        assert len(ledger.lines) == before + 1, f"crashed at {point}"


async def test_who_orders_a_task_from_outside_cannot_allow_it_what_people_have_to(
    weather: AgentSpec, stand: Stand, ledger: Ledger
) -> None:
    buyer = agent(
        "Buyer", python("Buy", public=True), code='async def Buy():\n    return await Weather.buy(what="x")\n'
    )
    async with talking(program(buyer, weather), Model(), servers=stand.pool) as talk:
        task, client = SessionId("ordered"), address_data(Address(CLIENT, "ci"))
        due = talk.world.clock.now().timestamp() + 60
        order = TaskOrder(0, SessionId(""), "Buyer", "Buy", {}, due, 1, client, client, task, 0, 0.0)
        talk.post(str(order), kind=TASK, at=address_of(task), program="test")
        await talk.until(lambda: bool(talk.facts("order_over")))
        (over,) = talk.facts("order_over")
        assert "another program has ordered this task" in str(over)
        assert ledger.lines == []

"""Whom a program waits for, by every word that it may use, in Python and in what a model answers."""

from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.ids import AgentId
from runtime.language.program import Program
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.crashes.programs.tales import GUEST
from tests.unit.runtime.sessions.inbound.test_declared_people import human
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

TAX = """
async def Main():
    while True:
        for message in await WaitForMessage("Clerk"):
            await Say("Clerk", "20 %")
"""


def offices(source: str) -> Program:
    """A clerk in Python who asks the tax agent and waits for this source."""
    code = f"""
async def Main():
    await Say("TaxAgent", "rate?")
    for message in await WaitForMessage("{source}"):
        await Say("user", message["class"] + ": " + message["text"])
    await WaitForMessage("user")
"""
    return program(agent("Clerk", MAIN, code=code), agent("TaxAgent", MAIN, code=TAX), human("Alice"))


def sources(talk: Talk, agent_id: str = "1000") -> list[dict[str, Any]]:
    """What the waits of an agent were for, in order."""
    waits = [fact.data for fact in talk.world.facts if fact.kind == "wait"]
    return [wait["source"] for wait in waits if wait["f"].partition(".")[0] == agent_id]


AGENT_WORDS = ["agent", "agent 1001", "1001", "agent TaxAgent", "TaxAgent"]


@pytest.mark.parametrize("source", [*AGENT_WORDS, "*"])
async def test_python_waits_for_an_agent_by_these_words(source: str) -> None:
    async with talking(offices(source), Model()) as talk:
        assert await talk.say("go") == ["TaxAgent: 20 %"]
    assert sources(talk)[0] == ({"any": True} if source == "*" else {"agents": ["1001"]})


def thinking(*replies: Reply) -> tuple[Program, Model]:
    """A clerk that a model plays, beside the tax agent."""
    clerk = agent("Clerk", llm("Main", begins=True))
    return program(clerk, agent("TaxAgent", MAIN, code=TAX), human("Alice"), human("Bob")), Model(*replies)


@pytest.mark.parametrize("source", AGENT_WORDS)
async def test_a_model_waits_for_an_agent_by_these_words(source: str) -> None:
    asks = block('await Say("TaxAgent", "rate?")', f'await Yld("{source}")')
    made, model = thinking(asks, block('await Say("user", "It is 20 %.")', 'await Yld("user")'))
    async with talking(made, model) as talk:
        assert await talk.say("go") == ["It is 20 %."]
    assert "Message from TaxAgent (agent 1001): 20 %" in model.told(1)
    assert sources(talk) == [{"agents": ["1001"]}, {"human": True}]


@pytest.mark.parametrize(
    ("source", "waits"),
    [
        ("user", {"human": True}),
        ("Human", {"human": True}),
        ("Alice", {"human": True, "person": "test:Alice"}),
        ("agent alice", {"human": True, "person": "test:Alice"}),
        ("test:Alice", {"human": True, "person": "test:Alice"}),
        ("Bob", {"human": True, "declared": "Bob"}),
    ],
)
async def test_a_model_waits_for_people_by_these_words(source: str, waits: dict[str, Any]) -> None:
    made, model = thinking(block(f'await Yld("{source}")'), block('await Say("user", "Ah.")', 'await Yld("exit")'))
    async with talking(made, model) as talk:
        assert await talk.say("go", name="Alice") == []
        assert await talk.say("here", name="Bob" if source == "Bob" else "Alice") == ["Ah."]
    assert sources(talk) == [waits]


async def test_after_a_person_was_spoken_to_agent_is_still_the_agent() -> None:
    asks = block('await Say("TaxAgent", "rate?")', 'await Say("Alice", "A moment.")', 'await Yld("agent")')
    made, model = thinking(asks, block('await Yld("user")'))
    async with talking(made, model) as talk:
        assert await talk.say("go", name="Alice") == ["A moment."]
    assert sources(talk) == [{"agents": ["1001"]}, {"human": True, "person": "test:Alice"}]


async def test_a_model_that_waits_for_agent_with_none_spoken_to_is_corrected() -> None:
    hello = 'await Say("Alice", "Hello.")'
    made, model = thinking(block(hello, 'await Yld("agent")'), block("# resume: 1", 'await Yld("user")'))
    async with talking(made, model) as talk:
        assert await talk.say("go", name="Alice") == ["Hello."]
    assert "no agent was spoken to yet, so there is none to wait for" in model.told(1)


@pytest.mark.parametrize("source", ["meeting", "meeting 100", "Meeting 100"])
async def test_a_meeting_is_waited_for_by_these_words(source: str) -> None:
    code = f"""
async def Main():
    await Say("user", await Talk())

async def Talk():
    await Say("meeting", "What do you suggest?")
    while True:
        for message in await WaitForMessage("{source}"):
            if message["text"].startswith("idea"):
                return message["text"]
"""
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    async with talking(program(host, guest), Model()) as talk:
        assert (await talk.say("go"))[-1] == "idea 7"
    assert sources(talk)[0] == {"meeting": "100"}


@pytest.mark.parametrize("source", ["meeting", "meeting 100"])
async def test_a_model_waits_for_its_meeting_by_these_words(source: str) -> None:
    talk_playbook = replace(llm("Talk"), metadata={"meeting": True, "required_attendees": ["Guest"]})
    host = agent("Host", MAIN, talk_playbook, code='async def Main():\n    await Say("user", await Talk())')
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    model = Model(
        block('await Say("meeting", "What do you suggest?")', f'await Yld("{source}")'),
        block('await Var("__", "chosen")', 'await Return("We take idea 7.")'),
    )
    async with talking(program(host, guest), model) as talk:
        assert (await talk.say("go"))[-1] == "We take idea 7."
    assert "in meeting 100: idea 7" in model.told(1)
    assert sources(talk)[0] == {"meeting": "100", "notices": False}


@pytest.mark.parametrize(
    ("targets", "particular"),
    [
        ("meeting", []),
        ("meeting 100", []),
        ("meeting 100, agent 1001", ["1001"]),
        ("meeting 100, agent 1001, Guest", ["1001"]),
        ("meeting, Guest, Alice", ["1001", "test:Alice"]),
    ],
)
async def test_a_meeting_is_spoken_to_by_these_words(targets: str, particular: list[str]) -> None:
    code = f"""
async def Main():
    await Talk()

async def Talk():
    await Say("{targets}", "hear, hear")
"""
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    async with talking(program(host, guest, human("Alice")), Model()) as talk:
        assert (await talk.say("go", name="Alice"))[-1] == "hear, hear"
    [heard] = [
        f.data["message"] for f in talk.world.facts if f.kind == "in" and f.data["message"]["text"] == "hear, hear"
    ]
    assert (heard["type"], heard["meeting"], heard.get("targets", [])) == ("meeting_broadcast", "100", particular)


@pytest.mark.parametrize(
    ("targets", "why"),
    [
        ("meeting 100, agent 1007", "agent 1007 is not in meeting 100; in it are agent 1000, agent 1001"),
        ("meeting 100, Friend", "Friend is not in meeting 100; in it are agent 1000, agent 1001"),
        ("meeting 100, Bob", "Bob is not here yet; here are Alice"),
        ("meeting 107", "meeting 107 is not going on; going on are meeting 100"),
    ],
)
async def test_who_is_not_in_the_meeting_is_not_spoken_to_there(targets: str, why: str) -> None:
    code = f"""
async def Main():
    await Say("user", await Talk())

async def Talk():
    try:
        await Say("{targets}", "never heard")
    except Exception as error:
        return str(error)
"""
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    friend = agent("Friend", python("Wave"), code="async def Wave(): pass")
    people = human("Alice"), human("Bob")
    async with talking(program(host, guest, friend, *people), Model()) as talk:
        assert (await talk.say("go", name="Alice"))[-1] == why


async def test_in_a_meeting_a_class_is_spoken_to_in_private() -> None:
    code = """
async def Main():
    await Talk()

async def Talk():
    await Say("Guest", "between us")
"""
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    async with talking(program(host, guest), Model()) as talk:
        assert "between us" not in await talk.say("go")
    [heard] = [
        f.data["message"] for f in talk.world.facts if f.kind == "in" and f.data["message"]["text"] == "between us"
    ]
    assert (heard["type"], heard["to"], heard.get("meeting")) == ("direct", "1001", None)


async def test_declared_people_are_reached_heard_at_once_and_leave_nothing_behind() -> None:
    """The first implementation dropped what was said to declared people, never woke a wait for them, and kept what they
    had been told."""
    code = """
async def Main():
    for message in await WaitForMessage("human"):
        for number in range(300):
            await Say("Alice", str(number))
    await Say("user", "done")
    await WaitForMessage("Alice")
"""
    async with talking(program(agent("Clerk", MAIN, code=code), human("Alice")), Model()) as talk:
        await talk.say("go", name="Alice")
        before = talk.world.clock.monotonic()
        assert await talk.say("hi", name="Alice") == [*map(str, range(300)), "done"]
        assert talk.world.clock.monotonic() == before
    state = SessionState()
    for fact in talk.world.facts:
        apply_fact(state, fact)
    assert state.pages == {}
    assert state.agents[AgentId("1000")].queue == []


async def test_call_waits_for_nobody_return_goes_back_and_exit_ends_the_program() -> None:
    clerk = agent("Clerk", llm("Main", begins=True), llm("Inner"))
    model = Model(
        block("found = await Inner()", 'await Yld("call")'),
        block('await Say("user", "Inside.")', 'await Var("__", "said it")', 'await Yld("return")'),
        block('await Say("user", f"It gave {found}.")', 'await Yld("exit")'),
    )
    async with talking(program(clerk, human("Alice")), model) as talk:
        assert await talk.say("go") == ["Inside.", "It gave None."]
    assert sources(talk) == []
    assert [fact.kind for fact in talk.world.facts].count("ended") == 1

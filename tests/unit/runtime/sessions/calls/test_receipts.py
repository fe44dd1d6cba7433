"""`Say` that waits to be acknowledged."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from runtime.bus import Bus
from runtime.channels.extensions import ChannelExtension, ExtendedChannels, ExtensionGuest, OnMessage
from runtime.core.message import Message
from runtime.language.program import AgentKind, AgentSpec, Program
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import TurboClock, World
from tests.fakes.people.player import Player, says
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, llm, program, python

READS = """
async def Listen():
    for message in await WaitForMessage("*"):
        await Say("user", "read " + message["text"])
"""

NEVER_READS = """
async def Listen():
    await WaitForMessage("user")
"""


def patient() -> World:
    """A world in which what can happen happens before time passes."""
    return World(())


def lead(code: str, *others: AgentSpec, **meeting: Any) -> Program:
    playbooks = [MAIN]
    if meeting:
        playbooks.append(python("Talk", meeting=True, **meeting))
    return program(agent("Lead", *playbooks, code=code), *others)


def helper(code: str, name: str = "Helper") -> AgentSpec:
    return agent(name, python("Listen", trigger="BGN When program starts"), code=code)


ASK = """
async def Main():
    ack = await Say("Helper", "a word", ack_within_s=30)
    await Say("user", f"{ack}")
    await EndProgram()
"""


async def test_an_agent_acknowledges_by_consuming_the_message() -> None:
    seen = await answered(lead(ASK, helper(READS)), Model(), "go", world=patient())
    assert sorted(seen) == ["read a word", "{'acknowledged': ['agent 1001'], 'missing': []}"]


async def test_a_time_out_is_a_value() -> None:
    async with talking(lead(ASK, helper(NEVER_READS)), Model(), world=patient()) as talk:
        began = talk.world.clock.monotonic()
        assert await talk.say("go") == ["{'acknowledged': [], 'missing': ['agent 1001']}"]
        assert talk.world.clock.monotonic() - began >= 30


async def test_people_acknowledge_when_the_platform_shows_it() -> None:
    code = """
async def Main():
    ack = await Say("user", "look", ack_within_s=30)
    await Say("user", f"{ack}")
"""
    async with talking(lead(code), Model(), world=patient()) as talk:
        assert await talk.say("go") == ["look", "{'acknowledged': ['user'], 'missing': []}"]
    kinds = [fact.kind for fact in talk.world.facts]
    assert kinds.index("shown") < kinds.index("took")


async def test_a_say_that_wants_no_acknowledgement_gives_nothing() -> None:
    code = "async def Main():\n    await Say(\"user\", f\"{await Say('Helper', 'a word')}\")\n"
    async with talking(lead(code, helper(NEVER_READS)), Model(), world=patient()) as talk:
        assert await talk.say("go") == ["None"]
    assert talk.facts("acks") == []


async def test_everybody_in_a_meeting_acknowledges_for_themselves() -> None:
    code = """
async def Main():
    await Talk()

async def Talk():
    ack = await Say("meeting", "everybody here?", ack_within_s=20)
    await Say("user", f"{sorted(ack['acknowledged'])} {ack['missing']}")
    await EndMeeting()
"""
    listens = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if "here" in message["text"]:
                return
"""
    sleeps = 'async def Join():\n    await WaitForMessage("agent 1000")\n'
    guests = [agent("Guest", python("Join", meeting=True), code=listens)]
    guests.append(agent("Sleeper", python("Join", meeting=True), code=sleeps))
    made = lead(code, *guests, required_attendees=["Guest", "Sleeper"])
    seen = await answered(made, Model(), "go", world=patient())
    assert "['agent 1001', 'user'] ['agent 1002']" in seen


async def test_one_in_another_process_acknowledges_when_it_has_it() -> None:
    scout = AgentSpec("Helper", AgentKind.REMOTE, SPAN, metadata={"participant": "scout"})
    world = patient()
    world.player = Player(world.mailboxes, lambda _: [says("thanks")], world, world.clock)
    async with talking(lead(ASK, scout), Model(), world=world) as talk:
        assert await talk.say("go") == ["{'acknowledged': ['agent 1001'], 'missing': []}"]
    assert world.player.heard[0]["acknowledge"] is True


async def test_a_model_asks_for_one_and_sees_who_has_it() -> None:
    main = llm("Main", "01:QUE Tell Helper", "02:QUE Say; YLD for user", begins=True)
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            'ack = await Say("Helper", "a word", ack_within_s=5)',
            'await Step("Main:02:QUE")',
            'await Say("user", f"missing: {ack[\'missing\']}")',
            'await Yld("user")',
        ),
    )
    assert await answered(program(agent("Lead", main), helper(NEVER_READS)), model, "go") == ["missing: ['agent 1001']"]


async def test_a_streamed_sentence_can_be_waited_for() -> None:
    main = llm("Main", "01:QUE Say", "02:QUE Say; YLD for user", begins=True)
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            'await Say("user", "a sentence that is shown while it is written", ack_within_s=5)',
            'await Step("Main:02:QUE")',
            'await Say("user", "seen")',
            'await Yld("user")',
        ),
    )
    async with talking(program(agent("Lead", main)), model) as talk:
        assert await talk.say("go") == ["a sentence that is shown while it is written", "seen"]
        assert len(talk.world.chat[0].texts) > 2
        (asked,) = talk.facts("acks")
        assert asked["who"] == ["human"]  # type: ignore[index]


@pytest.mark.parametrize("within", ["0", "-1", "'soon'", "True", "10 ** 9"])
async def test_a_time_that_makes_no_sense_is_an_error_of_the_call(within: str) -> None:
    code = f"""
async def Main():
    try:
        await Say("user", "never said", ack_within_s={within})
    except PlaybookError as error:
        await Say("user", str(error))
"""
    async with talking(lead(code), Model(), world=patient()) as talk:
        (said,) = await talk.say("go")
        assert said.startswith("Say takes ack_within_s as a number of seconds")


async def test_who_is_stopped_before_reading_is_not_waited_for() -> None:
    code = ASK.replace("ack_within_s=30", "ack_within_s=100000")
    async with talking(lead(code, helper(NEVER_READS)), Model(), world=patient()) as talk:
        talk.post("go")
        await talk.until(lambda: bool(talk.facts("acks")))
        assert await talk.say("", kind="stop") == ["⏹ Stopped. The next message starts the program over."]
        assert talk.registry is not None
    assert [fact.kind for fact in talk.world.facts].count("took") == 0


async def test_the_session_leaves_memory_while_it_waits_and_the_time_counts_on() -> None:
    async with talking(lead(ASK, helper(NEVER_READS)), Model(), world=patient()) as talk:
        await talk.say("go")
    (asked,) = talk.facts("acks")
    due = asked["due"]  # type: ignore[index]
    took = next(fact for fact in talk.world.facts if fact.kind == "took")
    assert took.at.timestamp() >= due


PAGED = """
async def Main():
    ack = await Say("Pager", "a word", ack_within_s=30)
    await Say("user", f"{ack}")
"""
HAS_IT, MISSES_IT = "{'acknowledged': ['Pager'], 'missing': []}", "{'acknowledged': [], 'missing': ['Pager']}"


async def _breaks(_: Message) -> None:
    raise ValueError("out of range")


async def _hangs(_: Message) -> None:
    await anyio.sleep_forever()


async def _takes(_: Message) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("deliver", "became"),
    [(lambda _: None, HAS_IT), (_takes, HAS_IT), (_breaks, MISSES_IT), (_hangs, MISSES_IT)],
    ids=["plain", "async", "raises", "takes too long"],
)
async def test_the_participant_of_an_extension_acknowledges_what_was_delivered_to_it(
    deliver: OnMessage, became: str
) -> None:
    extended = ExtendedChannels(
        [ChannelExtension("pager", guests={"Pager": ExtensionGuest(deliver)})], Bus(FakeClock())
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(extended.run)
        assert await answered(lead(PAGED), Model(), "go", world=patient(), extended=extended) == [became]
        tasks.cancel_scope.cancel()


async def test_what_an_extension_has_not_got_before_a_restart_is_missing() -> None:
    world, asked = patient(), anyio.Event()

    async def never_ends(_: Message) -> None:
        asked.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        extended = ExtendedChannels(
            [ChannelExtension("pager", guests={"Pager": ExtensionGuest(never_ends)})], Bus(FakeClock())
        )
        world.clock = FakeClock()  # type: ignore[assignment]
        tasks.start_soon(extended.run)
        async with talking(lead(PAGED), Model(), world=world, extended=extended) as talk:
            talk.post("go")
            await asked.wait()
        world.clock = TurboClock()
        async with talking(lead(PAGED), Model(), world=world, extended=extended) as talk:
            await world.idle.wait()
            assert talk.chat == [MISSES_IT]
        tasks.cancel_scope.cancel()

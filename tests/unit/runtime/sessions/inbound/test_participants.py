"""Agents that are played in another process, in their sessions."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runtime.channels.mailbox import NoMailboxes
from runtime.language.program import AgentKind, AgentSpec
from runtime.sessions.inbound.participants import SeatAct
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.memory.mailboxes import MemoryMailboxes
from tests.fakes.people.player import Player, Plays, says
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.crashes.programs.participants import SCOUT, lead
from tests.unit.runtime.sessions.meetings.places.test_meeting_places import Stage, council, there
from tests.unit.runtime.sessions.meetings.test_meeting_life import post
from tests.unit.runtime.sessions.programs import SPAN, agent, llm, program, python

ASK = """
async def Main():
    await Say("Scout", "Where does the path lead?")
    for message in await WaitForMessage("agent Scout"):
        await Say("user", f"{message['class']}: {message['text']}")
    await EndProgram()
"""

TALK = """
async def Main():
    try:
        await Say("user", f"we chose {await Talk()}")
    except Exception as error:
        await Say("user", f"{type(error).__name__}: {error}")
    await EndProgram()

async def Talk():
    await Say("meeting", "What do you suggest?")
    for message in await WaitForMessage("meeting"):
        return message["text"]
"""


def world_of(plays: Plays) -> World:
    world = World(())
    world.player = Player(world.mailboxes, plays, world, world.clock)
    return world


def echo(content: Mapping[str, Any]) -> Sequence[SeatAct]:
    return [says(f"so {content['text']}")]


async def test_what_is_said_to_it_is_answered() -> None:
    world = world_of(lambda content: [says("to the lake")] if "path" in content["text"] else [])
    assert await answered(lead(ASK), Model(), "go", world=world) == ["Scout: to the lake"]
    (heard,) = world.player.heard
    assert heard["from"] == {"id": "1000", "class": "Lead", "human": False}
    assert heard["you"] == {"agent": "1001", "class": "Scout"}
    assert (heard["kind"], heard["to_you"], heard["text"]) == ("direct", True, "Where does the path lead?")


async def test_a_model_speaks_with_it_and_knows_what_it_is() -> None:
    main = llm("Main", "01:QUE Ask Scout; YLD for agent Scout", "02:QUE Say", "03:YLD for exit", begins=True)
    model = Model(
        block('await Step("Main:01:QUE")', 'await Say("Scout", "and now?")', 'await Yld("Scout")'),
        block(
            'await Step("Main:02:QUE")', 'await Say("user", "good")', 'await Step("Main:03:YLD")', 'await Yld("exit")'
        ),
    )
    assert await answered(program(agent("Lead", main), SCOUT), model, "go", world=world_of(echo)) == ["good"]
    assert "Message from Scout (agent 1001): so and now?" in model.told(1)
    assert "Knows the terrain." in str(model.asked[0])


async def test_it_speaks_to_people_in_its_own_name() -> None:
    world = world_of(lambda _: [says("hello, I am the scout", to="user"), says("that is all")])
    async with talking(lead(ASK), Model(), world=world) as talk:
        assert await talk.say("go") == ["hello, I am the scout", "Scout: that is all"]
        assert talk.speakers == ["Scout", "Lead"]


def human(klass: str, **metadata: Any) -> AgentSpec:
    return AgentSpec(klass, AgentKind.HUMAN, SPAN, metadata=metadata)


async def test_what_it_says_is_held_back_for_who_wants_that() -> None:
    code = (
        'async def Main():\n    await Say("Scout", "stay")\n    await WaitForMessage("user", 60)\n    await Sleep(60)\n'
    )
    world = world_of(lambda content: [says("one", to="user"), says("two", to="user")] * (content["text"] == "stay"))
    clock = FakeClock()
    world.clock = clock  # type: ignore[assignment]
    buffers = human("Ada", delivery_channel="buffered", buffer_timeout=5)
    async with talking(program(*lead(code).agents, buffers), Model(), world=world) as talk:
        assert await post(talk, "go") == []
        await clock.advance(4)
        assert talk.chat == []
        await clock.advance(1)
        await talk.until(lambda: talk.chat == ["one\n\ntwo"])
        assert talk.speakers == ["Scout"]


async def test_what_it_says_to_one_of_several_begins_with_their_name() -> None:
    code = 'async def Main():\n    await Say("Scout", "stay")\n    await WaitForMessage("user")\n'
    world = world_of(lambda content: [says("left", to="Ada"), says("  ", to="Ada")] * (content["text"] == "stay"))
    async with talking(lead(code), Model(), world=world) as talk:
        assert await talk.say("go", private=False) == ["@Ada left"]


async def test_in_a_meeting_people_see_of_it_what_they_want_to() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        if "suggest" not in content["text"]:
            return []
        return [says("a boat", to="meeting"), says("Ada, a cart?", to="meeting"), says("done", to="meeting")]

    code = TALK.replace("    for message", "    await Sleep(1)\n    for message")
    meeting = lead(code, python("Talk", meeting=True, required_attendees=["Scout", "Ada"]))
    wants = human("Ada", meeting_notifications="targeted")
    shown = await answered(program(*meeting.agents, wants), Model(), "go", world=world_of(plays))
    assert [text for text in shown if text in ("a boat", "Ada, a cart?", "done")] == ["Ada, a cart?"]


async def test_a_person_can_speak_to_it() -> None:
    code = 'async def Main():\n    await Say("Scout", "stay")\n    await WaitForMessage("agent Scout")\n'
    world = world_of(
        lambda content: [says(f"you said {content['text']}", to="user")] if content["from"]["human"] else []
    )
    async with talking(lead(code), Model(), world=world, after="go") as talk:
        assert await talk.say("@scout where are we?") == ["you said @scout where are we?"]
    assert world.player.heard[-1]["from"]["name"] == "Ada"


async def test_it_is_invited_joins_hears_speaks_and_hears_the_end() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        return [says("a boat", to="meeting")] if "suggest" in content["text"] else []

    world = world_of(plays)
    meeting = lead(TALK, python("Talk", meeting=True, required_attendees=["Scout"]))
    async with talking(meeting, Model(), world=world) as talk:
        assert await talk.say("go") == ["What do you suggest?", "a boat", "we chose a boat"]
        assert talk.speakers == ["Lead", "Scout", "Lead"]
    heard = [(content["kind"], content["text"]) for content in world.player.heard]
    assert heard[0][0] == "meeting_invitation"
    assert ("meeting_notice", "Meeting started") in heard
    assert ("meeting_broadcast", "What do you suggest?") in heard
    assert heard[-1] == ("meeting_notice", "Meeting has ended")


async def test_it_reads_and_writes_what_a_meeting_shares() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        about = {"meeting": content.get("meeting", ""), "name": "budget"}
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        if "suggest" in content["text"]:
            dearer = str(content["shared"]["budget"]["value"] + 300)
            stale = SeatAct("", "share", text="0", expected=0, **about)
            return [SeatAct("", "share", text=dearer, expected=1, **about), stale, says("done", to="meeting")]
        return []

    world = world_of(plays)
    code = TALK.replace("async def Talk():\n", 'async def Talk():\n    await Share("budget", 1200)\n')
    code = code.replace('return message["text"]', 'return await Shared("budget", with_version=True)')
    meeting = lead(code, python("Talk", meeting=True, required_attendees=["Scout"]))
    async with talking(meeting, Model(), world=world) as talk:
        shared = {"value": 1500, "version": 2, "by": "Scout (agent 1001)"}
        assert await talk.say("go") == ["What do you suggest?", "done", f"we chose {shared}"]
    assert world.player.heard[0].get("shared") is None
    [refused] = [content["text"] for content in world.player.heard if content["text"].startswith("share ")]
    assert "version 2 is there, by Scout (agent 1001), and version 0 was expected" in refused


async def test_it_may_decline_with_a_reason() -> None:
    world = world_of(
        lambda content: (
            [SeatAct("", "answer", meeting=content["meeting"], text="REJECTED - on the mountain")]
            if content["kind"] == "meeting_invitation"
            else []
        )
    )
    meeting = lead(TALK, python("Talk", meeting=True, required_attendees=["Scout"]))
    async with talking(meeting, Model(), world=world) as talk:
        (said,) = await talk.say("go")
        assert "REJECTED - on the mountain" in said


async def test_a_target_that_nobody_is_comes_back_to_it() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        return [] if content["kind"] == "undelivered" else [says("hm", to="Nobody"), says("fine")]

    world = world_of(plays)
    assert await answered(lead(ASK), Model(), "go", world=world) == ["Scout: fine"]
    told = [content["text"] for content in world.player.heard if content["kind"] == "undelivered"]
    assert len(told) == 1
    assert "nobody called 'Nobody' can be spoken to" in told[0]


async def test_its_queue_is_on_the_tape_until_it_has_acknowledged() -> None:
    world = world_of(lambda _: [says("yes")])
    await answered(lead(ASK), Model(), "go", world=world)
    kinds = [fact.kind for fact in world.facts if fact.kind in ("in", "posted", "fetched")]
    assert kinds[:2] == ["in", "posted"]
    assert [fact.data["agent"] for fact in world.facts if fact.kind == "fetched"] == ["1001"]


async def test_a_full_mailbox_is_told_to_whoever_spoke() -> None:
    (said,) = await answered(lead(ASK), Model(), "go", mailboxes=MemoryMailboxes(bound=0))
    assert said.startswith("Scout: What you said to Scout was not delivered: 0 messages wait for scout")


async def test_where_nobody_can_connect_that_is_told() -> None:
    (said,) = await answered(lead(ASK), Model(), "go", mailboxes=NoMailboxes())
    assert "Nobody can connect as scout here" in said


async def test_the_session_leaves_memory_while_it_waits_for_an_answer_and_comes_back_with_it() -> None:
    world = world_of(echo)
    world.player.away = True
    async with talking(lead(ASK), Model(), world=world, idle_s=0.001) as talk:
        talk.post("go")
        await talk.until(lambda: world.mailboxes.waiting_now == 1)
        await talk.rested()
    world.player.away = False
    async with talking(lead(ASK), Model(), world=world) as talk:
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["Scout: so Where does the path lead?"]
    assert len(world.player.heard) == 1


async def test_what_it_does_in_a_session_that_was_ended_comes_to_nothing() -> None:
    world = world_of(lambda _: [says("late", to="user")])
    world.player.away = True
    async with talking(lead(ASK), Model(), world=world) as talk:
        talk.post("go")
        await talk.until(lambda: world.mailboxes.waiting_now == 1)
        talk.post("", kind="new")
        await talk.until(lambda: world.mailboxes.waiting_now == 2)
    world.player.away = False
    async with talking(lead(ASK), Model(), world=world) as talk:
        await talk.until(lambda: not world.mailboxes.waiting_now and not world.waiting)
        await world.idle.wait()
        assert len(world.player.heard) == 2
        assert talk.chat == ["late"]


async def test_what_was_said_before_the_program_ended_still_goes_there() -> None:
    code = 'async def Main():\n    await Say("Scout", "good bye")\n    await EndProgram()\n'
    world = world_of(lambda _: [])
    async with talking(lead(code), Model(), world=world, after="go") as talk:
        await talk.until(lambda: bool(world.player.heard))
    assert [content["text"] for content in world.player.heard] == ["good bye"]
    assert not world._awake


async def test_what_it_answers_to_something_that_was_stopped_comes_to_nothing() -> None:
    world = world_of(echo)
    world.player.away = True
    async with talking(lead(ASK), Model(), world=world) as talk:
        talk.post("go")
        await talk.until(lambda: world.mailboxes.waiting_now == 1)
        talk.post("", kind="stop")
        await talk.until(lambda: bool(talk.facts("stop")))
    world.player.away = False
    async with talking(lead(ASK), Model(), world=world) as talk:
        await talk.until(lambda: bool(world.player.heard) and not world.waiting)
        await world.idle.wait()
        assert talk.chat == ["⏹ Stopped. The next message starts the program over."]
        assert await talk.say("again") == ["Scout: so Where does the path lead?"]


async def test_what_was_undone_is_asked_anew() -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("Scout", message["text"])
            for answer in await WaitForMessage("agent Scout"):
                await Say("user", answer["text"])
"""
    world = world_of(echo)
    async with talking(lead(code), Model(), world=world, after="go") as talk:
        assert await talk.say("one") == ["so one"]
        assert await talk.say("two") == ["so two"]
        await talk.say("", kind="undo")
        assert await talk.say("three") == ["so three"]
    assert [content["text"] for content in world.player.heard] == ["one", "two", "three"]


async def test_it_answers_the_person_who_spoke_to_it() -> None:
    code = 'async def Main():\n    await Say("Scout", "stay")\n    await WaitForMessage("agent Scout")\n'
    world = world_of(
        lambda content: [says("you", to=f"person {content['from']['id']}")] if content["from"]["human"] else []
    )
    async with talking(lead(code), Model(), world=world, after="go") as talk:
        (said,) = await talk.say("@scout who are you?")
        assert said.endswith("you")


async def test_what_it_says_in_a_meeting_is_shown_where_that_is_held() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        if content["kind"] == "meeting_invitation":
            return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
        return [says("a blue one", to="meeting"), says("for all", to="user")] if content["text"] == "and you?" else []

    stage = Stage()
    stage.world.player = Player(stage.world.mailboxes, plays, stage.world, stage.world.clock)
    made = council(optional_attendees=["Scout"])
    made = program(*made.agents, SCOUT)
    async with stage.met(made) as talk:
        await talk.until(lambda: "1001" in str(talk.facts("joined")))
        seen = await there(talk, "and you?")
        assert sorted(seen) == ["a blue one", "for all", "heard and you?"]
    heard = {content["text"]: content for content in stage.world.player.heard}
    assert heard["and you?"]["from"]["name"] == "Ada"
    assert heard["and you?"]["topic"] == "The boat"


async def test_one_that_is_asked_twice_and_says_yes_twice_is_in_it_once() -> None:
    def plays(content: Mapping[str, Any]) -> Sequence[SeatAct]:
        yes = SeatAct("", "answer", meeting=content.get("meeting", ""), text="JOINED")
        return [yes, yes] if content["kind"] == "meeting_invitation" else [says("a boat", to="meeting")]

    world = world_of(plays)
    meeting = lead(TALK, python("Talk", meeting=True, required_attendees=["Scout"]))
    async with talking(meeting, Model(), world=world, after="go") as talk:
        assert len(talk.facts("joined")) == 1
    assert "come to nothing" not in str(world.player.heard)
    assert [content for content in world.player.heard if content["text"].startswith("answer")] == []


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (says("hm", to="meeting 100"), "meeting 100 is not going on"),
        (says("hm", to="meeting"), "there is no meeting here"),
        (SeatAct("", "leave", meeting="100"), "there is no meeting 100"),
        (SeatAct("", "answer", meeting="100", text="JOINED"), "Scout is not asked to join meeting 100"),
    ],
)
async def test_what_it_does_about_a_meeting_that_is_none_comes_back_to_it(act: SeatAct, why: str) -> None:
    world = world_of(lambda content: [] if content["kind"] == "undelivered" else [act, says("fine")])
    assert await answered(lead(ASK), Model(), "go", world=world) == ["Scout: fine"]
    (told,) = [content["text"] for content in world.player.heard if content["kind"] == "undelivered"]
    assert why in told


async def test_it_does_not_speak_in_a_meeting_that_it_is_not_in() -> None:
    code = TALK.replace('await Say("meeting", "What do you suggest?")', 'await Say("Scout", "psst")').replace(
        'WaitForMessage("meeting")', 'WaitForMessage("agent Scout")'
    )
    world = world_of(
        lambda content: [says("let me in", to="meeting 100"), says("fine")] if content["text"] == "psst" else []
    )
    assert await answered(lead(code, python("Talk", meeting=True)), Model(), "go", world=world) == ["we chose fine"]
    assert "it has to be invited first" in str([content["text"] for content in world.player.heard])


async def test_one_that_has_no_room_for_what_it_is_told_ends_nobodys_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.agents.remote_agent.SEAT_CAPACITY", 1)
    world = world_of(lambda _content: [SeatAct("", "leave", meeting="100"), says("fine")])
    async with talking(lead(ASK), Model(), world=world) as talk:
        assert await talk.say("go") == ["Scout: fine"]
        assert talk.named("session.failed") == []
        assert len(talk.named("message.undelivered")) == 1

"""Agents that are let go: their places are free again, and nothing that needs them is."""

from functools import partial

import pytest

from runtime.execution.calls import agents as calls
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.conversation import ConversationTask
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.crashes.test_crashes import check, run
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

PLAYER = """
async def Move(square):
    return square + 1

async def Tell(text):
    await Say("user", text)

async def Later():
    await Remind(500, "later")

async def Go(who):
    await DismissAgent(who)
"""


def playing(code: str) -> Program:
    host = agent("Host", MAIN, code=f"async def Main():\n{code}")
    given = {"Move": ("square",), "Tell": ("text",), "Later": (), "Go": ("who",)}
    can = [python(name, *params, public=True) for name, params in given.items()]
    return program(host, agent("Player", *can, code=PLAYER))


async def test_who_is_let_go_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_AGENTS", 4)
    code = """
    await CreateAgent("Player")
    names = []
    for n in range(9):
        who = await CreateAgent("Player")
        names.append(str(who))
        assert await CallAgent(who, "Move", {"square": n}) == n + 1
        await DismissAgent(who)
    await Say("user", f"{len(set(names))} players, the last one {names[-1]}")
    await CreateAgent("Player")
    try:
        await CreateAgent("Player")
        await CreateAgent("Player")
    except Exception as error:
        await Say("user", str(error))
"""
    async with talking(playing(code), Model()) as talk:
        assert await talk.say("hi") == ["9 players, the last one agent 1010", "a session has 4 agents at most"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('await DismissAgent("agent 1001")', "agent 1001 cannot go: it is the first Player, who is meant by this name"),
        ('await DismissAgent("agent 1000")', "agent 1000 cannot go: it is the first Host, who is meant by this name"),
        ('await DismissAgent("agent 1009")', "there is no agent 'agent 1009'"),
        ('await CallAgent("agent 1002", "Go", ["agent 1002"])', "agent 1002 cannot go: it is at work"),
        (
            'await CallAgent("agent 1002", "Later")\n        await DismissAgent("agent 1002")',
            "agent 1002 cannot go: something waits for it",
        ),
    ],
)
async def test_who_is_needed_stays(code: str, why: str) -> None:
    tried = f"""
    await CreateAgent("Player")
    await CreateAgent("Player")
    try:
        {code}
    except Exception as error:
        await Say("user", str(error))
"""
    async with talking(playing(tried), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == [why]


GOING = """
    await CreateAgent("Player")
    who = await CreateAgent("Player")
    await CallAgent(who, "Tell", ["Bye."])
    await DismissAgent(who)
    other = await CreateAgent("Player")
    await Say("user", str(other) + str(await CallAgent(other, "Move", [1])))
    await DismissAgent(other)
    for message in await WaitForMessage("user"):
        await Say("user", message["text"])
"""


async def test_who_was_let_go_does_not_come_back_with_a_restart() -> None:
    world = World(())
    async with talking(playing(GOING), Model(), world=world) as talk:
        await talk.say("hi")
    async with talking(playing(GOING), Model(), world=world) as talk:
        assert await talk.say("still there?") == ["still there?"]
        (living,) = talk.registry._conversations.values()
        assert isinstance(living.conversation, ConversationTask)
        session = living.conversation._session
        assert session is not None
        assert list(session._journal.state.agents) == ["1000", "1001"]


async def test_agents_go_once_when_the_process_dies_at_any_one_point(sandbox: MontySandbox) -> None:
    case = Case(playing(GOING), ("start", "on"), ("Bye.", "agent 10032", "on"))

    def check_gone(world: World) -> None:
        check(world, case)
        gone = [fact.data["agent"] for fact in world.facts if fact.kind == "dismissed"]
        assert gone == ["1002", "1003"]

    await dying_at_each_point(partial(run, case, sandbox), check_gone)

"""A session that comes back to a changed program goes on where it can, and says why where it cannot."""

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import anyio
import pytest
from msgspec.structs import replace

from runtime.core.errors import ProgramChanged
from runtime.core.markup import as_read
from runtime.core.texts import english
from runtime.language.program import AgentSpec, Param, PlaybookSpec, Program
from runtime.sessions.node_context import NodeContext
from runtime.sessions.program_in_use import news_of, trouble_of
from runtime.tape.state.session import SessionState
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python, steps, triggers

NEWS = "The program has changed in the meantime ({}). We continue with the new version."
CANNOT = "⚠️ This conversation cannot continue: {}. /new starts another."

ASKS = block('await Step("Main:01:QUE")', 'await Say("user", "Who?")', 'await Step("Main:02:YLD")', 'await Yld("user")')
GREETS = block('await Step("Main:03:QUE")', 'await Say("user", "Hello!")', 'await Yld("user")')
STEPS = ("01:QUE Ask the name", "02:YLD for user", "03:QUE Greet", "04:YLD for exit")


def main(*steps: str, **changes: object) -> PlaybookSpec:
    made = llm("Main", *(steps or STEPS), begins=True)
    return replace(made, **changes)


def asking(*others: PlaybookSpec, first: PlaybookSpec | None = None, agents: Sequence[AgentSpec] = ()) -> Program:
    return program(agent("Asker", first or main(), *others), *agents)


async def begun(prog: Program, *replies: Reply, says: str = "hi") -> World:
    """A conversation that has begun under `prog`, and whose process is gone."""
    async with talking(prog, Model(*replies)) as talk:
        await talk.say(says)
    return talk.world


def cause(talk: Talk) -> ProgramChanged:
    (failed,) = talk.named("session.failed")
    assert isinstance(failed.data["cause"], ProgramChanged)
    return failed.data["cause"]


HELPER = llm("Helper", "01:QUE Help")

COMPATIBLE = [
    pytest.param(
        asking(llm("Helper", "01:QUE Help at once")), "changed: Helper", id="another playbook reads differently"
    ),
    pytest.param(asking(), "removed: Helper", id="a playbook that is not executed is gone"),
    pytest.param(asking(HELPER, llm("More", "01:QUE More")), "new: More", id="a playbook is new"),
    pytest.param(
        asking(HELPER, agents=[agent("Second", llm("Serve", "01:QUE Serve"))]), "new: Serve", id="an agent is new"
    ),
    pytest.param(
        asking(HELPER, first=main(*STEPS[:2], "03:QUE Greet warmly", STEPS[3])), "changed: Main", id="a later step"
    ),
    pytest.param(asking(HELPER, first=main("01:QUE Ask politely", *STEPS[1:])), "changed: Main", id="an earlier step"),
    pytest.param(asking(HELPER, first=main(*STEPS, "05:QUE Wave")), "changed: Main", id="a step is added at the end"),
    pytest.param(asking(HELPER, first=main(description="Greets.")), "changed: Main", id="the description"),
    pytest.param(asking(HELPER, first=main(notes=("Be brief.",))), "changed: Main", id="a note"),
    pytest.param(
        asking(HELPER, first=main(triggers=triggers("BGN When program starts", "EVT When asked"))),
        "changed: Main",
        id="a trigger is added",
    ),
]


@pytest.mark.parametrize(("after", "news"), COMPATIBLE)
async def test_what_its_frames_do_not_stand_on_may_change(after: Program, news: str) -> None:
    world = await begun(asking(HELPER), ASKS)
    assert await answered(after, Model(GREETS), "Ada", world=world) == [NEWS.format(news), "Hello!"]


async def test_the_model_reads_the_program_as_it_is_now() -> None:
    world = await begun(asking(), ASKS)
    model = Model(GREETS)
    await answered(asking(first=main(*STEPS[:2], "03:QUE Sing", STEPS[3])), model, "Ada", world=world)
    assert "03:QUE Sing" in model.asked[0][0].content
    assert "Who?" in model.asked[0][2].content


async def test_who_writes_is_told_once_what_changed() -> None:
    world = await begun(asking(HELPER), ASKS)
    again = block('await Say("user", "Again")', 'await Yld("user")')
    async with talking(asking(), Model(GREETS, again), world=world) as later:
        assert (await later.say("Ada"))[0] == NEWS.format("removed: Helper")
        assert await later.say("more") == ["Again"]
    assert await answered(asking(), Model(again), "more", world=world) == ["Again"]


async def test_many_changes_are_told_in_short() -> None:
    world = await begun(asking(), ASKS)
    more = asking(*(llm(f"P{number}", "01:QUE x") for number in range(5)), first=main(notes=("x",)))
    async with talking(more, Model(GREETS), world=world) as later:
        assert (await later.say("Ada"))[0] == NEWS.format("changed: Main; new: P0, P1, P2 (+2)")


async def test_a_program_that_is_the_same_is_not_spoken_of() -> None:
    world = await begun(asking(HELPER), ASKS)
    async with talking(asking(HELPER), Model(GREETS), world=world) as later:
        assert await later.say("Ada") == ["Hello!"]
        assert not later.facts("adopted")


INCOMPATIBLE = [
    pytest.param(
        asking(first=main(STEPS[0], "02:QUE Wait", *STEPS[2:])),
        "step 02 of Main, at which it is now, reads differently now",
        id="the present step reads differently",
    ),
    pytest.param(
        asking(first=main(STEPS[0])), "step 02 of Main, at which it is now, is gone", id="the present step is gone"
    ),
    pytest.param(
        asking(first=main(params=(Param("mood", default="1"),))),
        "Main is being executed here, and takes other arguments now",
        id="args",
    ),
    pytest.param(
        program(agent("Asker", llm("Other", *STEPS, begins=True))),
        "Main is being executed here, and is no longer in the program",
        id="the playbook is gone",
    ),
    pytest.param(
        program(agent("Asker", python("Main", trigger="BGN When"), code="async def Main(): pass")),
        "Main is being executed here, and is of another kind now (python)",
        id="the playbook is in Python now",
    ),
]


@pytest.mark.parametrize(("after", "why"), INCOMPATIBLE)
async def test_what_its_frames_stand_on_may_not_change_and_new_begins_afresh(after: Program, why: str) -> None:
    world = await begun(asking(), ASKS)
    facts = len(world.facts)
    asks = block('await Step("Main:01:QUE")', 'await Say("user", "Who?")', 'await Yld("user")')
    async with talking(after, Model(asks), world=world) as later:
        for _ in range(2):
            assert await later.say("Ada") == [CANNOT.format(why)]
        assert str(cause(later)) == why
        kinds = {fact.kind for fact in world.facts[facts:]}
        assert kinds <= {"wake", "broken", "person", "page", "fin", "opening", "sent", "shown"}
        if "Other" not in str(after) and "Main(): pass" not in str(after):
            assert await later.say("", kind="new") == ["Who?"]
    assert await answered(asking(), Model(GREETS), "Ada", world=await begun(asking(), ASKS)) == ["Hello!"]


async def test_a_step_that_the_present_one_is_part_of_may_not_change() -> None:
    def looping(head: str) -> Program:
        loop = replace(steps(f"01:LOP {head}")[0], children=steps("01.01:QUE Ask", "01.02:YLD for user"))
        return asking(first=main(steps=(loop,)))

    asks = block(
        'await Step("Main:01:LOP")', 'await Step("Main:01.01:QUE")', 'await Say("user", "Who?")', 'await Yld("user")'
    )
    world = await begun(looping("until told"), asks)
    async with talking(looping("five times"), Model(), world=world) as later:
        assert await later.say("Ada") == [CANNOT.format("step 01 of Main, at which it is now, reads differently now")]


async def test_what_was_half_said_is_closed_when_it_will_not_be_finished() -> None:
    model = Model(
        dataclasses.replace(
            block('await Step("Main:01:QUE")', f'await Say("user", "{"Who " * 40}")'), gate=anyio.Event()
        )
    )
    async with talking(asking(), model) as talk:
        talk.post("hi")
        await model.writing.wait()
        await talk.until(lambda: bool(talk.chat))
    async with talking(asking(first=main("01:QUE Sing", *STEPS[1:])), Model(), world=talk.world) as later:
        await later.world.idle.wait()
        half, why = later.chat
    assert half.startswith("W")
    assert half.endswith(" ⏹")
    assert why == CANNOT.format("step 01 of Main, at which it is now, reads differently now")


async def test_a_program_that_is_changed_back_is_gone_on_with() -> None:
    world = await begun(asking(), ASKS)
    await answered(asking(first=main(STEPS[0])), Model(), "Ada", world=world)
    assert await answered(asking(), Model(GREETS), "Ada?", world=world) == ["Hello!"]


PYTHON = """
async def Main():
    await Var("seen", await Random())
    await Say("user", "Who?")
    for message in await WaitForMessage("user"):
        await Say("user", "Hello " + message["text"])
"""


def in_python(code: str = PYTHON, *more: PlaybookSpec, agents: Sequence[AgentSpec] = ()) -> Program:
    return program(agent("Main", python("Main", trigger="BGN When"), *more, code=code), *agents)


async def test_python_that_changed_behind_the_present_point_goes_on() -> None:
    world = await begun(in_python())
    async with talking(in_python(PYTHON.replace("Hello ", "Dear ")), Model(), world=world) as later:
        assert await later.say("Ada") == [NEWS.format("changed: Main"), "Dear Ada"]


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ('"Who?"', '"Whom?"', "the code now calls Say('user', 'Whom?')"),
        ('"user"):', '"user", 60):', "which waits; the code now calls WaitForMessage('user', 60)"),
        ("await Random()", "1", "the journal has Random"),
        ("    for message", "    return\n    for message", "has WaitForMessage"),
        (
            '    await Say("user", "Who?")\n',
            '    if variables["seen"] > 2: await Say("user", "Who?")\n    return\n',
            "has Say",
        ),
        ('await WaitForMessage("user")', 'await WaitForMessage("user", 5, 5)', "which waits; the code now"),
    ],
)
async def test_python_that_changed_before_it_is_refused_and_the_log_names_both(old: str, new: str, detail: str) -> None:
    world = await begun(in_python())
    assert old in PYTHON
    async with talking(in_python(PYTHON.replace(old, new)), Model(), world=world) as later:
        (said,) = await later.say("Ada")
        assert said == CANNOT.format("Main was changed before the point at which it is being executed here")
        assert detail in cause(later).detail
        assert detail in later.named("session.failed")[0].data["error"]


async def test_a_refusal_comes_before_anything_is_executed() -> None:
    other = """
async def Serve():
    await Sleep(5)
    await Say("user", "the other one speaks")
"""
    second = agent("Second", python("Serve", trigger="BGN When"), code=other)
    code = PYTHON.replace('await Say("user", "Who?")', "await Sleep(3)")
    before = in_python(code, agents=[second])
    world = World(())
    world.point = lambda: None  # type: ignore[method-assign]
    async with talking(before, Model(), world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: len(talk.facts("wait")) == 2)
    world.chat.clear()
    async with talking(in_python(agents=[second]), Model(), world=world) as later:
        await world.idle.wait()
        assert later.chat == [CANNOT.format("Main was changed before the point at which it is being executed here")]


async def test_code_that_python_playbooks_share_is_looked_at_too() -> None:
    shared = 'QUESTION = "Who?"\n' + PYTHON.replace('"Who?"', "QUESTION")
    world = await begun(in_python(shared))
    (said,) = await answered(in_python(shared.replace("Who", "What")), Model(), "Ada", world=world)
    assert "Main was changed before the point" in said


async def test_layout_and_comments_of_python_are_no_change() -> None:
    world = await begun(in_python())
    spaced = PYTHON.replace("    await Say", "\n    # asks\n    await Say", 1)
    assert await answered(in_python(spaced), Model(), "Ada", world=world) == ["Hello Ada"]


async def test_a_caller_may_change_behind_the_call_that_it_waits_for() -> None:
    code = """
async def Main():
    await Say("user", "I " + await Ear("a"))

async def Ear(side):
    for message in await WaitForMessage("user"):
        return message["text"]
"""
    ear = python("Ear", "side")
    world = await begun(in_python(code, ear))
    async with talking(in_python(code.replace('"a"', '"b"'), ear), Model(), world=world, after="see") as other:
        assert "has Ear (arguments #" in cause(other).detail
        assert "which is being executed; the code now calls Ear('b')" in cause(other).detail
    async with talking(in_python(code.replace('"I "', '"You "'), ear), Model(), world=world) as later:
        assert (await later.say("see"))[1:] == ["You see"]


REST = """
async def Main():
    await Say("user", "Welcome")

async def Answer(messages):
    await Say("user", "I say " + messages)
"""


def resting(code: str = REST, *more: PlaybookSpec, name: str = "Main") -> Program:
    answer = python("Answer", "messages", trigger="EVT When asked")
    return program(agent(name, python("Main", trigger="BGN When"), answer, *more, code=code))


async def test_a_session_that_executes_nothing_goes_on_with_any_program() -> None:
    world = await begun(resting())
    after = program(
        agent(
            "Main",
            python("Reply", "messages", trigger="EVT When asked"),
            python("Late", trigger="BGN When"),
            code="async def Reply(messages):\n    await Say('user', 'Now ' + messages)\n"
            "async def Late():\n    await Say('user', 'not wanted')\n",
        )
    )
    async with talking(after, Model(), world=world) as later:
        assert await later.say("this") == [NEWS.format("new: Reply, Late; removed: Main, Answer"), "Now this"]


async def test_playbooks_that_were_added_to_the_beginning_are_not_for_who_has_begun() -> None:
    world = await begun(resting())
    late = REST + "async def Late():\n    await Say('user', 'not wanted')\n"
    async with talking(resting(late, python("Late", trigger="BGN When")), Model(), world=world) as later:
        assert (await later.say("this"))[1:] == ["I say this"]


async def test_an_agent_that_was_added_stands_by_and_does_not_begin() -> None:
    world = await begun(resting())
    code = "async def Hear(messages):\n    await Say('user', 'Second hears ' + messages)\nasync def Go():\n    pass\n"
    second = agent(
        "Second", python("Hear", "messages", trigger="EVT When"), python("Go", trigger="BGN When"), code=code
    )
    after = program(*resting().agents, second)
    async with talking(after, Model(), world=world) as later:
        assert (await later.say("Second, are you there?"))[1:] == ["Second hears Second, are you there?"]
        assert not [fact for fact in world.facts if fact.kind == "start" and fact.data["pb"] == "Go"]


async def test_a_session_of_whose_agents_none_is_left_ends_and_another_begins() -> None:
    world = await begun(resting())
    async with talking(resting(name="Other"), Model(), world=world) as later:
        assert await later.say("hello") == ["Welcome"]
        assert await later.say("this") == ["I say this"]
        assert len(later.facts("begin")) == 2


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (
            asking(HELPER, first=main(*STEPS, "05:QUE Wave")),
            ["The program has changed in the meantime. We continue with the new version.", "Hello!"],
        ),
        (
            asking(HELPER, first=main(STEPS[0], "02:YLD for call", *STEPS[2:])),
            ["⚠️ Something went wrong inside Parley; the log says what. /new starts another conversation."],
        ),
    ],
    ids=["that it can go on with", "that it cannot go on with"],
)
async def test_a_guest_reads_nothing_of_what_has_changed_in_a_program(after: Program, told: list[str]) -> None:
    async with talking(asking(HELPER), Model(ASKS)) as talk:
        await talk.say("hi", by_guest=True)
    async with talking(after, Model(GREETS), world=talk.world) as later:
        assert await later.say("Ada", by_guest=True) == told


def test_news_of_a_program_names_playbooks_as_they_are_written() -> None:
    state = SessionState()
    state.news = {"changed": ["look__up", "_private"]}
    assert as_read(news_of(state, english())) == NEWS.format("changed: look__up, _private")


def test_why_a_program_cannot_go_on_is_said_as_it_is_written() -> None:
    why = english()("session.broken", error="there is no look__up [x]")
    around = cast("NodeContext", SimpleNamespace(texts=english(), programs={}))
    assert as_read(trouble_of(SessionState(), "asker", why, around)) == CANNOT.format("there is no look__up [x]")

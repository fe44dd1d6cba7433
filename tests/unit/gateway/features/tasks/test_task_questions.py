"""Questions of tasks that people answer in words, where the orderer is."""

from typing import Any

import anyio.lowlevel
import pytest

from runtime.core.address import address_of
from runtime.core.ids import AgentId, SessionId
from runtime.core.quote import Quote
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Commit
from runtime.tape.snapshot import snapshot_of, state_from
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import TaskQuestion, TaskState
from runtime.tape.tape import tape_owner
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

GUIDE = """
async def Choose():
    return await Ask("Which way?")

async def Choices():
    return await Ask("Which way?", ["left", "right"])

async def For():
    return await Ask("Which way?", of="Ada")

async def Late():
    return str(await Ask("Which way?", within_s=5))

async def Ahead():
    return await Result(await Spawn("Guide", "Choose"))

async def Further():
    return await Result(await Spawn("Guide", "Choices"))

async def Hers():
    return await Ask("Which way?", ["left", "right"], of="Ada")
"""
ASKED = "Task 1 (Guide.{name}) asks: Which way?\nReply to this message."


def guided(code: str) -> Program:
    """A program whose `Main` may order what a guide can do, and has an agent beside it."""
    can = [python(name, public=True) for name in ("Choose", "Choices", "For", "Late", "Ahead", "Further", "Hers")]
    listening = agent("Main", MAIN, code=f"async def Main():\n{code}")
    return program(listening, agent("Guide", *can, code=GUIDE))


TASK = TaskState(1, 2, SessionId("t"), AgentId("1000"), "Guide", "Choose", {}, since=1.0, due=2.0)
ONE = """
    await Say("user", "went " + str(await Result(await Spawn("Guide", "{name}"))))
"""
HEARING = """
    name = await Spawn("Guide", "Choose")
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "look":
                await Say("user", str([(one["task"], one["status"]) for one in await Tasks()]))
            else:
                await Say("user", "heard " + message["text"])
"""


async def asked(talk: Talk, number: int = 1) -> None:
    """Return when the orderer knows of so many questions."""
    await talk.until(lambda: sum(fact.kind == "task_asks" for fact in talk.world.facts) >= number)


def shown(talk: Talk, text: str) -> str:
    """The platform's id of what people see."""
    assert text in talk.chat
    return str(talk.chat.index(text))


@pytest.mark.parametrize(("name", "orderers"), [("Choose", 1), ("Ahead", 2)])
async def test_the_next_words_answer_the_one_open_question(name: str, orderers: int) -> None:
    async with talking(guided(ONE.format(name=name)), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk, orderers)
        talk.post("straight on")
        await talk.until(lambda: len(talk.chat) == 2)
        assert talk.chat == [ASKED.format(name="Choose"), "went straight on"]


async def test_words_of_somebody_else_do_not_answer_what_one_person_was_asked() -> None:
    async with talking(guided(ONE.format(name="For")), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk)
        talk.post("left", name="Bob")
        await talk.settled()
        talk.post("right")
        await talk.until(lambda: any(text.startswith("went") for text in talk.chat))
        assert talk.chat[-1] == "went right"


async def test_words_go_to_a_conversation_that_waits_for_them_unless_they_are_a_reply() -> None:
    async with talking(guided(HEARING), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk)
        talk.post("good day")
        await talk.until(lambda: "heard good day" in talk.chat)
        talk.post("look")
        await talk.until(lambda: talk.chat[-1].startswith("[("))
        assert talk.chat[1:] == ["heard good day", "[('task 1', 'input_required')]"]
        pid = shown(talk, ASKED.format(name="Choose"))
        talk.post("left", quote=Quote(pid, "Guide", "Which way?"))
        await talk.until(lambda: any(fact.kind == "task_over" for fact in talk.world.facts))
        assert (await talk.say("look"))[-1] == "[('task 1', 'completed')]"
        assert "heard left" not in talk.chat


async def test_a_reply_may_be_an_option_in_words() -> None:
    async with talking(guided(ONE.format(name="Choices")), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk)
        talk.post("and you?")  # no answer: there are options to press
        await talk.settled()
        assert not [fact for fact in talk.world.facts if fact.kind == "task_answer"]
        question = "Task 1 (Guide.Choices) asks: Which way?"
        talk.post("2", quote=Quote(shown(talk, question), "Guide", "Which way?"))
        await talk.until(lambda: any(text.startswith("went") for text in talk.chat))
        assert talk.chat[-1] == "went right"


async def test_of_two_open_questions_a_reply_answers_the_one_that_is_meant() -> None:
    code = """
    names = [await Spawn("Guide", "Choose"), await Spawn("Guide", "Choose")]
    for name in names:
        await Say("user", name + " went " + await Result(name))
"""
    async with talking(guided(code), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk, 2)
        talk.post("nowhere")
        await talk.settled()
        assert not [fact for fact in talk.world.facts if fact.kind == "task_answer"]
        second = ASKED.replace("Task 1", "Task 2").format(name="Choose")
        talk.post("left", quote=Quote(shown(talk, second), "Guide", "Which way?"))
        await talk.until(lambda: sum(fact.kind == "task_over" for fact in talk.world.facts) == 1)
        talk.post("right")
        await talk.until(lambda: "task 2 went left" in talk.chat)
        assert talk.chat[-2:] == ["task 1 went right", "task 2 went left"]


async def test_a_question_that_nobody_answers_in_time_waits_no_longer() -> None:
    async with talking(guided(ONE.format(name="Late")), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: any(text.startswith("went") for text in talk.chat))
        assert talk.chat[-1] == "went None"
        states = [fact.data.get("over", False) for fact in talk.world.facts if fact.kind == "order_asks"]
        assert states == [False, True]


def test_open_questions_of_tasks_are_in_snapshots() -> None:
    state = SessionState()
    with_question = {"a.1": TaskQuestion(["m1"], ["test:Ada"], words=True)}
    state.ordered = 1
    state.tasks = {1: TASK}
    TASK.asks, TASK.answers = with_question, {"7": "a.1"}
    assert state_from(snapshot_of(state)) == state


class SlowWorld(World):
    """A store that takes a while."""

    async def commit(self, commit: Commit, /) -> None:
        for _ in range(30):
            await anyio.lowlevel.checkpoint()
        await super().commit(commit)


async def test_a_task_may_end_while_its_question_is_being_told() -> None:
    world = SlowWorld(())
    async with talking(guided(ONE.format(name="Late")), Model(), world=world, tasks=TaskLimits(), after="hi") as talk:
        assert talk.chat[-1] == "went None"
        assert not talk.named("session.failed")


CLOSED = "That question is no longer open."


async def test_a_reply_to_a_question_that_waits_no_longer_is_told_so_and_goes_nowhere() -> None:
    code = """
    name = await Spawn("Guide", "Late")
    await Say("user", "went " + str(await Result(name)))
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "heard " + message["text"])
"""
    async with talking(guided(code), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: "went None" in talk.chat)
        question = shown(talk, ASKED.format(name="Late"))
        talk.post("left", quote=Quote(question, "Guide", "Which way?"))
        await talk.until(lambda: CLOSED in talk.chat)
        talk.post("and now?")
        await talk.until(lambda: "heard and now?" in talk.chat)
        assert "heard left" not in talk.chat


async def test_a_late_press_is_told_so_once_while_other_tasks_are_at_work() -> None:
    code = """
    one = await Spawn("Guide", "Choices")
    two, three = await Spawn("Guide", "Choose"), await Spawn("Guide", "Choose")
    await Say("user", "went " + str(await Result(one)))
    await Result(two)
"""
    async with talking(guided(code), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk, 3)
        choices = [choice for one in talk.world.chat if one.spec is not None for choice in one.spec.choices]
        left, right = (next(one.id for one in choices if one.label == label) for label in ("left", "right"))
        talk.post("", kind="choice", choice=left)
        await talk.until(lambda: "went left" in talk.chat)
        talk.post("", kind="choice", choice=right)
        talk.post("", kind="choice", choice=right)
        await talk.settled()
        await talk.until(lambda: CLOSED in talk.chat)
        assert talk.chat.count(CLOSED) == 1


async def test_words_that_reach_a_task_after_its_end_begin_nothing() -> None:
    async with talking(guided(ONE.format(name="Late")), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: "went None" in talk.chat)
        (task,) = [tape_owner(fact.tape) for fact in talk.world.facts if fact.kind == "order_over"]
        await talk.until(lambda: address_of(task).key not in talk.world._current)
        talk.post("left", at=address_of(task), choice=f"{task[:8]}.100.")
        await talk.until(lambda: talk.chat[-1] == CLOSED)
        assert not talk.named("session.failed")
        assert [fact.kind for fact in talk.world.facts].count("order") == 1


@pytest.mark.parametrize(("name", "orderers"), [("Choices", 1), ("Further", 2)])
@pytest.mark.parametrize("by", ["press", "reply", "words"])
async def test_of_two_who_answer_in_the_same_moment_the_second_is_told_that_it_is_closed(
    name: str, orderers: int, by: str
) -> None:
    async with talking(guided(ONE.format(name=name)), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk, orderers)
        [question] = [number for number, text in enumerate(talk.chat) if "asks: Which way?" in text]
        left, right = talk.world.offered[-1].choices
        ways: dict[str, dict[str, Any]] = {
            "press": {"kind": "choice"},
            "reply": {"quote": Quote(str(question), "Guide", "Which way?")},
            "words": {"kind": "message"},
        }
        for who, choice in (("Ada", left), ("Bob", right)):
            more = ways[by] if by == "reply" else {**ways[by], "choice": choice.id}
            talk.post(choice.label, name=who, **more)
        await talk.until(lambda: len(talk.chat) == question + 3)
        assert sorted(talk.chat[question + 1 :]) == sorted(["went left", english()("session.question_closed")])


async def test_who_presses_what_another_was_asked_is_told_and_answers_nothing() -> None:
    async with talking(guided(ONE.format(name="Hers")), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await asked(talk)
        left, right = talk.world.offered[-1].choices
        talk.post(right.label, name="Bob", kind="choice", choice=right.id)
        await talk.until(lambda: english()("session.question_for", name="Ada") in talk.chat)
        talk.post(left.label, kind="choice", choice=left.id)
        await talk.until(lambda: "went left" in talk.chat)

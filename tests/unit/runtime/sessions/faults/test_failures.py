"""What fails whenever it is tried is given up; failures that nobody catches come to the desk of reports."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.features.reports.node import NodeReports
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.errors import (
    LLMKeyRefused,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
    NoModelSet,
    UnscriptedQuestion,
)
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.llm.client import CompletionRequest
from runtime.sessions.conversation import MAX_ATTEMPTS
from runtime.sessions.failures import ReportReference, SessionFailure
from runtime.stores.inbox import TASK
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderOver
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

GIVEN_UP = "I could not process what you just sent"


class BuggyModel(Model):
    """A client of a model with a bug."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Any]:
        self.asked.append(request.messages)
        if self.asked:
            raise RuntimeError("a bug")
        yield


async def test_a_bug_ends_its_playbook_with_a_sentence_and_asks_the_model_no_second_time() -> None:
    worker = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))
    model = BuggyModel()
    async with talking(worker, model) as talk:
        assert await talk.say("go") == ["⚠️ Main failed: a bug. Your next message begins anew."]
    async with talking(worker, model, world=talk.world) as later:
        await later.rested()
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('{}["99999999"]', "there is no entry '99999999'"),
        ("assert not message", "no reason was given"),
        ('int("<b>x</b>")', "invalid literal for int() with base 10: '\\<b\\>x\\</b\\>'"),
    ],
)
async def test_people_read_a_sentence_where_python_has_a_value_alone(code: str, why: str) -> None:
    main = python("LookUpOrder", trigger="BGN When program starts")
    desk = program(agent("Desk", main, code=f"async def LookUpOrder():\n    message = 'x'\n    {code}\n"))
    async with talking(desk, Model()) as talk:
        assert await talk.say("go") == [f"⚠️ Look up order failed: {why}. Your next message begins anew."]
        [failed] = talk.named("playbook.failed")
        assert "LookUpOrder" in str(failed.data["raised_at"])


class FailingModel(BuggyModel):
    """A model that cannot be had."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self.failure = failure

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Any]:
        self.asked.append(request.messages)
        if self.asked:
            raise self.failure
        yield


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (LLMUnavailable("litellm: HTTP 502"), "the language model cannot be reached right now"),
        (
            NoModelSet("set PARLEY_MODEL"),
            "no language model is set up. Whoever runs me sets a key, such as OPENAI_API_KEY, or starts me with "
            "--model scripted",
        ),
        (LLMRateLimited("litellm: HTTP 429"), "the language model is too busy right now"),
        (LLMTimeout("90 s"), "the language model did not answer in time"),
        (LLMRefused("litellm: HTTP 403"), "the language model refused the request"),
        (
            LLMKeyRefused("sk-1 is wrong"),
            "the language model refused my key, and the person who runs me has to set another one",
        ),
    ],
)
async def test_people_are_told_in_plain_words_that_the_model_gave_no_answer_and_the_log_why(
    failure: Exception, why: str
) -> None:
    worker = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))
    async with talking(worker, FailingModel(failure)) as talk:
        told = (
            f"⚠️ I cannot continue: {why}. Your message is kept. "
            "Write to me again, and I will try once more. /new starts another conversation."
        )
        assert await talk.say("go") == [told]
        assert [failed.data["error"] for failed in talk.named("llm.failed")] == [f"{type(failure).__name__}: {failure}"]


async def test_a_question_that_no_talk_answers_is_told_as_that() -> None:
    worker = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))
    fault = "No talk answers this question of Worker: “Work?”."
    async with talking(worker, FailingModel(UnscriptedQuestion(fault))) as talk:
        told = f"⚠️ {fault} Write its answer in the talk file, then write to me again. Your message is kept."
        assert await talk.say("go") == [told]


async def test_plain_words_go_to_who_asked_and_not_to_who_could_not_answer_a_mention() -> None:
    code = """
async def Main():
    await Baker.Open()
    while True:
        await Say("user", f"you chose {await Ask('Which way?', ['Left', 'Right'])}")
"""
    guide = agent("Guide", MAIN, code=code)
    baker = agent("Baker", python("Open", public=True), llm("Bake", "01:QUE Bake"), code="async def Open(): pass")
    model = FailingModel(NoModelSet("set PARLEY_MODEL"))
    async with talking(program(guide, baker), model, after="go") as talk:
        (failed,) = await talk.say("@Baker can you review?")
        assert "I cannot continue" in failed
        assert "/new" in failed
        assert (await talk.say("left"))[:1] == ["you chose Left"]
        assert (await talk.say("right", name="Bob"))[:1] == ["you chose Right"]
        assert await talk.say("@Baker now?") == [failed]
        assert (await talk.say("left"))[:1] == ["you chose Left"]


async def test_a_session_that_fails_again_and_again_is_given_up_and_says_so() -> None:
    broken = program(agent("Main", MAIN, code="x = 1 / 0\n"))
    async with talking(broken, Model()) as talk:
        talk.post("go")
        await talk.until(lambda: any(GIVEN_UP in text for text in talk.chat))
        failures = len(talk.named("session.failed"))
        for _ in range(2000):
            await anyio.lowlevel.checkpoint()
        assert len(talk.named("session.failed")) == failures <= 2 * MAX_ATTEMPTS
        assert len(talk.chat) == 1


class CountingDesk:
    """Where failures come to."""

    def __init__(self) -> None:
        self.taken: list[SessionFailure] = []

    async def take(self, failure: SessionFailure, /) -> ReportReference:
        self.taken.append(failure)
        return ReportReference(1, len(self.taken))


async def test_a_message_that_is_put_aside_for_failing_again_and_again_is_reported() -> None:
    broken = program(agent("Main", MAIN, code="x = 1 / 0\n"))
    desk = CountingDesk()
    async with talking(broken, Model(), features=[NodeReports(desk)]) as talk:
        talk.post("go")
        await talk.until(lambda: bool(desk.taken) and any(GIVEN_UP in text for text in talk.chat))
        (failure,) = desk.taken
        assert (failure.kind, failure.playbook, failure.error_type) == ("dead_letter", "message", "ProgramError")
        assert [entry.event.text for entry in talk.world.discarded] == ["go"]


async def test_a_failure_that_nobody_catches_is_reported_with_its_place_and_one_that_is_caught_is_not() -> None:
    code = """
async def Main():
    try:
        await Weigh(0)
    except Exception:
        pass
    await Weigh(0)

async def Weigh(grams):
    return 1 / grams
"""
    made = program(agent("Cook", MAIN, python("Weigh", "grams"), code=code))
    desk = CountingDesk()
    async with talking(made, Model(), features=[NodeReports(desk)], after="go") as talk:
        await talk.until(lambda: bool(talk.facts("reported")))
        (failure,) = desk.taken
        assert (failure.kind, failure.agent, failure.playbook) == ("uncaught", "Cook", "Weigh")
        assert failure.error_type == "ZeroDivisionError"
        assert talk.facts("reported") == [{"seq": failure.seq, "report": 1, "count": 1}]


CODE = """
class OvenCold(Exception):
    def __init__(self, oven, degrees):
        super().__init__(f"oven {oven} has {degrees} degrees")

async def Bake():
    await Heat()

async def Heat():
    raise OvenCold(3, 20)

async def Wait():
    await Sleep(300)
"""
AT_HEAT = ("Baker", "Heat", "OvenCold")


class Desk:
    """Implements ReportDesk."""

    def __init__(self) -> None:
        self.taken: list[SessionFailure] = []

    async def take(self, failure: SessionFailure, /) -> ReportReference:
        self.taken.append(failure)
        return ReportReference(len(self.taken), 1)

    @property
    def seen(self) -> list[tuple[str, str, str]]:
        """What failed, and how."""
        return [(failure.agent, failure.playbook, failure.error_type) for failure in self.taken]


def bakery(main: str) -> Program:
    baker = agent("Baker", *(python(name, public=True) for name in ("Bake", "Heat", "Wait")), code=CODE)
    code = f"async def Main():\n{main}\n    await Say('user', 'done')\n"
    return program(agent("Main", MAIN, code=code), baker)


async def orders(talk: Talk, playbook: str, arguments: dict[str, object], event: str = "") -> OrderOver:
    """The end of a task that a client orders."""
    task, here = SessionId("t1"), address_data(Address(CLIENT, "ci"))
    due = talk.world.clock.now().timestamp() + 60
    order = TaskOrder(0, SessionId(""), "Baker", playbook, arguments, due, 1, here, here, task, event=event)
    talk.post(str(order), at=address_of(task), kind=TASK)

    def over() -> OrderOver | None:
        return next((found for fact in talk.world.facts if (found := read_as(fact, OrderOver)) is not None), None)

    await talk.until(lambda: over() is not None)
    found = over()
    assert found is not None
    return found


@pytest.mark.parametrize("event", ["", "oven.cold"])
async def test_a_failed_task_of_a_client_is_reported_with_its_type_and_place(event: str) -> None:
    desk = Desk()
    async with talking(bakery("    pass"), Model(), tasks=TaskLimits(), features=[NodeReports(desk)]) as talk:
        over = await orders(talk, "Bake", {}, event)
        await talk.until(lambda: bool(desk.taken))
    assert (over.error, over.error_type) == ("oven 3 has 20 degrees", "OvenCold")
    assert str(over.raised_at) == "Baker: Heat, test.pb:10 in Heat"
    assert desk.seen == [AT_HEAT]


async def test_a_client_s_task_that_ran_out_of_time_is_reported_where_it_was() -> None:
    desk = Desk()
    async with talking(bakery("    pass"), Model(), tasks=TaskLimits(), features=[NodeReports(desk)]) as talk:
        over = await orders(talk, "Wait", {})
        await talk.until(lambda: bool(desk.taken))
    assert (over.error_type, str(over.raised_at)) == ("TaskLate", "Baker: Wait")
    assert desk.seen == [("Baker", "Wait", "TaskLate")]


@pytest.mark.parametrize(("event", "reports"), [("", []), ("oven.cold", [("Baker", "Bake", "PlaybookError")])])
async def test_a_rejected_task_is_reported_where_no_client_hears_of_it(
    event: str, reports: list[tuple[str, str, str]]
) -> None:
    desk = Desk()
    async with talking(bakery("    pass"), Model(), tasks=TaskLimits(), features=[NodeReports(desk)]) as talk:
        over = await orders(talk, "Bake", {"cake": "of carrots"}, event)
        await talk.until(lambda: len(desk.taken) == len(reports))
    assert over.status == "rejected"
    assert desk.seen == reports


@pytest.mark.parametrize(
    ("main", "reports"),
    [
        ('    await Spawn("Baker", "Bake")\n    await Sleep(9)', [AT_HEAT]),
        ('    await Spawn("Baker", "Bake")\n    await Sleep(9)\n    await EndProgram()', [AT_HEAT]),
        ('    await Result(await Spawn("Baker", "Bake"), 0.001)', [AT_HEAT]),
        ('    await Spawn("Baker", "Bake", {"cake": 1})', [("Baker", "Bake", "PlaybookError")]),
        ('    await Spawn("Baker", "Wait", within_s=5)', [("Baker", "Wait", "TaskLate")]),
        (
            "    for _ in range(3):\n        await Spawn('Baker', 'Wait')",
            [("Baker", "Wait", "TaskLimit")],
        ),
        ('    await Spawn("Baker", "Bake")\n    await WaitForMessage("*", 60)', []),
        ('    await Cancel(await Spawn("Baker", "Wait"))', []),
        ('    await Spawn("Baker", "Bake", deliver="nobody")\n    await Sleep(9)', [AT_HEAT]),
        ('    await Spawn("Baker", "Bake", keep=True)\n    await Sleep(9)', [AT_HEAT]),
        ('    await Result(await Spawn("Baker", "Bake"))', [AT_HEAT]),
        (
            '    try:\n        await Result(await Spawn("Baker", "Bake"))\n'
            "    except Exception as error:\n"
            "        await Say('user', f'{type(error).__name__}: {error}')",
            [],
        ),
    ],
)
async def test_an_agent_s_task_is_reported_unless_its_orderer_catches_the_failure(
    main: str, reports: list[tuple[str, str, str]]
) -> None:
    desk = Desk()
    async with talking(bakery(main), Model(), tasks=TaskLimits(at_once=2), features=[NodeReports(desk)]) as talk:
        await talk.say("hi")
        await talk.settled()
        shown = talk.chat
    assert desk.seen == reports
    assert reports or shown[-1] == "done"


async def test_a_playbook_that_cannot_begin_and_one_that_a_trigger_starts_are_reported() -> None:
    code = "async def Main():\n    await Say('user', 'done')\n\nasync def Dust():\n    raise OSError('no cloth')\n"
    dust = python("Dust", trigger="CND Before calling Main")
    greet = python("Greet", "name", trigger="BGN When program starts")
    desk = Desk()
    made = program(agent("Main", MAIN, dust, greet, code=code + "\nasync def Greet(name):\n    pass\n"))
    async with talking(made, Model(), tasks=TaskLimits(), features=[NodeReports(desk)], world=World(())) as talk:
        await talk.say("hi")
        await talk.until(lambda: len(desk.taken) == 2)
    assert desk.seen == [("Main", "Dust", "OSError"), ("Main", "Greet", "PlaybookError")]

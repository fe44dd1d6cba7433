"""What tasks spend on models: together with all tasks that come of them, and against their conversation's limits."""

import pytest

from runtime.events.frames import LLMAnswered
from runtime.language.program import Program
from runtime.llm.client import Usage
from runtime.stores.orders import ModelSpending, TaskLimits
from tests.fakes.crashes.patient_world import FAR_S, patient_world
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

MAIN = """
async def Main():
    try:
        await Say("user", await Result(await Spawn("Writer", "Twice")))
    except Exception as error:
        await Say("user", str(error))
"""
WRITER = """
async def Twice():
    one = await Result(await Spawn("Writer", "Once"))
    return one + " " + await Once()

async def Stubborn():
    try:
        await Once()
        await Once()
    except Exception:
        return "I have done it all the same"
"""
HUNDRED = Usage(input_tokens=60, output_tokens=40, cost_usd=0.25)


def writing(main: str = MAIN) -> Program:
    once = llm("Once", "01:QUE Write", public=True)
    writer = agent("Writer", once, python("Twice", public=True), python("Stubborn", public=True), code=WRITER)
    return program(agent("Main", python("Main", trigger="BGN When program starts"), code=main), writer)


def replies(*words: str) -> Model:
    return Model(*(Reply(f'```python\nReturn("{word}")\n```', usage=HUNDRED) for word in words))


class Counted:
    """Counts as a gateway does."""

    def __init__(self) -> None:
        self.talk: Talk | None = None

    def answers(self) -> list[LLMAnswered]:
        assert self.talk is not None
        return [event.what for event in self.talk.events if isinstance(event.what, LLMAnswered)]

    async def spent(self, task: str) -> ModelSpending:
        found = [answer for answer in self.answers() if answer.task == task]
        tokens = sum(answer.tokens_in + answer.tokens_out for answer in found)
        return ModelSpending(tokens, sum(answer.cost_usd or 0.0 for answer in found))


async def outcome(limits: TaskLimits, program: Program, model: Model) -> tuple[Talk, Counted]:
    counted = Counted()
    async with talking(program, model, world=patient_world(), tasks=limits, spent=counted.spent) as talk:
        counted.talk = talk
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
    return talk, counted


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (TaskLimits(within_s=2 * FAR_S, tokens=100), "have used up their limit of 100 tokens"),
        (TaskLimits(within_s=2 * FAR_S, dollars=0.25), "have used up their limit of 0.25 US dollars"),
    ],
)
async def test_what_a_task_of_a_task_has_used_counts_for_both(limits: TaskLimits, why: str) -> None:
    talk, _ = await outcome(limits, writing(), replies("one"))
    assert talk.chat == [f"task 1 (Writer.Twice) failed: the task and the tasks that it started {why}"]


async def test_within_the_limit_all_is_done_and_counted_for_the_first_task_and_the_conversation() -> None:
    talk, counted = await outcome(TaskLimits(within_s=2 * FAR_S, tokens=101), writing(), replies("one", "two"))
    assert talk.chat == ["one two"]
    (first,) = {answer.task for answer in counted.answers()}
    assert first == talk.facts("spawn")[0]["task"]  # type: ignore[index]
    assert {answer.conversation for answer in counted.answers()} == {ADDRESS.key}


async def test_a_program_that_goes_on_after_the_limit_has_failed_all_the_same() -> None:
    talk, _ = await outcome(
        TaskLimits(within_s=2 * FAR_S, tokens=50), writing(MAIN.replace("Twice", "Stubborn")), replies("one")
    )
    assert "task 1 (Writer.Stubborn) failed: the task" in talk.chat[0]


async def test_without_a_limit_nobody_is_asked_what_was_spent() -> None:
    talk, counted = await outcome(TaskLimits(within_s=2 * FAR_S), writing(), replies("one", "two"))
    assert talk.chat == ["one two"]
    assert {answer.task for answer in counted.answers()} == {None}

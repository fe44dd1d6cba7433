"""The evals on scripted replies: right answers pass every check, however they are worded, and wrong ones do not."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from benchmarks.live_text.virtual_time import LoopClock, run_virtually
from evals.checks import problems
from evals.conversation import Stage, run_once
from evals.models import Scripted
from evals.record import Record
from evals.run import PROGRAMS
from evals.talks import Case, Reply, cases
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.sandbox.executor import CodeSnippet, SnippetEvaluation
from runtime.sandbox.monty import MontySandbox

ALL = cases(*PROGRAMS)

IN_A_WORKER = "23-two-agents"
"""Its replies hold a statement, which takes real time; everything else takes none."""

CARELESS: dict[str, str] = {
    r"You execute ": "await Return()",
    r"of these alone: yes, no": "no",
    r"Answer with \w+ alone: a whole number.*instead": "7",
    r"They wrote: \"(.*)\"\. What did they answer\? Answer with": r"\1",
    r"write only `instead:`": "answer",
    r"Answer with \w+ alone: a whole number": "7",
    r"Answer with ": "something",
}
"""What a model answers that does not read well, to questions that the script has no reply to."""


class Careless(Scripted):
    """Has an answer to every question, only not always a good one."""

    def answer(self, agent: str, question: str) -> str | None:
        """See `Scripted`."""
        for shape, careless in CARELESS.items():
            if (found := re.search(shape, question, re.DOTALL)) is not None:
                return super().answer(agent, question) or found.expand(careless)
        return super().answer(agent, question) or "Very well."


class NoWorkers:
    """A sandbox for programs that need none."""

    def evaluate(self, snippet: CodeSnippet, /) -> AbstractAsyncContextManager[SnippetEvaluation]:
        """See `Sandbox`."""
        raise AssertionError(f"nothing here is to run in a worker: {snippet}")


def run(case: Case, program: Program, models: Mapping[str, Scripted]) -> dict[str, Record]:
    """A run with each of the models, by their names."""

    async def runs(stage: Stage) -> dict[str, Record]:
        return {name: await run_once(program, case.talk, model, stage) for name, model in models.items()}

    async def runs_in_a_worker() -> dict[str, Record]:
        async with MontySandbox(max_workers=1) as sandbox:
            return await runs(Stage(sandbox, SystemClock()))

    if case.name == IN_A_WORKER:
        with asyncio.Runner(loop_factory=FrameLoop) as runner:
            return runner.run(runs_in_a_worker())
    return run_virtually(lambda: runs(Stage(NoWorkers(), LoopClock())))


@pytest.fixture(params=ALL, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """Each of them."""
    assert isinstance(request.param, Case)
    return request.param


@pytest.fixture
def program(case: Case) -> Program:
    """The compiled program of the case."""
    return asyncio.run(compile_program([case.program], lowerer=RulesLowerer())).program


def script(case: Case) -> Sequence[Reply]:
    """The replies of a case."""
    assert case.talk.replies, "nobody wrote what a right model answers"
    return case.talk.replies


def instead(case: Case, kind: str) -> dict[str, list[Reply]]:
    """The script with one of its replies exchanged for another that is given for it, by the place and text of that."""
    replies = script(case)
    return {
        f"{number}: {text}": [*replies[:number], reply.model_copy(update={"text": text}), *replies[number + 1 :]]
        for number, reply in enumerate(replies)
        for text in getattr(reply, kind)
    }


def unnoticed(case: Case, records: Mapping[str, Record]) -> list[str]:
    """The replies with which a run is taken to be right, by all that is checked but that the script was followed."""
    for record in records.values():
        record.replies_left = 0
    return [name for name, record in records.items() if not problems(case.talk, record)]


def test_the_right_replies_make_a_run_right(case: Case, program: Program) -> None:
    records = run(case, program, {"": Scripted(script(case))})
    assert problems(case.talk, records[""]) == []


def test_other_right_words_and_forms_make_it_right_too(case: Case, program: Program) -> None:
    records = run(case, program, {name: Scripted(replies) for name, replies in instead(case, "also").items()})
    wrong = {name: problems(case.talk, record) for name, record in records.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_wrong_reply_makes_a_run_wrong(case: Case, program: Program) -> None:
    records = run(case, program, {name: Careless(replies) for name, replies in instead(case, "wrong").items()})
    assert unnoticed(case, records) == []


def test_a_lie_is_noticed_and_changes_nothing_of_what_is_called(case: Case, program: Program) -> None:
    records = run(case, program, {name: Careless(replies) for name, replies in instead(case, "lies").items()})
    assert records, "nobody wrote a lie"
    assert unnoticed(case, records) == []
    right = run(case, program, {"": Scripted(script(case))})[""].calls
    assert {name: record.calls for name, record in records.items() if record.calls != right} == {}


def test_every_program_in_which_a_value_is_understood_says_what_would_be_wrong() -> None:
    without = [case.name for case in ALL if not any(reply.wrong for reply in script(case))]
    assert without == ["04-for-each", "05-while-count", "19-computed-trigger", "20-ask-options"]

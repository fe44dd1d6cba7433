"""What fails whenever it is tried is given up, says so, and is not tried for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.features.reports.node import NodeReports
from runtime.core.errors import LLMKeyRefused, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable
from runtime.llm.client import CompletionRequest
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.conversation import MAX_ATTEMPTS
from runtime.sessions.failures import ReportReference, SessionFailure
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

pytestmark = pytest.mark.anyio

GIVEN_UP = "I could not process what you just sent"


class BuggyModel(Model):
    """A client of a model with a bug."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Any]:
        self.asked.append(request.messages)
        if self.asked:
            raise RuntimeError("a bug")
        yield


async def test_a_bug_ends_its_playbook_with_a_sentence_and_asks_the_model_no_second_time(sandbox: MontySandbox) -> None:
    worker = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))
    model = BuggyModel()
    async with talking(worker, model, sandbox) as talk:
        assert await talk.say("go") == ["⚠️ Main failed: a bug. Write again to start over."]
    async with talking(worker, model, sandbox, world=talk.world) as later:
        await later.rested()
    assert len(model.asked) == 1


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
    failure: Exception, why: str, sandbox: MontySandbox
) -> None:
    worker = program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))
    async with talking(worker, FailingModel(failure), sandbox) as talk:
        told = f"⚠️ I cannot continue: {why}. Your message is kept. Write again, and I will try once more."
        assert await talk.say("go") == [told]
        assert [failed.data["error"] for failed in talk.named("llm.failed")] == [f"{type(failure).__name__}: {failure}"]


async def test_a_session_that_fails_again_and_again_is_given_up_and_says_so(sandbox: MontySandbox) -> None:
    broken = program(agent("Main", python("Main", trigger="BGN When program starts"), code="x = 1 / 0\n"))
    async with talking(broken, Model(), sandbox) as talk:
        talk.post("go")
        await talk.until(lambda: any(GIVEN_UP in text for text in talk.chat))
        failures = len(talk.named("session.failed"))
        for _ in range(2000):
            await anyio.lowlevel.checkpoint()
        assert len(talk.named("session.failed")) == failures <= 2 * MAX_ATTEMPTS
        assert len(talk.chat) == 1


class Desk:
    """Where failures come to."""

    def __init__(self) -> None:
        self.taken: list[SessionFailure] = []

    async def take(self, failure: SessionFailure, /) -> ReportReference:
        self.taken.append(failure)
        return ReportReference(1, len(self.taken))


async def test_a_message_that_is_put_aside_for_failing_again_and_again_is_reported(sandbox: MontySandbox) -> None:
    broken = program(agent("Main", python("Main", trigger="BGN When program starts"), code="x = 1 / 0\n"))
    desk = Desk()
    async with talking(broken, Model(), sandbox, features=[NodeReports(desk)]) as talk:
        talk.post("go")
        await talk.until(lambda: bool(desk.taken) and any(GIVEN_UP in text for text in talk.chat))
        (failure,) = desk.taken
        assert (failure.kind, failure.playbook, failure.error_type) == ("dead_letter", "message", "ProgramError")
        assert [entry.event.text for entry in talk.world.discarded] == ["go"]


async def test_a_failure_that_nobody_catches_is_reported_with_its_place_and_one_that_is_caught_is_not(
    sandbox: MontySandbox,
) -> None:
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
    made = program(
        agent("Cook", python("Main", trigger="BGN When program starts"), python("Weigh", "grams"), code=code)
    )
    desk = Desk()
    async with talking(made, Model(), sandbox, features=[NodeReports(desk)]) as talk:
        await talk.say("go")
        await talk.until(lambda: bool(talk.facts("reported")))
        (failure,) = desk.taken
        assert (failure.kind, failure.agent, failure.playbook) == ("uncaught", "Cook", "Weigh")
        assert failure.error_type == "ZeroDivisionError"
        assert talk.facts("reported") == [{"seq": failure.seq, "report": 1, "count": 1}]

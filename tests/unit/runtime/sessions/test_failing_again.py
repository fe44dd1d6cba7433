"""What fails whenever it is tried is given up, says so, and is not tried for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from runtime.llm.client import CompletionRequest
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.conversation import MAX_ATTEMPTS
from tests.fakes.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

pytestmark = pytest.mark.anyio

GIVEN_UP = "What you just sent could not be taken in"


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
        assert await talk.say("go") == ["⚠️ Main could not go on: a bug. Write again to begin anew."]
    async with talking(worker, model, sandbox, world=talk.world) as later:
        await later.rested()
    assert len(model.asked) == 1


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

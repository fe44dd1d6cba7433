"""A process that is killed at every moment at which a session can stand, one after the other."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.llm.client import CompletionRequest
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crash_world import World
from tests.fakes.talk import Model, Reply, block
from tests.unit.gateway.observability.debugger.stand import ASKS, FINDS, THINKS, Debugged, debugged, guide_in

pytestmark = pytest.mark.anyio

_EXECUTED = re.compile(r"^(\d+)\. ", re.MULTILINE)
MOMENTS = 24
"""So often a session stands when it is gone through by single statements."""


class Guide(Model):
    """Answers as the guide's program wants it, also in the middle of a turn."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[object]:  # type: ignore[override]
        told = request.messages[-1].content
        whole = THINKS if "You execute Find" in told else FINDS if "Ada (user): Ada" in told else ASKS
        _, broke, executed = told.partition("These statements of it were executed")
        count = len(_EXECUTED.findall(executed)) if broke else 0
        lines = whole.text.splitlines()[1 + count : -1]
        reply = Reply(block(*([f"# resume: {count}"] if count else []), *lines).text)
        self._replies.append(reply)
        async with super().stream(request) as pieces:
            yield pieces


async def go_through(at: Debugged, stops: int) -> None:
    """Stand at so many moments, one after the other; what is said is said as soon as it is waited for."""
    await at.editor.begin(stopOnEntry=True)
    at.talk.post("hi")
    for left in reversed(range(stops)):
        thread = (await at.editor.stopped())["threadId"]
        if left:
            if at.talk.chat == ["Who are you?"] and not at.talk.facts("in"):
                at.talk.post("Ada")
                await at.talk.settled()
            await at.editor.request("stepIn", threadId=thread, granularity="instruction")


@pytest.mark.parametrize("stops", range(1, MOMENTS + 1))
async def test_a_kill_at_this_moment_loses_nothing(stops: int, tmp_path: Path, sandbox: MontySandbox) -> None:
    _, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, sandbox, world=world, model=Guide()) as at:
        await go_through(at, stops)
        stood, heard = at.talk.chat, at.talk.facts("in")
    async with debugged(program, sandbox, world=world, model=Guide()) as at:
        assert at.talk.chat == stood
        await at.idle()
        if not heard:
            await at.talk.say("Ada")
        assert at.talk.chat == ["Who are you?", "Oslo, 3"]

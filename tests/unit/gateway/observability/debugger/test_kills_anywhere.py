"""A process that is killed at every moment at which a session can stand, one after the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.llm.client import CompletionRequest
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model
from tests.unit.gateway.observability.debugger.stand import ASK, ASKS, NAMED, PICKS, Debugged, debugged, guide_in

MOMENTS = 14
"""How often a session stands when it is gone through by single moments."""


class Guide(Model):
    """Answers what the guide's program asks, in whatever order."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[object]:  # type: ignore[override]
        told = request.messages[-1].content
        answers = (("Pick a", PICKS), ("wrote", NAMED), ("", ASKS))
        self._replies.append(next(reply for asked, reply in answers if asked in told))
        async with super().stream(request) as pieces:
            yield pieces


async def go_through(at: Debugged, stops: int) -> None:
    """Stand at this many moments, one after the other; what is said is said as soon as it is waited for."""
    await at.editor.begin(stopOnEntry=True)
    at.talk.post("hi")
    for left in reversed(range(stops)):
        thread = (await at.editor.stopped())["threadId"]
        if left:
            asks = await at.editor.where(thread) == [("Main:01:QUE", ASK)]
            await at.editor.request("stepIn", threadId=thread, granularity="instruction")
            if asks:
                await at.idle()
                at.talk.post("Ada")


@pytest.mark.parametrize("stops", range(1, MOMENTS + 1))
async def test_a_kill_at_this_moment_loses_nothing(stops: int, tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, world=world, model=Guide()) as at:
        await go_through(at, stops)
        stood, heard = at.talk.chat, at.talk.facts("in")
    async with debugged(program, world=world, model=Guide()) as at:
        assert at.talk.chat == stood
        await at.idle()
        if not heard:
            await at.talk.say("Ada")
        assert at.talk.chat == ["Who are you?", "Oslo, 3"]

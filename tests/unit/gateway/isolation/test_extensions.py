"""Calls of extensions in isolated tasks: made by the node, which has the functions."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.isolation.node.extension_calls import ExtensionCalls
from runtime.core.errors import PlaybookError, TaskRefused
from runtime.execution.calls.extensions import ExtensionCall, call_of, with_calls
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.people.near_agents import NearAgents
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

CLERK = """
async def Work():
    found = [await Weigh("bread"), await Weigh(what="air")]
    try:
        await Weigh("gold")
    except LookupError as error:
        found.append(f"{type(error).__name__}: {error}")
    return str(found)
"""
MAIN = 'async def Main():\n    await Say("user", await Result(await Spawn("Clerk", "Work")))\n'
WEIGHING = program(
    agent("Main", python("Main", trigger="BGN When program starts"), code=MAIN),
    agent("Clerk", python("Work", public=True), code=CLERK),
)


class Scales:
    """What an extension keeps in the gateway's process."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def calls(self) -> dict[str, ExtensionCall]:
        async def weigh(what: str) -> int:
            """Says what something weighs."""
            self.asked.append(what)
            if what == "gold":
                raise LookupError("no gold")
            return {"bread": 500, "air": 0}[what]

        return {"Weigh": call_of("Weigh", weigh)}


@pytest.mark.parametrize("isolated", [False, True])
async def test_the_node_makes_the_calls_of_a_task_and_what_they_raise_is_raised_there(
    sandbox: MontySandbox, *, isolated: bool
) -> None:
    world, model, scales = World(()), Model(), Scales()
    near = NearAgents(WEIGHING, lambda: world.tasks, model, sandbox, world.clock)
    made = with_calls(WEIGHING, scales.calls)
    more: dict[str, Any] = {"task_conversation": near.conversations} if isolated else {}
    async with talking(made, model, sandbox, world=world, calls=scales.calls, **more) as talk:
        await talk.say("hi")
        assert talk.chat == ["[500, 0, 'LookupError: no gold']"]
        assert scales.asked == ["bread", "air", "gold"]
        assert len(near.started) == isolated


async def test_a_process_that_makes_up_calls_or_arguments_reaches_no_function() -> None:
    scales = Scales()
    calls = ExtensionCalls(scales.calls)
    with pytest.raises(TaskRefused, match="No extension has the call 'Pay'"):
        await calls.call_extension(["Pay", {}])
    with pytest.raises(PlaybookError, match="more"):
        await calls.call_extension(["Weigh", {"what": "bread", "more": 1}])
    assert (await calls.call_extension(["Weigh", {"what": "bread"}])) == {"value": 500}
    assert scales.asked == ["bread"]

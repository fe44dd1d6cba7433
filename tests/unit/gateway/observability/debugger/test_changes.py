"""Variables that whoever debugs changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.protocols.dap_client import DapClient, Refused
from tests.unit.gateway.observability.debugger.stand import ASKS, COUNT, NAMED, PICKS, TELL, debugged, guide_in

pytestmark = pytest.mark.anyio


async def scope(editor: DapClient, thread: int, name: str) -> int:
    """The number of a scope of the frame on top."""
    (frame, *_) = await editor.stack(thread)
    scopes = (await editor.request("scopes", frameId=frame["id"]))["scopes"]
    (number,) = (one["variablesReference"] for one in scopes if one["name"] == name)
    assert isinstance(number, int)
    return number


async def test_a_changed_variable_is_what_the_next_steps_see(tmp_path: Path, sandbox: MontySandbox) -> None:
    file, program = await guide_in(tmp_path)
    async with debugged(program, sandbox, ASKS, NAMED, PICKS) as at:
        thread = await at.stand_at(file, COUNT)
        variables = await scope(at.editor, thread, "Agent Host")
        body = await at.editor.request(
            "setVariable", variablesReference=variables, name="place", value="$place.upper() + '!'"
        )
        assert body["value"] == '"OSLO!"'
        await at.editor.request("setVariable", variablesReference=variables, name="name", value="'Grace'")
        for name, value, why in (("nobody", "1", "only variables of an agent"), ("place", "1 +", "not an expression")):
            with pytest.raises(Refused, match=why):
                await at.editor.request("setVariable", variablesReference=variables, name=name, value=value)
        own = await scope(at.editor, thread, "Locals")
        with pytest.raises(Refused, match="locals are results of code"):
            await at.editor.request("setVariable", variablesReference=own, name="letters", value="1")
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat[-1] == "OSLO!, 5"
        assert at.talk.facts("altered") == [
            {"agent": "1000", "set": {"place": "OSLO!"}},
            {"agent": "1000", "set": {"name": "Grace"}},
        ]


async def test_a_changed_variable_outlives_a_crash(tmp_path: Path, sandbox: MontySandbox) -> None:
    file, program = await guide_in(tmp_path)
    world = World(())
    async with debugged(program, sandbox, ASKS, NAMED, PICKS, world=world) as at:
        thread = await at.stand_at(file, TELL)
        variables = await scope(at.editor, thread, "Agent Host")
        await at.editor.request("setVariable", variablesReference=variables, name="place", value="'Bergen'")
    async with debugged(program, sandbox, world=world) as at:
        await at.idle()
        assert at.talk.chat[-1] == "Bergen, 3"

"""From the program down to a call that leaves the process, each playbook stands below the one that called it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.observing.span_tree import traces
from tests.fakes.people.remote_stand import in_memory, standing
from tests.fakes.people.talk import Model, block, talking
from tests.unit.gateway.observability.tracing.test_spans import told
from tests.unit.runtime.sessions.programs import agent, llm, program, python, triggers

pytestmark = pytest.mark.anyio


async def test_a_message_is_followed_through_its_handler_to_a_tool_of_a_server(
    tmp_path: Path, sandbox: MontySandbox
) -> None:
    query = replace(llm("HandleQuery", "01:EXE Look", "02:RET"), triggers=triggers("EVT When the user asks something"))
    code = 'async def FetchData(city):\n    return (await Weather.forecast(city=city))["sky"]'
    shop = program(agent("Shop", query, python("FetchData", "city"), code=code), in_memory(tmp_path))
    model = Model(
        block(
            "# trig? Shop:HandleQuery:T1:EVT",
            'await Trigger("Shop:HandleQuery:T1:EVT")',
            "await HandleQuery()",
            'await Var("__", "handled it")',
            "await Return()",
        ),
        block(
            'await Step("HandleQuery:01:EXE")',
            "# trig? no",
            'sky = await FetchData("Oslo")',
            'await Step("HandleQuery:02:RET")',
            "# trig? no",
            'await Say("user", sky)',
            'await Var("__", "told them")',
            "await Return()",
        ),
    )
    async with standing() as stand, talking(shop, model, sandbox, servers=stand.pool) as talk:
        assert await talk.say("How is the weather?") == ["clear"]
    (tree,) = traces(told(talk.events))
    found = [line for line in tree.splitlines() if line.lstrip().partition(" ")[0] not in ("chat", "show")]
    names = [line.lstrip().partition(" ")[0] for line in found]
    depths = [(len(line) - len(line.lstrip())) // 2 for line in found]
    called = ["Shop.ProcessMessages", "Shop.HandleQuery", "Shop.FetchData", "Weather.forecast"]
    assert names == ["test", "Shop", *called]
    assert depths == sorted(set(depths))

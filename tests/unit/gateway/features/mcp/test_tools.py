"""Playbooks as tools."""

import pytest

from gateway.features.mcp.server import MAX_NAME_CHARS, parameters_schema, playbook_tools, task_tools
from runtime.language.program import Param
from tests.unit.runtime.sessions import programs as small

AGENT = small.agent("Runner", small.python("Fetch", public=True), code="")
PLAYBOOK = AGENT.playbooks[0]


@pytest.mark.parametrize(
    ("param", "schema", "required"),
    [
        (Param("what"), {}, True),
        (Param("what", type="int"), {"type": "integer"}, True),
        (Param("what", type="list[str]"), {"type": "array", "items": {"type": "string", "minLength": 1}}, True),
        (Param("what", type="int", default="3"), {"type": "integer", "default": 3}, False),
        (
            Param("what", type="int", default="None"),
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            False,
        ),
        (Param("what", default="today()"), {}, False),
        (Param("what", default="'a'"), {"default": "a"}, False),
    ],
)
def test_a_parameter_has_the_schema_of_its_type_and_its_default(
    param: Param, schema: dict[str, object], required: bool
) -> None:
    found = parameters_schema([param])
    assert found["properties"] == {"what": schema}
    assert found["required"] == (["what"] if required else [])


def test_every_tool_has_a_name_of_its_own_that_clients_take() -> None:
    program = small.program(AGENT)
    tools = playbook_tools([(program, AGENT, PLAYBOOK)] * 3)
    assert list(tools) == [f"{program.name}-Runner-Fetch{end}" for end in ("", "_2", "_3")]
    odd = small.program(small.agent("Läufer " * 20, small.python("Fetch", public=True), code=""))
    for name in playbook_tools([(odd, odd.agents[0], odd.agents[0].playbooks[0])] * 2):
        assert name.replace("-", "").replace("_", "").isalnum()
        assert name.isascii()
        assert len(name) <= MAX_NAME_CHARS


def test_the_tools_for_tasks_name_what_they_need() -> None:
    assert {tool.name: tool.input_schema["required"] for tool in task_tools()} == {
        "start_task": ["program", "agent", "playbook"],
        "task_status": ["task"],
        "task_result": ["task"],
        "answer_task": ["task", "text", "id"],
    }

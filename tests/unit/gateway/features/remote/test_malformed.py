"""Whatever a foreign server says of its tools, or answers, costs that tool or that call alone."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult, TextContent, Tool

from gateway.features.remote.tool_server import error_of, value_of
from gateway.features.remote.tools import remote_tools
from runtime.language.diagnostics import Span
from tests.fakes.protocols.malformed import malformed

SPAN = Span("p.pb", 1)
GOOD = Tool(name="good", input_schema={"type": "object"})

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:x",
    "type": "object",
    "properties": {"n": {"type": ["integer", "null"], "description": "a number", "default": 1, "enum": [1, 2]}},
    "required": ["n"],
    "$defs": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}},
    "additionalProperties": {"items": {"type": "array", "items": {"type": "string"}}},
}

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(10**1000)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*SCHEMA, *SCHEMA["properties"]["n"], "anyOf", "items"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        found = {"anyOf": [found]}
    return found


def listed(schema: dict[str, Any], output: dict[str, Any] | None = None) -> None:
    """The tools of a server with a tool of this schema can be used, at least all others."""
    strange = Tool(name="strange", title="x", input_schema=schema, output_schema=output)
    found = {tool.tool: tool for tool in remote_tools([strange, GOOD], SPAN)}
    assert "good" in found
    if "strange" in found:
        found["strange"].mismatch({"n": 1, "a": [1]})
        assert found["strange"].spec.params is not None


@pytest.mark.parametrize("depth", [10, 100, 300, 900, 5_000])
def test_a_schema_of_any_depth_costs_its_tool_alone(depth: int) -> None:
    listed({"properties": {"n": nested(depth)}})


@pytest.mark.parametrize("place", ["default", "description", "maximum"])
def test_a_number_that_cannot_be_written_costs_its_tool_alone(place: str) -> None:
    listed({"properties": {"n": {place: 10**5000}}})


@pytest.mark.parametrize("schema", [one for one in malformed(SCHEMA) if isinstance(one, dict)], ids=lambda _: "")
def test_a_schema_of_any_form_costs_its_tool_alone(schema: dict[str, Any]) -> None:
    listed(schema, schema)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(list(SCHEMA)), values, max_size=5))
@example({"required": [[]], "properties": {"n": {}}})
@example({"$schema": []})
@example({"$id": {}})
def test_a_schema_of_any_data_costs_its_tool_alone(schema: dict[str, Any]) -> None:
    listed(schema)
    listed({"type": "object"}, schema)


@settings(max_examples=300, deadline=None)
@given(values)
@example({"result": float("nan")})
def test_an_answer_of_any_data_becomes_data_that_can_be_kept(value: Any) -> None:
    structured = value if isinstance(value, dict) else {"result": value}
    words = TextContent(type="text", text=str(type(value)))
    result = CallToolResult(content=[words], structured_content=structured)
    kept = value_of(result, {"properties": {"result": {}}}, 500)
    json.dumps(kept, ensure_ascii=False, allow_nan=False).encode()
    assert isinstance(error_of(result), str)

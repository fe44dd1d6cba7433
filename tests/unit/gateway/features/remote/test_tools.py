"""Tools of strangers as playbooks: names, signatures, schemas, and how much of it is told."""

import base64
from typing import Any

import pytest
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from gateway.features.remote.tool_server import error_of, value_of
from gateway.features.remote.tools import KEY, MAX_TOLD_CHARS, MAX_TOOLS, identifier, remote_tools
from runtime.core.plain_text import one_line, plain
from runtime.execution.calls.remote import RemoteTool
from runtime.execution.free.prompt import signature
from runtime.language.diagnostics import Span

SPAN = Span("test.pb", 1)


def tool(name: str = "tool", schema: dict[str, Any] | None = None, **more: Any) -> Tool:
    return Tool(name=name, input_schema=schema or {"type": "object"}, **more)


def made(schema: dict[str, Any], **more: Any) -> RemoteTool:
    return remote_tools([tool(schema=schema, **more)], SPAN)[0]


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("forecast", "forecast"),
        ("get-forecast", "get_forecast"),
        ("fs/read.file", "fs_read_file"),
        ("2fa", "_2fa"),
        ("import", "import_"),
        ("__class__", "class__"),
        ("прогноз", "tool"),
        ("", "tool"),
    ],
)
def test_a_name_becomes_one_that_programs_can_write(name: str, becomes: str) -> None:
    assert identifier(name) == becomes
    assert identifier(name).isidentifier()


def test_names_that_become_the_same_stay_apart() -> None:
    tools = remote_tools([tool("a-b"), tool("a.b"), tool("a_b")], SPAN)
    assert [(t.spec.name, t.tool) for t in tools] == [("a_b", "a-b"), ("a_b_2", "a.b"), ("a_b_3", "a_b")]


def test_a_schema_becomes_a_signature_with_what_must_be_given_first() -> None:
    found = made(
        {
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "unit": {"type": "string", "enum": ["C", "F"], "description": "of\nthe answer"},
                "place-names": {"type": "array", "items": {"type": "string"}},
                "near": {"type": ["string", "null"]},
                "at": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None, "title": "At"},
                "box": {"type": "object", "properties": {"n": {"type": "integer"}}},
            },
            "required": ["place-names", "unit"],
        },
        description="What the weather\n\nwill be.",
    )
    params = found.spec.params
    required, optional = (
        "unit:str, place_names:list[str]",
        "near:str | None = None, at:float | None = None, box:dict = None",
    )
    assert signature("tool", params, None) == f"tool({required}, limit:int = 10, {optional})"
    assert found.spec.description == (
        'What the weather will be. unit: of the answer {"enum": ["C", "F"]}; '
        'box: {"properties": {"n": {"type": "integer"}}};'
    )
    assert found.arguments["place_names"] == "place-names"


@pytest.mark.parametrize(
    ("schema", "arguments", "wrong"),
    [
        ({"properties": {"n": {"type": "integer"}}}, {"n": 1}, None),
        ({"properties": {"n": {"type": "integer"}}}, {"n": "1"}, "n: '1' is not of type 'integer'"),
        ({"properties": {"n": {"enum": [1, 2]}}}, {"n": 3}, "n: 3 is not one of [1, 2]"),
        ({"additionalProperties": False}, {"x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
        ({"properties": {"n": {"pattern": "(a+)+$"}}}, {"n": "a" * 64 + "b"}, None),
        ({"properties": {"pattern": {"type": "integer"}}}, {"pattern": "x"}, "pattern: 'x' is not of type 'integer'"),
        ({"properties": {"n": {"$ref": "https://attacker.example/schema"}}}, {"n": 1}, None),
        ({"properties": {"n": {"$ref": "#/$defs/loop"}}, "$defs": {"loop": {"$ref": "#/$defs/loop"}}}, {"n": 1}, None),
        ({"properties": {"n": {"type": "nonsense"}}}, {"n": 1}, None),
    ],
)
def test_arguments_are_checked_by_the_schema_and_nothing_is_fetched(
    schema: dict[str, Any], arguments: dict[str, Any], wrong: str | None
) -> None:
    assert made({"type": "object", **schema}).mismatch(arguments) == wrong


def test_a_deep_schema_is_survived() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for depth in range(5000):
        deep = {"type": "object", "properties": {"a": deep}}
        if depth == 100:
            assert made(deep).mismatch({"a": {"a": 3}}) is not None
    assert [t.tool for t in remote_tools([tool("deep", deep), tool("small")], SPAN)] == ["small"]


def test_what_is_told_of_many_tools_has_a_bound() -> None:
    tools = [tool(f"t{n}", description="x" * 10_000) for n in range(MAX_TOOLS + 50)]
    found = remote_tools(tools, SPAN)
    assert len(found) == MAX_TOOLS
    assert sum(len(t.spec.description) for t in found) <= MAX_TOLD_CHARS
    assert len(made({"type": "object"}, description="x" * 10_000).spec.description) == 600


def test_a_tool_with_an_endless_schema_is_left_out() -> None:
    huge = tool("huge", {"type": "object", "description": "x" * 60_000})
    assert [t.tool for t in remote_tools([huge, tool("small")], SPAN)] == ["small"]


@pytest.mark.parametrize(
    ("more", "repeatable"),
    [
        ({}, False),
        ({"annotations": ToolAnnotations(read_only_hint=True)}, True),
        ({"annotations": ToolAnnotations(idempotent_hint=True)}, True),
        ({"annotations": ToolAnnotations(read_only_hint=False, destructive_hint=False)}, False),
        ({"_meta": {KEY: True}}, True),
        ({"_meta": {KEY: "yes"}}, False),
    ],
)
def test_a_call_may_be_repeated_when_the_server_says_so(more: dict[str, Any], repeatable: bool) -> None:
    assert made({"type": "object"}, **more).repeatable is repeatable


def text(*texts: str, structured: Any = None, error: bool = False) -> CallToolResult:
    content = [TextContent(text=t) for t in texts]
    return CallToolResult(content=content, structured_content=structured, is_error=error)


WRAPPED = {"type": "object", "properties": {"result": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("result", "schema", "value"),
    [
        (text("a", "b"), None, "a\nb"),
        (text("3", structured={"result": 3}), WRAPPED, 3),
        (text("3", structured={"result": 3}), None, {"result": 3}),
        (text("x", structured={"a\x1b[0m": ["\x00b", 1, None]}), None, {"a[0m": ["b", 1, None]}),
        (text("x", structured={"a": "y" * 300}), None, '{"a": "' + "y" * 93 + "… (309 characters in all, cut at 100)"),
        (text(), None, ""),
    ],
)
def test_a_result_is_plain_bounded_data(result: CallToolResult, schema: Any, value: Any) -> None:
    assert value_of(result, schema, 100) == value


def test_what_is_no_text_is_named() -> None:
    data = base64.b64encode(b"12345").decode()
    result = CallToolResult(
        content=[
            ImageContent(data=data, mime_type="image/png"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="inside")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///b", blob=data)),
            ResourceLink(name="report", uri="https://example.org/r"),
        ]
    )
    assert value_of(result, None, 1000) == (
        "[image/png, 5 bytes, left out]\ninside\n[a file, 5 bytes, left out]\n[report: https://example.org/r]"
    )


def test_an_error_is_one_line_and_says_something() -> None:
    assert error_of(text("no\n\nsuch\tcity " + "x" * 1000, error=True)) == "no such city " + "x" * 486 + "…"
    assert error_of(text(error=True)) == "it does not say why"


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("a\x1b[2Jb\x00", "a[2Jb"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("\U000e0041\ufeffhidden", "hidden"),
        ("👩\u200d🚀 naïve 日本\u00a0x", "👩\u200d🚀 naïve 日本\u00a0x"),
    ],
)
def test_plain_text_hides_and_moves_nothing(dirty: str, clean: str) -> None:
    assert plain(dirty) == clean


def test_one_line_is_cut_where_it_ends() -> None:
    assert one_line(" a\n b ", 10) == "a b"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"

"""A server's tools as playbooks of its agent. Strangers write them, so they are limited and made plain."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match
from mcp_types import Tool
from referencing import Registry

from runtime.core.plain_text import one_line
from runtime.execution.calls.remote import RemoteTool
from runtime.language.diagnostics import Span
from runtime.language.program import Param, PlaybookSpec
from runtime.language.value_types import JSON_NAMES

KEY = "parley/idempotencyKey"
"""In `_meta` of a call: the key, the same at every repetition. In `_meta` of a tool, as true: it does once what comes
under one key."""

MAX_TOOLS = 200
"""The most tools of one server; others are left out."""

MAX_SCHEMA_CHARS = 50_000
"""A tool with a longer schema is left out."""

MAX_PARAMS = 60
MAX_DEPTH = 15
MAX_DESCRIPTION_CHARS = 600
MAX_PARAM_CHARS = 200
MAX_TOLD_CHARS = 20_000
"""Of all descriptions of one server: they stand in every prompt. Of many tools each is told in fewer words."""

_TYPES = {**JSON_NAMES, "null": "None"}
_UNCHECKED = ("pattern", "patternProperties", "format")
"""Schema keywords left to the server, since a pattern of its own could keep us busy for ever."""

_VALUES = ("enum", "const", "default", "examples")
_BY_NAME = ("properties", "$defs", "definitions", "dependentSchemas")


def remote_tools(tools: Sequence[Tool], span: Span) -> list[RemoteTool]:
    """The tools that can be playbooks, in the server's order, each under a name of its own."""
    short = [tool for tool in tools if _fits(tool.input_schema)][:MAX_TOOLS]
    made: list[RemoteTool] = []
    names: set[str] = set()
    for tool in short:
        name = _free(identifier(tool.name), names)
        names.add(name)
        with suppress(Exception):  # a stranger's tool may be anything; those that cannot be read are left out
            made.append(_remote_tool(tool, name, span, MAX_TOLD_CHARS // len(short)))
    return made


def _fits(schema: Mapping[str, Any]) -> bool:
    try:
        return len(json.dumps(schema, default=str)) <= MAX_SCHEMA_CHARS
    except (RecursionError, ValueError):
        return False


def _remote_tool(tool: Tool, name: str, span: Span, told_chars: int) -> RemoteTool:
    properties = _properties(tool.input_schema)
    wanted = tool.input_schema.get("required")
    required = [p for p in wanted if p in properties] if isinstance(wanted, list) else []
    ordered = [*(p for p in properties if p in required), *(p for p in properties if p not in required)][:MAX_PARAMS]
    arguments: dict[str, str] = {}
    for own in ordered:
        arguments[_free(identifier(own), set(arguments))] = own
    params = [_param(param, properties[own], own in required) for param, own in arguments.items()]
    described = [one_line(tool.description or tool.title or "", MAX_DESCRIPTION_CHARS)]
    described += [note for param, own in arguments.items() if (note := _note(param, properties[own]))]
    spec = PlaybookSpec(
        name,
        "remote",
        span,
        tuple(params),
        _returns(tool),
        one_line(" ".join(part for part in described if part), max(told_chars, MAX_DESCRIPTION_CHARS // 6)),
        {"public": True},
    )
    return RemoteTool(spec, tool.name, arguments, _checker(tool.input_schema), _repeatable(tool), _only_reads(tool))


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    return {str(name): value if isinstance(value, dict) else {} for name, value in found.items()}


def identifier(name: str) -> str:
    """A server's name in a form that programs can write: `get-forecast` becomes `get_forecast`."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:80].lstrip("_") or "tool"
    if plain[0].isdigit() or keyword.iskeyword(plain):
        plain = f"_{plain}" if plain[0].isdigit() else f"{plain}_"
    return plain


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _param(name: str, schema: Mapping[str, Any], required: bool) -> Param:
    default = None if required else "None"
    if not required and "default" in schema:
        default = _literal(schema["default"])
    return Param(name, type=_type(schema), default=default)


def _literal(value: Any) -> str:
    text = repr(value)
    try:
        return text if len(text) <= MAX_PARAM_CHARS and ast.literal_eval(text) == value else "None"
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return "None"


def _type(schema: Mapping[str, Any]) -> str | None:
    """The type in the language of programs; None if it has none."""
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return _either([_type(choice) if isinstance(choice, dict) else None for choice in choices])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _either([_TYPES.get(str(one)) for one in kind])
    if kind == "array":
        items = schema.get("items")
        inner = _TYPES.get(str(items.get("type"))) if isinstance(items, dict) else None
        return f"list[{inner}]" if inner else "list"
    return _TYPES.get(str(kind))


def _either(kinds: Sequence[str | None]) -> str | None:
    known = [kind for kind in kinds if kind is not None]
    return " | ".join(known) if known and len(known) == len(kinds) else None


def _note(name: str, schema: Mapping[str, Any]) -> str:
    """The part of a parameter's description that the signature does not show."""
    plain = {"title", "default", "description", *(("type", "anyOf") if _type(schema) else ())}
    rest = {key: value for key, value in schema.items() if key not in plain}
    items = rest.get("items")
    if isinstance(items, dict) and set(items) <= {"type", "title"}:
        del rest["items"]
    said = one_line(str(schema.get("description") or ""), MAX_PARAM_CHARS)
    shape = one_line(json.dumps(rest, ensure_ascii=False, default=str), MAX_PARAM_CHARS) if rest else ""
    return f"{name}: {' '.join(part for part in (said, shape) if part)};" if said or shape else ""


def _returns(tool: Tool) -> str | None:
    schema = tool.output_schema
    if not isinstance(schema, dict):
        return "str"
    wrapped = wraps(schema)
    return _type(wrapped) if wrapped is not None else _type(schema)


def wraps(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema of a result that a server wraps as {"result": …} because it is no object; None otherwise."""
    properties = _properties(schema or {})
    return properties["result"] if list(properties) == ["result"] else None


def _repeatable(tool: Tool) -> bool:
    hints = tool.annotations
    takes_key = (tool.meta or {}).get(KEY) is True
    return takes_key or _only_reads(tool) or (hints is not None and bool(hints.idempotent_hint))


def _only_reads(tool: Tool) -> bool:
    return tool.annotations is not None and bool(tool.annotations.read_only_hint)


def _checker(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], str | None]:
    """Checks arguments against a schema; one that cannot be used checks nothing, the server will."""
    bare = _without_patterns(schema, 0)
    kind = jsonschema.validators.validator_for(bare, default=jsonschema.Draft202012Validator)
    validator = kind(bare, registry=Registry())  # an empty registry: nothing is fetched from anywhere

    def mismatch(arguments: Mapping[str, Any]) -> str | None:
        try:
            error = best_match(validator.iter_errors(dict(arguments)))
        except Exception:  # noqa: BLE001 - a stranger's schema may be anything
            return None
        if error is None:
            return None
        where = ".".join(str(part) for part in error.absolute_path)
        return one_line(f"{where}: {error.message}" if where else error.message, MAX_DESCRIPTION_CHARS)

    return mismatch


def _without_patterns(schema: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return {}
    if isinstance(schema, list):
        return [_without_patterns(item, depth + 1) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _inner(key, value, depth + 1) for key, value in schema.items() if key not in _UNCHECKED}


def _inner(key: str, value: Any, depth: int) -> Any:
    if key in _VALUES:
        return value
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _without_patterns(inner, depth) for name, inner in value.items()}
    return _without_patterns(value, depth)

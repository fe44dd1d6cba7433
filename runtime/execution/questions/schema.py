"""JSON schemas of answers, for providers that can constrain what a model writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.execution.questions.question import OutcomeChoice, Question, Understand, Value
from runtime.language.value_types import FILE_TYPES, JSON_NAMES, TIME_TYPES, alternatives, literals_of

_NAMES = {ours: json for json, ours in JSON_NAMES.items()}


def schema_of(question: Question) -> dict[str, Any] | None:
    """The schema of a question's answer; None for words, which have none."""
    match question:
        case Value(types=types, optional=optional):
            return _object({name: type_schema(kind, optional=optional) for name, kind in types.items()})
        case OutcomeChoice(options=options):
            return _object({"answer": {"enum": list(options)}})
        case Understand():
            values = {name: type_schema(kind, optional=True) for name, kind in question.types.items()}
            instead = [name for name in question.outcomes if name != "answer" or not values]
            return _object({**values, "instead": {"enum": [*instead, None]}}, open_=True)
    return None


def _object(properties: Mapping[str, Any], *, open_: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": open_,
    }


def type_schema(kind: str, *, optional: bool = False) -> dict[str, Any]:
    """The schema of a declared type; of one that is not known, any value."""
    anything: list[dict[str, Any]] = [{"type": ["string", "number", "boolean"]}]
    found = [_one(choice) for choice in alternatives(kind)] if kind else anything
    if optional:
        found.append({"type": "null"})
    return {"anyOf": found} if len(found) > 1 else found[0]


def _one(kind: str) -> dict[str, Any]:
    """The schema of a type that names no alternatives; without a bound where nobody knows it."""
    if kind in FILE_TYPES or kind in TIME_TYPES:
        return {"type": "string", "minLength": 1}
    literals = literals_of(kind)
    if literals:
        return {"enum": list(literals)}
    outer, _, inner = kind.removesuffix("]").partition("[")
    name = _NAMES.get(outer, outer if outer in JSON_NAMES else "null" if outer == "None" else "")
    found: dict[str, Any] = {"type": name} if name else {}
    if name == "array" and inner:
        found["items"] = type_schema(inner)
    if name == "object" and inner:
        found["additionalProperties"] = type_schema(inner.partition(",")[2])
    if name == "string":
        found["minLength"] = 1
    return found

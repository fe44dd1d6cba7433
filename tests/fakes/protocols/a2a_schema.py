"""JSON Schemas of the Agent2Agent protocol's messages, made from its definition, a2a.proto, which the SDK carries.

They are stricter than the SDK reads: every field has to be one of the protocol, required ones have to be there, and
of alternatives just one.
"""

import json
from functools import lru_cache
from typing import Any

from a2a.types import a2a_pb2
from google.api.field_behavior_pb2 import REQUIRED, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from jsonschema import Draft202012Validator

_PLAIN: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_INT32: {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    FieldDescriptor.TYPE_BYTES: {"type": "string"},
}
_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$"},
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.Value": {},
}


def validate(name: str, data: Any) -> None:
    """Check JSON data against the message of this name. Raises jsonschema.ValidationError."""
    _validator(name).validate(data)


@lru_cache
def _validator(name: str) -> Draft202012Validator:
    definitions: dict[str, Any] = {}
    _define(a2a_pb2.DESCRIPTOR.message_types_by_name[name], definitions)
    schema = {"$ref": f"#/$defs/{name}", "$defs": definitions}
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _define(message: Descriptor, definitions: dict[str, Any]) -> None:
    if message.name in definitions:
        return
    made: dict[str, Any] = {"type": "object", "additionalProperties": False}
    definitions[message.name] = made
    made["properties"] = {field.json_name: _schema(field, definitions) for field in message.fields}
    made["required"] = [field.json_name for field in message.fields if _is_required(field)]
    choices = [each.fields for each in message.oneofs if len(each.fields) > 1]
    if choices:
        made["allOf"] = [{"oneOf": [{"required": [field.json_name]} for field in fields]} for fields in choices]


def _is_required(field: FieldDescriptor) -> bool:
    return REQUIRED in field.GetOptions().Extensions[field_behavior]


def _schema(field: FieldDescriptor, definitions: dict[str, Any]) -> dict[str, Any]:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _one(kind.fields_by_name["value"], definitions)}
    one = _one(field, definitions)
    if not field.is_repeated:
        return one
    return {"type": "array", "items": one, **({"minItems": 1} if _is_required(field) and kind is not None else {})}


def _one(field: FieldDescriptor, definitions: dict[str, Any]) -> dict[str, Any]:
    if field.enum_type is not None:
        return {"enum": [value.name for value in field.enum_type.values if value.number]}  # 0 is UNSPECIFIED
    kind = field.message_type
    if kind is None:
        return _PLAIN[field.type]
    if kind.full_name in _KNOWN:
        return _KNOWN[kind.full_name]
    _define(kind, definitions)
    return {"$ref": f"#/$defs/{kind.name}"}


_CALLS = {
    "SendMessage": ("SendMessageRequest", "SendMessageResponse"),
    "SendStreamingMessage": ("SendMessageRequest", "StreamResponse"),
    "SubscribeToTask": ("SubscribeToTaskRequest", "StreamResponse"),
    "GetTask": ("GetTaskRequest", "Task"),
    "CancelTask": ("CancelTaskRequest", "Task"),
    "ListTasks": ("ListTasksRequest", "ListTasksResponse"),
    "CreateTaskPushNotificationConfig": ("TaskPushNotificationConfig", "TaskPushNotificationConfig"),
    "GetTaskPushNotificationConfig": ("GetTaskPushNotificationConfigRequest", "TaskPushNotificationConfig"),
    "ListTaskPushNotificationConfigs": (
        "ListTaskPushNotificationConfigsRequest",
        "ListTaskPushNotificationConfigsResponse",
    ),
}
"""The requests and results of JSON-RPC methods."""

_ERROR = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
    "additionalProperties": False,
}
_STATUS = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "status", "message"],
            "properties": {
                "code": {"type": "integer"},
                "status": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "array", "items": {"type": "object", "required": ["@type"]}},
            },
        }
    },
}


def validate_call(request: Any) -> None:
    """Check a request of JSON-RPC."""
    _envelope(request, {"method", "params"})
    validate(_CALLS[request["method"]][0], request["params"])


def validate_result(method: str, answer: Any) -> str:
    """Check an answer of JSON-RPC, or an event of a stream; gives the name of its message."""
    _envelope(answer, {"error"} if "error" in answer else {"result"})
    if "error" in answer:
        Draft202012Validator(_ERROR).validate(answer["error"])
        return "error"
    validate(_CALLS[method][1], answer["result"])
    return _CALLS[method][1]


def validate_rest(method: str, path: str, status: int, answer: Any) -> str:
    """Check an answer of HTTP+JSON, or an event of a stream; gives the name of its message."""
    if status >= 400:
        Draft202012Validator(_STATUS).validate(answer)
        assert answer["error"]["code"] == status
        return "error"
    last = path.rpartition("/")[2]
    call = {"message:send": "SendMessage", "message:stream": "SendStreamingMessage", "tasks": "ListTasks"}.get(last)
    if call is None:
        verb = last.rpartition(":")[2] if ":" in last else method
        call = {"subscribe": "SubscribeToTask", "cancel": "CancelTask", "GET": "GetTask"}[verb]
    validate(_CALLS[call][1], answer)
    return _CALLS[call][1]


def _envelope(found: Any, more: set[str]) -> None:
    assert set(found) == {"jsonrpc", "id"} | more, json.dumps(found)[:300]
    assert found["jsonrpc"] == "2.0"

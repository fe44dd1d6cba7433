"""The bodies of calls with a message, as Discord describes them (discord/discord-api-spec, openapi.json)."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

_SNOWFLAKE = {"type": "string", "pattern": "^(0|[1-9][0-9]*)$"}
_TEXT = {"type": ["string", "null"], "maxLength": 1024}


def _shape(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """An object. What Discord does not name is refused here: it would be passed over there."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_ATTACHMENT = _shape(
    {
        "id": _SNOWFLAKE,
        "filename": _TEXT,
        "description": _TEXT,
        "duration_secs": {"type": ["number", "null"], "minimum": 0, "maximum": 2147483647},
        "waveform": {"type": ["string", "null"], "maxLength": 400},
        "title": _TEXT,
    },
    "id",
)
_MENTIONS = _shape(
    {
        "parse": {"type": "array", "items": {"enum": ["users", "roles", "everyone"]}, "uniqueItems": True},
        "users": {"type": "array", "items": _SNOWFLAKE, "maxItems": 100, "uniqueItems": True},
        "roles": {"type": "array", "items": _SNOWFLAKE, "maxItems": 100, "uniqueItems": True},
        "replied_user": {"type": ["boolean", "null"]},
    }
)
_EDIT: dict[str, Any] = {
    "content": {"type": ["string", "null"], "maxLength": 2000},
    "allowed_mentions": _MENTIONS,
    "components": {"type": ["array", "null"], "maxItems": 5},
    "attachments": {"type": ["array", "null"], "items": _ATTACHMENT, "maxItems": 10},
    "flags": {"type": ["integer", "null"]},
    "embeds": {"type": ["array", "null"], "maxItems": 10},
    "tts": {"type": ["boolean", "null"]},
}
_REFERENCE = _shape({"message_id": _SNOWFLAKE, "channel_id": _SNOWFLAKE, "fail_if_not_exists": {"type": "boolean"}})
_SEND = _EDIT | {
    "message_reference": _REFERENCE,
    "nonce": {"type": ["string", "integer"], "maxLength": 25},
    "enforce_nonce": {"type": "boolean"},
    "sticker_ids": {"type": ["array", "null"], "items": _SNOWFLAKE, "maxItems": 3},
}
_HOOK = _EDIT | {
    "username": {"type": "string", "minLength": 1, "maxLength": 80},
    "avatar_url": {"type": "string", "maxLength": 2048},
}
_BODIES = {
    operation: Draft202012Validator(_shape(properties))
    for operation, properties in {
        "send": _SEND,
        "edit": _EDIT,
        "hook_send": _HOOK,
        "hook_edit": _EDIT,
        "complete": _EDIT,
    }.items()
}


def wrong_in(operation: str, body: Any) -> str | None:
    """What Discord's description does not allow in the body of a call; None where all is as it says."""
    known = _BODIES.get(operation)
    found = next(known.iter_errors(body), None) if known is not None else None
    return None if found is None else f"{'.'.join(map(str, found.absolute_path))}: {found.message}"

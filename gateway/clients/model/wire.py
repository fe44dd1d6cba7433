"""The form of the OpenAI API: what clients ask, and what they are answered.

https://platform.openai.com/docs/api-reference/chat: of the parameters, those that every model of ours can honour. Any
other is refused by its name, and never passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from starlette.exceptions import HTTPException

from runtime.core.json_text import compact_json
from runtime.llm.client import ChatMessage, CompletionRequest, Picture, Usage

PURPOSE = "client"
"""The purpose of clients' requests."""

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_TAKEN = frozenset({"model", "messages", "stream", "stream_options", "stop", "temperature", "response_format"})
_WITHOUT_EFFECT = frozenset({"user", "metadata", "store", "safety_identifier"})
"""Parameters that say nothing about the answer."""

_NEUTRAL: Mapping[str, Any] = {"n": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "logprobs": False}
"""Parameters with the value that changes nothing; others are refused."""

_PICTURE = re.compile(r"data:(image/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})")
_MOST_STOPS = 4
_MOST_MESSAGES = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `counted`: a streamed answer ends with the tokens that it took."""

    model: str
    request: CompletionRequest
    streamed: bool
    counted: bool


def read_asked(data: Any, *, pictures: bool = False) -> Asked:
    """The request in the JSON data of a client, or of a task, which may have `pictures`. Raises HTTPException."""
    if not isinstance(data, dict):
        raise HTTPException(400, "A request is a JSON object.")
    for name, value in data.items():
        if name in _TAKEN or name in _WITHOUT_EFFECT or value is None or _NEUTRAL.get(name, ...) == value:
            continue
        raise HTTPException(400, f"The parameter {name[:100]} is not supported here; leave it out.")
    model, options = data.get("model"), data.get("stream_options") or {}
    if not isinstance(model, str) or not model:
        raise HTTPException(400, "model is the name of a model, such as default.")
    if not isinstance(options, dict):
        raise HTTPException(400, "stream_options is an object.")
    request = CompletionRequest(
        _messages(data.get("messages"), pictures=pictures),
        purpose=PURPOSE,
        model=model,
        stop=_stops(data.get("stop")),
        temperature=_temperature(data.get("temperature")),
        schema=_schema(data.get("response_format")),
    )
    return Asked(model, request, data.get("stream") is True, options.get("include_usage") is True)


def _messages(found: Any, *, pictures: bool) -> tuple[ChatMessage, ...]:
    if not isinstance(found, list) or not 0 < len(found) <= _MOST_MESSAGES:
        raise HTTPException(400, f"messages is a list of 1 to {_MOST_MESSAGES:,} messages.")
    return tuple(_message(one, pictures=pictures) for one in found)


def _message(one: Any, *, pictures: bool) -> ChatMessage:
    role = _ROLES.get(str(one.get("role"))) if isinstance(one, dict) else None
    if role is None:
        raise HTTPException(400, f"A message has a role, one of {', '.join(_ROLES)}.")
    content = one.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    shown = [part for part in parts if pictures and isinstance(part, dict) and part.get("type") == "image_url"]
    texts = [part for part in parts if part not in shown]
    text = "".join(_text(part) for part in texts)
    cacheable = any(part.get("cache_control") for part in texts)
    return ChatMessage(role, text, cacheable, tuple(map(_picture, shown)))


def _picture(part: Mapping[str, Any]) -> Picture:
    """A picture that the request carries itself: none is fetched."""
    given = part.get("image_url")
    found = _PICTURE.fullmatch(str(given.get("url"))) if isinstance(given, dict) else None
    if found is None:
        raise HTTPException(400, "A picture is a data URL of a PNG, JPEG, WebP or GIF.")
    return Picture(found[1], found[2])


def _text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise HTTPException(400, "The content of a message is text, or a list of parts of the type text.")
    return text


def _stops(found: Any) -> tuple[str, ...]:
    stops = [found] if isinstance(found, str) else found or []
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS or not all(isinstance(one, str) for one in stops):
        raise HTTPException(400, f"stop is a text, or a list of at most {_MOST_STOPS}.")
    return tuple(stops)


def _temperature(found: Any) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 2 or math.isnan(found):
        raise HTTPException(400, "temperature is a number from 0 to 2.")
    return float(found)


def _schema(found: Any) -> Mapping[str, Any] | None:
    if found is None or found == {"type": "text"}:
        return None
    wanted = found.get("json_schema") if isinstance(found, dict) and found.get("type") == "json_schema" else None
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    if not isinstance(schema, dict):
        raise HTTPException(400, "response_format is text, or json_schema with a schema.")
    return schema


def whole_answer(id_: str, created_s: int, model: str, text: str, usage: Usage) -> Mapping[str, Any]:
    """An answer that is not streamed."""
    message = {"role": "assistant", "content": text}
    return {
        "id": id_,
        "object": "chat.completion",
        "created": created_s,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage_data(usage),
    }


def piece(
    id_: str, created_s: int, model: str, delta: Mapping[str, Any] | None, *, usage: Usage | None = None
) -> bytes:
    """One event of a streamed answer: a `delta`, its end (an empty one), or the tokens that it took (None)."""
    ended = None if delta else "stop"
    choices: Sequence[Mapping[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": ended}]
    data: dict[str, Any] = {
        "id": id_,
        "object": "chat.completion.chunk",
        "created": created_s,
        "model": model,
        "choices": [] if delta is None else choices,
    }
    return event(data if usage is None else {**data, "usage": usage_data(usage)})


def event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event."""
    return f"data: {compact_json(data)}\n\n".encode()


def usage_data(usage: Usage) -> Mapping[str, Any]:
    """The tokens of an answer."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def error_data(message: str, status: int) -> Mapping[str, Any]:
    """An error, as the OpenAI API says it."""
    kind = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    usual = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind.get(status, usual), "param": None, "code": None}}

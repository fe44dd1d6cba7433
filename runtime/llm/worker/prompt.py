"""Messages of a prompt in the form of OpenAI's protocol."""

from __future__ import annotations

from typing import Any

from runtime.llm.client import ChatMessage

_MAX_CACHE_MARKS = 4

NO_KEY = "none"
"""A placeholder for servers that need no key, because the protocol requires one."""


def messages_data(messages: tuple[ChatMessage, ...], model: str) -> list[dict[str, Any]]:
    """The messages for the request. Anthropic's models get cache marks at the last cacheable messages, of which they
    accept four.
    """
    cacheable = [index for index, message in enumerate(messages) if message.cacheable]
    marked = set(cacheable[-_MAX_CACHE_MARKS:]) if _is_anthropic(model) else set()
    return [
        {"role": message.role, "content": _content(message, index in marked)} for index, message in enumerate(messages)
    ]


def schema_data(schema: Any) -> dict[str, Any]:
    """The request data that enforce a JSON schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _is_anthropic(model: str) -> bool:
    return "anthropic" in model or "claude" in model


def _content(message: ChatMessage, marked: bool) -> str | list[dict[str, Any]]:
    """A text alone as it is; with pictures or a mark, as parts, the mark at the last one."""
    if not message.pictures and not marked:
        return message.content
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    parts += [{"type": "image_url", "image_url": {"url": picture.url}} for picture in message.pictures]
    if marked:
        parts[-1]["cache_control"] = {"type": "ephemeral"}
    return parts

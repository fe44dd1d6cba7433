"""Results of tools as data for playbooks. Strangers write them, so they are limited and made plain."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from runtime.core.plain_text import one_line, plain
from runtime.remote.tools import wraps

MAX_ERROR_CHARS = 500
MAX_DEPTH = 40
MAX_BITS = 1_000
"""A whole number with more of them is left out."""


def value_of(result: CallToolResult, output_schema: Mapping[str, Any] | None, max_chars: int) -> Any:
    """The structured value if there is one of acceptable length, else the text.

    A server's wrapper {"result": …} is removed. A text longer than `max_chars` is cut and says so.
    """
    value = result.structured_content
    if value is not None:
        if wraps(output_schema) is not None and isinstance(value, dict) and list(value) == ["result"]:
            value = value["result"]
        value = _plain_data(value, 0)
        if len(json.dumps(value, ensure_ascii=False, default=str)) <= max_chars:
            return value
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        return _cut(value, max_chars)
    return text_of(result, max_chars)


def text_of(result: CallToolResult, max_chars: int) -> str:
    """All text in a result, with a note for each other part."""
    return _cut("\n".join(part for block in result.content for part in _parts(block)), max_chars)


def error_of(result: CallToolResult) -> str:
    """The reason for a tool's failure, on one line."""
    return one_line(text_of(result, 4 * MAX_ERROR_CHARS), MAX_ERROR_CHARS) or "it does not say why"


def _parts(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextContent(text=text) | EmbeddedResource(resource=TextResourceContents(text=text)):
            yield plain(text)
        case ImageContent() | AudioContent():
            yield _left_out(block.mime_type, block.data)
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            yield _left_out(resource.mime_type or "a file", resource.blob)
        case ResourceLink():
            yield f"[{one_line(block.name, 100)}: {one_line(str(block.uri), 300)}]"


def _left_out(kind: str, encoded: str) -> str:
    size = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"[{one_line(kind, 60)}, {size:,} bytes, left out]"


def _cut(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}… ({len(text):,} characters in all, cut at {max_chars:,})"


def _plain_data(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return plain(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {plain(str(key)): _plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_data(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return "…" if isinstance(value, int) and value.bit_length() > MAX_BITS else value

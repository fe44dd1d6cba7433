"""Limits on the length of texts and data on a tape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.plain_text import MAX_ERROR_CHARS, shortened

MAX_FACT_CHARS = 32_000_000
"""The JSON of one fact: longer data is refused, for a value that is cut would be another value. It takes all messages
that a wait gives at once."""

_REASONS = frozenset({"exc", "why", "error"})
"""Keys of facts under which somebody is told why something is so: longer texts there are cut."""


def with_short_reasons(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a fact, with shortened texts about failures."""
    reasons = _REASONS.intersection(data)
    return {**data, **{key: _short(data[key]) for key in reasons}} if reasons else data


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    return shortened(value, MAX_ERROR_CHARS) if isinstance(value, str) else value

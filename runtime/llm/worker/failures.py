"""The meaning of a failed request, derived from its HTTP status and its text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from runtime.core import errors

_UNAUTHORIZED = 401
_PAYMENT_REQUIRED = 402
_NOT_OFFERED = (403, 404)
_MAY_PASS = frozenset({408, 409, 425})
_OVERLOADED = frozenset({503, 529})

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,500})", re.IGNORECASE)

_NO_CREDIT = ("insufficient_quota", "credit balance is too low", "insufficient balance", "insufficient credits")
"""Phrases by which OpenAI, Anthropic, DeepSeek and OpenRouter report an account without credit."""

_FLAGGED = ("flagged_input", "was flagged")
"""Phrases by which OpenRouter says that its filter refuses what was written: others can use the model."""

_TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size_error",
    "exceeds the available context size",
    "exceed context limit",
    "longer than the model's context length",
    "input tokens exceed the configured limit",
    "maximum context limit",
)
"""Phrases by which OpenAI, vLLM, llama.cpp and others report a prompt that is too long."""


def is_final(status: object) -> bool:
    """Whether the same request would fail again, judging by its status."""
    return isinstance(status, int) and 400 <= status < 500 and status not in _MAY_PASS


def too_long(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in _TOO_LONG)


def failure_of(
    status: object, text: str, model: str, pause_s: float | None, said: str, *, is_long: bool = False
) -> errors.LLMError:
    """The error for a failure: `text` is for people, `said` is the server's full text, `pause_s` how long it asks us to
    wait. `is_long`: the prompt is known to be too long.

    Everything not known to be final may be retried: time-outs of the connection, 5xx, a stream that broke off.
    """
    lowered, final = said.lower(), is_final(status)
    no_credit = (status == 429 or final) and any(words in lowered for words in _NO_CREDIT)
    if status == _PAYMENT_REQUIRED or no_credit:
        return errors.LLMQuotaSpent(f"The account for {model} has no credit left: {text}")
    if status == 429 or (status in _OVERLOADED and pause_s is not None):  # then it is asked again no earlier
        return errors.LLMRateLimited(f"The model {model} is rate-limited: {text}", retry_after_s=pause_s)
    if final and (is_long or too_long(said)):
        return errors.ContextTooLong(f"The prompt is too long for the model {model}: {text}")
    return refused(status, text, model, said) if final else unreachable(text, model)


def refused(status: object, text: str, model: str, said: str = "") -> errors.LLMRefused:
    """The provider refuses the request or the key; `said` is the server's full text."""
    if status == _UNAUTHORIZED:
        return errors.LLMKeyRefused(f"The provider of {model} refuses its key; set another one: {text}")
    flagged = any(words in said.lower() for words in _FLAGGED)
    kind = errors.LLMNotOffered if status in _NOT_OFFERED and not flagged else errors.LLMRefused
    return kind(f"The model {model} rejects the request: {text}")


def unreachable(text: str, model: str) -> errors.LLMUnavailable:
    return errors.LLMUnavailable(f"The model {model} cannot be reached: {text}")


def withheld(model: str) -> errors.LLMRefused:
    return errors.LLMRefused(f"The provider withheld the answer of {model} (content filter).")


def retry_after_s(headers: Mapping[str, Any]) -> float | None:
    """The Retry-After header in seconds; its date form, which no model provider sends, counts as absent."""
    try:
        pause_s = float(headers["retry-after"])
    except (KeyError, TypeError, ValueError):
        return None
    return max(0.0, pause_s) if math.isfinite(pause_s) else None


def words_of(said: str) -> str:
    """What a server says of a failure, for people: the message in its JSON, else its first line."""
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    return words_in(found) or _title(said) or _first_line(said)


def titled(text: str, page: str) -> str:
    """The text, with the title of the page that it is about, if that has one."""
    title = _title(page)
    return f"{text} (\u201c{title}\u201d)" if title else text


def words_in(found: Any) -> str:
    """The message in an error's JSON, in OpenAI's form and in others."""
    if isinstance(found, list):  # Google's form
        found = next(iter(found), None)
    error = found.get("error", found) if isinstance(found, dict) else None
    text = (error.get("message") or error.get("detail") or "") if isinstance(error, dict) else error or ""
    return _first_line(str(text))


def _title(page: str) -> str:
    found = _TITLE.search(page)
    return "" if found is None else _first_line(found[1])


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:500] if lines else ""

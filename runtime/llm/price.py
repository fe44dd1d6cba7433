"""What an answer costs, by litellm's price list."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

from runtime.llm.client import Usage


def priced(litellm: ModuleType, model: str, usage: Usage) -> Usage:
    """`usage` with its price in US dollars; 0 for a model whose price litellm does not know."""
    try:
        given, made = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # noqa: BLE001 - litellm raises whatever its lists lead to; an answer is worth more than its price
        return usage
    return replace(usage, cost_usd=float(given) + float(made))

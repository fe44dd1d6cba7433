"""What an answer costs, and how much a model takes, by litellm's lists."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

from runtime.llm.client import Usage


def priced(litellm: ModuleType, model: str, usage: Usage) -> Usage:
    """`usage` with its price in US dollars and the model's window; 0 each for a model that litellm does not know."""
    usage = replace(usage, window_tokens=_window(litellm, model))
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


def _window(litellm: ModuleType, model: str) -> int:
    try:
        return int(litellm.get_model_info(model).get("max_input_tokens") or 0)
    except Exception:  # noqa: BLE001 - see above
        return 0

"""The price of an answer and the size of a model's window, from litellm's lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from runtime.llm.client import TokenPrices, Usage

_LIST = "model_prices_and_context_window_backup.json"


def priced(litellm: ModuleType, model: str, usage: Usage) -> Usage:
    """`usage` with its price in US dollars and the model's window; None and 0 where litellm does not know them."""
    usage = replace(usage, window_tokens=known(litellm, model).window_tokens)
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


def known(litellm: ModuleType, model: str) -> ListedPrice:
    """What litellm knows of a model."""
    try:
        return ListedPrice(litellm.get_model_info(model))
    except Exception:  # noqa: BLE001 - see above
        return ListedPrice({})


class ListedPrice:
    """One model's row of litellm's list, read without litellm. A model without a row has no price."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    @classmethod
    def of(cls, model: str) -> ListedPrice:
        """The row of `openai/<name>`, or of the name alone. Reads three megabytes: call it in a thread."""
        found = find_spec("litellm")
        if found is None or found.origin is None:
            return cls({})
        try:
            rows = json.loads((Path(found.origin).parent / _LIST).read_bytes())
        except (OSError, ValueError):  # another litellm: an answer is worth more than its price
            return cls({})
        return cls(rows.get(model) or rows.get(model.partition("/")[2]) or {})

    def priced(self, usage: Usage) -> Usage:
        usage = replace(usage, window_tokens=self.window_tokens)
        if "input_cost_per_token" not in self._row:
            return usage
        given, cached = self._usd("input_cost_per_token"), self._usd("cache_read_input_token_cost")
        fresh_tokens = usage.input_tokens - usage.cached_tokens
        cost_usd = fresh_tokens * given + usage.cached_tokens * (cached or given)
        return replace(usage, cost_usd=cost_usd + usage.output_tokens * self._usd("output_cost_per_token"))

    def of_amount(self, key: str, amount: float) -> float | None:
        """The price of so many seconds of a recording, or of so many characters to speak, by the key that the list has
        for one of them, in US dollars; None where the row has none."""
        return amount * self._usd(key) if key in self._row else None

    @property
    def window_tokens(self) -> int:
        return int(self._row.get("max_input_tokens") or 0)

    @property
    def prices(self) -> TokenPrices | None:
        costs = ("input_cost_per_token", "cache_read_input_token_cost", "output_cost_per_token")
        given, cached, made = (self._usd(key) * 1_000_000 for key in costs)
        return TokenPrices(given, cached or given, made) if given or made else None

    @property
    def sees(self) -> bool | None:
        return bool(self._row.get("supports_vision")) if self._row else None

    def _usd(self, key: str) -> float:
        return float(self._row.get(key) or 0.0)

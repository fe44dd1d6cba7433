"""Daily limits of clients on models: counted durably, for all nodes together."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.core.clock import Clock
from runtime.llm.client import Usage

_DAY_S = 86_400


class Sums(Protocol):
    """Durable sums that expire. Raises StorageUnavailable, and nothing else."""

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        """Add `amount` and return the sum. A second call with the same `once` changes nothing."""
        ...

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        """The sums of these names, in order; 0 for an unknown one."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a client may use in a day (UTC); 0 is no limit."""

    tokens: int = 0
    usd: float = 0.0


class Budgets:
    """The budgets of clients by name, and what they have used. Raises StorageUnavailable."""

    def __init__(self, budgets: Mapping[str, Budget], counters: Sums, clock: Clock) -> None:
        self._budgets = budgets
        self._counters = counters
        self._clock = clock

    async def spent(self, client: str) -> str | None:
        """The reason why a client may ask nothing more today; None while it may. The last request may go beyond."""
        budget = self._budgets[client]
        tokens, usd = await self._counters.read([self._counter(client, one) for one in ("tokens", "usd")])
        if 0 < budget.tokens <= tokens:
            return f"{client} has used its {budget.tokens:,} tokens of today (UTC)."
        if 0 < budget.usd <= usd:
            return f"{client} has used its {budget.usd:g} dollars of today (UTC)."
        return None

    async def spend(self, client: str, usage: Usage) -> None:
        """Count an answer."""
        amounts = {"tokens": usage.input_tokens + usage.output_tokens, "usd": usage.cost_usd}
        for measure, amount in amounts.items():
            if amount:
                name = self._counter(client, measure)
                await self._counters.add(name, amount, once=uuid.uuid4().hex, ttl_s=2 * _DAY_S)

    def _counter(self, client: str, measure: str) -> str:
        return f"client:{client}:{measure}:{int(self._clock.now().timestamp() // _DAY_S)}"

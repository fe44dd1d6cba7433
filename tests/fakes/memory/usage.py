"""What models were used, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gateway.features.usage.ledger import Used
from gateway.models.answers import Amounts


class MemoryUsage:
    """See `UsageStore`."""

    def __init__(self) -> None:
        self.sums: dict[Used, Amounts] = {}

    async def add(self, used: Used, amounts: Amounts, /) -> None:
        self.sums[used] = self.sums.get(used, Amounts()).plus(amounts)

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, Amounts]]:
        return [(used, amounts) for used, amounts in self.sums.items() if used.day in days]

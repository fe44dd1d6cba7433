"""What models were used, in memory."""

from collections.abc import Sequence
from datetime import date

from gateway.features.usage.ledger import Used
from gateway.models.answers import ModelAmounts


class MemoryUsage:
    """See `UsageStore`."""

    def __init__(self) -> None:
        self.sums: dict[Used, ModelAmounts] = {}

    async def add(self, used: Used, amounts: ModelAmounts, /) -> None:
        self.sums[used] = self.sums.get(used, ModelAmounts()).plus(amounts)

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, ModelAmounts]]:
        return [(used, amounts) for used, amounts in self.sums.items() if used.day in days]

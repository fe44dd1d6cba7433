"""Sums that vanish, in memory."""

from collections.abc import Sequence

from msgspec import Struct, field

from runtime.core.clock import Clock, SystemClock


class _Sum(Struct):
    until_s: float
    amount: float = 0.0
    marks: set[str] = field(default_factory=set)


class MemoryCounters:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._sums: dict[str, _Sum] = {}

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        """Add to a sum, once."""
        self._forget()
        found = self._sums.setdefault(name, _Sum(self._clock.monotonic() + ttl_s))
        if once not in found.marks:
            found.marks.add(once)
            found.amount += amount
        return found.amount

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        """Several sums."""
        self._forget()
        return [self._sums[name].amount if name in self._sums else 0.0 for name in names]

    def _forget(self) -> None:
        now_s = self._clock.monotonic()
        self._sums = {name: found for name, found in self._sums.items() if found.until_s > now_s}

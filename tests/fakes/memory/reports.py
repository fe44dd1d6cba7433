"""Reports about failures in memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from gateway.features.reports.redis import MAX_REPORTS, Decision, Report


class MemoryReports:
    """Implements `gateway.features.reports.redis.ReportStore`."""

    def __init__(self, *, bound: int = MAX_REPORTS) -> None:
        self._bound = bound
        self._last = 0
        self._kept: dict[int, Report] = {}

    async def add(self, report: Report, /) -> Report:
        known = next((one for one in self._kept.values() if one.fingerprint == report.fingerprint), None)
        if known is None:
            self._last += 1
            kept = replace(report, number=self._last)
            self._kept.pop(self._last - self._bound, None)
        elif known.mark == report.mark:
            return known
        else:
            kept = replace(known, count=known.count + 1, mark=report.mark, last_s=report.last_s)
        self._kept[kept.number] = kept
        return kept

    async def all(self) -> Sequence[Report]:
        return list(self._kept.values())

    async def get(self, number: int, /) -> Report | None:
        return self._kept.get(number)

    async def decide(self, number: int, decided: Decision, /) -> None:
        if number in self._kept:
            self._kept[number] = replace(self._kept[number], decided=decided)

    async def tell(self, number: int, /) -> None:
        if number in self._kept:
            self._kept[number] = replace(self._kept[number], told=True)

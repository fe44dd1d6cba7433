"""Reports about failures on Redis: a hash of them, and one of their numbers by fingerprint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from gateway.features.reports.store import MAX_REPORTS, Decision, Report
from runtime.storage.redis.client.connection import RedisConnection, load_script

_ADD = load_script("add", "gateway.features.reports")
_SET = load_script("set", "gateway.features.reports")
_REPORTS = "{parley:reports}"
_NUMBERS = "{parley:reports}:numbers"


class RedisReports:
    """Implements `ReportStore`. `bound` is how many are kept."""

    def __init__(self, connection: RedisConnection, *, bound: int = MAX_REPORTS) -> None:
        self._connection = connection
        self._bound = bound

    async def add(self, report: Report, /) -> Report:
        which: list[str | int] = [report.fingerprint, _written(report), report.mark, repr(report.last_s)]
        return _read(str(await self._connection.run(_ADD, [_REPORTS, _NUMBERS], [*which, self._bound])))

    async def all(self) -> Sequence[Report]:
        found = [_read(kept) for kept in await self._connection.read("hvals", _REPORTS)]
        return sorted(found, key=lambda report: report.number)

    async def get(self, number: int, /) -> Report | None:
        kept = await self._connection.ask("HGET", _REPORTS, number)
        return None if kept is None else _read(str(kept))

    async def decide(self, number: int, decided: Decision, /) -> None:
        await self._connection.run(_SET, [_REPORTS], [number, "decided", json.dumps(decided)])

    async def tell(self, number: int, /) -> None:
        await self._connection.run(_SET, [_REPORTS], [number, "told", "true"])


def _written(report: Report) -> str:
    return json.dumps(asdict(report), ensure_ascii=False)


def _read(kept: str) -> Report:
    return Report(**json.loads(kept))

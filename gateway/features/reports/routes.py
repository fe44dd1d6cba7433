"""Reports on the bus: `GET /bus/v1/reports`, what owners decide about them, and how often a program has failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer, page_of
from gateway.feature import FeatureDoor
from gateway.features.reports.decisions import Decisions, Outcome
from gateway.features.reports.store import Report, ReportStore
from runtime.core.errors import InboxFull
from runtime.core.plain_text import whole_number

_MOST = 50
"""The places of failures that are listed."""


class ReportRoutes:
    """The requests about reports."""

    def __init__(self, store: ReportStore, decisions: Decisions, door: FeatureDoor) -> None:
        self._store = store
        self._decisions = decisions
        self._door = door

    def routes(self) -> Sequence[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/reports", self.reports, methods=["GET"]),
            Route("/reports/{report}/again", self.again, methods=["POST"]),
            Route("/reports/{report}/leave", self.leave, methods=["POST"]),
        ]

    async def reports(self, request: Request) -> Response:
        """The reports about failures, the latest first; with `open=1` those that nobody has decided."""
        self._door.reader(request)
        found = [*await self._store.all()][::-1]
        if request.query_params.get("open") == "1":
            found = [report for report in found if not report.decided]
        rows, next_ = page_of(request, found, lambda report: str(report.number), _report)
        return answer({"reports": rows, "next": next_})

    async def again(self, request: Request) -> Response:
        """Try again from where what failed began."""
        return await self._decided(request, self._decisions.again)

    async def leave(self, request: Request) -> Response:
        """Leave a failure as it is."""
        return await self._decided(request, self._decisions.leave)

    async def _decided(self, request: Request, decide: Callable[[int], Awaitable[Outcome]]) -> Response:
        self._door.writer(request)
        number = str(request.path_params["report"])
        try:
            outcome = await decide(whole_number(number) or 0)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        if outcome == "gone":
            raise HTTPException(404, "There is nothing to try again: the report or its conversation is gone.")
        return answer({"report": int(number), "outcome": outcome})


def _report(report: Report) -> dict[str, Any]:
    return {
        "report": report.number,
        "kind": report.kind,
        "session": report.session or None,
        "seq": report.seq,
        "conversation": report.conversation,
        "program": report.program,
        "place": report.place,
        "error_type": report.error_type,
        "instruction": report.instruction,
        "source": report.source,
        "count": report.count,
        "first_at": _time(report.first_s),
        "last_at": _time(report.last_s),
        "decided": report.decided or None,
    }


async def failures_of(store: ReportStore, program: str) -> list[dict[str, Any]]:
    """What nobody caught in a program, by step and error, the most frequent first. Raises StorageUnavailable."""
    counts: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str, str], Report] = {}
    for report in await store.all():
        if report.program == program:
            key = report.place, report.error_type
            counts[key] += report.count
            if key not in latest or latest[key].last_s < report.last_s:
                latest[key] = report
    return [
        {
            "place": place,
            "instruction": latest[place, error_type].instruction,
            "error_type": error_type,
            "count": count,
            "last_at": _time(latest[place, error_type].last_s),
            "session": latest[place, error_type].session,
            "seq": latest[place, error_type].seq,
        }
        for (place, error_type), count in counts.most_common(_MOST)
    ]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()

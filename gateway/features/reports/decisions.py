"""Trying again from where a failure's exchange began: the conversation continues from there and hears it again.

Reports on the bus: `GET /bus/v1/reports`, what owners decide about them, and how often a program has failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.access.people import Role
from gateway.clients.requests import BusClient, answer, page_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.database import GatewayDatabase
from gateway.feature import EntrancePart, FeatureGround, ServingGround
from gateway.features.reports.desk import AGAIN, CHOICES, notices_in
from gateway.features.reports.redis import RedisReports, Report, ReportStore
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.sessions.commands.fork import ForkOrigin
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import FORK, Inbox, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ExchangeBegun
from runtime.tape.tape import TapeReader

Outcome = Literal["again", "gone", "left", "done"]
"""What has become of a report: it is tried again; there is nothing to try again; it was left; it was decided before."""

_MOST = 50
"""The places of failures that are listed."""


class _Beginning(Struct, frozen=True):
    """The last fact before the exchange, and what was said first in it."""

    seq: int
    words: MessageHeard


class Decisions:
    """Decisions of owners about reports. Raises InboxFull and StorageUnavailable.

    Done again, after a crash or by two owners, it comes to the same: the events have the report's number.
    """

    def __init__(
        self, store: ReportStore, catalog: SessionCatalog, tapes: TapeReader, inbox: Inbox, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._tapes = tapes
        self._inbox = inbox
        self._clock = clock

    async def chosen(self, given: GivenCommand) -> CommandAnswer:
        chosen = given.event.choice or ""
        number = whole_number(chosen.rpartition(".")[2])
        if given.role is not Role.OWNER or number is None:
            return CommandAnswer(given.texts("debug.owners_only"))
        decided = await (self.again if chosen.startswith(AGAIN) else self.leave)(number)
        return CommandAnswer(given.texts(f"debug.is_{decided}", number=number))

    async def leave(self, number: int) -> Outcome:
        report = await self._store.get(number)
        if report is None:
            return "gone"
        if report.decided == "again":
            return "done"
        await self._store.decide(number, "left")
        return "left"

    async def again(self, number: int) -> Outcome:
        """Have the conversation continue from before the exchange that failed, and hear its words again."""
        report = await self._store.get(number)
        found = None if report is None or not report.session else await self._catalog.find(SessionId(report.session))
        if report is None or found is None:
            return "gone"
        if report.decided == "again":
            return "done"
        beginning = await self._beginning(report)
        if beginning is None:
            return "gone"
        for event in self._events(report, found.record, beginning):
            await self._inbox.add(event)
        await self._store.decide(number, "again")
        return "again"

    async def _beginning(self, report: Report) -> _Beginning | None:
        words: MessageHeard | None = None
        try:
            async for fact in self._tapes.read_back(SessionId(report.session), before=report.seq):
                words = read_as(fact, MessageHeard) or words
                begun = read_as(fact, ExchangeBegun)
                if begun is not None:
                    return None if words is None else _Beginning(begun.seq, words)
        except (ArchiveUnavailable, ContentLocked):
            return None
        return None

    def _events(self, report: Report, record: SessionRecord, beginning: _Beginning) -> list[InboxEvent]:
        words, now = beginning.words, self._clock.now()
        said = InboxEvent(
            f"again.{report.number}",
            record.address,
            words.person,
            words.name,
            words.text,
            now,
            private=words.private,
            program=record.program,
        )
        if not beginning.seq:
            return [_of_kind(said, "new", words.text)]
        origin = ForkOrigin(record.at(beginning.seq), record.address)
        return [_of_kind(said, FORK, str(origin)), said]


def _of_kind(said: InboxEvent, kind: str, text: str) -> InboxEvent:
    return replace(said, id=f"{said.id}.{kind}", kind=kind, text=text)


def decisions_in(database: GatewayDatabase, clock: Clock) -> Decisions:
    return Decisions(RedisReports(database.connection), database.catalog, database.tapes, database.inbox, clock)


class ReportRoutes(GatewayView, frozen=True):
    store: ReportStore
    decisions: Decisions

    @looks("/reports")
    async def reports(self, request: Request, _: BusClient) -> Response:
        """The reports about failures, the latest first; with `open=1` those that nobody has decided."""
        found = [*await self.store.all()][::-1]
        if request.query_params.get("open") == "1":
            found = [report for report in found if not report.decided]
        rows, next_ = page_of(request, found, lambda report: str(report.number), _report)
        return answer({"reports": rows, "next": next_})

    @acts("/reports/{report}/again")
    async def again(self, request: Request, _: BusClient) -> Response:
        return await self._decided(request, self.decisions.again)

    @acts("/reports/{report}/leave")
    async def leave(self, request: Request, _: BusClient) -> Response:
        return await self._decided(request, self.decisions.leave)

    async def _decided(self, request: Request, decide: Callable[[int], Awaitable[Outcome]]) -> Response:
        number = str(request.path_params["report"])
        outcome = await decide(whole_number(number) or 0)
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


def entrance(ground: FeatureGround, serving: ServingGround) -> EntrancePart:
    notices_in(ground, serving).start(serving.tasks)
    return EntrancePart(choices={CHOICES: decisions_in(ground.database, ground.clock).chosen})


def report_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    decisions = decisions_in(ground.database, ground.clock)
    return ReportRoutes(door, RedisReports(ground.connection), decisions).routes()


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    reports = await RedisReports(ground.connection).all()
    return {"decisions": {"reports": sum(not report.decided for report in reports)}}


async def practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    """What nobody caught in a program, by step and error, the most frequent first. Raises StorageUnavailable."""
    counts: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str, str], Report] = {}
    for report in await RedisReports(ground.connection).all():
        if report.program == program:
            key = report.place, report.error_type
            counts[key] += report.count
            if key not in latest or latest[key].last_s < report.last_s:
                latest[key] = report
    failures = [
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
    return {"failures": failures}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()

"""Trying again from where a failure's exchange began: the conversation continues from there and hears it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gateway.access.people import Role
from gateway.database import GatewayDatabase
from gateway.features.reports.desk import AGAIN
from gateway.features.reports.redis import RedisReports
from gateway.features.reports.store import Report, ReportStore
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, ContentLocked
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.sessions.commands.fork import Origin
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import FORK, Inbox, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ExchangeBegun
from runtime.tape.tape import TapeReader

Outcome = Literal["again", "gone", "left", "done"]
"""What has become of a report: it is tried again; there is nothing to try again; it was left; it was decided before."""


@dataclass(frozen=True, slots=True)
class _Beginning:
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
        """Do what an owner chose below a report."""
        chosen = given.event.choice or ""
        number = whole_number(chosen.rpartition(".")[2])
        if given.role is not Role.OWNER or number is None:
            return CommandAnswer(given.texts("debug.owners_only"))
        decided = await (self.again if chosen.startswith(AGAIN) else self.leave)(number)
        return CommandAnswer(given.texts(f"debug.is_{decided}", number=number))

    async def leave(self, number: int) -> Outcome:
        """Leave a failure as it is."""
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
        origin = Origin(record.at(beginning.seq), record.address)
        return [_of_kind(said, FORK, str(origin)), said]


def _of_kind(said: InboxEvent, kind: str, text: str) -> InboxEvent:
    return replace(said, id=f"{said.id}.{kind}", kind=kind, text=text)


def decisions_in(database: GatewayDatabase, clock: Clock) -> Decisions:
    """Decisions about the reports in the database."""
    return Decisions(RedisReports(database.connection), database.catalog, database.tapes, database.inbox, clock)

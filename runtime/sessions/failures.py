"""The failures of one session that nobody caught: each comes into one report, also over a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anyio.abc import TaskGroup

from runtime.core.address import Address
from runtime.core.background import OnDemand
from runtime.stores.inbox import InboxEvent
from runtime.stores.operation.reports import FailureKind
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.failures import FailureReported, FailureUncaught
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.journal import Journal
from runtime.tape.listeners import hears
from runtime.tape.state.frames import RaisedAt


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed: fact `seq` of a session says how. `mark` tells it from others."""

    kind: FailureKind
    session: str
    seq: int
    address: Address
    program: str
    version: str
    agent: str
    playbook: str
    step: str
    error_type: str
    mark: str


@dataclass(frozen=True, slots=True)
class Reported:
    """The report that a failure is in: its number, and how many failures it has."""

    number: int
    count: int


class ReportDesk(Protocol):
    """Takes failures, each as often as it comes, and counts it once. Raises StorageUnavailable, and nothing else: what
    fails in making a report begins no other."""

    async def take(self, failure: Failure, /) -> Reported: ...


class Failures:
    """Hears of them by the tape. A session that owes a report counts as at work, so a restart takes it into memory."""

    def __init__(self, record: SessionRecord, journal: Journal, tasks: TaskGroup, desk: ReportDesk | None) -> None:
        """Without `desk` nobody is to hear of any."""
        self._record = record
        self._journal = journal
        self._desk = desk
        self._reporting = OnDemand(self._report)
        self._reporting.start(tasks)
        journal.written.subscribe(self._look)

    @hears(FrameReturned)
    def noted(self, fact: FrameReturned) -> None:
        """A playbook has returned. The end of a task's playbook its orderer hears of."""
        state = self._journal.state
        if self._desk is None or fact.error is None or ":" in fact.frame:
            return
        if state.order is None or state.order.frame != fact.frame:
            at = fact.raised_at or RaisedAt("", "")
            self._journal.note(FailureUncaught(state.seq, fact.error[0], at))

    def _look(self, _: None) -> None:
        if self._journal.state.failures:
            self._reporting.wake()

    async def _report(self) -> None:
        state = self._journal.state
        for failed in state.failures:
            failure = Failure(
                *("uncaught", self._record.id, failed.seq, self._record.address, self._record.program, state.program),
                *(failed.agent, failed.playbook, failed.step, failed.error_type, f"{self._record.id}:{failed.seq}"),
            )
            found = Reported(0, 0) if self._desk is None else await self._desk.take(failure)
            self._journal.note(FailureReported(failed.seq, found.number, found.count))
        self._journal.hurry()


async def report_dead_letter(desk: ReportDesk, event: InboxEvent, record: SessionRecord, cause: str) -> None:
    """Report an event that no session can take; `record` is the last one that tried. `cause` begins with the type of
    the error. Raises StorageUnavailable."""
    error_type = cause.partition("(")[0] or "DeadLetter"
    failure = Failure(
        *("dead_letter", record.id if record.seq else "", record.seq, event.address, record.program, ""),
        *("", event.kind, "", error_type, f"{event.address.key} {event.id}"),
    )
    await desk.take(failure)

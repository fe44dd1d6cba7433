"""The failures of one session that nobody caught: each comes into one report, also over a crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from anyio.abc import TaskGroup

from runtime.core.address import CLIENT, Address
from runtime.core.background import OnDemand
from runtime.core.errors import PlaybookError
from runtime.stores.inbox import InboxEvent
from runtime.stores.operation.reports import FailureKind
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.agents import MessagesDropped
from runtime.tape.facts.failures import FailureReported, FailureUncaught
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.session import ProgramBroken, SessionEnded
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.journal import Journal
from runtime.tape.listeners import hears
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import PROGRAM_BROKEN, TASK_LIMIT, TaskState

_GOTTEN = re.compile(r"joining|.+:[td]\d+")
"""Positions of hidden calls whose failures somebody gets: the host of a meeting, or the call that has set a variable or
shows what is said."""


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

    @property
    def listeners(self) -> tuple[Callable[[Any], None], ...]:
        """What hears of facts."""
        return self.noted, self.left

    @hears(FrameReturned, OrderOver, ProgramBroken)
    def noted(self, fact: FrameReturned | OrderOver | ProgramBroken) -> None:
        """Something has ended, perhaps by a failure that nobody catches."""
        error_type, at = self._uncaught(fact)
        if self._desk is not None and error_type:
            self._journal.note(FailureUncaught(self._journal.state.seq, error_type, at or RaisedAt("", "")))

    @hears(MessagesDropped, FrameReturned, SessionEnded)
    def left(self, fact: MessagesDropped | FrameReturned | SessionEnded) -> None:
        """Somebody is done with what came, perhaps without having heard that a task has failed."""
        for task in [task for task in self._journal.state.tasks.values() if task.unheard]:
            if self._desk is not None and self._is_left(task, fact):
                at = task.raised_at or RaisedAt(task.klass, task.playbook)
                self._journal.note(FailureUncaught(task.ended_by, task.error_type or PlaybookError.__name__, at))

    def _is_left(self, task: TaskState, fact: MessagesDropped | FrameReturned | SessionEnded) -> bool:
        """Whether nobody can hear any more that a task has failed. Of one that was over a limit no message tells."""
        if isinstance(fact, MessagesDropped):
            return task.message in fact.messages
        if isinstance(fact, SessionEnded):
            return True
        return task.error_type == TASK_LIMIT and not task.last and not self._journal.state.roots(task.agent)

    def _uncaught(self, fact: FrameReturned | OrderOver | ProgramBroken) -> tuple[str, RaisedAt | None]:
        """The type of a failure that nobody catches, and where it was raised; "" for none. The orderer of a task hears
        of its failure, where that is an agent that can; clients can not, and see it in the result."""
        order = self._journal.state.order
        if isinstance(fact, ProgramBroken):
            return ("", None) if order is not None else (PROGRAM_BROKEN, None)
        if isinstance(fact, OrderOver):
            failed = fact.status == "failed" or (fact.status == "rejected" and order is not None and order.event)
            unheard = order is not None and (order.unheard or order.home.platform == CLIENT)
            return (fact.error_type, fact.raised_at) if failed and unheard else ("", None)
        if fact.error is None or (order is not None and order.frame == fact.frame) or self._is_caught(fact.frame):
            return "", None
        return fact.error[0], fact.raised_at

    def _is_caught(self, frame: str) -> bool:
        """Whether what called a playbook gets its failure. It does not if a trigger has started the playbook."""
        places = [colon.start() for colon in re.finditer(":", frame)]
        for place in reversed(places):
            caller, pos = self._journal.state.frames.get(frame[:place]), frame[place + 1 :]
            if caller is not None and pos in caller.records:
                return not caller.records[pos].hidden or _GOTTEN.fullmatch(pos) is not None
        return bool(places)

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

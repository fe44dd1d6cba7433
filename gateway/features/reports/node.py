"""Reports where conversations are served: each failure of their sessions is in one, also over a crash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from gateway.feature import FeatureGround, ServingGround
from gateway.features.reports.decisions import FailureDesk, notices_in
from gateway.features.reports.inquiry import AskedModel, DebugTasks, Inquiry, calls_of, programs_of
from gateway.settings.models import leads_to
from runtime.core.address import CLIENT
from runtime.core.background import OnDemand
from runtime.core.errors import PlaybookError
from runtime.execution.calls.remote import ExtensionCall
from runtime.sessions.failures import ReportDesk, SessionFailure
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.frames import FailureReported, FailureUncaught, FrameReturned
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import MessagesDropped, ProgramBroken, SessionEnded
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.tasks import PROGRAM_BROKEN, TASK_LIMIT, TaskState

_GOTTEN = re.compile(r"joining|.+:[td]\d+")
"""Positions of hidden calls whose failures somebody gets: the host of a meeting, or the call that has set a variable or
shows what is said."""


class SessionFailures(SessionPart):
    """Hears of them by the tape. A session that owes a report counts as at work, so a restart takes it into memory."""

    def __init__(self, parts: SessionParts, desk: ReportDesk) -> None:
        super().__init__(parts)
        self._desk = desk
        self._reporting = OnDemand(self._report)
        self._reporting.start(parts.tasks)
        self._journal.written.subscribe(self._look)
        self.listeners = (self.noted, self.left)

    @hears(FrameReturned, OrderOver, ProgramBroken)
    def noted(self, fact: FrameReturned | OrderOver | ProgramBroken) -> None:
        """Something has ended, perhaps by a failure that nobody catches."""
        error_type, at = self._uncaught(fact)
        if error_type:
            self._journal.note(FailureUncaught(self._journal.state.seq, error_type, at or RaisedAt("", "")))

    @hears(MessagesDropped, FrameReturned, SessionEnded)
    def left(self, fact: MessagesDropped | FrameReturned | SessionEnded) -> None:
        """Somebody is done with what came, perhaps without having heard that a task has failed."""
        for task in [task for task in self._journal.state.tasks.values() if task.unheard]:
            if self._is_left(task, fact):
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
            told = order is not None or self._record.program not in self._around.programs  # people are told of /new
            return ("" if told else PROGRAM_BROKEN), None
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
            failure = SessionFailure(
                *("uncaught", self._record.id, failed.seq, self._record.address, self._record.program, state.program),
                *(failed.agent, failed.playbook, failed.step, failed.error_type, f"{self._record.id}:{failed.seq}"),
            )
            found = await self._desk.take(failure)
            self._journal.note(FailureReported(failed.seq, found.number, found.count))
        self._journal.hurry()


class NodeReports(NodePart):
    def __init__(self, desk: ReportDesk, calls: Mapping[str, ExtensionCall] | None = None) -> None:
        """`calls` are those of the program that looks into failures; without them there is none."""
        self._desk = desk
        self.take = desk.take
        self.outside = calls or {}
        self.programs = programs_of(self.outside)

    def session(self, parts: SessionParts, /) -> SessionFailures:
        return SessionFailures(parts, self._desk)

    async def put_aside(self, event: InboxEvent, record: SessionRecord, cause: str, /) -> None:
        """Report an event that no session can take. `cause` begins with the type of the error."""
        error_type = cause.partition("(")[0] or "DeadLetter"
        failure = SessionFailure(
            *("dead_letter", record.id if record.seq else "", record.seq, event.address, record.program, ""),
            *("", event.kind, "", error_type, f"{event.address.key} {event.id}"),
        )
        await self.take(failure)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeReports:
    wanted, llm, publish = ground.settings.reports, serving.models, ground.bus.publish
    tapes, notices = ground.database.tapes, notices_in(ground, serving)
    models = partial(leads_to, ground.settings.models, model=ground.settings.model or "")
    asked = AskedModel(wanted.ask_model, ground.programs, lambda: ground.routes.models, tapes, models)
    if not wanted.ask_model or llm is None:
        return NodeReports(FailureDesk(notices, ground.programs, ground.clock, ground.bus))
    tasks = DebugTasks(ground.database.inbox, ground.clock, wanted.within_s, asked)
    inquiry = Inquiry(llm, notices.store, notices.accounts, tapes, ground.programs, wanted, asked, publish)
    desk = FailureDesk(notices, ground.programs, ground.clock, ground.bus, tasks)
    return NodeReports(desk, calls_of(inquiry, serving.owners, wanted.within_s))

"""Schedules in one session: the command, the call, and its runs, each with one end, also over a crash."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.features.schedules.answers import ScheduleAnswers, changes_zone, only_asks
from gateway.features.schedules.calls import ScheduleCalls
from gateway.features.schedules.facts import SCHEDULE, OpenRuns, RunBegun, RunOver, RunState
from gateway.features.schedules.runs import Runs
from gateway.features.schedules.schedules import Schedules
from gateway.features.schedules.store import RunStatus, run_of
from runtime.core.background import OnDemand
from runtime.core.clock import Clock
from runtime.sessions.features import SessionPart, SessionParts
from runtime.sessions.tasks.letters import session_of
from runtime.stores.inbox import InboxEvent

_TAKEN = ("message", "new")


class SessionSchedules(SessionPart):
    """A run is over when nothing goes on in its session any more but waiting for people. A session that owes an end
    counts as at work, so a restart takes it into memory. A changed time zone holds for the triggers of agents at once.
    """

    def __init__(self, parts: SessionParts, schedules: Schedules, runs: Runs, clock: Clock) -> None:
        """Runs end in the session's tasks."""
        self._record = record = parts.record
        self._journal = parts.journal
        self._pages = parts.pages
        self._reminders = parts.reminders
        self._answers = ScheduleAnswers(schedules, clock)
        self._runs = runs
        self._ending = OnDemand(self._end)
        self._known: set[str] = set()
        self._ending.start(parts.tasks)
        self._journal.written.subscribe(self._look)
        self._journal.rests.subscribe(self._look)
        self.commands = {SCHEDULE: self._schedule}
        if session_of(record.address) is None:  # a task schedules nothing: its conversation ends with it
            self.calls: Sequence[object] = (ScheduleCalls(record, parts.journal, schedules, clock),)

    @property
    def _open(self) -> dict[str, RunState]:
        return self._journal.state.part(OpenRuns).runs

    def take(self, event: InboxEvent, /) -> None:
        """Note that a run begins, if the event is of one."""
        known = event.kind in _TAKEN and run_of(event.id, self._record.address) is not None
        if known and event.id not in self._open:
            self._journal.note(RunBegun(event.id))

    async def close(self) -> None:
        """The session's runs end with it."""
        for run, state in list(self._open.items()):
            await self._over(run, state, self._status(state))

    async def _schedule(self, event: InboxEvent) -> None:
        text = await self._answers.answer(event, self._pages.texts)
        if only_asks(event):
            self._pages.answer(text, event)
        else:
            self._pages.tell(text, event.place)
        if changes_zone(event):
            self._reminders.replan()

    def _look(self, _: None) -> None:
        if self._open:
            self._ending.wake()

    async def _end(self) -> None:
        for run in [run for run in self._open if run not in self._known]:
            await self._runs.begun(run, self._record.address, self._record.id)
            self._known.add(run)
        state = self._journal.state
        if state.part(OpenRuns).owes(state) and not self._journal.at_work() and not state.ended:
            await self.close()
            self._journal.hurry()

    def _status(self, state: RunState) -> RunStatus:
        if state.error is not None or self._journal.state.broken is not None:
            return "failed"
        return "stopped" if self._journal.at_work() else "answered"

    async def _over(self, run: str, state: RunState, status: RunStatus) -> None:
        seq = state.failed or self._journal.state.seq
        why = "" if status != "failed" else "ProgramBroken" if state.error is None else state.error[0]
        await self._runs.ended(run, self._record.address, status, why=why, seq=seq)
        if run in self._open:
            self._journal.note(RunOver(run, status))

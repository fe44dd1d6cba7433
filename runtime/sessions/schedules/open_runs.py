"""The runs of schedules that one session has taken: each has one end, also over a crash."""

from __future__ import annotations

from anyio.abc import TaskGroup

from runtime.core.background import OnDemand
from runtime.sessions.schedules.runs import Runs
from runtime.stores.inbox import InboxEvent
from runtime.stores.operation.schedule_runs import RunStatus, run_of
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.schedules import RunBegun, RunOver
from runtime.tape.journal import Journal
from runtime.tape.state.run import RunState

_TAKEN = ("message", "new")


class OpenRuns:
    """A run is over when nothing goes on in its session any more but waiting for people. A session that owes an end
    counts as at work, so a restart takes it into memory."""

    def __init__(self, record: SessionRecord, journal: Journal, tasks: TaskGroup, runs: Runs | None) -> None:
        """Runs end in `tasks`. Without `runs` nobody keeps how."""
        self._record = record
        self._journal = journal
        self._runs = runs
        self._ending = OnDemand(self._end)
        self._known: set[str] = set()
        self._ending.start(tasks)
        journal.written.subscribe(self._look)
        journal.rests.subscribe(self._look)

    def take(self, event: InboxEvent) -> None:
        """Note that a run begins, if the event is of one; for the commit that takes the event."""
        known = event.kind in _TAKEN and run_of(event.id, self._record.address) is not None
        if known and self._runs is not None and event.id not in self._journal.state.runs:
            self._journal.note(RunBegun(event.id))

    def _look(self, _: None) -> None:
        if self._journal.state.runs:
            self._ending.wake()

    async def close(self) -> None:
        """The session ends, or another goes on in its place: so do its runs."""
        for run, state in list(self._journal.state.runs.items()):
            await self._over(run, state, self._status(state))

    async def _end(self) -> None:
        for run in [run for run in self._journal.state.runs if run not in self._known]:
            if self._runs is not None:
                await self._runs.begun(run, self._record.address, self._record.id)
            self._known.add(run)
        state = self._journal.state
        if state.runs_to_end() and not self._journal.at_work() and not state.ended:
            await self.close()
            self._journal.hurry()

    def _status(self, state: RunState) -> RunStatus:
        if state.error is not None or self._journal.state.broken is not None:
            return "failed"
        return "stopped" if self._journal.at_work() else "answered"

    async def _over(self, run: str, state: RunState, status: RunStatus) -> None:
        if self._runs is not None:
            seq = state.failed or self._journal.state.seq
            why = "" if status != "failed" else "ProgramBroken" if state.error is None else state.error[0]
            await self._runs.ended(run, self._record.address, status, why=why, seq=seq)
        if run in self._journal.state.runs:
            self._journal.note(RunOver(run, status))

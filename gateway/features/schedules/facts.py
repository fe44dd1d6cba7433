"""Facts about schedules: an event of one was taken, and nothing goes on any more."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from runtime.tape.facts.content import FactContent, fact, key
from runtime.tape.facts.registry import rule
from runtime.tape.state.session import SessionState, StatePart, state_part

SCHEDULE = "schedule"
"""The kind of the command's event, and of the event that a schedule is kept as."""


@fact("run", session=True)
class RunBegun(FactContent, frozen=True):
    """An event of a schedule was taken, by its id."""

    run: str = key("run")


@fact("run_over", session=True)
class RunOver(FactContent, frozen=True):
    """Nothing of a run goes on any more. `how` is "answered", "failed" or "stopped"."""

    run: str = key("run")
    how: str = key("how")


class RunState(Struct):
    """A run. `seq` is the fact with which it began, `since` its time in seconds since the epoch; `error` is the type
    and text of the latest failure in it that nobody caught, and `failed` the number of that fact."""

    seq: int
    since: float
    error: tuple[str, str] | None = None
    failed: int = 0


@state_part
class OpenRuns(StatePart):
    """The runs that have not ended, by the ids of their events. They stay with the session that took them."""

    name: ClassVar[str] = "runs"

    runs: dict[str, RunState] = field(default_factory=dict)

    def owes(self, state: SessionState, /) -> bool:
        """Whether there are runs for which nothing is waited for that comes by itself: a time, or a task."""
        return bool(self.runs) and (state.ended or not state.waits_for_itself())

    def failed(self, seq: int, error: tuple[str, str], /) -> None:
        """What an agent began has failed: so have the runs that go on."""
        for run in self.runs.values():
            run.error, run.failed = error, seq


@rule(RunBegun)
def _begun(state: SessionState, seq: int, fact: RunBegun) -> None:
    state.part(OpenRuns).runs[fact.run] = RunState(seq, state.at_s)


@rule(RunOver)
def _over(state: SessionState, _: int, fact: RunOver) -> None:
    state.part(OpenRuns).runs.pop(fact.run, None)

"""The fold's rules about runs of schedules. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.schedules import RunBegun, RunOver
from runtime.tape.rules.registry import rule
from runtime.tape.state.run import RunState
from runtime.tape.state.session import SessionState


@rule(RunBegun)
def _begun(state: SessionState, seq: int, fact: RunBegun) -> None:
    state.runs[fact.run] = RunState(seq, state.at_s)


@rule(RunOver)
def _over(state: SessionState, _: int, fact: RunOver) -> None:
    state.runs.pop(fact.run, None)


def fail_runs(state: SessionState, seq: int, fact: FrameReturned) -> None:
    """What an agent began has failed, and nobody catches that: so have the runs that go on."""
    if fact.error is not None:
        for run in state.runs.values():
            run.error, run.failed = fact.error, seq

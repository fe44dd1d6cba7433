"""The fold's rules about failures that nobody catches. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.failures import FailureReported, FailureUncaught
from runtime.tape.rules.registry import rule
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.run import FailureState
from runtime.tape.state.session import SessionState


@rule(FailureUncaught)
def _uncaught(state: SessionState, _: int, fact: FailureUncaught) -> None:
    at: RaisedAt = fact.raised_at
    for task in state.tasks.values():
        task.heard = task.heard or task.ended_by == fact.seq
    state.failures = [*state.failures, FailureState(fact.seq, fact.error_type, at.agent, at.playbook, at.step or "")]


@rule(FailureReported)
def _reported(state: SessionState, _: int, fact: FailureReported) -> None:
    state.failures = [failure for failure in state.failures if failure.seq != fact.seq]

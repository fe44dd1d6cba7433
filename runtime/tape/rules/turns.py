"""The fold's rules about the turns of a model: their statements, how they end, and how the oldest are summarized."""

from __future__ import annotations

from runtime.tape.facts.frames import (
    EndReached,
    FailureReported,
    FailureUncaught,
    LocalsAltered,
    StatementAccepted,
    StatementDone,
    StatementFailed,
    StatementRejected,
    TranscriptCompacted,
)
from runtime.tape.facts.session import EventHandedOn, EventPublished
from runtime.tape.rules.registry import rule
from runtime.tape.state.frames import SHARED, RaisedAt, StatementState, TurnEnding
from runtime.tape.state.run import FailureState, PublishedState
from runtime.tape.state.session import SessionState


@rule(EventPublished)
def _published(state: SessionState, seq: int, fact: EventPublished) -> None:
    made = PublishedState(seq, state.at_s, fact.agent, fact.type, dict(fact.values), fact.hops)
    state.published = [*state.published, made]


@rule(EventHandedOn)
def _handed_on(state: SessionState, _: int, fact: EventHandedOn) -> None:
    state.published = [event for event in state.published if event.seq != fact.seq]


@rule(FailureUncaught)
def _uncaught(state: SessionState, _: int, fact: FailureUncaught) -> None:
    at: RaisedAt = fact.raised_at
    for task in state.tasks.values():
        task.heard = task.heard or task.ended_by == fact.seq
    state.failures = [*state.failures, FailureState(fact.seq, fact.error_type, at.agent, at.playbook, at.step or "")]


@rule(FailureReported)
def _reported(state: SessionState, _: int, fact: FailureReported) -> None:
    state.failures = [failure for failure in state.failures if failure.seq != fact.seq]


@rule(StatementAccepted)
def _stmt(state: SessionState, _: int, fact: StatementAccepted) -> None:
    frame = state.frames[fact.frame]
    variables = dict(state.agents[frame.agent].variables)
    if frame.meeting is not None and any(SHARED in source for source in (fact.source, *frame.prelude)):
        shared = state.meetings[frame.meeting].shared
        variables.setdefault(SHARED, {name: known.value for name, known in shared.items()})
    frame.statements.append(StatementState(fact.source, variables, remarks=list(fact.remarks)))


@rule(StatementDone)
def _done(state: SessionState, _: int, fact: StatementDone) -> None:
    frame = state.frames[fact.frame]
    frame.statements[-1].done = True
    frame.locals.update(fact.names)
    frame.prelude.extend(fact.prelude)


@rule(LocalsAltered)
def _altered(state: SessionState, _: int, fact: LocalsAltered) -> None:
    state.frames[fact.frame].locals.update(fact.names)


@rule(StatementFailed)
def _failed(state: SessionState, _: int, fact: StatementFailed) -> None:
    statement = state.frames[fact.frame].statements[-1]
    statement.done = True
    statement.error = fact.error


@rule(StatementRejected)
def _rej(state: SessionState, _: int, fact: StatementRejected) -> None:
    state.frames[fact.frame].rejections.append({"rule": fact.rule, "message": fact.message, "source": fact.source})


@rule(EndReached)
def _end(state: SessionState, _: int, fact: EndReached) -> None:
    frame = state.frames[fact.frame]
    frame.ending = TurnEnding(fact.how, fact.value)
    if frame.statements:
        frame.statements[-1].done = True


@rule(TranscriptCompacted)
def _compact(state: SessionState, _: int, fact: TranscriptCompacted) -> None:
    """The first `turns` turns are told by `summary` from now on, in front of those that are left. The facts stay."""
    frame = state.frames[fact.frame]
    first, *rest = frame.transcript[fact.turns :]
    frame.transcript = [{"heard": f"{fact.summary}\n\n{first['heard']}", "said": first["said"]}, *rest]

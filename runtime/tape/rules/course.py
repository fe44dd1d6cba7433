"""The fold's rules about the course of a playbook: where control is in a walked one, and what was heard and said there;
of a model's turns the statements, how they end, and how the oldest are summarized.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.tape.facts import frames as facts
from runtime.tape.facts.registry import rule
from runtime.tape.facts.session import EventHandedOn, EventPublished
from runtime.tape.state.frames import MAX_TRAIL, SHARED, FrameState, RaisedAt, StatementState, TurnEnding, keep_said
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import FailureState, PublishedState


@rule(facts.StepReached)
def _step(state: SessionState, seq: int, fact: facts.StepReached) -> None:
    """Control reaches an instruction: the effects of the one before go into the exchange, its calls are forgotten."""
    frame = state.frames[fact.frame]
    frame.at, frame.step = fact.at, f"{frame.playbook}:{fact.at}:{fact.op}"
    frame.at_seq = seq
    frame.trail.append((fact.at, {line: dict(loop) for line, loop in frame.loops.items()}))
    del frame.trail[:-MAX_TRAIL]
    for line, loop in fact.loops.items():
        if loop is None:
            frame.loops.pop(line, None)
        else:
            frame.loops[line] = {**frame.loops.get(line, {}), **loop}
    frame.heard = frame.heard if fact.heard is None else fact.heard
    if fact.heard and not frame.inbox:  # what the session began with
        keep_said(frame, "user", fact.heard)
    frame.unwaited += 1
    tell(frame, fact.notes, fact.said)
    frame.records, frame.order, frame.statements, frame.turn_steps = {}, [], [], []
    frame.rejections, frame.ending, frame.prelude = [], None, []


@rule(facts.StepReturned)
def _back(state: SessionState, seq: int, fact: facts.StepReturned) -> None:
    """Control goes back to an instruction, with the loops as they were there."""
    frame = state.frames[fact.frame]
    index = fact.to
    line, loops = frame.trail[index]
    frame.loops = {known: dict(loop) for known, loop in loops.items()}
    frame.trail = frame.trail[:index]
    _step(state, seq, facts.StepReached(fact.frame, line, fact.op, fact.loops, fact.heard, fact.notes, fact.said))


def tell(frame: FrameState, notes: Sequence[str], said: Sequence[str]) -> None:
    """The effects of a step go into the exchange."""
    frame.notes += notes
    frame.said += said


def hear(frame: FrameState, heard: str, notes: Sequence[str], said: Sequence[str]) -> None:
    """An exchange ends with what is heard next."""
    tell(frame, notes, said)
    end_exchange(frame)
    frame.heard, frame.unwaited = heard, 0


def spoke(state: SessionState, frame: FrameState | None) -> None:
    """Something was said or asked: by a frame, and so by those that called it."""
    while frame is not None:
        frame.spoken += 1
        frame = _caller(state, frame)


def waited(state: SessionState, frame: FrameState | None) -> None:
    """Somebody was waited for: by a frame, and so by those that called it."""
    while frame is not None:
        frame.spoken = 0
        for loop in frame.loops.values():
            loop.update(dict.fromkeys(loop.keys() & {"idle", "same"}, 0))
        frame = _caller(state, frame)


def _caller(state: SessionState, frame: FrameState) -> FrameState | None:
    return state.frames.get(frame.caller.frame) if frame.caller is not None else None


def changed(frame: FrameState) -> None:
    """Something is not as it was when the present rounds of its loops began."""
    for loop in frame.loops.values():
        loop.update(dict.fromkeys(loop.keys() & {"same"}, 0))


def end_exchange(frame: FrameState) -> None:
    """The exchange becomes part of the frame's transcript."""
    if frame.exchange is not None:
        frame.transcript.append(frame.exchange)
        frame.said_before = frame.said
    frame.heard, frame.notes, frame.said = "", [], []


@rule(EventPublished)
def _published(state: SessionState, seq: int, fact: EventPublished) -> None:
    made = PublishedState(seq, state.at_s, fact.agent, fact.type, dict(fact.values), fact.hops)
    state.published = [*state.published, made]


@rule(EventHandedOn)
def _handed_on(state: SessionState, _: int, fact: EventHandedOn) -> None:
    state.published = [event for event in state.published if event.seq != fact.seq]


@rule(facts.FailureUncaught)
def _uncaught(state: SessionState, _: int, fact: facts.FailureUncaught) -> None:
    at: RaisedAt = fact.raised_at
    for task in state.tasks.values():
        task.heard = task.heard or task.ended_by == fact.seq
    state.failures = [*state.failures, FailureState(fact.seq, fact.error_type, at.agent, at.playbook, at.step or "")]


@rule(facts.FailureReported)
def _reported(state: SessionState, _: int, fact: facts.FailureReported) -> None:
    state.failures = [failure for failure in state.failures if failure.seq != fact.seq]


@rule(facts.StatementAccepted)
def _stmt(state: SessionState, _: int, fact: facts.StatementAccepted) -> None:
    frame = state.frames[fact.frame]
    variables = dict(state.agents[frame.agent].variables)
    if frame.meeting is not None and any(SHARED in source for source in (fact.source, *frame.prelude)):
        shared = state.meetings[frame.meeting].shared
        variables.setdefault(SHARED, {name: known.value for name, known in shared.items()})
    frame.statements.append(StatementState(fact.source, variables, remarks=list(fact.remarks)))


@rule(facts.StatementDone)
def _done(state: SessionState, _: int, fact: facts.StatementDone) -> None:
    frame = state.frames[fact.frame]
    frame.statements[-1].done = True
    frame.locals.update(fact.names)
    frame.prelude.extend(fact.prelude)


@rule(facts.LocalsAltered)
def _altered(state: SessionState, _: int, fact: facts.LocalsAltered) -> None:
    state.frames[fact.frame].locals.update(fact.names)


@rule(facts.StatementFailed)
def _failed(state: SessionState, _: int, fact: facts.StatementFailed) -> None:
    statement = state.frames[fact.frame].statements[-1]
    statement.done = True
    statement.error = fact.error


@rule(facts.StatementRejected)
def _rej(state: SessionState, _: int, fact: facts.StatementRejected) -> None:
    state.frames[fact.frame].rejections.append({"rule": fact.rule, "message": fact.message, "source": fact.source})


@rule(facts.EndReached)
def _end(state: SessionState, _: int, fact: facts.EndReached) -> None:
    frame = state.frames[fact.frame]
    frame.ending = TurnEnding(fact.how, fact.value)
    if frame.statements:
        frame.statements[-1].done = True


@rule(facts.TranscriptCompacted)
def _compact(state: SessionState, _: int, fact: facts.TranscriptCompacted) -> None:
    """The first `turns` turns are told by `summary` from now on, in front of those that are left. The facts stay."""
    frame = state.frames[fact.frame]
    first, *rest = frame.transcript[fact.turns :]
    frame.transcript = [{"heard": f"{fact.summary}\n\n{first['heard']}", "said": first["said"]}, *rest]

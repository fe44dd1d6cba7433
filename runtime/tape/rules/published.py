"""The fold's rules about the events that programs publish. See `fold` for the kinds."""

from __future__ import annotations

from runtime.tape.facts.published import EventHandedOn, EventPublished
from runtime.tape.rules.registry import rule
from runtime.tape.state.run import PublishedState
from runtime.tape.state.session import SessionState


@rule(EventPublished)
def _published(state: SessionState, seq: int, fact: EventPublished) -> None:
    made = PublishedState(seq, state.at_s, fact.agent, fact.type, dict(fact.values), fact.hops)
    state.published = [*state.published, made]


@rule(EventHandedOn)
def _handed_on(state: SessionState, _: int, fact: EventHandedOn) -> None:
    state.published = [event for event in state.published if event.seq != fact.seq]

"""The fold's rules about acknowledgements and about agents that are played in another process. See `fold`."""

from __future__ import annotations

from runtime.tape.facts.agents import MessagesFetched, MessagesPosted
from runtime.tape.facts.calls import AcksAwaited, MessageAcknowledged
from runtime.tape.rules.frames import note_addressed, take_messages
from runtime.tape.rules.registry import rule
from runtime.tape.state.acks import AckState, settle_message
from runtime.tape.state.frames import CallKey, WaitState
from runtime.tape.state.session import SessionState


@rule(AcksAwaited)
def _acks(state: SessionState, seq: int, fact: AcksAwaited) -> None:
    """A text needs an acknowledgement: its call waits."""
    key = CallKey(fact.frame, fact.pos)
    if fact.frame not in state.frames:
        return
    note_addressed(state.agents[state.frames[fact.frame].agent], fact.to)
    state.acks[key] = AckState(fact.message, list(fact.who), fact.page)
    state.waits[key] = WaitState(fact.frame, fact.pos, fact.name, fact.digest, None, fact.due, seq)


@rule(MessageAcknowledged)
def _acked(state: SessionState, _: int, fact: MessageAcknowledged) -> None:
    settle_message(state.acks, fact.message, fact.who, has_it=fact.has_it)


@rule(MessagesPosted)
def _posted(state: SessionState, _: int, fact: MessagesPosted) -> None:
    agent = state.agents[fact.agent]
    queue = {message.id for message in agent.queue}
    agent.posted += [message for message in fact.messages if message in queue and message not in agent.posted]


@rule(MessagesFetched)
def _fetched(state: SessionState, _: int, fact: MessagesFetched) -> None:
    take_messages(state, fact.agent, list(fact.messages))

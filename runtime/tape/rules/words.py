"""The fold's rules about words between tasks and their orderers. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.core.address import CLIENT
from runtime.core.message import Message, MessageType
from runtime.tape.facts.tasks import HearingTold, WordBrought, WordLost, WordsHeard, WordToOrderer, WordToTask
from runtime.tape.rules.registry import rule
from runtime.tape.state.frames import WaitState
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import WordState

_PAUSE_S = 1.0
"""What is waited for so long ends a chain of words."""


def note_taken_words(state: SessionState, messages: Sequence[Message]) -> None:
    """Words among the messages that leave a queue go on with their chain, and who said them is to know that they wait
    no longer. A person ends the chain, and a time that comes."""
    for message in messages:
        if message.hops is not None:
            state.hops[str(message.sender_id)] = message.hops
            take_word(state, str(message.sender_id), seq_of(message))
    if any(message.from_human or message.type in (MessageType.REMINDER, MessageType.TRIGGER) for message in messages):
        state.hops = {}


def take_word(state: SessionState, other: str, seq: int) -> None:
    """The other end of a task, by its name, is to know that its words up to this fact wait no longer."""
    state.words_taken[other] = max(seq, state.words_taken.get(other, 0))


def seq_of(word: Message) -> int:
    """The number of the fact of a word on the tape of who said it."""
    return int(word.id.rpartition(".")[2])


def end_chain(state: SessionState, wait: WaitState | None) -> None:
    """A wait has ended: one for a time ends the chain."""
    if wait is not None and wait.source is None and state.at_s - wait.since >= _PAUSE_S:
        state.hops = {}


@rule(WordToTask)
def _word_down(state: SessionState, seq: int, fact: WordToTask) -> None:
    _add_word(state, seq, fact, fact.number)


@rule(WordToOrderer)
def _word_up(state: SessionState, seq: int, fact: WordToOrderer) -> None:
    """A client sees the fact itself."""
    if state.order is not None and state.order.home.platform != CLIENT:
        _add_word(state, seq, fact, 0)


def _add_word(state: SessionState, seq: int, fact: WordToTask | WordToOrderer, number: int) -> None:
    klass = state.agents[fact.agent].klass
    state.words = [*state.words, WordState(seq, state.at_s, klass, number, fact.text, fact.hops)]


@rule(WordBrought)
def _brought(state: SessionState, _: int, fact: WordBrought) -> None:
    for word in state.words:
        if word.seq == fact.seq:
            word.brought, word.text = True, ""
    state.words = [word for word in state.words if not (word.brought and word.heard)]


@rule(WordsHeard)
def _words_heard(state: SessionState, _: int, fact: WordsHeard) -> None:
    """One that is still to be brought stays until it is: what was heard may be another, of before an `/undo`."""
    for word in state.words:
        word.heard = word.heard or (word.number == fact.number and word.seq <= fact.seq)
    state.words = [word for word in state.words if not (word.brought and word.heard)]


@rule(WordLost)
def _lost(state: SessionState, _: int, fact: WordLost) -> None:
    take_word(state, fact.other, fact.seq)


@rule(HearingTold)
def _hearing_told(state: SessionState, _: int, fact: HearingTold) -> None:
    if state.words_taken.get(fact.other) == fact.seq:
        del state.words_taken[fact.other]

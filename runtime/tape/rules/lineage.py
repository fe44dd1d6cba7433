"""The fold's rules about lineage: exchanges, branches, forks. See `fold` for the kinds."""

from __future__ import annotations

from dataclasses import replace

from runtime.core.address import SCRATCH
from runtime.tape.facts.calls import QuestionAskedAgain
from runtime.tape.facts.session import (
    COPIES,
    ExchangeBegun,
    ExchangeJoined,
    ForkMerged,
    ForkSettled,
    ResultReturned,
    SessionBranched,
    ThreadOpened,
)
from runtime.tape.rules.people import MAX_ASIDES
from runtime.tape.rules.registry import rule
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import MAX_EXCHANGES, ExchangeState, HomeState, ThreadState
from runtime.tape.state.session import SessionState

MAX_DURING = 50
"""Messages that are remembered as said during one exchange."""


@rule(SessionBranched)
def _branch(state: SessionState, seq: int, fact: SessionBranched) -> None:
    """Leave to the other session what it was about to show; ask again what can be asked again. What it heard in another
    place is not to be marked in this one."""
    state.pages, state.closed, state.marks, state.threads = {}, {}, {}, {}
    state.words, state.words_taken = [], {}
    state.broken, state.failures, state.voices.speeches = None, [], {}
    kept = [part.branched(fact.why) for part in state.parts.values()]
    state.parts = {part.name: part for part in kept if part is not None}
    if state.order is not None:
        state.order.scope = state.order.owner = ""  # whoever is here, no order was given here
    home = fact.home
    if home is not None:
        state.home = HomeState(home.platform, home.conversation, home.thread, seq)
    if fact.why == SCRATCH:
        state.home = None  # what comes of it is for nobody
    if fact.why in COPIES:
        state.exchanges = [replace(exchange, message=None, also=[]) for exchange in state.exchanges]
        _hold_meetings_here(state)
        _leave_tasks_there(state)
    for question in state.questions.values():
        question.parts, question.reply_to = {}, None
    for agent in state.agents.values():
        agent.posted = []  # a mailbox knows messages by their sessions


def _hold_meetings_here(state: SessionState) -> None:
    """The places of meetings stay with the session that opened them."""
    state.written_at = {}
    for meeting in state.meetings.values():
        meeting.place = meeting.left = None
    for question in state.questions.values():
        question.place = None


def _leave_tasks_there(state: SessionState) -> None:
    """The results of tasks go to who ordered them, and not to a copy of it."""
    for task in state.tasks_at_work():
        task.status, task.error, task.to_post = "canceled", "it went on in the conversation that was copied", []
        task.asks, task.answers = {}, {}


@rule(ExchangeBegun)
def _exchange(state: SessionState, _: int, fact: ExchangeBegun) -> None:
    exchange = ExchangeState(fact.seq, fact.person, fact.name, fact.text, fact.platform_id)
    state.exchanges = [*state.exchanges, exchange][-MAX_EXCHANGES:]


@rule(ExchangeJoined)
def _during(state: SessionState, _: int, fact: ExchangeJoined) -> None:
    exchange = state.exchanges[-1]
    exchange.also = [*exchange.also, fact.platform_id][-MAX_DURING:]


@rule(ThreadOpened)
def _thread(state: SessionState, _: int, fact: ThreadOpened) -> None:
    state.threads[fact.event] = ThreadState(fact.platform, fact.conversation, fact.thread, fact.seq)


@rule(ForkSettled)
def _forked(state: SessionState, _: int, fact: ForkSettled) -> None:
    state.threads.pop(fact.event, None)


@rule(QuestionAskedAgain)
def _reask(state: SessionState, _: int, fact: QuestionAskedAgain) -> None:
    key = CallKey(fact.frame, fact.pos)
    question, wait = state.questions[key], state.waits.get(key)
    question.page, question.parts = fact.page, {}
    if fact.page in state.pages:
        question.place = state.pages[fact.page].place
    if wait is not None:  # for whether somebody joins a meeting no call waits
        wait.source = {**(wait.source or {}), "ask": question.page}


@rule(ForkMerged)
def _merged(state: SessionState, _: int, fact: ForkMerged) -> None:
    """The result of another session, as one message; facts `first` to `last` of that session say how it came about."""
    asides = state.agents[fact.agent].asides
    asides.append(fact.message)
    del asides[:-MAX_ASIDES]


@rule(ResultReturned)
def _returned(state: SessionState, _: int, __: ResultReturned) -> None:
    state.home = None

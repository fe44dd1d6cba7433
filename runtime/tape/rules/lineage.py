"""The fold's rules about lineage: exchanges, branches, forks. See `fold` for the kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from runtime.core.message import message_from_data
from runtime.tape.people_state import MAX_EXCHANGES, ExchangeState, HomeState, ThreadState
from runtime.tape.rules.frames import call_key
from runtime.tape.rules.people import MAX_ASIDES
from runtime.tape.state import SessionState

Data = Mapping[str, Any]

MAX_DURING = 50
"""Messages that are remembered as said during one exchange."""


def _branch(state: SessionState, seq: int, data: Data) -> None:
    """What the other session was about to show is its own affair; what can be asked again is. What it heard in another
    place is not to be marked in this one."""
    state.pages, state.closed, state.marks, state.threads = {}, {}, {}, {}
    state.broken = None
    if data.get("home"):
        platform, conversation, thread = data["home"]
        state.home = HomeState(platform, conversation, thread, seq)
    if data["why"] == "fork":
        state.exchanges = [replace(exchange, message=None, also=[]) for exchange in state.exchanges]
        _hold_meetings_here(state)
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


def _exchange(state: SessionState, _: int, data: Data) -> None:
    exchange = ExchangeState(data["seq"], data["person"], data["name"], data["text"], data.get("pid"))
    state.exchanges = [*state.exchanges, exchange][-MAX_EXCHANGES:]


def _during(state: SessionState, _: int, data: Data) -> None:
    exchange = state.exchanges[-1]
    exchange.also = [*exchange.also, data["pid"]][-MAX_DURING:]


def _thread(state: SessionState, _: int, data: Data) -> None:
    place = data["platform"], data["conversation"], data.get("thread")
    state.threads[data["event"]] = ThreadState(*place, data["seq"])


def _forked(state: SessionState, _: int, data: Data) -> None:
    state.threads.pop(data["event"], None)


def _reask(state: SessionState, _: int, data: Data) -> None:
    key = call_key(data["f"], data["pos"])
    question, wait = state.questions[key], state.waits.get(key)
    question.page, question.parts = data["page"], {}
    if data["page"] in state.pages:
        question.place = state.pages[data["page"]].place
    if wait is not None:  # for whether somebody joins a meeting no call waits
        wait.source = {**(wait.source or {}), "ask": question.page}


def _merged(state: SessionState, _: int, data: Data) -> None:
    """The result of another session, as one message; facts `first` to `last` of that session say how it came about."""
    asides = state.agents[data["agent"]].asides
    asides.append(message_from_data(data["message"]))
    del asides[:-MAX_ASIDES]


def _returned(state: SessionState, _: int, __: Data) -> None:
    state.home = None


RULES: dict[str, Callable[[SessionState, int, Data], None]] = {
    "branch": _branch,
    "exchange": _exchange,
    "during": _during,
    "thread": _thread,
    "forked": _forked,
    "reask": _reask,
    "merged": _merged,
    "returned": _returned,
}

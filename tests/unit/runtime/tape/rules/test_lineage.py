"""What the fold makes of exchanges, branches and forks."""

from typing import Any

from runtime.core.ids import AgentId
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply
from runtime.tape.state.people import MAX_EXCHANGES, ThreadState
from runtime.tape.state.session import SessionState

MESSAGE = {
    "id": "merge.1",
    "from": "1000",
    "class": "Researcher",
    "text": "It is the third one.",
    "at": "2026-01-01T00:00:00+00:00",
}


def folded(*facts: tuple[str, dict[str, Any]]) -> SessionState:
    state = SessionState()
    for seq, (kind, data) in enumerate(facts, start=1):
        apply(state, seq, content_of(kind, data))
    return state


def exchange(seq: int) -> tuple[str, dict[str, Any]]:
    return "exchange", {"seq": seq, "person": "test:1", "name": "Ada", "text": f"text {seq}", "pid": f"m{seq}"}


QUESTION = (
    ("agent", {"id": "1000", "class": "Main"}),
    ("start", {"f": "1000.0", "agent": "1000", "pb": "Main", "args": [], "kwargs": {}, "version": "1"}),
    ("page", {"f": "1000.0", "agent": "1000", "to": "ask", "reply": "m1", "choices": [["c", "Yes"]]}),
    ("ask", {"f": "1000.0", "pos": "0", "page": "3", "text": "Sure?", "options": ["Yes"], "of": None}),
    (
        "wait",
        {"f": "1000.0", "pos": "0", "name": "Ask", "dig": "d", "source": {"human": True, "ask": "3"}, "due": None},
    ),
    ("sent", {"page": "3", "part": 0, "pid": "m2"}),
    ("marking", {"pid": "m1", "mark": "queued"}),
)


def test_the_latest_exchanges_are_remembered_with_what_was_said_meanwhile() -> None:
    state = folded(*(exchange(seq) for seq in range(MAX_EXCHANGES + 5)), ("during", {"pid": "later"}))
    assert [state.exchanges[0].seq, state.exchanges[-1].seq] == [5, MAX_EXCHANGES + 4]
    assert (state.exchanges[-1].message, state.exchanges[-1].also) == (f"m{MAX_EXCHANGES + 4}", ["later"])


def test_what_another_session_was_about_to_show_is_not_the_branchs_affair() -> None:
    state = folded(*QUESTION, ("branch", {"session": "other", "seq": 7, "why": "fork"}))
    assert (state.pages, state.marks, state.closed, state.threads) == ({}, {}, {}, {})
    (question,) = state.questions.values()
    assert (question.text, question.parts, question.reply_to) == ("Sure?", {}, None)


def test_a_question_that_is_asked_again_is_answered_on_its_new_page() -> None:
    again = {"f": "1000.0", "agent": "1000", "to": "ask", "reply": None, "choices": [["d", "Yes"]]}
    state = folded(*QUESTION, ("page", again), ("reask", {"f": "1000.0", "pos": "0", "page": "8"}))
    (question,), (wait,) = state.questions.values(), state.waits.values()
    assert (question.page, question.parts, wait.source) == ("8", {}, {"human": True, "ask": "8"})


def test_a_thread_is_known_until_its_fork_was_told_of() -> None:
    opened = {"event": "e1", "platform": "web", "conversation": "lobby", "thread": "9", "seq": 4}
    state = folded(("thread", opened))
    assert state.threads == {"e1": ThreadState("web", "lobby", "9", 4)}
    apply(state, 2, content_of("forked", {"event": "e1"}))
    assert state.threads == {}


def test_what_is_merged_is_one_message_that_the_agent_sees() -> None:
    merged = {"agent": "1000", "message": MESSAGE, "session": "other", "first": 8, "last": 40}
    state = folded(("agent", {"id": "1000", "class": "Main"}), ("merged", merged))
    assert [message.content for message in state.agents[AgentId("1000")].asides] == ["It is the third one."]
    assert state.agents[AgentId("1000")].queue == []

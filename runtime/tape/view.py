"""The view of a session for other programs: the events that some of its facts are for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.cloud_event import CloudEvent
from runtime.core.ids import ScheduleId
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import CallReturned, FailureReported, FrameReturned, TranscriptCompacted
from runtime.tape.facts.people import FeedbackGiven, MessageHeard
from runtime.tape.facts.registry import content_of
from runtime.tape.facts.session import AgentCreated, EventPublished, ProgramBroken
from runtime.tape.facts.tasks import OrderOver, WordToOrderer
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import PROGRAM_BROKEN
from runtime.tape.tape import Fact, tape_owner

HUMAN_MESSAGE = "human.message"
AGENT_SPAWN = "agent.spawn"
AGENT_DONE = "agent.done"
AGENT_ERROR = "agent.error"
AGENT_COMPACTED = "agent.compacted"
CRON_TRIGGER = "cron.trigger"
TOOL_RESULT = "tool.result"
DEBUG_REPORT = "debug.report"
FEEDBACK_GIVEN = "feedback.given"
TASK_MESSAGE = "task.message"

SESSION_EVENTS = (
    HUMAN_MESSAGE,
    AGENT_SPAWN,
    AGENT_DONE,
    AGENT_ERROR,
    AGENT_COMPACTED,
    CRON_TRIGGER,
    TOOL_RESULT,
    DEBUG_REPORT,
    FEEDBACK_GIVEN,
    TASK_MESSAGE,
)
"""The types of all events of sessions, but those that programs publish."""

CONTROL = "bus."
"""The beginning of the types of control frames, which nobody sends as events."""

_SESSIONS = "/sessions/"

_Said = tuple[str | None, dict[str, Any], dict[str, Any]]
"""The agent that a fact is about, where it names one, and the data and the words of its event."""


def source_of(session: str) -> str:
    return f"{_SESSIONS}{session}"


def session_in(source: str) -> str | None:
    """The session whose events have this source; None for the source of a client."""
    return source.removeprefix(_SESSIONS) if source.startswith(_SESSIONS) else None


def is_reserved(type_: str) -> bool:
    """Whether events of a type are never those that a program publishes: they say what happened, or control."""
    return type_ in SESSION_EVENTS or type_.startswith(CONTROL)


def event_type(fact: FactContent, before: SessionState) -> str | None:
    """The type of the event that a fact is for others, if it is one; `before` is the state without it."""
    choose = _TYPES.get(type(fact))
    return None if choose is None else choose(fact, before)


def event_of(fact: Fact, type_: str) -> CloudEvent:
    """The event that a stored fact is. Raises LookupError for one that cannot be read."""
    content = content_of(fact.kind, fact.data)
    agent, data, words = _SAID[type(content)](content)
    owner, last = tape_owner(fact.tape), fact.tape.rpartition("/")[2]
    subject = agent or (None if last == "session" else last)
    return CloudEvent(str(fact.seq), type_, source_of(owner), fact.at, subject, data, words or None, sequence=fact.seq)


def _of_return(fact: FrameReturned, before: SessionState) -> str | None:
    """An agent is done when a playbook that no other called returns; the end of a task is told by the task's own
    fact."""
    if ":" in fact.frame or (before.order is not None and before.order.frame == fact.frame):
        return None
    return AGENT_DONE if fact.error is None else AGENT_ERROR


_TYPES: Mapping[type[FactContent], Callable[[Any, SessionState], str | None]] = {
    MessageHeard: lambda fact, _: CRON_TRIGGER if isinstance(fact.person, ScheduleId) else HUMAN_MESSAGE,
    AgentCreated: lambda _fact, _: AGENT_SPAWN,
    FrameReturned: _of_return,
    OrderOver: lambda fact, _: AGENT_DONE if fact.status == "completed" else AGENT_ERROR,
    ProgramBroken: lambda _fact, _: AGENT_ERROR,
    TranscriptCompacted: lambda _fact, _: AGENT_COMPACTED,
    CallReturned: lambda fact, before: TOOL_RESULT if CallKey(fact.frame, fact.pos) in before.intents else None,
    FailureReported: lambda _fact, _: DEBUG_REPORT,
    FeedbackGiven: lambda _fact, _: FEEDBACK_GIVEN,
    WordToOrderer: lambda _fact, _: TASK_MESSAGE,
    EventPublished: lambda fact, _: fact.type,
}


def _heard(fact: MessageHeard) -> _Said:
    data = {"person": fact.person, "private": fact.private, "message": fact.message}
    return fact.agent, data, {"name": fact.name, "text": fact.text}


def _returned(fact: FrameReturned) -> _Said:
    if fact.error is None:
        return None, {"playbook_frame": fact.frame}, {"value": fact.value}
    data = {"playbook_frame": fact.frame, "error_type": fact.error[0], "raised_at": str(fact.raised_at or "")}
    return None, data, {"error": fact.error[1]}


def _called(fact: CallReturned) -> _Said:
    if fact.error is None:
        return None, {"tool": fact.name, "ok": True}, {"value": fact.value}
    return None, {"tool": fact.name, "ok": False, "error_type": fact.error[0]}, {"error": fact.error[1]}


def _rated(fact: FeedbackGiven) -> _Said:
    about = {"person": fact.person, "message": fact.platform_id, "step": fact.step, "model": fact.model}
    return fact.agent, {"rating": fact.rating, **about}, {}


def _task_over(fact: OrderOver) -> _Said:
    if fact.status == "completed":
        return None, {"task_status": fact.status}, {"value": fact.value}
    data: dict[str, Any] = {"task_status": fact.status}
    if fact.error_type:
        data |= {"error_type": fact.error_type, "raised_at": str(fact.raised_at or "")}
    return None, data, {"error": fact.error or ""}


_SAID: Mapping[type[FactContent], Callable[[Any], _Said]] = {
    MessageHeard: _heard,
    AgentCreated: lambda fact: (fact.id, {"class": fact.klass}, {}),
    FrameReturned: _returned,
    OrderOver: _task_over,
    ProgramBroken: lambda fact: (None, {"error_type": PROGRAM_BROKEN}, {"error": fact.why}),
    TranscriptCompacted: lambda fact: (None, {"turns": fact.turns}, {"summary": fact.summary}),
    CallReturned: _called,
    FeedbackGiven: _rated,
    FailureReported: lambda fact: (None, {"report": fact.report, "count": fact.count, "fact": fact.seq}, {}),
    WordToOrderer: lambda fact: (fact.agent, {}, {"text": fact.text}),
    EventPublished: lambda fact: (fact.agent, dict(fact.values), {}),
}

"""The view of a meeting for people: who is in it and since when, who is invited, and what they share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from runtime.core.ids import AgentId, ParticipantId
from runtime.core.texts import Texts
from runtime.meetings.taking_part import who
from runtime.sessions.commands.overview import MAX_LINES, lasting
from runtime.sessions.succession import name_within, words_within
from runtime.tape.state.meetings import MAX_HISTORY, MeetingState
from runtime.tape.state.session import SessionState

MAX_VALUE_CHARS = 200
"""The length of a shared value."""


def list_of(meetings: Sequence[MeetingState], now_s: float, texts: Texts) -> str:
    """Several meetings, one a line."""
    lines = [texts("meeting.several")]
    for meeting in meetings[:MAX_LINES]:
        time, count = lasting(now_s - meeting.since, texts), len(meeting.joined)
        lines.append(
            texts("meeting.line", number=meeting.id, topic=words_within(meeting.topic), count=count, time=time)
        )
    return "\n".join([*lines, *_more(len(meetings), texts)])


def view_of(state: SessionState, meeting: MeetingState, now_s: float, texts: Texts) -> str:
    """One meeting, whole."""
    time = lasting(now_s - meeting.since, texts)
    lines = [texts("meeting.head", number=meeting.id, topic=words_within(meeting.topic), time=time)]
    if meeting.status != "active":
        lines.append(texts("meeting.gathers"))
    lines += [_participant(state, meeting, one, now_s, texts) for one in meeting.joined[:MAX_LINES]]
    lines += _more(len(meeting.joined), texts)
    lines += _asked(state, meeting, texts)
    blocks = ["\n".join(lines), "\n".join(_shared(state, meeting, texts)), _said(meeting, texts)]
    return "\n\n".join(block for block in blocks if block)  # what follows a list directly would belong to it


def shown_value(value: Any) -> str:
    """A value as people see it: JSON, cut when it is long, as code."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"
    return f"`{text.replace('`', chr(0x2CB))}`"


def _participant(state: SessionState, meeting: MeetingState, one: ParticipantId, now_s: float, texts: Texts) -> str:
    time = lasting(now_s - meeting.came.get(one, meeting.since), texts)
    agent = state.agent(one)
    if agent is None:
        return texts("meeting.person", name=name_within(state.called(one)), time=time)
    key = "meeting.host" if one == meeting.host else "meeting.agent"
    return texts(key, name=agent.klass, number=one, time=time)


def _asked(state: SessionState, meeting: MeetingState, texts: Texts) -> Iterator[str]:
    for one in meeting.asks:
        name, answer = _named(state, one), meeting.invited.get(one)
        yield texts("meeting.answered", name=name, answer=answer) if answer else texts("meeting.asked", name=name)


def _shared(state: SessionState, meeting: MeetingState, texts: Texts) -> Iterator[str]:
    if meeting.shared:
        yield texts("meeting.shared")
    for name, known in meeting.shared.items():
        by = _named(state, known.by)
        yield texts(
            "meeting.value", name=name_within(name), value=shown_value(known.value), version=known.version, who=by
        )


def _named(state: SessionState, one: ParticipantId) -> str:
    return who(state, one) if isinstance(one, AgentId) else name_within(state.called(one))


def _said(meeting: MeetingState, texts: Texts) -> str:
    count = len(meeting.history)
    if not count:
        return texts("meeting.said_nothing")
    return texts("meeting.said", count=f"{count}+" if count == MAX_HISTORY else count)


def _more(count: int, texts: Texts) -> Iterator[str]:
    if count > MAX_LINES:
        yield texts("meeting.more", count=count - MAX_LINES)

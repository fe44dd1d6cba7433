"""Whom `Say` and `Yld` mean by the words they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from runtime.core.errors import UnknownTarget
from runtime.core.ids import (
    ANYONE,
    AgentId,
    MeetingId,
    ParticipantId,
    is_human_word,
    parse_agent_id,
    parse_meeting_id,
)
from runtime.tape.state import SessionState


class Population(Protocol):
    """The agents of a session, by class."""

    def classes(self) -> tuple[str, ...]:
        """The names of all agent classes that can be spoken to."""
        ...

    def ensure(self, klass: str) -> AgentId:
        """An agent of this class, made if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved target. `key` names it on the tape: "human", "agent 1001" or "meeting 100"."""

    key: str
    recipient: ParticipantId | None = None
    meeting: MeetingId | None = None
    agents: frozenset[AgentId] = frozenset()

    @property
    def human(self) -> bool:
        """Whether it is a person who is addressed directly."""
        return self.recipient is not None and self.meeting is None and not str(self.recipient).isdecimal()


def resolve_target(text: str, state: SessionState, population: Population, *, meeting: str | None) -> Target:
    """The target that `text` names for an agent that is in `meeting` (or in none).

    Raises UnknownTarget, with what would have been known: nothing falls back to anybody else.
    """
    if is_human_word(text):
        return Target(str(ANYONE), ANYONE)
    first, *others = [part.strip() for part in text.split(",")]
    if first.lower() == "meeting" or parse_meeting_id(first):
        return _meeting_target(first, others, state, meeting)
    agent = parse_agent_id(text)
    if agent is not None and agent in state.agents:
        return Target(f"agent {agent}", agent)
    if text.strip() in population.classes():
        found = population.ensure(text.strip())
        return Target(f"agent {found}", found)
    if state.person_named(text) is not None:
        return Target(str(ANYONE), ANYONE)
    raise UnknownTarget(f"nobody called {text!r} can be spoken to; known are {_known(state, population)}")


def _meeting_target(first: str, others: list[str], state: SessionState, current: str | None) -> Target:
    number = parse_meeting_id(first) or (MeetingId(current) if current else None)
    if number is None:
        raise UnknownTarget("there is no meeting here; name it as `meeting 100`, or join one first")
    meeting = state.meetings.get(number)
    if meeting is None or meeting.status == "ended":
        raise UnknownTarget(f"meeting {number} is not going on; going on are {_meetings(state)}")
    agents = frozenset(agent for agent in map(parse_agent_id, others) if agent is not None)
    strangers = sorted(set(agents) - set(meeting.joined))
    if strangers:
        raise UnknownTarget(f"agent {strangers[0]} is not in meeting {number}; in it are {', '.join(meeting.joined)}")
    return Target(f"meeting {number}", None, number, agents)


def _meetings(state: SessionState) -> str:
    return ", ".join(f"meeting {m.id}" for m in state.meetings.values() if m.status != "ended") or "none"


def _known(state: SessionState, population: Population) -> str:
    names = ["user", *population.classes(), *(f"agent {id_}" for id_ in state.agents)]
    names += [f"meeting {m.id}" for m in state.meetings.values() if m.status != "ended"]
    return ", ".join(names)


def _ended_unread(text: str, state: SessionState, agent: str, current: str | None) -> str | None:
    """The meeting that `text` means, when it has ended and the agent has not read all of it."""
    if not text.lower().startswith("meeting"):
        return None
    number = parse_meeting_id(text) or current
    meeting = state.meetings.get(number or "")
    unread = any(message.meeting_id == number for message in state.agents[agent].queue)
    return meeting.id if meeting is not None and meeting.status == "ended" and unread else None


def wait_source(text: str, state: SessionState, population: Population, *, agent: str, meeting: str | None) -> Any:
    """What `Yld(text)` or `WaitForMessage(text)` waits for, as data for the tape.

    Keys: `human` (a person), `agents` (ids), `meeting` (id), `any` (everybody). Raises UnknownTarget.
    """
    words = text.strip()
    if words in ("*", ""):
        return {"any": True}
    if is_human_word(words):
        return {"human": True}
    if words.lower() == "agent":
        last = state.agents[agent].last_addressed
        if last is None or not last.startswith("agent "):
            raise UnknownTarget("no agent was spoken to yet, so there is none to wait for; name it as `agent 1001`")
        return {"agents": [last.removeprefix("agent ")]}
    ended = _ended_unread(words, state, agent, meeting)
    if ended is not None:
        return {"meeting": ended}
    if words.lower().startswith("agent ") and parse_agent_id(words) is None:
        words = words[len("agent ") :]
    target = resolve_target(words, state, population, meeting=meeting)
    if target.meeting is not None:
        return {"meeting": str(target.meeting)}
    if target.human:
        return {"human": True}
    return {"agents": [str(target.recipient)]}

"""The targets that `Say` and `Yld` mean by their words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.address import CLIENT
from runtime.core.errors import UnknownTarget
from runtime.core.ids import (
    ANYONE,
    ORDERER,
    AgentId,
    CounterpartId,
    GuestId,
    MeetingId,
    MessageId,
    ParticipantId,
    PersonId,
    is_counterpart,
    is_human_word,
    parse_agent_id,
    parse_meeting_id,
    participant_id,
)
from runtime.core.message import HUMAN_CLASS, Message, MessageType
from runtime.language.syntax.humans import ANYBODY, HumanSpec
from runtime.meetings.meeting import within
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.people import PageState
from runtime.tape.state.session import AgentState, SessionState

_AGENT = "agent "
_PERSON = "person "
_NOTICE = " notice"


def human_of(person: str, state: SessionState, humans: Sequence[HumanSpec]) -> HumanSpec:
    """The declared human that a person is; ANYBODY for others."""
    known = state.person_of(person)
    return next((spec for spec in humans if known is not None and spec.declared == known.declared), ANYBODY)


def mentioned(page: PageState, state: SessionState, humans: Sequence[HumanSpec]) -> dict[str, str]:
    """The people that a page may mention: ids by name. A name that several people show means the page's recipient, or
    nobody; with its number, "Ada (2)", it means one of them.
    """
    kind, _, whose = page.to.partition(" ")
    held = parse_meeting_id(page.to) is not None
    found: dict[str, str] = {}
    for person, known in state.people.items():
        spec = human_of(person, state, humans)
        if held and spec.delivery.meeting_notifications == "none":
            continue
        if state.people_named(known.name) == [person] or (kind == "person" and whose == person):
            found[known.name] = person
        found.setdefault(state.called(person), person)
        if spec is not ANYBODY:
            found |= {spec.declared: person, spec.name: person}
    return found


class SessionPopulation(Protocol):
    @property
    def humans(self) -> Sequence[HumanSpec]:
        """The humans that the program declares."""

    def classes(self) -> tuple[str, ...]:
        """The names of all agent classes that can be spoken to."""

    @property
    def guests(self) -> Collection[str]:
        """The names of the participants that extensions add."""

    def ensure(self, klass: str) -> AgentId:
        """An agent of this class, made if there is none. Raises UnknownTarget."""

    def create(self, klass: str, variables: Mapping[str, Any], /) -> AgentId:
        """A new agent of this class. Raises UnknownTarget."""


class SpeechTarget(Struct, frozen=True):
    """A resolved target. `key` names it on the tape: "human" (whoever is here), "person web:42", "agent 1001" or
    "meeting 100". `agents` are those of a meeting, people too, whom it is for in particular."""

    key: str
    recipient: ParticipantId | None = None
    meeting: MeetingId | None = None
    agents: frozenset[ParticipantId] = frozenset()

    @property
    def person(self) -> PersonId | None:
        """The id of the one person who is addressed; None when it is anybody, or an agent."""
        to = self.recipient if self.meeting is None else None
        return to if isinstance(to, PersonId) and to != ANYONE else None

    def whom(self, state: SessionState) -> str | None:
        """The name of the one person whom it is said to, where others read along."""
        return None if state.private or self.person is None else state.spoken_name(self.person)

    def message(self, state: SessionState, sender: AgentState, text: str, id_: MessageId, at: datetime) -> Message:
        """What an agent says to it."""
        klass, to = None, self.recipient
        if isinstance(to, GuestId):
            klass = to.name
        elif to is not None:
            other, person = state.agent(to), state.person_of(to)
            klass = other.klass if other else (person.declared if person else None) or HUMAN_CLASS
        return Message(
            id=id_,
            sender_id=sender.id,
            sender_class=sender.klass,
            content=text,
            created_at=at,
            recipient_id=to,
            recipient_class=klass,
            type=MessageType.DIRECT if self.meeting is None else MessageType.MEETING_BROADCAST,
            meeting_id=self.meeting,
            target_agent_ids=self.agents,
            within=within(state, sender.id, to),
        )

    @property
    def source(self) -> dict[str, Any]:
        """What is waited for where it is waited for, see `wait_source`."""
        if self.meeting is not None:
            return {"meeting": str(self.meeting)}
        if isinstance(self.recipient, PersonId):
            return {"human": True} if self.person is None else {"human": True, "person": self.person}
        return {"agents": [str(self.recipient)]}


def resolve_target(
    text: str, state: SessionState, population: SessionPopulation, *, meeting: str | None
) -> SpeechTarget:
    """The target that `text` names for an agent that is in `meeting` (or in none).

    Raises UnknownTarget, with what would have been known: nothing falls back to anybody else.
    """
    text = _named(text)
    if is_human_word(text):
        return SpeechTarget(str(ANYONE), ANYONE)
    first, *others = [part.strip() for part in text.split(",")]
    if first.lower() == "meeting" or parse_meeting_id(first):
        return _meeting_target(first, others, state, population, meeting)
    if text in population.guests and text not in population.classes():
        return SpeechTarget(f"guest {text}", GuestId.of(text))
    found = agent_named(text, state, population) or person_named(text, state, population)
    if found is None:
        if is_counterpart(text):
            raise UnknownTarget(f"{text!r} is nobody here: Tell says something to a task, or to who has ordered one")
        known = ", ".join([*names_known(state, population), *_going_on(state)])
        raise UnknownTarget(f"nobody called {text!r} can be spoken to; known are {known}")
    return SpeechTarget(f"agent {found}" if isinstance(found, AgentId) else f"{_PERSON}{found}", found)


def _named(text: str) -> str:
    """The name in `agent TaxAgent`; anything else as it is, a number too."""
    words = text.strip()
    is_name = words.lower().startswith(_AGENT) and parse_agent_id(words) is None
    return words[len(_AGENT) :].strip() if is_name else words


def agent_named(text: str, state: SessionState, population: SessionPopulation) -> AgentId | None:
    """The agent that `text` names by its number or its class: the first of a class, made if there is none."""
    agent = parse_agent_id(text)
    if agent is not None:
        return agent if agent in state.agents else None
    klass = _named(text)
    return population.ensure(klass) if klass in population.classes() else None


def person_named(text: str, state: SessionState, population: SessionPopulation) -> PersonId | None:
    """The person that `text` names: a declared human by class or name, else anybody by id or name; None when nobody is.

    A declared human's name is theirs also while they are not here: then nobody else is meant by it. Of several who
    show a name, who did so first is meant. Raises UnknownTarget for a declared human who is not here.
    """
    wanted = text.strip().removeprefix(_PERSON)
    spec = declared(wanted, population)
    found = state.people_named(spec.declared if spec is not None else wanted)
    if spec is not None and (not found or state.people[found[0]].declared != spec.declared):
        here = ", ".join(map(state.called, state.people)) or "no people yet"
        raise UnknownTarget(f"{spec.name} is not here yet; here are {here}")
    return found[0] if found else None


def declared(text: str, population: SessionPopulation) -> HumanSpec | None:
    return next((spec for spec in population.humans if spec.is_called(text)), None)


def names_known(state: SessionState, population: SessionPopulation) -> list[str]:
    names = ["user", *population.classes(), *population.guests, *(f"agent {id_}" for id_ in state.agents)]
    names += [*(spec.declared for spec in population.humans), *map(state.called, state.people)]
    return list(dict.fromkeys(names))


def _meeting_target(
    first: str, others: list[str], state: SessionState, population: SessionPopulation, current: str | None
) -> SpeechTarget:
    number = parse_meeting_id(first) or (MeetingId(current) if current else None)
    if number is None:
        raise UnknownTarget("there is no meeting here; name it as `meeting 100`, or join one first")
    meeting = state.meetings.get(number)
    if meeting is None or meeting.status == "ended":
        what = "is not going on" if meeting is None else "has ended"
        raise UnknownTarget(f"meeting {number} {what}; going on are {', '.join(_going_on(state)) or 'none'}")
    present = frozenset(_participant(other, meeting, state, population) for other in others if other)
    return SpeechTarget(f"meeting {number}", None, number, present)


def _participant(text: str, meeting: MeetingState, state: SessionState, population: SessionPopulation) -> ParticipantId:
    """The named participant of the meeting; people of the conversation hear it too while none was invited."""
    agents = [who for who in meeting.agents if who in state.agents]
    named = parse_agent_id(text)
    found = next((who for who in agents if who == named or state.agents[who].klass == text), None)
    if found is not None:
        return found
    person = None if named is not None or text in population.classes() else person_named(text, state, population)
    if person is None or (len(agents) < len(meeting.joined) and person not in meeting.joined):
        inside = ", ".join(f"agent {who}" if who in state.agents else state.called(who) for who in meeting.joined)
        raise UnknownTarget(f"{text} is not in meeting {meeting.id}; in it are {inside}")
    return person


def _going_on(state: SessionState) -> list[str]:
    return [f"meeting {m.id}" for m in state.meetings.values() if m.status != "ended"]


def _ended_unread(text: str, state: SessionState, agent: AgentId, current: str | None) -> str | None:
    """The meeting that `text` means, when it has ended and the agent has not read all of it."""
    if not text.lower().startswith("meeting"):
        return None
    number = parse_meeting_id(text) or current
    meeting = state.meetings.get(number or "")
    unread = any(message.meeting_id == number and not message.quiet for message in state.agents[agent].queue)
    return meeting.id if meeting is not None and meeting.status == "ended" and unread else None


def _counterpart(text: str, state: SessionState, population: SessionPopulation) -> dict[str, Any] | None:
    """The source of a wait for a task of this session, or for who has ordered it, whom nobody here has the name of.
    The client that ordered it speaks as a person does. Raises UnknownTarget for a task that says nothing more."""
    other = participant_id(text.lower())
    named = isinstance(other, CounterpartId) and not (text in population.classes() or state.people_named(text))
    if not named:
        return None
    if other == ORDERER:
        by_client = state.order is not None and state.order.home.platform == CLIENT
        return {"human": True} if by_client else {"agents": [str(other)]} if state.order is not None else None
    task = next((task for task in state.tasks.values() if task.name == other), None)
    unread = any(message.sender_id == other for agent in state.agents.values() for message in agent.queue)
    if task is not None and task.over and not unread:
        raise UnknownTarget(f"{other} has ended, and says nothing more")
    return None if task is None else {"agents": [str(other)]}


def wait_source(
    text: str, state: SessionState, population: SessionPopulation, *, agent: AgentId, meeting: str | None
) -> dict[str, Any]:
    """The source that `Yld(text)` or `WaitForMessage(text)` waits for, as data for the tape.

    Keys: `human` (a person; only `person`, an id, or the `declared` human of that name when given), `agents` (ids),
    `meeting` (id), `any` (everybody), `notices` (true for `meeting notice`: who comes and goes ends the wait too).
    `user` is whom the agent spoke to last by name, else whoever is here. Raises UnknownTarget.
    """
    words = text.strip()
    if words.lower().startswith("meeting") and words.lower().endswith(_NOTICE):
        words = words[: -len(_NOTICE)]
        return wait_source(words, state, population, agent=agent, meeting=meeting) | {"notices": True}
    if words in ("*", ""):
        return {"any": True}
    if is_human_word(words):
        last_person = state.agents[agent].last_person
        known = last_person is not None and last_person in state.people
        return {"human": True, "person": last_person} if known else {"human": True}
    if words.lower() == "agent":
        last = state.agents[agent].last_addressed
        if last is None or not last.startswith("agent "):
            raise UnknownTarget("no agent was spoken to yet, so there is none to wait for; name it as `agent 1001`")
        return {"agents": [last.removeprefix("agent ")]}
    ended = _ended_unread(words, state, agent, meeting)
    if ended is not None:
        return {"meeting": ended}
    words = _named(words)
    spec = declared(words, population)
    if spec is not None and not any(person.declared == spec.declared for person in state.people.values()):
        return {"human": True, "declared": spec.declared}
    if (other := _counterpart(words, state, population)) is not None:
        return other
    return resolve_target(words, state, population, meeting=meeting).source

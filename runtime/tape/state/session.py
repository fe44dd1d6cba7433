"""The state of a session: what the fold of its tapes amounts to. Data only; `fold.apply` is its one writer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self, TypeVar

from msgspec import Struct, field

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Attachment, Mark, Message
from runtime.tape.state.frames import AckState, CallKey, FrameState, IntentState, WaitState, takes
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.people import (
    NUMBERED,
    ClosedQuestion,
    ExchangeState,
    HeardState,
    HomeState,
    PageState,
    PersonState,
    QuestionState,
    SaidState,
    ThreadState,
    plain_name,
)
from runtime.tape.state.tasks import FailureState, OrderState, PublishedState, ReminderState, TaskState, WordState

MAX_ARTIFACTS = 50
"""Artifacts of one agent that nobody named; the oldest are forgotten."""

PARTS: dict[str, type[StatePart]] = {}
"""The parts that this process knows, by name."""


class AgentState(Struct):
    """An instance of an agent class. `queue` are messages that nobody has taken.

    `begun` counts the started playbooks with a start trigger; a `paused` agent starts again with the next message.
    """

    id: AgentId
    klass: str
    variables: dict[str, Any] = field(default_factory=dict)
    queue: list[Message] = field(default_factory=list)
    roots: int = 0
    begun: int = 0
    paused: bool = False
    last_addressed: str | None = None
    """The agent it spoke to last, as `agent 1001`."""
    last_person: PersonId | None = None
    """The person it spoke to last by name; None when that was whoever is here."""
    asides: list[Message] = field(default_factory=list)
    """What happened to messages, for it to see with the next one."""
    person: PersonId | None = None
    crowd: bool = False
    """Whose message it took last, and whether those of others with it."""
    answering: str | None = None
    """The platform's id of that message, until something was said after it."""
    at_home: bool = False
    """Whether it took a person's message from the session's own conversation after it went into a meeting."""
    artifacts: dict[str, str] = field(default_factory=dict)
    """Variables that the model is shown by what stands here, a summary."""
    past: list[dict[str, str]] = field(default_factory=list)
    """What was said in a playbook that a message interrupted, for the one that handles it."""
    talk: list[tuple[str, str]] = field(default_factory=list)
    """What was said last in playbooks that have ended and that nobody called, for the next one."""
    since: float = 0.0
    """When it was made, or a playbook on it ended last, in seconds since the epoch."""
    participant: str | None = None
    """The name of who plays it in another process; None for one that is executed here."""
    posted: list[str] = field(default_factory=list)
    """Messages of `queue` that are in the mailbox of that process."""
    stops: int = 0
    """How often what that process does was stopped: then it comes to nothing."""

    def has_work(self) -> bool:
        """Whether something in the queue waits for us, and not for another process to fetch it."""
        return len(self.posted) < len(self.queue)


class StatePart(Struct):
    """What the facts of one feature add up to, in fields which a snapshot can keep."""

    name: ClassVar[str]

    def owes(self, state: SessionState, /) -> bool:
        """Whether others are to hear something yet; then the session counts as at work."""
        return False

    def branched(self, _why: str, /) -> Self | None:
        """What a session has of it that goes on from another one; None for nothing."""
        return None

    def failed(self, seq: int, error: tuple[str, str], /) -> None:
        """What an agent began has failed by fact `seq`, and nobody catches that."""


Part = TypeVar("Part", bound=StatePart)


def state_part(kind: type[Part]) -> type[Part]:
    """Have sessions keep a part of this class."""
    PARTS[kind.name] = kind
    return kind


class SessionState(Struct):
    """Everything that a session is."""

    seq: int = 0
    at_s: float = 0.0
    """When the last fact became true, in seconds since the epoch."""
    started: bool = False
    ended: bool = False
    program: str = ""
    playbooks: dict[str, str] = field(default_factory=dict)
    """What the program was when it was taken up, as `runtime.language.pbasm.versions.outline` has it."""
    news: dict[str, list[str]] = field(default_factory=dict)
    """What changed in the program, until whoever writes was told: playbooks `changed`, `added` and `removed`."""
    broken: str | None = None
    """Why the program cannot go on; whoever writes is told."""
    agents: dict[AgentId, AgentState] = field(default_factory=dict)
    made: int = 0
    """The number of agents that were ever made."""
    frames: dict[str, FrameState] = field(default_factory=dict)
    pages: dict[str, PageState] = field(default_factory=dict)
    waits: dict[CallKey, WaitState] = field(default_factory=dict)
    intents: dict[CallKey, IntentState] = field(default_factory=dict)
    acks: dict[CallKey, AckState] = field(default_factory=dict)
    fired: dict[CallKey, list[str]] = field(default_factory=dict)
    people: dict[PersonId, PersonState] = field(default_factory=dict)
    """Who took part so far, by their person ids."""
    meetings: dict[str, MeetingState] = field(default_factory=dict)
    reminders: dict[str, ReminderState] = field(default_factory=dict)
    """What is still to be told, by the id of the message that will tell it."""
    private: bool = True
    begun_in_private: bool = False
    person: PersonId | None = None
    """Who wrote last."""
    heard: dict[str, HeardState] = field(default_factory=dict)
    said: dict[str, SaidState] = field(default_factory=dict)
    """Messages of people and of agents by the platform's ids, the latest ones."""
    ratings: dict[str, str] = field(default_factory=dict)
    """What people think of agents' messages, by `rated`; the latest ones."""
    questions: dict[CallKey, QuestionState] = field(default_factory=dict)
    closed: dict[str, ClosedQuestion] = field(default_factory=dict)
    """Questions by their pages, until their choices are gone."""
    marks: dict[str, Mark] = field(default_factory=dict)
    """Marks on people's messages by the platform's ids, until they are there; "queued" until another replaces it."""
    written_at: dict[str, Address] = field(default_factory=dict)
    """Where people's messages are, by the platform's ids, if not in the session's own conversation; the latest ones."""
    files: list[Attachment] = field(default_factory=list)
    """What people sent, the latest last; the oldest are forgotten beyond `MAX_FILES`."""
    exchanges: list[ExchangeState] = field(default_factory=list)
    """The latest last; the oldest are forgotten beyond `MAX_EXCHANGES`."""
    threads: dict[str, ThreadState] = field(default_factory=dict)
    """By the id of the event that asked for each."""
    answered_by: dict[str, str] = field(default_factory=dict)
    """The models that answered last, by the purposes of requests."""
    home: HomeState | None = None
    """Of a fork, until its result was given back."""
    ordered: int = 0
    """How many tasks it has ordered."""
    tasks: dict[int, TaskState] = field(default_factory=dict)
    """Those of them that are at work, and the latest that have ended, by their numbers."""
    order: OrderState | None = None
    """Of a task: what it is to do."""
    parts: dict[str, StatePart] = field(default_factory=dict)
    """What features keep, by their names; `part` gives one by its class."""
    failures: list[FailureState] = field(default_factory=list)
    published: list[PublishedState] = field(default_factory=list)
    words: list[WordState] = field(default_factory=list)
    """What tasks are told, and the orderer, until they have taken it."""
    words_taken: dict[str, int] = field(default_factory=dict)
    """The latest words that agents here took, and whose speakers are still to know that: by the name of that task, or
    of the orderer, the number of its fact there."""
    hops: dict[str, int] = field(default_factory=dict)
    """How many words to and fro led to the last one of a task, or of the orderer, by its name; none after a person's
    words, or a pause."""

    @property
    def has_guests(self) -> bool:
        """Whether somebody took part who sees nothing of how programs work."""
        return any(person.guest for person in self.people.values())

    def people_named(self, text: str) -> list[PersonId]:
        """The ids of the people whom `text` names, in any case.

        The declared human of this name comes first, then the owner of this id. "Ada (2)" is the second person here, if
        they show the name Ada. Any other name means everybody who shows it, who did so first before the others.
        """
        if PersonId(text.strip()) in self.people:
            return [PersonId(text.strip())]
        wanted = text.strip().removeprefix("@").casefold()
        people = self.people.items()
        found = [id_ for id_, person in people if person.declared and person.declared.casefold() == wanted]
        found = found or [id_ for id_ in self.people if id_.casefold() == wanted]
        if number := NUMBERED.search(wanted):
            nth = list(self.people)[int(number[1]) - 1 : int(number[1])]
            return found or [id_ for id_ in nth if plain_name(self.people[id_].name) == plain_name(wanted)]
        shown = (id_ for id_, person in people if person.name.casefold() == wanted)
        return found or sorted(shown, key=lambda id_: self.people[id_].named_at)

    def agent(self, who: str) -> AgentState | None:
        """The agent of this id; None where nobody has it, or no agent."""
        return self.agents.get(AgentId(who))

    def person_of(self, who: str) -> PersonState | None:
        """The person of this id; None where nobody has it, or no person."""
        return self.people.get(PersonId(who))

    def name_of(self, who: str) -> str:
        """The class of an agent, the name of a person."""
        agent = self.agent(who)
        return agent.klass if agent is not None else self.called(who)

    def number_of(self, agent: AgentState) -> str:
        """What tells people an agent from the others of its class, such as " 1001"; "" for the only one."""
        alike = any(other.klass == agent.klass and other is not agent for other in self.agents.values())
        return f" {agent.id}" if alike else ""

    def called(self, person: str) -> str:
        """The name that means only this person: "Ada (2)" for the second person here where others are called Ada too.

        The number is the person's place among all people of the session, so no two people have the same, and nobody
        gets that of another by changing their name. Who shows a name that ends in such a number loses that ending.
        """
        known = self.person_of(person)
        if known is None:
            return person
        name = known.declared or known.name
        others = [id_ for id_, other in self.people.items() if id_ != person and name.casefold() in other.names()]
        if known.declared or not (others or known.alike or NUMBERED.search(name)):
            return name
        return f"{NUMBERED.sub('', name) or person} ({list(self.people).index(PersonId(person)) + 1})"

    def spoken_name(self, person: PersonId) -> str:
        """The name by which this person is spoken to where others read along: the one that they show, or where that
        may mean others, the one with a number."""
        shown = self.people[person].name
        return shown if self.people_named(shown) == [person] else self.called(person)

    def roots(self, agent: AgentId) -> list[FrameState]:
        """The frames of `agent` that nobody called."""
        return [frame for frame in self.frames.values() if frame.caller is None and frame.agent == agent]

    def below(self, frame: str) -> Iterator[str]:
        """The ids of `frame` and of all frames that it called, directly or not."""
        prefix = frame + ":"
        return (id_ for id_ in self.frames if id_ == frame or id_.startswith(prefix))

    def stack(self, frame: FrameState | None) -> Iterator[FrameState]:
        """A frame and those that wait for it, innermost first."""
        while frame is not None:
            yield frame
            frame = self.frames.get(frame.caller.frame) if frame.caller is not None else None

    def open_page(self, frame: str, to: str) -> PageState | None:
        """The page that the frame's next utterance to `to` continues."""
        return next(
            (p for p in self.pages.values() if p.frame == frame and p.to == to and p.status == "open"),
            None,
        )

    def restless(self) -> bool:
        """Whether there is work to do now: a frame waits neither for people nor for a time, or a result is to come."""
        if self.ended:
            return self.home is not None or self.unposted() or self.owes() or self.owes_word()
        return self.owes_word() or self.owes() or (self.broken is None and self.at_work())

    def unposted(self) -> bool:
        """Whether something that was said to an agent in another process is still to go there."""
        return any(agent.participant is not None and agent.has_work() for agent in self.agents.values())

    def at_work(self) -> bool:
        """Whether a frame does something else than waiting, or is about to: then there is no going on from here."""
        waits_for_us = self.come() is not None or bool(self.intents) or self.owes()
        return waits_for_us or self._frame_at_work() or self._idle_with_work()

    def tasks_at_work(self) -> list[TaskState]:
        """The tasks that it has ordered and that have not ended."""
        return [task for task in self.tasks.values() if not task.over]

    def owes(self) -> bool:
        """Whether something is to go elsewhere: to a task or its orderer, or to programs that begin on an event."""
        answers = self.order is not None and (self.order.over or self.ended) and not self.order.answered
        tells = self.order is not None and not self.ended and bool(self.order.to_tell)
        words = bool(self.words_taken) or any(not word.brought for word in self.words)
        posts = any(task.to_post for task in self.tasks.values())
        return answers or tells or words or posts or bool(self.published)

    def owes_word(self) -> bool:
        """Whether others are to hear of a failure, or of what a feature keeps."""
        if self.failures:
            return True
        return bool(self.parts) and any(part.owes(self) for part in self.parts.values())

    def waits_for_itself(self) -> bool:
        """Whether something is waited for that comes by itself: a time, or a task."""
        if self.tasks_at_work():
            return True
        return any(wait.source is None or "task" in wait.source for wait in self.waits.values())

    def note_failure(self, seq: int, error: tuple[str, str]) -> None:
        """What an agent began has failed by fact `seq`, and nobody catches that."""
        for part in self.parts.values():
            part.failed(seq, error)

    def part(self, kind: type[Part]) -> Part:
        """What a feature keeps; empty before its first fact."""
        found = self.parts.get(kind.name)
        if not isinstance(found, kind):
            found = self.parts[kind.name] = kind()
        return found

    def come(self) -> CallKey | None:
        """The latest wait for which something has come, by its key in `waits`; None when there is none."""
        comes = self.acks or self.tasks or self.questions
        if not comes and not any(agent.queue for agent in self.agents.values()):
            return None
        return next((key for key in reversed(self.waits) if self.has_come(key)), None)

    def has_come(self, key: CallKey) -> bool:
        """Whether there is such a wait, and something has come for it."""
        wait = self.waits.get(key)
        if wait is None:
            return False
        ack = self.acks.get(key)
        if ack is not None:
            return not ack.awaited
        if wait.source is not None and "task" in wait.source:
            task = self.tasks.get(wait.source["task"])
            return task is None or task.over
        if wait.source is not None and wait.source.get("people") == []:  # everybody has answered
            return True
        queue = self.agents[self.frames[wait.frame].agent].queue
        return wait.source is not None and any(takes(wait.source, message) for message in queue)

    def _frame_at_work(self) -> bool:
        waiting = {wait.frame for wait in self.waits.values()}
        waiting |= {meeting.frame for meeting in self.meetings.values() if meeting.gathering}
        waiting |= {frame.caller.frame for frame in self.frames.values() if frame.caller}
        return any(id_ not in waiting for id_ in self.frames)

    def _idle_with_work(self) -> bool:
        idle = [agent.id for agent in self.agents.values() if agent.has_work()]
        busy = {frame.agent for frame in self.frames.values() if frame.caller is None} if idle else set()
        return any(agent not in busy for agent in idle)

    def next_due(self) -> float | None:
        """The first time that is waited for, in seconds since the epoch; None when only people are."""
        if self.ended or self.broken is not None:
            return None
        waits = (wait.due for wait in self.waits.values())
        asks = (ask.due for meeting in self.meetings.values() for ask in meeting.asks.values())
        order = () if self.order is None else (self.order.due,)
        dues = (*waits, *asks, *(reminder.due for reminder in self.reminders.values()), *order)
        return min((due for due in dues if due is not None), default=None)

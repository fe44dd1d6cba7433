"""Facts about a session: its program, its end, what it goes on from, and its agents with their queues and reminders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.address import SCRATCH, Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Message
from runtime.tape.facts.content import ADDRESS, MESSAGE, NOTHING, FactContent, fact, key

COPIES = frozenset({"fork", SCRATCH})
"""Why a session goes on from another one that goes on as well."""


@fact("publish")
class EventPublished(FactContent, frozen=True):
    """An agent publishes an event. It is the event itself: the log for other programs names this fact. `hops` is the
    number of events of programs that led to it, one after the other, itself included."""

    agent: AgentId = key("agent")
    type: str = key("type")
    values: Mapping[str, Any] = key("values")
    hops: int = key("hops", default=1, always=True)


@fact("publish_done", session=True)
class EventHandedOn(FactContent, frozen=True):
    """The programs that begin on the event of fact `seq` have their orders."""

    seq: int = key("seq")


@fact("wake", session=True)
class SessionLoaded(FactContent, frozen=True):
    """A process has taken the session into memory."""


@fact("broken", session=True)
class ProgramBroken(FactContent, frozen=True):
    """The program cannot go on."""

    why: str = key("why")


@fact("begin", session=True)
class SessionBegun(FactContent, frozen=True):
    """The session begins, with a program of this digest; `playbooks` is its outline. `private`: nobody else could read
    what it began with."""

    program: str = key("program")
    playbooks: Mapping[str, str] = key("playbooks", default=NOTHING, always=True)
    private: bool = key("private", default=False)


@fact("adopted", session=True)
class ProgramAdopted(FactContent, frozen=True):
    """The session goes on with a changed program.

    `versions` are those of playbooks in execution, by frame; `begun` how many beginnings each agent has had; `news` the
    playbooks that were changed, added and removed.
    """

    program: str = key("program")
    playbooks: Mapping[str, str] = key("playbooks")
    versions: Mapping[str, str] = key("versions")
    begun: Mapping[str, int] = key("begun")
    news: Mapping[str, Sequence[str]] = key("news")


@fact("told", session=True)
class NewsTold(FactContent, frozen=True):
    """People were told what changed in the program."""


@fact("model", session=True)
class ModelAnswered(FactContent, frozen=True):
    """Another model than before answers requests of a purpose; `model` is its name."""

    purpose: str = key("purpose")
    model: str = key("model")


@fact("ended", session=True)
class SessionEnded(FactContent, frozen=True):
    """The program has ended."""


@fact("branch", session=True)
class SessionBranched(FactContent, frozen=True):
    """The session goes on from fact `seq` of another one. `home` is where the result of a fork goes; `why` is "undo",
    "fork" or "scratch", a fork whose result goes nowhere."""

    session: str = key("session")
    seq: int = key("seq")
    why: str = key("why")
    home: Address | None = key("home", default=None, form=ADDRESS)


@fact("returned", session=True)
class ResultReturned(FactContent, frozen=True):
    """The result of a fork was given back."""


@fact("exchange", session=True)
class ExchangeBegun(FactContent, frozen=True):
    """Somebody did something while nothing went on; `seq` is the last fact before it."""

    seq: int = key("seq")
    text: str = key("text")
    person: PersonId = key("person")
    name: str = key("name")
    platform_id: str | None = key("pid", default=None, always=True)


@fact("during", session=True)
class ExchangeJoined(FactContent, frozen=True):
    """Somebody said something while an exchange was going on."""

    platform_id: str = key("pid")


@fact("thread", session=True)
class ThreadOpened(FactContent, frozen=True):
    """A conversation was opened for a fork, up to fact `seq`, that `event` asked for."""

    event: str = key("event")
    seq: int = key("seq")
    platform: str = key("platform")
    conversation: str = key("conversation")
    thread: str | None = key("thread", default=None, always=True)


@fact("forked", session=True)
class ForkSettled(FactContent, frozen=True):
    """Whoever asked for a fork knows its result."""

    event: str = key("event")


@fact("merged")
class ForkMerged(FactContent, frozen=True):
    """The result of another session, as one message; its facts `first` to `last` say how it came about."""

    agent: AgentId = key("agent")
    message: Message = key("message", form=MESSAGE)
    session: str = key("session")
    first: int = key("first")
    last: int = key("last")


@fact("agent", session=True)
class AgentCreated(FactContent, frozen=True):
    """An agent is there. `answering` is the platform's id of the message that it begins with, `person` who wrote it;
    `participant` is who plays it in another process."""

    id: AgentId = key("id")
    klass: str = key("class")
    variables: Mapping[str, Any] = key("vars", default=NOTHING, always=True)
    answering: str | None = key("answering", default=None, when=lambda fact: fact.person is not None)
    person: PersonId | None = key("person", default=None)
    participant: str | None = key("participant", default=None)


@fact("dismissed", session=True)
class AgentDismissed(FactContent, frozen=True):
    """An agent is there no longer; its number is not given again."""

    agent: AgentId = key("agent")


@fact("anew")
class AgentRestarted(FactContent, frozen=True):
    """An agent begins again, with these messages and variables."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids", default=(), always=True)
    variables: Mapping[str, Any] = key("set", default=NOTHING, always=True)


@fact("altered")
class VariablesAltered(FactContent, frozen=True):
    """Somebody changed an agent's variables from outside."""

    agent: AgentId = key("agent")
    variables: Mapping[str, Any] = key("set")


@fact("paused")
class AgentPaused(FactContent, frozen=True):
    """An agent's playbook failed: it does nothing until somebody writes."""

    agent: AgentId = key("agent")


@fact("stop")
class AgentStopped(FactContent, frozen=True):
    """The work of an agent was stopped. `dropped` messages are not handled any more, `past` is what its next playbook
    knows of this one; `idle`: it did nothing."""

    agent: AgentId = key("agent")
    dropped: Sequence[str] = key("drop", default=(), always=True)
    past: Sequence[Mapping[str, str]] = key("past", default=(), always=True)
    idle: bool = key("idle", default=False, always=True)


@fact("in")
class MessageQueued(FactContent, frozen=True):
    """A message came into an agent's queue."""

    agent: AgentId = key("agent")
    message: Message = key("message", form=MESSAGE)


@fact("dropped")
class MessagesDropped(FactContent, frozen=True):
    """Messages left an agent's queue unread."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("posted")
class MessagesPosted(FactContent, frozen=True):
    """Messages lie in the mailbox of an agent that is played in another process."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("fetched")
class MessagesFetched(FactContent, frozen=True):
    """The other process has fetched them."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("remind")
class ReminderSet(FactContent, frozen=True):
    """An agent is to be told something at a time, in seconds since the epoch, or a trigger's time is then."""

    agent: AgentId = key("agent")
    due: float = key("due")
    text: str = key("text")
    trigger: str | None = key("trigger", default=None)


@fact("unremind")
class ReminderRemoved(FactContent, frozen=True):
    """A reminder is not wanted any more."""

    id: str = key("id")

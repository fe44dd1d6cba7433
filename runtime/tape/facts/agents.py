"""Facts about agents: their variables, their queues, and their reminders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Message
from runtime.tape.facts.content import MESSAGE, NOTHING, Content, fact, key


@fact("agent", session=True)
class AgentCreated(Content):
    """An agent is there. `answering` is the platform's id of the message that it begins with, `person` who wrote it;
    `participant` is who plays it in another process."""

    id: AgentId = key("id")
    klass: str = key("class")
    variables: Mapping[str, Any] = key("vars", default=NOTHING, always=True)
    answering: str | None = key("answering", default=None, when=lambda fact: fact.person is not None)
    person: PersonId | None = key("person", default=None)
    participant: str | None = key("participant", default=None)


@fact("anew")
class AgentRestarted(Content):
    """An agent begins again, with these messages and variables."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids", default=(), always=True)
    variables: Mapping[str, Any] = key("set", default=NOTHING, always=True)


@fact("altered")
class VariablesAltered(Content):
    """Somebody changed an agent's variables from outside."""

    agent: AgentId = key("agent")
    variables: Mapping[str, Any] = key("set")


@fact("paused")
class AgentPaused(Content):
    """An agent's playbook failed: it does nothing until somebody writes."""

    agent: AgentId = key("agent")


@fact("stop")
class AgentStopped(Content):
    """The work of an agent was stopped. `dropped` messages are not handled any more, `past` is what its next playbook
    knows of this one; `idle`: it did nothing."""

    agent: AgentId = key("agent")
    dropped: Sequence[str] = key("drop", default=(), always=True)
    past: Sequence[Mapping[str, str]] = key("past", default=(), always=True)
    idle: bool = key("idle", default=False, always=True)


@fact("in")
class MessageQueued(Content):
    """A message came into an agent's queue."""

    agent: AgentId = key("agent")
    message: Message = key("message", form=MESSAGE)


@fact("dropped")
class MessagesDropped(Content):
    """Messages left an agent's queue unread."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("posted")
class MessagesPosted(Content):
    """Messages lie in the mailbox of an agent that is played in another process."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("fetched")
class MessagesFetched(Content):
    """The other process has fetched them."""

    agent: AgentId = key("agent")
    messages: Sequence[str] = key("mids")


@fact("remind")
class ReminderSet(Content):
    """An agent is to be told something at a time, in seconds since the epoch, or a trigger's time is then."""

    agent: AgentId = key("agent")
    due: float = key("due")
    text: str = key("text")
    trigger: str | None = key("trigger", default=None)


@fact("unremind")
class ReminderRemoved(Content):
    """A reminder is not wanted any more."""

    id: str = key("id")

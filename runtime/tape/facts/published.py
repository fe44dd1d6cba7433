"""Facts about the events that programs publish: that there is one, and that what begins on it has been ordered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.ids import AgentId
from runtime.tape.facts.content import Content, fact, key


@fact("publish")
class EventPublished(Content):
    """An agent publishes an event. It is the event itself: the log for other programs names this fact. `hops` is the
    number of events of programs that led to it, one after the other, itself included."""

    agent: AgentId = key("agent")
    type: str = key("type")
    values: Mapping[str, Any] = key("values")
    hops: int = key("hops", default=1, always=True)


@fact("publish_done", session=True)
class EventHandedOn(Content):
    """The programs that begin on the event of fact `seq` have their orders."""

    seq: int = key("seq")

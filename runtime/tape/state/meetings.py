"""A meeting as facts have left it: who was asked, who is in it, what they share."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from runtime.core.address import Address
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import Message

MAX_HISTORY = 100
"""Messages of a meeting that are remembered for those who come later."""

MAX_HEADING_CHARS = 120


class SharedValue(Struct):
    """A value of a meeting's shared state; `by` is the agent or person that wrote this version. The first one is 1."""

    value: Any
    version: int
    by: ParticipantId


class AskState(Struct):
    """Somebody was asked to join a meeting, `times` so far, by the participant `by`.

    `due` is when they are asked again, or not waited for any more, in seconds since the epoch; None when the answer
    counts that they gave. A meeting begins when those who are `required` are there.
    """

    by: ParticipantId
    times: int = 1
    due: float | None = None
    required: bool = False


class MeetingState(Struct):
    """A meeting: its host, who is in it (ids of agents and of people), and how far it has come.

    `held`: it has been active. `invited` are those who were asked and what they answered, "" while they have not.
    """

    id: str
    topic: str
    host: AgentId
    frame: str
    status: Literal["created", "inviting", "active", "ended"] = "inviting"
    held: bool = False
    invited: dict[ParticipantId, str] = field(default_factory=dict)
    joined: list[ParticipantId] = field(default_factory=list)
    came: dict[ParticipantId, float] = field(default_factory=dict)
    """When they did, in seconds since the epoch."""
    type: str = ""
    """The host's playbook."""
    since: float = 0.0
    """In seconds since the epoch; 0 when that is not known."""
    asks: dict[ParticipantId, AskState] = field(default_factory=dict)
    """Of those who are invited and not in it."""
    history: list[Message] = field(default_factory=list)
    """What was said to all in it, the latest `MAX_HISTORY`, until it ended."""
    talk: list[tuple[str, str]] = field(default_factory=list)
    """What was said to all in it last, in short."""
    why: str | None = None
    """Why it ended, or did not take place, when not by its own doing."""
    place: Address | None = None
    """The conversation that was opened for it; without one it is held in the session's own."""
    left: Address | None = None
    """The place in which nothing could be shown any more: since then it is held in the session's own conversation."""
    cue: Message | None = None
    """How its host is asked to begin when that is code: given by its first wait, unless it has spoken by then."""
    shared: dict[str, SharedValue] = field(default_factory=dict)
    """What its participants share, by name, until the playbook has returned by which it is held."""

    @property
    def about(self) -> str:
        """What it is about in a few words, for a heading."""
        return (self.topic or self.type)[:MAX_HEADING_CHARS]

    @property
    def agents(self) -> list[AgentId]:
        return [who for who in self.joined if isinstance(who, AgentId)]

    @property
    def people(self) -> list[PersonId]:
        return [who for who in self.joined if isinstance(who, PersonId)]

    def hears_from(self, place: Address | None) -> bool:
        """Whether what is said in a place (None: where the session lives) is said where it is held, or was first."""
        return place == self.place or (place is not None and place == self.left)

    @property
    def pending(self) -> list[ParticipantId]:
        """Those who were asked, are not there, and are asked again."""
        return [who for who, ask in self.asks.items() if ask.due is not None]

    def is_pending(self, who: ParticipantId) -> bool:
        ask = self.asks.get(who)
        return ask is not None and ask.due is not None

    @property
    def gathering(self) -> bool:
        """Whether its host waits for somebody."""
        return self.status == "inviting" and any(ask.required and ask.due is not None for ask in self.asks.values())

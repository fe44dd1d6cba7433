"""Facts about meetings. Who takes part is told by ids of agents and of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from runtime.core.address import Address
from runtime.core.ids import AgentId, ParticipantId
from runtime.core.message import Message
from runtime.tape.facts.content import ADDRESS, MESSAGE, FactContent, fact, key


@fact("meeting")
class MeetingCreated(FactContent, frozen=True):
    """A host holds a meeting by executing a frame, of the playbook `type`. `at` is in seconds since the epoch."""

    id: str = key("id")
    topic: str = key("topic")
    host: AgentId = key("host")
    frame: str = key("f")
    type: str | None = key("type", default=None)
    at: float = key("at", default=0.0, always=True)
    status: Literal["created", "inviting"] = key("status", default="inviting", always=True)


@fact("inviting")
class InvitingBegun(FactContent, frozen=True):
    """The meeting's place is there. `own` are arguments of its frame that are the meeting's alone."""

    id: str = key("id")
    own: Sequence[str] = key("own", default=(), always=True)


@fact("asked")
class ParticipantAsked(FactContent, frozen=True):
    """Somebody is asked to join, for the `times`-th time. `due` is when they are asked again, or not any more."""

    id: str = key("id")
    who: ParticipantId = key("who")
    by: ParticipantId = key("by")
    times: int = key("times")
    due: float | None = key("due")
    required: bool = key("required")


@fact("invite")
class InvitationAnswered(FactContent, frozen=True):
    """The answer of somebody who was asked, and whether they are asked `again`. In old tapes one without an answer is
    the question."""

    id: str = key("id", first=True)
    who: ParticipantId = key("who", older="agent")
    answer: str = key("answer")
    again: bool | None = key("again", default=None)
    frame: str | None = key("f", default=None, first=True)


@fact("joined")
class ParticipantJoined(FactContent, frozen=True):
    """Somebody takes part from now on; `named` is how they were asked, if not by id."""

    id: str = key("id", first=True)
    who: ParticipantId = key("who")
    named: ParticipantId | None = key("named", default=None)
    frame: str | None = key("f", default=None, first=True)


@fact("left")
class ParticipantLeft(FactContent, frozen=True):
    """Somebody has left a meeting."""

    id: str = key("id")
    who: ParticipantId = key("who")


@fact("meeting_active")
class MeetingBegun(FactContent, frozen=True):
    """Everybody who was needed is there."""

    id: str = key("id")


@fact("spoke")
class MeetingAddressed(FactContent, frozen=True):
    """Something was said to all in a meeting."""

    id: str = key("id")
    message: Message = key("message", form=MESSAGE)


@fact("hears")
class NoticeHeard(FactContent, frozen=True):
    """A frame hears a notice of its meeting with its next turn."""

    frame: str = key("f")
    message: Message = key("message", form=MESSAGE)


@fact("cue")
class HostCued(FactContent, frozen=True):
    """The host, which is code, is asked to begin."""

    id: str = key("id", first=True)
    message: Message = key("message", form=MESSAGE)
    frame: str | None = key("f", default=None, first=True)


@fact("meeting_end")
class MeetingEnded(FactContent, frozen=True):
    """A meeting is over; `why` where it was not by its own doing."""

    id: str = key("id", first=True)
    why: str | None = key("why", default=None, always=True)
    frame: str | None = key("f", default=None, first=True)


@fact("place")
class MeetingPlaced(FactContent, frozen=True):
    """A conversation was opened for a meeting, by the name `nonce`."""

    id: str = key("id")
    place: Address = key("place", form=ADDRESS)
    nonce: str | None = key("nonce", default=None, always=True)


@fact("place_lost")
class MeetingPlaceLost(FactContent, frozen=True):
    """Nothing can be shown in a meeting's place any more."""

    id: str = key("id")


@fact("shared")
class StateShared(FactContent, frozen=True):
    """A participant sets a value of the state that a meeting shares."""

    id: str = key("id")
    name: str = key("name")
    value: Any = key("value")
    by: ParticipantId = key("by")

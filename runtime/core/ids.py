"""Typed identifiers, parsed once at the edge and never split again.

Those of participants are texts that know what they are: ask `isinstance`, never the text.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NewType

MeetingId = NewType("MeetingId", str)
"""Digits from "100" up, unique in a session."""

ChannelId = NewType("ChannelId", str)
MessageId = NewType("MessageId", str)
StreamId = NewType("StreamId", str)
SessionId = NewType("SessionId", str)
TapeId = NewType("TapeId", str)
"""`<session id>/<agent id>`; the session's own facts are on `<session id>/session`."""

FIRST_AGENT = 1000
"""Agents of a session are numbered from here."""

_SCHEDULE = "schedule:"
_GUEST = "guest:"
_HUMAN_WORDS = frozenset({"user", "human"})
_TASK = re.compile(r"task \d{1,9}\Z")
_AGENT = re.compile(r"\s*agent\s+(\d+)\s*\Z", re.IGNORECASE)
_MEETING = re.compile(r"\s*meeting\s+(\d+)\s*\Z", re.IGNORECASE)


class AgentId(str):
    """Digits from "1000" up: an agent of a session."""

    __slots__ = ()


class PersonId(str):
    """A human in a session, such as "telegram:42"; "human" when nobody is named.

    Who is invited before they take part goes by what the program calls them.
    """

    __slots__ = ()


class ScheduleId(PersonId):
    """A schedule of the settings, which writes as a person does."""

    __slots__ = ()


class GuestId(str):
    """A participant that an extension adds."""

    __slots__ = ()

    @classmethod
    def of(cls, name: str) -> GuestId:
        return cls(_GUEST + name)

    @property
    def name(self) -> str:
        return self.removeprefix(_GUEST)


class CounterpartId(str):
    """The other end of a task, which is a session of its own: "task 7" for who has ordered it, ORDERER for the task."""

    __slots__ = ()


ORDERER = CounterpartId("orderer")
"""Who has ordered the task that a session is."""

ParticipantId = AgentId | PersonId | GuestId | CounterpartId


ANYONE = PersonId("human")
"""The person a program means by `user` or `human` when it names nobody."""


def new_message_id() -> MessageId:
    return MessageId(secrets.token_hex(16))


def new_stream_id() -> StreamId:
    return StreamId(secrets.token_hex(16))


def participant_id(text: str) -> ParticipantId:
    """The id of a participant from its text: on a tape, in a message, or from another process."""
    if text.isdecimal():
        return AgentId(text)
    if text.startswith(_GUEST):
        return GuestId(text)
    if text == ORDERER or _TASK.match(text):
        return CounterpartId(text)
    return ScheduleId(text) if text.startswith(_SCHEDULE) else PersonId(text)


def as_named(id_: str) -> str:
    """An agent or the other end of a task as programs name it, by its id: `agent 1001`, `task 7`."""
    return id_ if isinstance(participant_id(id_), CounterpartId) else f"agent {id_}"


def person_id(text: str) -> PersonId:
    """The id of somebody who writes to a session, from its text."""
    return ScheduleId(text) if text.startswith(_SCHEDULE) else PersonId(text)


def schedule_id(name: str) -> ScheduleId:
    return ScheduleId(_SCHEDULE + name)


def is_human_word(text: str) -> bool:
    """Whether a program means "the person here": `user` or `human`, in any case."""
    return text.strip().lower() in _HUMAN_WORDS


def is_counterpart(text: str) -> bool:
    """Whether a program means the other end of a task: `task 7` or `orderer`, in any case."""
    return isinstance(participant_id(text.strip().lower()), CounterpartId)


def is_orderer(text: str) -> bool:
    return text.strip().lower() == ORDERER


def parse_agent_id(text: str) -> AgentId | None:
    """`agent 1001` or `1001` as an agent id; None when it is neither."""
    stripped = text.strip()
    if stripped.isdecimal() and len(stripped) >= 4:
        return AgentId(stripped)
    found = _AGENT.match(text)
    return AgentId(found[1]) if found else None


def parse_meeting_id(text: str) -> MeetingId | None:
    """`meeting 100` as a meeting id; None when it is not one."""
    found = _MEETING.match(text)
    return MeetingId(found[1]) if found else None


def direct_channel_id(one: ParticipantId, other: ParticipantId) -> ChannelId:
    """The channel of two participants: the same id whoever speaks first (sorted)."""
    first, second = sorted((str(one), str(other)))
    return ChannelId(f"channel_{first}_{second}")


def meeting_channel_id(meeting: MeetingId) -> ChannelId:
    return ChannelId(f"meeting_{meeting}")


def digest_of(*parts: str) -> str:
    """64 letters that follow from texts, of any length and from anybody."""
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()

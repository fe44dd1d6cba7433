"""What is said in a room: a chat that the gateway itself shows and keeps, because no platform does it for us."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

AuthorKind = Literal["person", "agent", "notice"]


@dataclass(frozen=True, slots=True)
class RoomPost:
    """A message as its writer gives it. `id` is the writer's own, for recognising a repetition; `sent_at` is UTC.

    `final` is False while the text still grows. `thread` is None for the room's main conversation.
    """

    id: str
    author_id: str
    author_name: str
    author_kind: AuthorKind
    text: str
    sent_at: datetime
    final: bool = True
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class RoomMessage:
    """A message as the room keeps it.

    `seq` is its place in the room, from 1, and never changes. `version` is the number of its latest change: every put
    and every update of the room takes the next one, so whoever has seen all up to a version knows what is new.
    """

    id: str
    seq: int
    version: int
    author_id: str
    author_name: str
    author_kind: AuthorKind
    text: str
    sent_at: datetime
    final: bool
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class RoomInfo:
    """A room that has messages. `last_activity` is when its latest message was sent, UTC."""

    id: str
    last_activity: datetime

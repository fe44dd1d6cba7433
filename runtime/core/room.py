"""Messages in a room: a chat that the gateway itself shows and stores, because no platform does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from runtime.core.message import Attachment, Choice
from runtime.core.quote import Quote

AuthorKind = Literal["person", "agent", "notice"]


class RoomPost(Struct, frozen=True):
    """A message as its writer gives it. `id` is the writer's own, for recognising a repetition; `sent_at` is UTC.

    `final` is False while the text still grows. `thread` is None for the room's main conversation. `quote` is what
    the message answers, `to` the name of the one person to whom it is said, `meeting` what the meeting is about in
    which it is said.
    """

    id: str
    author_id: str
    author_name: str
    author_kind: AuthorKind
    text: str
    sent_at: datetime
    final: bool = True
    thread: str | None = None
    quote: Quote | None = None
    files: tuple[Attachment, ...] = ()
    to: str = ""
    meeting: str = ""


class MessageReaction(Struct, frozen=True):
    """A mark on a message, such as 👍, and the name of who put it there."""

    name: str
    mark: str


class RoomMessage(RoomPost, frozen=True, kw_only=True):
    """A message as the room keeps it.

    `seq` is its place in the room, from 1, and never changes. `version` is the number of its latest change: every put
    and every update of the room takes the next one, so whoever has seen all up to a version knows what is new.
    `reactions` are marks by the id of who put them there. Of a `deleted` message nothing is left but its place.
    """

    seq: int
    version: int
    choices: tuple[Choice, ...] = ()
    reactions: Mapping[str, MessageReaction] = field(default_factory=dict)
    edited: bool = False
    deleted: bool = False


class RoomChange(Struct, frozen=True):
    """A change to a message; None leaves a part as it is. `reacted` sets the reaction of one person, by id, or removes
    it.
    """

    text: str | None = None
    final: bool | None = None
    edited: bool | None = None
    deleted: bool | None = None
    files: tuple[Attachment, ...] | None = None
    choices: tuple[Choice, ...] | None = None
    reacted: tuple[str, MessageReaction | None] | None = None


class RoomInfo(Struct, frozen=True):
    """A room that has messages. `last_activity` is when its latest message was sent, UTC."""

    id: str
    last_activity: datetime

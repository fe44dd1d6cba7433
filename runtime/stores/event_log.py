"""The port for the events that other programs see: those of sessions, and those that clients send.

Each shard has its own log, in which the events of one source are in order. A cursor is a place in all of them.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from runtime.core.cloud_event import CloudEvent
from runtime.stores.sessions import SHARDS

KEPT_MS = 7 * 24 * 3600 * 1000
"""How long an event is kept, by the server's clock."""

KEPT_EVENTS = 10_000
"""How many events of one shard are kept."""

Cursor = Mapping[int, str]
"""The last entry read in each shard, by its id; "0-0" is before the first."""

_PLACE = struct.Struct(">BQI")
_FIRST = "0-0"


class LoggedEvent(Struct, frozen=True):
    """An event at its place in the log of a shard."""

    shard: int
    entry_id: str
    event: CloudEvent


class EventLog(Protocol):
    """Raises StorageError, and EventsGone where it says so."""

    async def add(self, events: Sequence[CloudEvent], /) -> int:
        """Keep events of one client in their order, all or none of them; how many are new. One of an id that was taken
        within the time events are kept is passed over."""

    async def read(self, after: Cursor, /, *, count: int) -> Sequence[LoggedEvent]:
        """Up to `count` events after the cursor in each shard, in the order of each shard; none where there are none.

        Raises EventsGone when some were not read before they were let go.
        """

    async def wait(self, after: Cursor, /, *, wait_s: float) -> Cursor:
        """The cursor moved to what came after it, as soon as something did; as it is after `wait_s`."""

    async def newest(self) -> Cursor:
        """The place after everything that is there."""

    async def oldest(self) -> Cursor:
        """The place before everything that is kept."""


def moved(after: Cursor, events: Sequence[LoggedEvent]) -> Cursor:
    """The cursor after these events."""
    return {**after, **{logged.shard: logged.entry_id for logged in events}}


def cursor_text(cursor: Cursor) -> str:
    """A cursor as clients keep it. Shards without events are left out."""
    places = b"".join(
        _PLACE.pack(shard, *map(int, entry_id.split("-")))
        for shard, entry_id in sorted(cursor.items())
        if entry_id != _FIRST
    )
    return base64.urlsafe_b64encode(b"1" + places).decode().rstrip("=")


def cursor_from(text: str) -> Cursor:
    """The inverse. Raises ValueError for what is no cursor."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("this is not a cursor") from error
    if content[:1] != b"1" or (len(content) - 1) % _PLACE.size:
        raise ValueError("this is not a cursor")
    cursor = dict.fromkeys(range(SHARDS), _FIRST)
    for shard, first, second in _PLACE.iter_unpack(content[1:]):
        if shard >= SHARDS:
            raise ValueError("this is not a cursor")
        cursor[shard] = f"{first}-{second}"
    return cursor

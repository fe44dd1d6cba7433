"""Places of sessions on Redis: a table by the keys of their conversations."""

from __future__ import annotations

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import held_from_json, held_to_json
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.records import RedisRecords
from runtime.stores.meeting_places import HeldPlace

PLACES_TABLE = "places:meetings"
"""The table of places and what they are there for."""

_RELEASE = load_script("place_release")


class RedisPlaceStore:
    """Implements `runtime.stores.meeting_places.PlaceStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._records = RedisRecords(connection, PLACES_TABLE)

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        await self._records.put(place.key, held_to_json(held))

    async def get(self, place: Address, /) -> HeldPlace | None:
        kept = await self._records.get(place.key)
        return None if kept is None else held_from_json(kept)

    async def release(self, place: Address, session: SessionId, /) -> None:
        await self._connection.run(_RELEASE, [self._records.key], [place.key, session])

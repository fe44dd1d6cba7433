"""Small durable tables of texts on Redis, one hash each, places of sessions among them; and sums that expire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import held_from_json, held_to_json
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.stores.sessions import HeldPlace

_CHANGE = load_script("records_change")

_ADD = load_script("operation/add_to_counter")

PLACES_TABLE = "places:meetings"
"""The table of places and what they are there for."""

_RELEASE = load_script("place_release")


class RedisRecords:
    """See `adapters.records.Records`. `table` is the table's name, such as `marks:discord`."""

    def __init__(self, connection: RedisConnection, table: str) -> None:
        self._connection = connection
        self.key = f"{{parley:{table}}}"

    async def all(self) -> Mapping[str, str]:
        """Everything in the table."""
        found: Mapping[str, str] = await self._connection.read("hgetall", self.key)
        return found

    async def get(self, name: str, /) -> str | None:
        """The text under this name."""
        value = await self._connection.ask("HGET", self.key, name)
        return None if value is None else str(value)

    async def put(self, name: str, value: str, /) -> None:
        """Keep `value`, in place of what was there."""
        await self._connection.write("HSET", self.key, name, value)

    async def put_first(self, name: str, value: str, /) -> str:
        """Keep `value` unless something is there; what is there."""
        await self._connection.write("HSETNX", self.key, name, value)
        return await self.get(name) or value

    async def remove(self, name: str, /) -> None:
        """Forget it."""
        await self._connection.write("HDEL", self.key, name)

    async def change(self, changes: Mapping[str, tuple[str | None, str | None]], /) -> bool:
        arguments = [part for name, (now, wanted) in changes.items() for part in (name, _field(now), _field(wanted))]
        return bool(await self._connection.run(_CHANGE, [self.key], arguments))


class RedisCounters:
    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        """Add to a sum, once."""
        keys = [_key(name), f"{_key(name)}:once:{once}"]
        return float(await self._connection.run(_ADD, keys, [repr(amount), ttl_s], replicated=False))

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        """Several sums, each of which may be on another node of a cluster."""
        found = await self._connection.each([_key(name) for name in names], lambda batch, key: batch.get(key))
        return [float(value or 0) for value in found]


class RedisPlaceStore:
    """Implements `runtime.stores.sessions.PlaceStore`."""

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


def _field(value: str | None) -> str:
    return "" if value is None else f"={value}"


def _key(name: str) -> str:
    return f"{{parley:count:{name}}}"

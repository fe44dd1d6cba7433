"""The contract of every PlaceStore."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.records import PLACES_TABLE, RedisPlaceStore, RedisRecords
from runtime.stores.sessions import HeldPlace, PlaceStore
from tests.contract.setups import SETUPS, location_of
from tests.fakes.memory.places import MemoryPlaceStore

pytestmark = pytest.mark.anyio

HOME = Address("slack", "T1/C1", "17.5")
PLACE = replace(HOME, thread="18.1")
HELD = HeldPlace(HOME, SessionId("s1"), "100")


@pytest.fixture(params=["memory", *SETUPS])
async def places(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[PlaceStore]:
    if request.param == "memory":
        yield MemoryPlaceStore()
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield RedisPlaceStore(connection)


async def test_a_place_is_known_until_it_is_released(places: PlaceStore) -> None:
    await places.put(PLACE, HELD)
    assert await places.get(PLACE) == HELD
    await places.release(PLACE, HELD.session)
    assert await places.get(PLACE) is None


async def test_a_conversation_that_was_opened_for_nothing_is_no_place(places: PlaceStore) -> None:
    await places.put(PLACE, HELD)
    others = [HOME, replace(PLACE, thread=None), replace(PLACE, platform="discord")]
    assert [await places.get(other) for other in others] == [None, None, None]
    await places.release(HOME, HELD.session)
    assert await places.get(PLACE) == HELD


async def test_a_place_belongs_to_who_had_it_last_and_no_other_releases_it(places: PlaceStore) -> None:
    await places.put(PLACE, HELD)
    await places.put(PLACE, replace(HELD, session=SessionId("s2")))
    await places.release(PLACE, HELD.session)
    assert await places.get(PLACE) == replace(HELD, session=SessionId("s2"))


async def test_what_cannot_be_read_is_no_place(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        table, places = RedisRecords(connection, PLACES_TABLE), RedisPlaceStore(connection)
        for text in ("{", '{"home":["web"]}'):
            await table.put(PLACE.key, text)
            assert await places.get(PLACE) is None
        await table.put(PLACE.key, "{")
        await places.release(PLACE, HELD.session)
        assert await table.get(PLACE.key) is None

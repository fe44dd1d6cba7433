"""A person's name in what others keep: notices, titles, tasks and the register of questions, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from adapters.web.charters import CHARTERS_TABLE, RoomCharter, RoomCharters
from gateway.features.approvals.register import QUESTIONS_TABLE
from runtime.core.address import address_of
from runtime.core.ids import SessionId
from runtime.core.markup import as_written
from runtime.core.quote import Quote
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.tape import Fact, session_tape
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.contract.storage_samples import T0, post, shard_lease
from tests.contract.stores.operation.test_traces import ADA, BOB, begun, erasure

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[*SETUPS, ENCRYPTED])
async def connection(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as opened:
        yield opened


async def test_notices_and_titles_that_name_the_person_are_forgotten_and_those_of_namesakes_in_part_stay(
    connection: RedisConnection,
) -> None:
    rooms, charters = RedisRoomStore(connection, platform="web"), RoomCharters(RedisRecords(connection, CHARTERS_TABLE))
    closed = "private-0011223344556677"
    await charters.change(closed, lambda _: RoomCharter("Ada L.'s day", "private", BOB, {ADA: "Ada L.", BOB: "Bob"}))
    await charters.change("boat", lambda _: RoomCharter("For Adalbert", made_by=BOB))
    await charters.change("gift", lambda _: RoomCharter("A gift for Augusta", made_by=BOB))
    await RedisRecords(connection, "web:directory").put(ADA, "Augusta")
    notices = ["Bob invited Ada L..", "Augusta left.", "Bob invited Adalbert.", "Only Bob and Cleo see this room."]
    for number, text in enumerate(notices):
        notice = replace(post(f"n{number}", text), author_id="", author_name="Parley", author_kind="notice")
        await rooms.put(closed, notice)
    said = replace(post("m1", "look"), quote=Quote("n0", "Parley", notices[0]), author_id=BOB, author_kind="person")
    await rooms.put(closed, said)
    await rooms.put(closed, replace(post("m2", "Augusta said so"), author_id=BOB, author_kind="person"))
    await erasure(connection).person(ADA)
    left = await rooms.history(closed, limit=9)
    assert [message.text for message in left] == [*notices[2:], "look", "Augusta said so"]
    assert {message.quote for message in left} == {None}
    assert (await charters.get(closed)).title == "somebody's day"
    assert (await charters.get("boat")).title == "For Adalbert"
    assert (await charters.get("gift")).title == "A gift for somebody"


@pytest.mark.parametrize("name", ["Ada [Ops]", "Ada & Co", "*Ada*", "_ada_", "ada@home", "a\\*b"])
async def test_notices_that_name_somebody_as_markdown_shows_the_name_are_forgotten(
    connection: RedisConnection, name: str
) -> None:
    rooms = RedisRoomStore(connection, platform="web")
    await RedisRecords(connection, "web:directory").put(ADA, name)
    for number, text in enumerate((f"{as_written(name)} left.", f"{name} left.", "Bob left.")):
        notice = replace(post(f"n{number}", text), author_id="", author_name="Parley", author_kind="notice")
        await rooms.put("hall", notice)
    await erasure(connection).person(ADA)
    assert [message.text for message in await rooms.history("hall", limit=9)] == ["Bob left."]


async def test_tasks_that_a_persons_sessions_ordered_are_deleted_with_them(connection: RedisConnection) -> None:
    def order(orderer: str) -> tuple[str, dict[str, object]]:
        place = ["web", "hall", None]
        return "order", {"number": 1, "orderer": orderer, "home": place, "place": place, "due": 0.0, "depth": 1}

    async def task(session: str, orderer: str) -> None:
        id_ = SessionId(session)
        address = address_of(id_)
        lease = await shard_lease(RedisLeaseStore(connection), shard=shard_of(address.key))
        kind, data = order(orderer)
        fact = Fact(session_tape(id_), 1, kind, T0, data)
        record = SessionRecord(id_, address, "hello", T0, 0)
        await RedisSessionStore(connection).commit(Commit(lease, id_, 0, facts=(fact,), begin=record))

    await task("t2", "t1")
    await task("t1", "s1")
    await task("t3", "s2")
    await begun(connection, "s1", "hall", ("person", {"id": ADA, "name": "Ada"}))
    await begun(connection, "s2", "garden", ("person", {"id": BOB, "name": "Bob"}))
    questions = RedisRecords(connection, QUESTIONS_TABLE)
    for session in ("s1", "t2", "t3"):
        await questions.put(f"{session} 1000.1 01", "1.0 7")
    await erasure(connection).person(ADA)
    assert {known.record.id async for known in RedisSessionCatalog(connection).sessions()} == {"s2", "t3"}
    assert list(await questions.all()) == ["t3 1000.1 01"]

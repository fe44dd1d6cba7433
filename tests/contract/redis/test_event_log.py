"""The events for other programs over a real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import EventsGone, LeaseLost, TapeConflict
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.event_log import RedisEventLog
from runtime.storage.redis.leases import RedisLeaseStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.event_log import Cursor, cursor_from, cursor_text, moved
from runtime.stores.sessions import Commit, Lease
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import TranscriptCompacted
from runtime.tape.facts.people import MessageHeard
from runtime.tape.tape import Fact, agent_tape
from runtime.tape.view import AGENT_COMPACTED, HUMAN_MESSAGE
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.contract.storage_samples import SESSION, SHARD, T0, beginning, shard_lease

pytestmark = pytest.mark.anyio

BOUND = 5
ADA = "/clients/ada"


@dataclass(frozen=True)
class World:
    connection: RedisConnection
    log: RedisEventLog
    sessions: RedisSessionStore
    lease: Lease


@pytest.fixture(params=[*SETUPS, ENCRYPTED])
async def world(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[World]:
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        lease = await shard_lease(RedisLeaseStore(connection))
        yield World(connection, RedisEventLog(connection, bound=BOUND), RedisSessionStore(connection), lease)


def sent(name: str, *, source: str = ADA) -> CloudEvent:
    return CloudEvent(name, "orders.paid", source, T0, "42", {"text": "Grüße"}, extensions={"correlationid": "7"})


def written(seq: int, content: FactContent) -> Fact:
    return Fact(agent_tape(SESSION, "1000"), seq, content.kind, T0, content.data())


def heard(seq: int, text: str) -> Fact:
    return written(seq, MessageHeard("in.1", AgentId("1000"), PersonId("web:1"), "Ada", True, text))


async def everything(world: World, after: Cursor | None = None) -> list[CloudEvent]:
    cursor = await world.log.oldest() if after is None else after
    return [logged.event for logged in await world.log.read(cursor, count=100)]


async def test_a_client_s_event_is_taken_once_and_read_as_it_was(world: World) -> None:
    assert await world.log.add([sent("1"), sent("1")]) == 1
    assert await world.log.add([sent("1")]) == 0
    assert await world.log.add([sent("1", source="/clients/bob")]) == 1
    assert sorted(await everything(world), key=lambda event: event.source) == [
        sent("1"),
        sent("1", source="/clients/bob"),
    ]


async def test_a_fact_is_an_event_by_the_commit_that_writes_it(world: World) -> None:
    facts = (heard(1, "Hello"), written(2, TranscriptCompacted("1000.0", 3, "They met.")))
    events = ((1, HUMAN_MESSAGE), (2, AGENT_COMPACTED))
    await world.sessions.commit(replace(beginning(world.lease), facts=facts, events=events))
    first, second = await everything(world)
    assert (first.id, first.type, first.source, first.subject, first.sequence) == (
        *("1", "human.message", "/sessions/s1", "1000"),
        1,
    )
    assert first.time == T0
    assert first.as_data(content=False)["data"] == {"person": "web:1", "private": True, "message": "in.1"}
    assert first.as_data(content=True)["data"]["text"] == "Hello"
    assert second.as_data(content=True)["data"] == {"turns": 3, "summary": "They met."}


async def test_a_commit_that_is_made_again_gives_no_second_event_and_a_refused_one_none(world: World) -> None:
    commit = replace(beginning(world.lease), facts=(heard(1, "Hello"),), events=((1, HUMAN_MESSAGE),))
    await world.sessions.commit(commit)
    await world.sessions.commit(commit)
    late = Commit(world.lease, SESSION, 5, facts=(heard(6, "Late"),), events=((6, HUMAN_MESSAGE),))
    with pytest.raises(TapeConflict):
        await world.sessions.commit(late)
    stale = replace(late, lease=Lease(SHARD, 99), expect=1, facts=(heard(2, "x"),), events=((2, HUMAN_MESSAGE),))
    with pytest.raises(LeaseLost):
        await world.sessions.commit(stale)
    assert [event.id for event in await everything(world)] == ["1"]


async def test_a_large_value_of_a_fact_is_in_its_event(world: World) -> None:
    text = "word " * 10_000
    commit = replace(beginning(world.lease), facts=(heard(1, text),), events=((1, HUMAN_MESSAGE),))
    await world.sessions.commit(commit)
    (event,) = await everything(world)
    assert event.as_data(content=True)["data"]["text"] == text


async def test_an_event_of_a_deleted_session_comes_without_its_words(world: World) -> None:
    commit = replace(beginning(world.lease), facts=(heard(1, "secret"),), events=((1, HUMAN_MESSAGE),))
    await world.sessions.commit(commit)
    assert await RedisSessionCatalog(world.connection).delete(SessionId(SESSION), force=True)
    (event,) = await everything(world)
    assert (event.type, event.source, event.data, event.words) == (HUMAN_MESSAGE, "/sessions/s1", None, None)


async def test_words_are_nowhere_in_the_log(world: World) -> None:
    commit = replace(beginning(world.lease), facts=(heard(1, "secret"),), events=((1, HUMAN_MESSAGE),))
    await world.sessions.commit(commit)
    entries = await world.connection.ask("XRANGE", ShardKeys(SHARD).events, "-", "+")
    assert len(entries) == 1
    assert "secret" not in str(entries)


async def test_a_cursor_goes_on_where_it_stopped(world: World) -> None:
    for name in "123":
        await world.log.add([sent(name)])
    cursor = moved(await world.log.oldest(), (await world.log.read(await world.log.oldest(), count=2)))
    rest = await world.log.read(cursor_from(cursor_text(cursor)), count=10)
    assert [logged.event.id for logged in rest] == ["3"]
    assert await everything(world, await world.log.newest()) == []


async def test_at_most_so_many_are_kept_and_who_comes_too_late_is_told(world: World) -> None:
    before = await world.log.newest()
    for number in range(BOUND + 3):
        await world.log.add([sent(str(number))])
    assert [event.id for event in await everything(world)] == ["3", "4", "5", "6", "7"]
    with pytest.raises(EventsGone):
        await world.log.read(before, count=100)


async def test_who_has_read_what_was_let_go_is_not_told_that_anything_is_missing(world: World) -> None:
    for number in range(3):
        await world.log.add([sent(str(number))])
    cursor = await world.log.newest()
    for number in range(3, BOUND + 3):
        await world.log.add([sent(str(number))])
    assert [event.id for event in await everything(world, cursor)] == ["3", "4", "5", "6", "7"]


async def test_waiting_ends_with_news_and_without_them_in_time(world: World) -> None:
    cursor = await world.log.newest()
    assert await world.log.wait(cursor, wait_s=0.01) == cursor
    await world.log.add([sent("1")])
    assert await world.log.wait(cursor, wait_s=20) == await world.log.newest()


def test_what_is_no_cursor_is_refused() -> None:
    for text in ("", "0", "!", "MQAA", cursor_text({0: "1-1"})[:-2]):
        with pytest.raises(ValueError, match="not a cursor"):
            cursor_from(text)

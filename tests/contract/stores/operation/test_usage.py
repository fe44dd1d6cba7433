"""Sums of what models were used, in the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date

import pytest

from gateway.features.usage import ledger
from gateway.features.usage.ledger import RedisUsage, Used
from gateway.models.answers import ModelAmounts
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.sessions.traces import RedisTraces
from runtime.stores.catalog import PersonKeys
from tests.fakes.servers.valkey import RealValkey

pytestmark = pytest.mark.anyio

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (date(2026, 1, day) for day in (5, 6, 7, 8))


@pytest.fixture
async def connection(valkey: RealValkey) -> AsyncIterator[RedisConnection]:
    async with open_connection(valkey.socket) as opened:
        yield opened


def used(person: str, day: date = MONDAY) -> Used:
    return Used(day, person, 'a "shop"', "Clerk", "openai/x y")


async def test_amounts_of_one_row_add_up_and_days_are_apart(connection: RedisConnection) -> None:
    store = RedisUsage(connection)
    await store.add(used("telegram:42"), ModelAmounts(1, 100, 80, 20, 0.125))
    await store.add(used("telegram:42"), ModelAmounts(1, 50, 0, 5, 0.25))
    await store.add(used("telegram:42"), ModelAmounts(1, 0, 0, 0, 0.0, 0, 1))
    await store.add(used("", TUESDAY), ModelAmounts(1, 7, 0, 0, 0.0))
    assert dict(await store.rows([MONDAY])) == {used("telegram:42"): ModelAmounts(3, 150, 80, 25, 0.375, 0, 1)}
    assert len(await store.rows([MONDAY, TUESDAY])) == 2


async def test_sums_from_before_there_were_purposes_are_read(connection: RedisConnection) -> None:
    await connection.ask("HSET", "{parley:usage:2026-01-09}", '["","shop","Clerk","m"] answers', "3")
    (row,) = await RedisUsage(connection).rows([date(2026, 1, 9)])
    assert row == (Used(date(2026, 1, 9), "", "shop", "Clerk", "m", ""), ModelAmounts(answers=3))


async def test_deleting_a_person_deletes_their_sums_and_nobody_elses(connection: RedisConnection) -> None:
    store = RedisUsage(connection)
    for person in ("telegram:42", "telegram:421"):
        await store.add(used(person, WEDNESDAY), ModelAmounts(1, 100, 80, 20, 0.1))
    assert await RedisTraces(connection).person(PersonKeys("telegram:42", frozenset())) >= 5
    assert [row.person for row, _ in await store.rows([WEDNESDAY])] == ["telegram:421"]


async def test_on_a_day_with_too_many_new_people_are_counted_together_and_the_sums_expire(
    connection: RedisConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MAX_FIELDS", 5)
    store = RedisUsage(connection)
    for person in ("telegram:1", "telegram:2", "telegram:3", "telegram:1"):
        await store.add(used(person, THURSDAY), ModelAmounts(1, 1, 1, 1, 1.0))
    assert {row.person: amounts.answers for row, amounts in await store.rows([THURSDAY])} == {"telegram:1": 2, "": 2}
    assert await connection.ask("TTL", "{parley:usage:2026-01-08}") > 0

"""The contract of every table whose texts are changed together."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from adapters.records import ChangedTogether
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.records import RedisRecords
from tests.contract.setups import SETUPS, location_of
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *SETUPS])
async def records(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[ChangedTogether]:
    if request.param == "memory":
        yield MemoryRecords()
        return
    async with open_connection(location_of(request.param, request), patience_s=20) as connection:
        yield RedisRecords(connection, "web:team")


async def test_texts_change_together_or_not_at_all(records: ChangedTogether) -> None:
    assert await records.change({"a": (None, "1"), "b": (None, "")})
    assert await records.all() == {"a": "1", "b": ""}
    assert not await records.change({"a": ("1", "2"), "b": (None, "2"), "c": (None, "2")})
    assert await records.all() == {"a": "1", "b": ""}
    assert await records.change({"a": ("1", None), "b": ("", "=x"), "c": (None, "3")})
    assert await records.all() == {"b": "=x", "c": "3"}


async def test_a_change_that_is_repeated_is_done(records: ChangedTogether) -> None:
    change: dict[str, tuple[str | None, str | None]] = {"a": (None, "1"), "b": ("0", None)}
    await records.put("b", "0")
    assert [await records.change(change), await records.change(change)] == [True, True]
    assert await records.all() == {"a": "1"}


async def test_one_of_many_at_the_same_moment_wins(records: ChangedTogether) -> None:
    won: list[str] = []

    async def claim(who: str) -> None:
        if await records.change({"name:ada": (None, who), who: (None, "here")}):
            won.append(who)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(claim, f"web:{number}")
    assert len(won) == 1
    assert await records.all() == {"name:ada": won[0], won[0]: "here"}

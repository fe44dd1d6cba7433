"""Writes of notebooks whose answers are lost: they are made again, and come to the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.features.notebooks.redis import RedisNotebooks
from gateway.features.notebooks.store import Appended, Draft, Merging, Notebook, entry_line
from runtime.core.errors import HeadMoved, NotebookExists
from runtime.storage.redis.client.connection import RedisConnection, RedisScript, open_connection
from runtime.storage.redis.sessions.tapes import TapeNews

pytestmark = pytest.mark.anyio


class Repeating(RedisConnection):
    """Runs every script twice, as if the first answer had been lost."""

    async def run(self, script: RedisScript, *arguments: Any, **options: Any) -> Any:
        await super().run(script, *arguments, **options)
        return await super().run(script, *arguments, **options)


@pytest.fixture
async def store(valkey_socket: Path, anyio_backend: str) -> AsyncIterator[RedisNotebooks]:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        repeating = Repeating(connection._location, connection._tasks, patience_s=20)
        yield RedisNotebooks(repeating, TapeNews(connection))
        await repeating.aclose()


def drafts(count: int) -> list[Draft]:
    return [Draft("message", entry_line("message", {}, {}, ""))] * count


async def of(store: RedisNotebooks, name: str) -> Notebook:
    found = await store.find(name)
    assert found is not None
    return found


async def test_an_append_that_is_made_again_writes_nothing_twice(store: RedisNotebooks) -> None:
    assert await store.append("plan", drafts(2), expect=0) == Appended(1, 2)
    assert await store.append("plan", drafts(1), key="k") == Appended(3, 3)
    assert await store.append("plan", drafts(1), key="k") == Appended(3, 3, known=True)
    merging = Merging("try", 0, 4, None)
    assert await store.append("plan", drafts(1), merging=merging) == Appended(4, 4)
    assert ((await of(store, "plan")).head, (await of(store, "plan")).written) == (4, 4)
    with pytest.raises(HeadMoved):
        await store.append("plan", drafts(1), expect=3)


async def test_a_fork_a_rollback_and_a_rebase_that_are_made_again_are_made_once(store: RedisNotebooks) -> None:
    await store.append("plan", drafts(3))
    assert await store.fork("try", await of(store, "plan"), 2)
    assert not await store.fork("try", await of(store, "plan"), 2)
    with pytest.raises(NotebookExists):
        await store.fork("try", await of(store, "plan"), 1)
    assert await store.rollback("try", 1, expect=2) == 1
    assert await store.rebase("try", await of(store, "plan"), expect=1) == 2
    assert sorted((await of(store, "try")).branches) == [0, 1, 2]
    assert (await of(store, "try")).head == 3

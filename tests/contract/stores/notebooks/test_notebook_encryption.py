"""Notebooks whose entries are encrypted, on a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from gateway.features.notebooks.redis import RedisNotebooks, keys_of
from gateway.features.notebooks.store import Draft, entry_line
from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.sessions.rekeying import DatabaseRekeying
from runtime.storage.redis.sessions.tapes import TapeNews

pytestmark = pytest.mark.anyio

FIRST, SECOND = (Key(bytes([number]) * 32) for number in (1, 2))
OLD, NEW = ContentEncryption([FIRST]), ContentEncryption([SECOND, FIRST])
SECRET = "wisteria"


@asynccontextmanager
async def opened(socket: Path, sealing: ContentSealing) -> AsyncIterator[tuple[RedisConnection, RedisNotebooks]]:
    async with open_connection(socket, patience_s=20, sealing=sealing) as connection:
        yield connection, RedisNotebooks(connection, TapeNews(connection))


def said(*texts: str) -> list[Draft]:
    return [Draft("message", entry_line("message", {"text": text}, {}, "")) for text in texts]


async def read(store: RedisNotebooks, name: str = "plan") -> list[Any]:
    notebook = await store.find(name)
    assert notebook is not None
    return [json.loads(entry.line)["payload"] async for entry in store.read(notebook.view())]


async def stored(connection: RedisConnection, name: str = "plan") -> list[tuple[str, dict[str, str]]]:
    async def call(client: Redis) -> Any:
        return await client.xrange(keys_of(name).entries)

    found: list[tuple[str, dict[str, str]]] = await connection.retrying(call, keys_of(name).entries)
    return found


async def test_entries_are_sealed_and_their_keys_change_with_all_others(valkey_socket: Path) -> None:
    async with opened(valkey_socket, PLAIN) as (_, store):
        await store.append("plan", said("plain"))
    async with opened(valkey_socket, OLD) as (connection, store):
        await store.append("plan", said(SECRET, "more"))
        assert SECRET not in repr(await stored(connection))
        origin = await store.find("plan")
        assert origin is not None
        await store.fork("try", origin, 2)
        assert await read(store, "try") == [{"text": "plain"}, {"text": SECRET}]
    async with opened(valkey_socket, NEW) as (connection, store):
        assert await DatabaseRekeying(connection, "web").run() == 1
        assert set(await DatabaseRekeying(connection, "web").survey()) == {SECOND.id}
        assert await DatabaseRekeying(connection, "web").run() == 0
        await store.append("plan", said("last"), expect=3)
    async with opened(valkey_socket, ContentEncryption([SECOND])) as (connection, store):
        assert await read(store) == [{"text": text} for text in ("plain", SECRET, "more", "last")]
        assert await read(store, "try") == [{"text": "plain"}, {"text": SECRET}]
    async with opened(valkey_socket, ContentEncryption([SECOND], [])) as (connection, store):
        await DatabaseRekeying(connection, "web").run()
        assert all("m" not in fields for _, fields in await stored(connection))
    async with opened(valkey_socket, PLAIN) as (_, store):
        assert [payload["text"] for payload in await read(store)] == ["plain", SECRET, "more", "last"]


async def test_an_entry_whose_key_is_missing_or_that_was_moved_says_so_and_the_others_are_read(
    valkey_socket: Path,
) -> None:
    async with opened(valkey_socket, PLAIN) as (_, store):
        await store.append("plan", said("plain"))
    async with opened(valkey_socket, OLD) as (connection, store):
        await store.append("plan", said(SECRET))
        await store.append("other", said("theirs"))
        ((_, theirs),) = await stored(connection, "other")
        await connection.write(
            "XADD", keys_of("plan").entries, "3-0", *[part for one in theirs.items() for part in one]
        )
        await connection.write("HSET", keys_of("plan").notebook, "head", 3)
        found = await read(store)
        assert found[:2] == [{"text": "plain"}, {"text": SECRET}]
        assert "cannot be opened" in found[2]["locked"]
    async with opened(valkey_socket, PLAIN) as (_, store):
        found = await read(store)
        assert found[0] == {"text": "plain"}
        assert "missing" in found[1]["locked"]

"""Files that were counted before it was kept who sent them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.core.files import FileBounds
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.files import RedisFileStore

pytestmark = pytest.mark.anyio

OWNERSHIP = [f"{{parley:files}}:{name}" for name in ("owners", "owned", "owned-entries")]


async def test_files_of_an_earlier_version_belong_to_their_conversations(valkey_socket: Path) -> None:
    bounds = FileBounds(total_bytes=900_000, person_bytes=300_000, conversation_bytes=600_000)
    async with open_connection(valkey_socket) as connection:
        store = RedisFileStore(connection, bounds)
        lobby = await store.keep(b"a" * 100_000, "text/plain", conversation="web:lobby")
        den = [await store.keep(bytes([n]) * 100_000, "text/plain", conversation="web:den") for n in range(5)]
        await connection.write("DEL", OWNERSHIP[0], *OWNERSHIP[1:])
        eve = [
            await store.keep(bytes([n]) * 100_000, "text/plain", person="eve", conversation=f"web:{n}")
            for n in range(10, 16)
        ]
        kept = [[n for n, id_ in enumerate(ids) if await store.head(id_) is not None] for ids in ([lobby], den, eve)]
        assert kept == [[0], [1, 2, 3, 4], [2, 3, 4, 5]]

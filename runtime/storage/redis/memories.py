"""Memories on Redis: a hash for each scope, in the shard of the scope's key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import ContentLocked
from runtime.storage.encoding.memories import MemoryForm
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.stores.inbox import shard_of
from runtime.stores.memories import Memory, Scope
from runtime.stores.operation.traces import Whose

_KEEP = load_script("memory_keep")
_FORGET = load_script("memory_forget")
_KEEP_VECTORS = load_script("memory_keep_vectors")

GONE_S = 30 * 86_400
"""How long it is known that a memory was forgotten."""


class RedisMemories:
    """Implements `runtime.stores.memories.MemoryStore` and `VectorStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._form = MemoryForm(connection.sealing)

    async def keep(self, memory: Memory, /, *, keep_s: float) -> None:
        await self._connection.run(
            _KEEP, [_key(memory.scope)], [memory.id, self._form.write(memory), int(keep_s * 1000)]
        )

    async def version(self, scope: Scope, /) -> str:
        return str(await self._connection.ask("HGET", _key(scope), "version") or "")

    async def all(self, scope: Scope, /) -> Sequence[Memory]:
        found = []
        for number, written in await self._written(scope):
            try:
                found.append(self._form.read(scope, number, written))
            except ContentLocked:
                continue
        return found

    async def forget(self, scope: Scope, ids: Sequence[str], /) -> int:
        return int(await self._connection.run(_FORGET, [_key(scope), _vectors_key(scope)], [GONE_S, *ids]))

    async def vectors(self, scope: Scope, memories: Sequence[Memory], model: str, /) -> Mapping[str, bytes]:
        key, ids = _vectors_key(scope), [memory.id for memory in memories]

        async def read(client: Redis) -> Any:
            return await client.hmget(key, ids)

        written = await self._connection.retrying(read, key) if ids else []
        pairs = zip(memories, written, strict=False)
        found = ((one.id, self._form.read_vector(one, model, text)) for one, text in pairs if text)
        return {id_: vector for id_, vector in found if vector is not None}

    async def keep_vectors(self, scope: Scope, vectors: Sequence[tuple[Memory, bytes]], model: str, /) -> None:
        told = [part for one, vector in vectors for part in (one.id, self._form.write_vector(one, model, vector))]
        await self._connection.run(_KEEP_VECTORS, [_key(scope), _vectors_key(scope)], told)

    async def forget_person(self, scope: Scope, whose: Whose) -> int:
        """Forget what a scope has of a person: their own memories, and those of others that are about them. How many
        there were. Raises ContentLocked for one of which nobody can see whom it is about.
        """
        if scope.whose == whose.person or scope.whose in whose.conversations:
            await self._connection.write("UNLINK", _vectors_key(scope))
            return int(await self._connection.write("UNLINK", _key(scope)))
        names = {name.casefold() for name in whose.names}
        theirs = []
        for number, written in await self._written(scope):
            own = self._form.owner(written) == whose.person
            if own or self._form.read(scope, number, written).about.casefold() in names:
                theirs.append(self._form.id(written))
        return await self.forget(scope, theirs) if theirs else 0

    async def _written(self, scope: Scope) -> list[tuple[int, str]]:
        """The memories of a scope as they stand there, by their numbers."""
        key = _key(scope)

        async def read(client: Redis) -> Any:
            return await client.hgetall(key)

        kept = await self._connection.retrying(read, key)
        return [(number, kept[str(number)]) for number in sorted(int(name) for name in kept if name.isdecimal())]


def _vectors_key(scope: Scope) -> str:
    return ShardKeys(shard_of(scope.key)).memory_vectors(scope.key)


def _key(scope: Scope) -> str:
    return ShardKeys(shard_of(scope.key)).memories(scope.key)

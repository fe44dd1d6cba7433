"""Memories on Redis: a hash for each scope, in the shard of the scope's key.

What is remembered and whom it is about may be sealed; ids, owners and times stay readable.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, ContentSealing, key_of
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import shard_of
from runtime.stores.memories import MemoryScope, StoredMemory

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

    async def keep(self, memory: StoredMemory, /, *, keep_s: float) -> None:
        await self._connection.run(
            _KEEP, [_key(memory.scope)], [memory.id, self._form.write(memory), int(keep_s * 1000)]
        )

    async def version(self, scope: MemoryScope, /) -> str:
        return str(await self._connection.ask("HGET", _key(scope), "version") or "")

    async def all(self, scope: MemoryScope, /) -> Sequence[StoredMemory]:
        found = []
        for number, written in await self._written(scope):
            try:
                found.append(self._form.read(scope, number, written))
            except ContentLocked:
                continue
        return found

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        return int(await self._connection.run(_FORGET, [_key(scope), _vectors_key(scope)], [GONE_S, *ids]))

    async def vectors(self, scope: MemoryScope, memories: Sequence[StoredMemory], model: str, /) -> Mapping[str, bytes]:
        key, ids = _vectors_key(scope), [memory.id for memory in memories]
        written = await self._connection.read("hmget", key, ids) if ids else []
        pairs = zip(memories, written, strict=False)
        found = ((one.id, self._form.read_vector(one, model, text)) for one, text in pairs if text)
        return {id_: vector for id_, vector in found if vector is not None}

    async def keep_vectors(
        self, scope: MemoryScope, vectors: Sequence[tuple[StoredMemory, bytes]], model: str, /
    ) -> None:
        told = [part for one, vector in vectors for part in (one.id, self._form.write_vector(one, model, vector))]
        await self._connection.run(_KEEP_VECTORS, [_key(scope), _vectors_key(scope)], told)

    async def forget_person(self, scope: MemoryScope, whose: PersonKeys) -> int:
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

    async def _written(self, scope: MemoryScope) -> list[tuple[int, str]]:
        """The memories of a scope as they stand there, by their numbers."""
        kept = await self._connection.read("hgetall", _key(scope))
        return [(number, kept[str(number)]) for number in sorted(int(name) for name in kept if name.isdecimal())]


class MemoryForm:
    """Writes and reads memories as `sealing` has it."""

    def __init__(self, sealing: ContentSealing) -> None:
        self._sealing = sealing

    def write(self, memory: StoredMemory) -> str:
        """A memory as JSON, without its number."""
        content = to_json([memory.about, memory.text])
        return to_json(
            {
                "id": memory.id,
                "owner": memory.owner,
                "at": memory.made_s,
                "conversation": memory.conversation,
                "session": memory.session,
                "message": memory.message,
                "replaces": memory.replaces,
                "content": self._sealing.of(memory.conversation).seal(_binding(memory), content),
            }
        )

    def read(self, scope: MemoryScope, number: int, written: str) -> StoredMemory:
        """The inverse of `write`. Raises ContentLocked for one that cannot be opened."""
        data = json.loads(written)
        hollow = StoredMemory(
            data["id"],
            scope,
            data["owner"],
            "",
            "",
            data["at"],
            data["conversation"],
            SessionId(data["session"]),
            data["message"],
            tuple(data["replaces"]),
            number,
        )
        about, text = json.loads(self._sealing.open(_binding(hollow), data["content"]))
        return replace(hollow, about=about, text=text)

    def owner(self, written: str) -> str:
        """Whose memory it is, whether or not it can be opened."""
        return str(json.loads(written)["owner"])

    def id(self, written: str) -> str:
        """Its id, likewise."""
        return str(json.loads(written)["id"])

    def key_of(self, written: str) -> str:
        """The id of the key of a memory; "" for an unsealed one."""
        return key_of(json.loads(written)["content"])

    def write_vector(self, memory: StoredMemory, model: str, vector: bytes) -> str:
        """What a memory means to a model, as JSON; sealed where the memory is."""
        content = self._sealing.of(memory.conversation).seal(
            _vector_binding(memory.scope, memory.id, model), base64.b64encode(vector).decode("ascii")
        )
        return to_json({"model": model, "conversation": memory.conversation, "content": content})

    def read_vector(self, memory: StoredMemory, model: str, written: str) -> bytes | None:
        """The inverse of `write_vector`; None for the vector of another model, and where it cannot be opened."""
        data = json.loads(written)
        if data["model"] != model:
            return None
        try:
            content = self._sealing.open(_vector_binding(memory.scope, memory.id, model), data["content"])
        except ContentLocked:
            return None
        return base64.b64decode(content)

    def vector_anew(self, scope: MemoryScope, id_: str, written: str) -> str:
        """The vector of a memory in the current form. Raises ContentLocked where it cannot be opened."""
        data = json.loads(written)
        binding = _vector_binding(scope, id_, data["model"])
        content = self._sealing.open(binding, data["content"])
        return to_json({**data, "content": self._sealing.of(data["conversation"]).seal(binding, content)})


def _vectors_key(scope: MemoryScope) -> str:
    return ShardKeys(shard_of(scope.key)).memory_vectors(scope.key)


def _key(scope: MemoryScope) -> str:
    return ShardKeys(shard_of(scope.key)).memories(scope.key)


def _vector_binding(scope: MemoryScope, id_: str, model: str) -> AssociatedData:
    return AssociatedData(f"memory vectors {scope.key}", ("vector", id_, model))


def _binding(memory: StoredMemory) -> AssociatedData:
    return AssociatedData(f"memories {memory.scope.key}", ("memory", memory.id, memory.owner, repr(memory.made_s)))

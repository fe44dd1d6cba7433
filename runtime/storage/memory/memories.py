"""The store of memories of people in memory: the required behaviour in the fewest lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from runtime.stores.memories import MemoryScope, StoredMemory


class MemoryMemories:
    """Implements `runtime.stores.memories.MemoryStore` and `VectorStore`."""

    def __init__(self) -> None:
        self.kept: dict[MemoryScope, dict[str, StoredMemory]] = {}
        self.gone: set[str] = set()
        self._last: dict[MemoryScope, int] = {}
        self.made: dict[tuple[MemoryScope, str], tuple[str, bytes]] = {}
        """The vectors of memories by their scopes and ids, each with its model."""
        self._changes = 0

    async def keep(self, memory: StoredMemory, /, *, keep_s: float) -> None:
        del keep_s
        here = self.kept.setdefault(memory.scope, {})
        if memory.id in here or memory.id in self.gone:
            return
        number = self._last[memory.scope] = self._last.get(memory.scope, 0) + 1
        here[memory.id] = replace(memory, number=number)
        self._changes += 1

    async def version(self, scope: MemoryScope, /) -> str:
        return f"{self._changes}" if scope in self.kept else ""

    async def all(self, scope: MemoryScope, /) -> Sequence[StoredMemory]:
        return list(self.kept.get(scope, {}).values())

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        here = self.kept.get(scope, {})
        found = [id_ for id_ in ids if here.pop(id_, None) is not None]
        for id_ in ids:
            self.made.pop((scope, id_), None)
        self.gone |= set(ids)
        self._changes += 1
        return len(found)

    async def vectors(self, scope: MemoryScope, memories: Sequence[StoredMemory], model: str, /) -> Mapping[str, bytes]:
        found = {memory.id: self.made.get((scope, memory.id), ("", b"")) for memory in memories}
        return {id_: vector for id_, (by, vector) in found.items() if by == model}

    async def keep_vectors(
        self, scope: MemoryScope, vectors: Sequence[tuple[StoredMemory, bytes]], model: str, /
    ) -> None:
        for memory, vector in vectors:
            if memory.id in self.kept.get(scope, {}):
                self.made[scope, memory.id] = (model, vector)

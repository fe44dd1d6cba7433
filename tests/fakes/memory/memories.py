"""Memories of people in memory, to be looked into."""

from collections.abc import Mapping, Sequence

from runtime.storage.memory import sessions
from runtime.stores.memories import MemoryScope, StoredMemory


class MemoryMemories(sessions.MemoryMemories):
    """The store, with a look at all that is kept, and with vectors: `runtime.stores.memories.VectorStore`."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[tuple[MemoryScope, str], tuple[str, bytes]] = {}
        """The vectors of memories by their scopes and ids, each with its model."""

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        for id_ in ids:
            self.made.pop((scope, id_), None)
        return await super().forget(scope, ids)

    async def vectors(self, scope: MemoryScope, memories: Sequence[StoredMemory], model: str, /) -> Mapping[str, bytes]:
        found = {memory.id: self.made.get((scope, memory.id), ("", b"")) for memory in memories}
        return {id_: vector for id_, (by, vector) in found.items() if by == model}

    async def keep_vectors(
        self, scope: MemoryScope, vectors: Sequence[tuple[StoredMemory, bytes]], model: str, /
    ) -> None:
        for memory, vector in vectors:
            if memory.id in self.kept.get(scope, {}):
                self.made[scope, memory.id] = (model, vector)

    def texts(self, kind: str = "") -> list[str]:
        """The texts of all memories of a kind of scope."""
        return [
            memory.text for scope, here in self.kept.items() if kind in ("", scope.kind) for memory in here.values()
        ]

"""Memories of people in memory, to be looked into."""

from __future__ import annotations

from runtime.storage.memory import memories


class MemoryMemories(memories.MemoryMemories):
    """The store, with a look at all that is kept."""

    def texts(self, kind: str = "") -> list[str]:
        """The texts of all memories of a kind of scope."""
        return [
            memory.text for scope, here in self.kept.items() if kind in ("", scope.kind) for memory in here.values()
        ]

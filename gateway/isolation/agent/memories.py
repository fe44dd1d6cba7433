"""The memories that a task's process may recall: its node reads them, and none is made here."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.isolation.forms import MEMORIES
from gateway.isolation.peer import Peer
from runtime.core.errors import TaskRefused
from runtime.stores.memories import Memory, Scope

_ONLY_RECALLS = "A task remembers and forgets nothing."


class NodeMemories:
    """Implements `runtime.stores.memories.MemoryStore` for reading, over a connection to who has them."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._known: dict[Scope, tuple[str, Sequence[Memory]]] = {}

    async def version(self, scope: Scope, /) -> str:
        known, memories = self._known.get(scope, ("", ()))
        version, found = await self._peer.call("memories", [scope.key, known])
        if version != known:
            memories = MEMORIES.read(found)
        self._known[scope] = str(version), memories
        return str(version)

    async def all(self, scope: Scope, /) -> Sequence[Memory]:
        await self.version(scope)
        return self._known[scope][1]

    async def keep(self, _memory: Memory, /, *, keep_s: float) -> None:
        raise TaskRefused(f"{_ONLY_RECALLS} It would be for {keep_s:g} s.")

    async def forget(self, _scope: Scope, _ids: Sequence[str], /) -> int:
        """0: what is too old its node deletes."""
        return 0


class NodeSilence:
    """Implements `runtime.memories.books.Silence`: its node tells nothing of who wants none of it."""

    async def holds(self, _program: str, _person: str, /) -> bool:
        return False

    async def begin(self, _program: str, _person: str, /) -> None:
        raise TaskRefused(_ONLY_RECALLS)

    async def end(self, _program: str, _person: str, /) -> None:
        raise TaskRefused(_ONLY_RECALLS)

"""Answers to the calls by which the process of a task reads memories: those that its order lets it recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.isolation.forms import MEMORIES
from gateway.isolation.node.rights import Rights
from gateway.isolation.peer import Handler
from runtime.core.errors import TaskRefused
from runtime.memories.books import Memories
from runtime.stores.memories import NOBODY, Memory, Scope


class MemoryCalls:
    """The memories of one task. `memories` is None where its node keeps none."""

    def __init__(self, memories: Memories | None, rights: Rights) -> None:
        self._memories = memories
        self._rights = rights

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        return {"memories": self.memories}

    async def memories(self, data: Any) -> Any:
        """The version of a scope and, where it is not the known one, the memories in it that the task may recall."""
        key, known = map(str, data)
        scope, owners = await self._readable(key)
        assert self._memories is not None
        version = f"{await self._memories.store.version(scope)} {len(owners)}"
        found: Sequence[Memory] = () if version == known else await self._memories.store.all(scope)
        return [version, MEMORIES.write([memory for memory in found if memory.owner in owners])]

    async def _readable(self, key: str) -> tuple[Scope, set[str]]:
        """A scope and whose memories of it may be told, by the order alone. Raises TaskRefused for any other."""
        order, program = self._rights.order, self._rights.program
        known = {order.scope, Scope("program", program).key} if order.scope else set()
        if self._memories is None or not self._memories.on(program) or key not in known:
            raise TaskRefused("This task has no such memories.")
        silent = order.owner != NOBODY and await self._memories.silence.holds(program, order.owner)
        return Scope.of_key(key), {NOBODY} if silent else {NOBODY, order.owner}

"""Marks in memory, for tests that look at them and for more than one adapter."""

from __future__ import annotations

from collections.abc import Mapping

import anyio


class MemoryMarks:
    """See `Marks`; `puts` lists every mark that was set."""

    def __init__(self, marks: Mapping[str, str] | None = None) -> None:
        self.marks = dict(marks or {})
        self.puts: list[tuple[str, str]] = []
        self._changed = anyio.Event()

    async def all(self) -> Mapping[str, str]:
        return dict(self.marks)

    async def put(self, conversation: str, message: str, /) -> None:
        self.marks[conversation] = message
        self.puts.append((conversation, message))
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, count: int) -> None:
        """Return once so many marks were set."""
        while len(self.puts) < count:
            await self._changed.wait()

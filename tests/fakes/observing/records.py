"""Records in memory, for tests that look at them and for more than one adapter."""

from collections.abc import Mapping

import anyio


class MemoryRecords:
    """See `adapters.records.ChangedTogether`; `puts` lists everything that was put."""

    def __init__(self, records: Mapping[str, str] | None = None) -> None:
        self.records = dict(records or {})
        self.puts: list[tuple[str, str]] = []
        self._changed = anyio.Event()

    async def all(self) -> Mapping[str, str]:
        return dict(self.records)

    async def get(self, name: str, /) -> str | None:
        return self.records.get(name)

    async def put(self, name: str, value: str, /) -> None:
        self.records[name] = value
        self.puts.append((name, value))
        self._changed.set()
        self._changed = anyio.Event()

    async def remove(self, name: str, /) -> None:
        self.records.pop(name, None)

    async def change(self, changes: Mapping[str, tuple[str | None, str | None]], /) -> bool:
        if any(self.records.get(name) != now for name, (now, _) in changes.items()):
            return all(self.records.get(name) == wanted for name, (_, wanted) in changes.items())
        for name, (_, wanted) in changes.items():
            if wanted is None:
                self.records.pop(name, None)
            else:
                await self.put(name, wanted)
        return True

    async def until(self, count: int) -> None:
        """Return once so many puts were made."""
        while len(self.puts) < count:
            await self._changed.wait()

"""The nodes that owners want to be empty: each gives its shards and bots to the others, and takes no new ones."""

from __future__ import annotations

from collections.abc import Collection

from adapters.records import Records

DRAINS_TABLE = "nodes:drained"


class Drains:
    """Marks nodes by their names. Raises StorageUnavailable."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def marked(self) -> Collection[str]:
        """The nodes that are to be empty, living or not."""
        return (await self._records.all()).keys()

    async def mark(self, node: str, by: str) -> None:
        """Have a node be empty until it is forgotten, or begins anew. `by` is who wants it."""
        await self._records.put(node, by)

    async def forget(self, node: str) -> None:
        """Have a node serve again."""
        await self._records.remove(node)

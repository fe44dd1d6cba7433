"""An adapter's durable memory: a few small texts by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Records(Protocol):
    """One durable table of texts. Raises StorageUnavailable, and nothing else."""

    async def all(self) -> Mapping[str, str]: ...

    async def get(self, name: str, /) -> str | None: ...

    async def put(self, name: str, value: str, /) -> None: ...

    async def remove(self, name: str, /) -> None:
        """Remove a text; a missing one is no error."""
        ...

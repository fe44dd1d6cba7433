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


class ChangedTogether(Records, Protocol):
    """A table of which several texts are changed at once, so that a kill in between leaves nothing half done."""

    async def change(self, changes: Mapping[str, tuple[str | None, str | None]], /) -> bool:
        """Change texts together: for each name what is there now, and what is to be there; None is nothing.

        False, without a change, if something else is there; True if it was done before.
        """
        ...

"""The port through which nodes divide what a platform allows a bot in total."""

from __future__ import annotations

from typing import Protocol

from runtime.stores.sessions import LeaseHolder


class ShareStore(Protocol):
    """The live nodes, and the part of every shared limit that each may use. Raises StorageUnavailable only."""

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        """We live for another `ttl_s` and use the part `in_use` now; the part from 0 to 1 that we may use from now on.

        Parts are as the weights in the end. Those of all live nodes never sum to more than 1, a node that is to use
        less counting with what it uses until it says that it does: a newcomer has nothing until the others made room.
        """
        ...

    async def leave(self, holder: LeaseHolder, /) -> None:
        """Announce that this node uses nothing."""
        ...

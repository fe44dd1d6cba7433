"""The port through which nodes know of each other: who lives, and that something became free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runtime.stores.sessions import LeaseHolder


@dataclass(frozen=True, slots=True)
class Living:
    """The nodes that live, by name, with the seconds that each is still taken to live; `news` is the latest news."""

    nodes: Mapping[str, float]
    news: str


class NodeStore(Protocol):
    """The roster of nodes. Raises StorageUnavailable, and nothing else."""

    async def announce(self, holder: LeaseHolder, /) -> Living:
        """We live for another `ttl_s`. That somebody is new is news."""
        ...

    async def living(self) -> Living:
        """The live nodes."""
        ...

    async def leave(self, holder: LeaseHolder, /) -> None:
        """Announce that this node takes no more leases."""
        ...

    async def tell(self) -> None:
        """A lease was given back: that is news for those who wait for one."""
        ...

    async def news(self, after: str, /, *, wait_s: float) -> str:
        """Return the latest news as soon as there is any after `after`, or `after` when `wait_s` passed without."""
        ...

"""The port through which nodes know each other: which are alive, and that leases became free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runtime.stores.sessions import LeaseHolder


@dataclass(frozen=True, slots=True)
class Living:
    """The live nodes by name, with the seconds for which each still counts as alive; `news` is the latest news.

    `left` are those who have said that they leave, for as long as they would else have counted as alive. Who is in
    neither has died, or the store's clock was put forward.
    """

    nodes: Mapping[str, float]
    news: str
    left: frozenset[str] = frozenset()


class NodeStore(Protocol):
    """The roster of nodes. Raises StorageUnavailable, and nothing else."""

    async def announce(self, holder: LeaseHolder, /) -> Living:
        """Stay alive for another `ttl_s`. A new node is news."""
        ...

    async def living(self) -> Living: ...

    async def leave(self, holder: LeaseHolder, /) -> None:
        """Announce that this node takes no more leases."""
        ...

    async def tell(self) -> None:
        """Report as news that a lease was given back."""
        ...

    async def news(self, after: str, /, *, wait_s: float) -> str:
        """The latest news as soon as there is any after `after`, or `after` when `wait_s` passed without."""
        ...

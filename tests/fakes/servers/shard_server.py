"""A server of shards in which nothing goes on."""

from collections.abc import Awaitable, Callable, Mapping

from runtime.stores.inbox import InboxEntry
from runtime.stores.sessions import Lease

Take = Callable[[InboxEntry, Lease], Awaitable[None] | None]


class IdleServer:
    """Implements `gateway.cluster.node.ShardServer`. `take` gets what comes in; a test overrides the rest."""

    def __init__(self, take: Take = lambda _entry, _lease: None) -> None:
        self._take = take

    async def gained(self, lease: Lease, /) -> None:
        """There is nothing to restore."""

    def dispatch(self, entry: InboxEntry, lease: Lease, /) -> Awaitable[None] | None:
        return self._take(entry, lease)

    def loads(self) -> Mapping[int, int]:
        return {}

    async def park(self, shard: int, within_s: float, /) -> None:
        """Nothing goes on."""

    def lost(self, shard: int, /) -> None:
        """There is nothing to stop."""

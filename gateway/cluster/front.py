"""The front: a process of the cluster that serves no conversation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import TaskGroup

from gateway.cluster.renewal import Renewal
from gateway.cluster.roster import Roster
from runtime.stores.sessions import NodeStore

_LEAVE_LIMIT_S = 3.0


class Front:
    """Keeps the leases of bots' connections, and knows who serves conversations. Holds no shard."""

    def __init__(
        self, roster: Roster, renewal: Renewal, fronts: NodeStore, watch: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """`fronts` is where fronts are announced. `watch` runs as long as this one, and begins when it knows the
        nodes.
        """
        self._fronts = fronts
        self._roster = roster
        self._renewal = renewal
        self._watch = watch

    async def run(self, tasks: TaskGroup) -> None:
        """Renew leases in `tasks` until that is cancelled. Returns when the nodes are known.

        Raises StorageUnavailable.
        """
        tasks.start_soon(self._renewal.run)
        await self._fronts.announce(self._roster.holder)
        await self._roster.open()
        tasks.start_soon(self._roster.run)
        tasks.start_soon(self._watch)

    async def drain(self, _within_s: float) -> None:
        """Say that this front goes. It has no shard to give back."""
        with anyio.move_on_after(_LEAVE_LIMIT_S):
            await self._renewal.fall_silent()
            await self._fronts.leave(self._roster.holder)

    def at_work(self) -> int:
        """The number of conversations at work: none."""
        return 0

"""Timers in memory."""

from collections.abc import Mapping, Sequence

from runtime.core.ids import SessionId
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.sessions import Lease, SessionTimer
from tests.fakes.memory.sessions import OpenSessionStore


class MemoryTimers:
    """Implements `runtime.stores.sessions.SessionTimers`."""

    def __init__(self, leases: MemoryLeaseStore, sessions: OpenSessionStore) -> None:
        self._leases = leases
        self._sessions = sessions
        self._timers: dict[int, dict[SessionId, float]] = {}

    async def set(self, lease: Lease, timer: SessionTimer, seq: int, /) -> bool:
        if not await self._is_at(lease, timer.session, seq):
            return False
        self._of(lease.shard)[timer.session] = timer.due_s
        self._sessions.mark_awake(lease.shard, timer.session, awake=False)
        return True

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        if not await self._is_at(lease, session, seq):
            return False
        self._of(lease.shard).pop(session, None)
        self._sessions.mark_awake(lease.shard, session, awake=True)
        return True

    async def first(self, shard: int, /) -> float | None:
        return min(self._of(shard).values(), default=None)

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[SessionTimer]:
        found = sorted((due_s, session) for session, due_s in self._of(shard).items() if due_s <= until_s)
        return [SessionTimer(session, due_s) for due_s, session in found[:limit]]

    async def done(self, shard: int, timer: SessionTimer, /) -> None:
        if self._of(shard).get(timer.session, timer.due_s + 1) <= timer.due_s:
            del self._of(shard)[timer.session]

    def all(self, shard: int) -> Mapping[SessionId, float]:
        """The shard's timers."""
        return dict(self._of(shard))

    async def _is_at(self, lease: Lease, session: SessionId, seq: int) -> bool:
        self._leases.check(lease.shard, lease.token)
        record = await self._sessions.session(lease.shard, session)
        return record is not None and record.seq == seq and not record.ended

    def _of(self, shard: int) -> dict[SessionId, float]:
        return self._timers.setdefault(shard, {})

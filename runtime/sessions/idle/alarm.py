"""Times of this node's shards: when one has come, an inbox event brings the session back that waits for it.

a session leaves memory ──> set ──┐                              due: inbox.add ──> the timer is done
a shard is gained ──> watch ──────┴─> sleeps until the first ────────┘
"""

from __future__ import annotations

from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.sessions.idle.bells import Bells
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import TIMER, Lease, SessionStore, Timer, Timers


class Alarm:
    """Rings the timers of the shards that this node holds. `run` must be running.

    A node that dies between an event and the end of its timer makes the next one ring again: the inbox knows the event
    by its id, which is the session and its last fact's number.
    """

    def __init__(self, timers: Timers, store: SessionStore, inbox: Inbox, clock: Clock) -> None:
        self._timers = timers
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._bells = Bells(timers, self._ring, clock)
        self.watch = self._bells.watch
        self.forget = self._bells.forget
        self.run = self._bells.run

    async def set(self, lease: Lease, timer: Timer, seq: int) -> bool:
        done = await self._timers.set(lease, timer, seq)
        if done:
            self._bells.note(lease.shard, timer.due_s)
        return done

    async def cancel(self, lease: Lease, session: SessionId, seq: int) -> bool:
        return await self._timers.cancel(lease, session, seq)

    async def _ring(self, shard: int, timer: Timer) -> bool:
        record = await self._store.session(shard, timer.session)
        if record is not None and not record.ended:
            id_ = f"{TIMER}.{timer.session}.{record.seq}"
            try:
                await self._inbox.add(
                    InboxEvent(id_, record.address, "", "", "", self._clock.now(), kind=TIMER, program=record.program)
                )
            except InboxFull:
                return False
        await self._timers.done(shard, timer)
        return True

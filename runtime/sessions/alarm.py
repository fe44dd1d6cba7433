"""Times of this node's shards: when one has come, an inbox event brings the session back that waits for it.

a session leaves memory ──> set ──┐                              due: inbox.add ──> the timer is done
a shard is gained ──> watch ──────┴─> sleeps until the first ────────┘
"""

from __future__ import annotations

import anyio

from runtime.core.clock import LOOK_S, Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import Lease, SessionStore
from runtime.stores.timers import TIMER, Timer, Timers

AT_ONCE = 100
"""The number of one shard's timers that ring before other shards have their turn."""

TOGETHER = 4
"""The number of timers that ring side by side, so that their calls to the store overlap."""

RETRY_S = 1.0
"""The pause before another try with a full inbox."""


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
        self._watched: set[int] = set()
        self._first: dict[int, float] = {}
        self._sleeping = anyio.CancelScope()

    async def watch(self, shard: int) -> None:
        """The shard is ours now."""
        self._watched.add(shard)
        self._note(shard, await self._timers.first(shard))

    def forget(self, shard: int) -> None:
        """Forget a shard that another node now holds."""
        self._watched.discard(shard)
        self._first.pop(shard, None)

    async def set(self, lease: Lease, timer: Timer, seq: int) -> bool:
        done = await self._timers.set(lease, timer, seq)
        if done:
            self._note(lease.shard, timer.due_s)
        return done

    async def cancel(self, lease: Lease, session: SessionId, seq: int) -> bool:
        return await self._timers.cancel(lease, session, seq)

    async def run(self) -> None:
        """Ring due timers until cancelled. Shards whose server is away delay no others."""
        async with anyio.create_task_group() as tasks:
            while True:
                now_s = self._clock.now().timestamp()
                for shard in [shard for shard, due_s in self._first.items() if due_s <= now_s]:
                    del self._first[shard]
                    tasks.start_soon(self._ring, shard, now_s)
                wait_s = min(self._first.values(), default=now_s + LOOK_S) - self._clock.now().timestamp()
                # No longer, for the calendar may be set to another time meanwhile.
                with anyio.CancelScope() as self._sleeping:
                    await self._clock.sleep_until(self._clock.monotonic() + min(wait_s, LOOK_S))

    def _note(self, shard: int, due_s: float | None) -> None:
        if shard in self._watched and due_s is not None:
            self._first[shard] = min(due_s, self._first.get(shard, due_s))
            self._sleeping.cancel()

    async def _ring(self, shard: int, now_s: float) -> None:
        refused: list[Timer] = []
        due = iter(await self._timers.due(shard, now_s, AT_ONCE))

        async def ring() -> None:
            for timer in due:
                await self._ring_one(shard, timer, refused)

        async with anyio.create_task_group() as tasks:
            for _ in range(TOGETHER):
                tasks.start_soon(ring)
        first_s = await self._timers.first(shard)
        self._note(shard, now_s + RETRY_S if refused else first_s)

    async def _ring_one(self, shard: int, timer: Timer, refused: list[Timer]) -> None:
        record = await self._store.session(shard, timer.session)
        if record is not None and not record.ended:
            id_ = f"{TIMER}.{timer.session}.{record.seq}"
            try:
                await self._inbox.add(
                    InboxEvent(id_, record.address, "", "", "", self._clock.now(), kind=TIMER, program=record.program)
                )
            except InboxFull:
                refused.append(timer)
                return
        await self._timers.done(shard, timer)

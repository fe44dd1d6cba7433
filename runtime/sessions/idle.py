"""Times of this node's shards: when one has come, an inbox event brings the session back that waits for it.

a session leaves memory ──> set ──┐                              due: inbox.add ──> the timer is done
a shard is gained ──> watch ──────┴─> sleeps until the first ────────┘

What is due in one shard rings some at a time. And the sessions that rest in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import anyio

from runtime.core.clock import LOOK_S, Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.sessions import TIMER, Lease, SessionStore, SessionTimer, SessionTimers

AT_ONCE = 100
"""The number of one shard's times that ring before other shards have their turn."""

TOGETHER = 4
"""The number of times that ring side by side, so that their calls to the store overlap."""

RETRY_S = 1.0
"""The pause before another try where something could not ring."""

Due = TypeVar("Due")
Kept = TypeVar("Kept", covariant=True)

MOST = 1000
"""The default number: about 70 MiB, and enough for people in conversation at some twenty messages a second."""


class Times(Protocol[Kept]):
    """The store of the times of shards."""

    async def first(self, shard: int, /) -> float | None:
        """The shard's first time, in seconds since the epoch; None when it has none."""

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[Kept]:
        """What is due by then, the earliest first."""


class ShardBells(Generic[Due]):
    """Rings what is due in the shards that this node holds. `run` must be running.

    `ring` takes what has rung out of `times`, and returns False where it has to be tried again.
    """

    def __init__(self, times: Times[Due], ring: Callable[[int, Due], Awaitable[bool]], clock: Clock) -> None:
        self._times = times
        self._ring_one = ring
        self._clock = clock
        self._watched: set[int] = set()
        self._first: dict[int, float] = {}
        self._sleeping = anyio.CancelScope()

    async def watch(self, shard: int) -> None:
        """The shard is ours now."""
        self._watched.add(shard)
        self.note(shard, await self._times.first(shard))

    def forget(self, shard: int) -> None:
        """Forget a shard that another node now holds."""
        self._watched.discard(shard)
        self._first.pop(shard, None)

    def note(self, shard: int, due_s: float | None) -> None:
        if shard in self._watched and due_s is not None:
            self._first[shard] = min(due_s, self._first.get(shard, due_s))
            self._sleeping.cancel()

    async def run(self) -> None:
        """Ring what is due until cancelled. Shards whose server is away delay no others."""
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

    async def _ring(self, shard: int, now_s: float) -> None:
        refused: list[Due] = []
        due = iter(await self._times.due(shard, now_s, AT_ONCE))

        async def ring() -> None:
            refused.extend([one for one in due if not await self._ring_one(shard, one)])

        async with anyio.create_task_group() as tasks:
            for _ in range(TOGETHER):
                tasks.start_soon(ring)
        first_s = await self._times.first(shard)
        self.note(shard, now_s + RETRY_S if refused else first_s)


class RestingSessions:
    """The resting sessions of one node, in the order in which they came to rest.

    With more than `most` of them, those that have rested longest leave memory, and each does after `idle_s`. Without an
    `alarm` those that wait for a time stay.
    """

    def __init__(self, most: int = MOST, idle_s: float = 900.0, alarm: TimerAlarm | None = None) -> None:
        self._most = most
        self.idle_s = idle_s
        self.alarm = alarm
        self._leave: OrderedDict[SessionId, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._leave)

    def begin(self, session: SessionId, leave: Callable[[], None]) -> None:
        """A session has come to rest; `leave` makes it leave memory."""
        self._leave[session] = leave
        self._leave.move_to_end(session)
        while len(self._leave) > self._most:
            _, leave_longest = self._leave.popitem(last=False)
            leave_longest()

    def end(self, session: SessionId) -> None:
        """A session is active again, or has left memory."""
        self._leave.pop(session, None)


class TimerAlarm:
    """Rings the timers of the shards that this node holds. `run` must be running.

    A node that dies between an event and the end of its timer makes the next one ring again: the inbox knows the event
    by its id, which is the session and its last fact's number.
    """

    def __init__(self, timers: SessionTimers, store: SessionStore, inbox: Inbox, clock: Clock) -> None:
        self._timers = timers
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._bells = ShardBells(timers, self._ring, clock)
        self.watch = self._bells.watch
        self.forget = self._bells.forget
        self.run = self._bells.run
        self.cancel = timers.cancel

    async def set(self, lease: Lease, timer: SessionTimer, seq: int) -> bool:
        done = await self._timers.set(lease, timer, seq)
        if done:
            self._bells.note(lease.shard, timer.due_s)
        return done

    async def _ring(self, shard: int, timer: SessionTimer) -> bool:
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

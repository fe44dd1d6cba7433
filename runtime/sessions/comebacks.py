"""The sessions that a restart continues: a few at a time, and those first that people wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from runtime.core.clock import Clock
from runtime.sessions.tasks.letters import session_of
from runtime.stores.sessions import Lease, SessionRecord

AT_ONCE = 8
"""The number of sessions that come back at the same time. What people write meanwhile waits for these, not for all."""

LONGEST_S = 1.0
"""After this time a session lets the next one come back too: it waits for something else, such as a server of tools."""


class Comebacks:
    """The sessions that are not in memory yet. Conversations of people come before tasks, which nobody waits for."""

    def __init__(
        self, come_back: Callable[[Lease, SessionRecord], Awaitable[None]], clock: Clock, tasks: TaskGroup
    ) -> None:
        """`come_back` returns when the session is where it was, and listens."""
        self._come_back = come_back
        self._clock = clock
        self._group = tasks
        self._talks: dict[str, tuple[Lease, SessionRecord]] = {}
        self._tasks: dict[str, tuple[Lease, SessionRecord]] = {}
        self._under_way = 0

    def __len__(self) -> int:
        return len(self._talks) + len(self._tasks)

    def add(self, lease: Lease, record: SessionRecord) -> None:
        """Have a session come back when it is its turn."""
        key = record.address.key
        (self._talks if session_of(record.address) is None else self._tasks)[key] = (lease, record)
        if self._under_way < AT_ONCE:
            self._under_way += 1
            self._group.start_soon(self._work)

    def take(self, key: str) -> SessionRecord | None:
        """The session of a conversation in which something happens now: it does not wait for its turn."""
        found = self._talks.pop(key, None) or self._tasks.pop(key, None)
        return None if found is None else found[1]

    def forget(self, shard: int) -> None:
        """Leave a shard's sessions to the next node."""
        for waiting in (self._talks, self._tasks):
            for key in [key for key, (lease, _) in waiting.items() if lease.shard == shard]:
                del waiting[key]

    def loads(self) -> Counter[int]:
        """The number of waiting sessions in each shard."""
        return Counter(lease.shard for waiting in (self._talks, self._tasks) for lease, _ in waiting.values())

    async def _work(self) -> None:
        while waiting := self._talks or self._tasks:
            lease, record = waiting.pop(next(iter(waiting)))
            async with anyio.create_task_group() as race:
                race.start_soon(self._end_after, LONGEST_S, race)
                await self._come_back(lease, record)
                race.cancel_scope.cancel()
        self._under_way -= 1

    async def _end_after(self, seconds: float, race: TaskGroup) -> None:
        await self._clock.sleep_until(self._clock.monotonic() + seconds)
        race.cancel_scope.cancel()

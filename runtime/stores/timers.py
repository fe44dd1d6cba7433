"""The port for times at which sessions outside memory have to continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.core.ids import SessionId
from runtime.stores.sessions import Lease

TIMER = "timer"
"""The kind of an inbox event that only loads its session, which knows itself what is due."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A session that has left memory until a time: `due_s` is UTC, in seconds since the epoch."""

    session: SessionId
    due_s: float


class Timers(Protocol):
    """At most one timer a session, kept with its shard. Raises LeaseLost or StorageUnavailable, and nothing else."""

    async def set(self, lease: Lease, timer: Timer, seq: int, /) -> bool:
        """From now on the timer brings the session back, and no restart does. Setting it again changes its time.

        False, and nothing changed, when the session's last fact is not number `seq`.
        """
        ...

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        """The session is back in memory, so a restart restores it, and no timer does. False as for `set`."""
        ...

    async def first(self, shard: int, /) -> float | None:
        """The time of the shard's next timer; None when it has none."""
        ...

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[Timer]:
        """The timers due by then, the earliest first."""
        ...

    async def done(self, shard: int, timer: Timer, /) -> None:
        """Take a timer away, unless it was set to another time meanwhile."""
        ...

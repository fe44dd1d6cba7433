"""The port for schedules that people and programs make in conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import Lease

SCHEDULE = "schedule"
"""The kind of the command's event, and of the event that a schedule is kept as."""


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """Schedule `number` of a conversation, next due at `due_s`, in seconds since the epoch.

    `event` says who made it and where; its text is what `runtime.sessions.schedules.letter.Wanted` writes.
    """

    number: int
    event: InboxEvent
    due_s: float


class ScheduleStore(Protocol):
    """Schedules belong to a conversation, whatever session lives there, and are kept with its shard. Raises
    StorageUnavailable, and LeaseLost where a lease is asked for, and nothing else.
    """

    async def add(self, lease: Lease, event: InboxEvent, due_s: float, /, *, bound: int) -> int | None:
        """Keep a schedule in the conversation of `event`; returns its number, which is never given again.

        An event that is kept already keeps its number. None where the conversation has `bound` schedules.
        """
        ...

    async def all(self, conversation: Address, /) -> Sequence[KeptSchedule]:
        """The schedules of a conversation, by number."""
        ...

    async def remove(self, lease: Lease, conversation: Address, number: int, /) -> bool:
        """Forget a schedule; False when there is none of that number."""
        ...

    async def zone(self, conversation: Address, /) -> str:
        """The name of the conversation's time zone; "" where nobody has set one."""
        ...

    async def set_zone(self, lease: Lease, conversation: Address, zone: str, dues: Mapping[int, float], /) -> None:
        """Set the time zone, and with it when schedules are due next, by their numbers."""
        ...

    async def first(self, shard: int, /) -> float | None:
        """The time of the shard's next schedule; None when it has none."""
        ...

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[KeptSchedule]:
        """The schedules due by then, the earliest first."""
        ...

    async def passed(self, kept: KeptSchedule, next_s: float | None, /) -> None:
        """The time of a schedule was dealt with: it is due next at `next_s`, or is over.

        Nothing changes where it was set to another time, or removed, meanwhile.
        """
        ...

"""Schedules in memory."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gateway.features.schedules.redis import KeptSchedule
from runtime.core.address import Address
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Lease


class MemorySchedules:
    """Implements `gateway.features.schedules.redis.ScheduleStore`. Without `leases` every lease counts as held."""

    def __init__(self, leases: MemoryLeaseStore | None = None) -> None:
        self._leases = leases
        self._kept: dict[str, dict[int, KeptSchedule]] = {}
        self._last: dict[str, int] = {}
        self._zones: dict[str, str] = {}

    @property
    def count(self) -> int:
        """The schedules of all conversations."""
        return sum(map(len, self._kept.values()))

    async def add(self, lease: Lease, event: InboxEvent, due_s: float, /, *, bound: int) -> int | None:
        self._check(lease)
        here = self._kept.setdefault(event.address.key, {})
        known = [kept.number for kept in here.values() if kept.event.id == event.id]
        if known:
            return known[0]
        if len(here) >= bound:
            return None
        number = self._last[event.address.key] = self._last.get(event.address.key, 0) + 1
        here[number] = KeptSchedule(number, event, due_s)
        return number

    async def all(self, conversation: Address, /) -> Sequence[KeptSchedule]:
        return list(self._kept.get(conversation.key, {}).values())

    async def remove(self, lease: Lease, conversation: Address, number: int, /) -> bool:
        self._check(lease)
        return self._kept.get(conversation.key, {}).pop(number, None) is not None

    async def zone(self, conversation: Address, /) -> str:
        return self._zones.get(conversation.key, "")

    async def set_zone(self, lease: Lease, conversation: Address, zone: str, dues: Mapping[int, float], /) -> None:
        self._check(lease)
        self._zones[conversation.key] = zone
        here = self._kept.get(conversation.key, {})
        for number in dues.keys() & here.keys():
            here[number] = replace(here[number], due_s=dues[number])

    async def first(self, shard: int, /) -> float | None:
        return min((kept.due_s for kept in self._of(shard)), default=None)

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[KeptSchedule]:
        found = sorted((kept for kept in self._of(shard) if kept.due_s <= until_s), key=lambda kept: kept.due_s)
        return found[:limit]

    async def passed(self, kept: KeptSchedule, next_s: float | None, /) -> None:
        here = self._kept.get(kept.event.address.key, {})
        now = here.get(kept.number)
        if now is None or now.due_s != kept.due_s:
            return
        if next_s is None:
            del here[kept.number]
        else:
            here[kept.number] = replace(now, due_s=next_s)

    def _of(self, shard: int) -> list[KeptSchedule]:
        return [kept for place, here in self._kept.items() if shard_of(place) == shard for kept in here.values()]

    def _check(self, lease: Lease) -> None:
        if self._leases is not None:
            self._leases.check(lease.shard, lease.token)

"""The schedules of this node's shards: made, listed, removed, and said at their times.

/schedule ──> kept with the shard ──> its time comes ──> may who made it still? ──> inbox: a message ──> the next time
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.runs import Runs
from gateway.features.schedules.settings import ScheduleSettings
from gateway.features.schedules.store import KeptSchedule, ScheduleStore, Wanted
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull, LeaseLost
from runtime.core.times import Timing, zone_named
from runtime.sessions.idle import Bells
from runtime.stores.inbox import LOCKED, NOTICE, Inbox, InboxEvent, shard_of
from runtime.stores.sessions import Lease

LOCKED_FOR = timedelta(hours=1)
"""The pause before another look at a schedule that cannot be decrypted."""

Attend = Callable[[InboxEvent], Awaitable[InboxEvent]]
"""Asked about each message of a schedule before it is said. Gives the event to add to the inbox: the message, or a
NOTICE that says why the schedule is over."""


async def _anybody(message: InboxEvent) -> InboxEvent:
    return message


class Schedules:
    """The schedules of the shards that this node holds. `run` must be running.

    A schedule is kept as the event by which it was made, so it is made once however often that event is taken. Its
    messages have ids of that event and their time: who rings twice, after a crash or beside another node, adds one.
    """

    def __init__(
        self,
        store: ScheduleStore,
        inbox: Inbox,
        clock: Clock,
        limits: ScheduleSettings | None = None,
        attend: Attend = _anybody,
        runs: Runs | None = None,
    ) -> None:
        """Without `runs` nobody keeps how they end, and no time is skipped."""
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self.limits = limits or ScheduleSettings()
        self._attend = attend
        self._runs = runs
        self._bells = Bells(store, self._ring, clock)
        self._leases: dict[int, Lease] = {}
        self.run = self._bells.run

    async def watch(self, lease: Lease) -> None:
        """The shard is ours now."""
        self._leases[lease.shard] = lease
        await self._bells.watch(lease.shard)

    def forget(self, shard: int) -> None:
        """Forget a shard that another node now holds."""
        self._leases.pop(shard, None)
        self._bells.forget(shard)

    async def zone(self, conversation: Address) -> ZoneInfo:
        """The time zone of a conversation."""
        named = await self._store.zone(conversation)
        return (zone_named(named) if named else None) or ZoneInfo(self.limits.timezone)

    async def all(self, conversation: Address) -> list[tuple[KeptSchedule, Wanted | None]]:
        """The schedules of a conversation with what they say; None for what cannot be read now."""
        return [(kept, _wanted(kept)) for kept in await self._store.all(conversation)]

    async def add(self, asked: InboxEvent, wanted: Wanted, first: datetime) -> int | None:
        """Keep a schedule for the conversation of `asked`; its number, or None where there are too many already."""
        lease, due_s = self._lease(asked.address), first.timestamp()
        kept = replace(
            asked, text=str(wanted), kind=SCHEDULE, attachments=(), message_id=None, quote=None, by_owner=False
        )
        number = await self._store.add(lease, kept, due_s, bound=self.limits.per_conversation)
        self._bells.note(lease.shard, due_s)
        return number

    async def remove(self, conversation: Address, number: int) -> bool:
        """Forget a schedule; False when there is none of that number."""
        await self.pause(conversation, number, paused=False)
        return await self._store.remove(self._lease(conversation), conversation, number)

    async def pause(self, conversation: Address, number: int, *, paused: bool) -> KeptSchedule | None:
        """Have a schedule skip its times, or no longer; None when there is none of that number."""
        self._lease(conversation)
        found = next((kept for kept in await self._store.all(conversation) if kept.number == number), None)
        if found is not None and self._runs is not None:
            await self._runs.pause(found.event, paused=paused)
        return found

    async def is_paused(self, kept: KeptSchedule) -> bool:
        """Whether a schedule skips its times."""
        return self._runs is not None and await self._runs.is_paused(kept.event)

    async def set_zone(self, conversation: Address, zone: ZoneInfo) -> None:
        """Set the time zone of a conversation: what is to come at "9" comes when it is 9 there."""
        lease, now = self._lease(conversation), self._clock.now()
        dues = {
            kept.number: wanted.timing.first(now, zone).timestamp()
            for kept, wanted in await self.all(conversation)
            if wanted is not None and wanted.timing.cron
        }
        await self._store.set_zone(lease, conversation, zone.key, dues)
        self._bells.note(lease.shard, min(dues.values(), default=None))

    def _lease(self, conversation: Address) -> Lease:
        shard = shard_of(conversation.key)
        if shard not in self._leases:
            raise LeaseLost(f"Shard {shard} is not ours.")
        return self._leases[shard]

    async def _ring(self, _shard: int, kept: KeptSchedule) -> bool:
        wanted = _wanted(kept)
        if wanted is None:
            await self._store.passed(kept, (self._clock.now() + LOCKED_FOR).timestamp())
            return True
        message = await self._attend(_message(kept, wanted.text))
        try:
            if message.kind == NOTICE or await self._may_begin(message):
                await self._inbox.add(message)
        except InboxFull:
            return False
        following = None if message.kind == NOTICE else await self._next(kept, wanted.timing)
        await self._store.passed(kept, following)
        return True

    async def _may_begin(self, message: InboxEvent) -> bool:
        return self._runs is None or await self._runs.admit(message, self.limits)

    async def _next(self, kept: KeptSchedule, timing: Timing) -> float | None:
        zone = await self.zone(kept.event.address)
        following = timing.next(datetime.fromtimestamp(kept.due_s, UTC), self._clock.now(), zone)
        return None if following is None else following.timestamp()


def _wanted(kept: KeptSchedule) -> Wanted | None:
    """What a schedule says; None where it is encrypted with a key that is missing, or unreadable."""
    if kept.event.kind == LOCKED:
        return None
    try:
        return Wanted.read(kept.event.text)
    except (ValueError, LookupError, TypeError):
        return None


def _message(kept: KeptSchedule, text: str) -> InboxEvent:
    """The message of a schedule that is due, from the person who made it."""
    due = datetime.fromtimestamp(kept.due_s, UTC)
    return replace(
        kept.event, id=f"{SCHEDULE}.{kept.event.id}.{due.isoformat()}", text=text, sent_at=due, kind="message"
    )

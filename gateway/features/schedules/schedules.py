"""The schedules of this node's shards: made, listed, removed, and said at their times.

/schedule ──> kept with the shard ──> its time comes ──> may who made it still? ──> inbox: a message ──> the next time

The runs of schedules: whether one begins, and how it ended.

a time has come ──> admit ──> inbox ──> a session takes it ──> nothing of it goes on any more ──> ended
                      │ missed, paused, the one before goes on: skipped                             │ three failures in
                      └─────────────────────────────────────────────────────────────────────────────┘ a row: owners hear
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from gateway.features.schedules import redis as stored
from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.settings import RunRules, ScheduleSettings
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull, LeaseLost, PlaybookError
from runtime.core.ids import SessionId, schedule_id
from runtime.core.times import SetTimes, read_times, zone_named
from runtime.execution.frames.drive import OutsideEffect
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.signatures import call
from runtime.sessions.idle import ShardBells
from runtime.stores.inbox import NOTICE, Inbox, InboxEvent, shard_of
from runtime.stores.sessions import Lease, SessionRecord

LOCKED_FOR = timedelta(hours=1)
"""The pause before another look at a schedule that cannot be decrypted."""

Attend = Callable[[InboxEvent], Awaitable[InboxEvent]]
"""Asked about each message of a schedule before it is said. Gives the event to add to the inbox: the message, or a
NOTICE that says why the schedule is over."""

MISSED_AFTER_S = 60.0
"""A time for which nothing ran for longer than this was missed."""

AT_WORK_AT_MOST_S = 86_400.0
"""A run without an end counts as at work for a day."""

FAILURES = 3
"""The owners hear of a schedule that failed this often in a row."""


class Schedules:
    """The schedules of the shards that this node holds. `run` must be running.

    A schedule is kept as the event by which it was made, so it is made once however often that event is taken. Its
    messages have ids of that event and their time: who rings twice, after a crash or beside another node, adds one.
    """

    def __init__(
        self,
        store: stored.ScheduleStore,
        inbox: Inbox,
        clock: Clock,
        limits: ScheduleSettings,
        attend: Attend,
        runs: Runs,
    ) -> None:
        self._store = store
        self._inbox = inbox
        self.clock = clock
        self.limits = limits
        self._attend = attend
        self.runs = runs
        self._bells = ShardBells(store, self._ring, clock)
        self._leases: dict[int, Lease] = {}
        self.run = self._bells.run

    async def watch(self, lease: Lease) -> None:
        self._leases[lease.shard] = lease
        await self._bells.watch(lease.shard)

    def forget(self, shard: int) -> None:
        self._leases.pop(shard, None)
        self._bells.forget(shard)

    async def zone(self, conversation: Address) -> ZoneInfo:
        named = await self._store.zone(conversation)
        return (zone_named(named) if named else None) or ZoneInfo(self.limits.timezone)

    async def all(self, conversation: Address) -> Sequence[stored.KeptSchedule]:
        return await self._store.all(conversation)

    async def add(self, asked: InboxEvent, wanted: stored.Wanted, first: datetime) -> int | None:
        """Keep a schedule for the conversation of `asked`; its number, or None where there are too many already."""
        lease, due_s = self._lease(asked.address), first.timestamp()
        kept = replace(
            asked, text=str(wanted), kind=SCHEDULE, attachments=(), message_id=None, quote=None, by_owner=False
        )
        number = await self._store.add(lease, kept, due_s, bound=self.limits.per_conversation)
        self._bells.note(lease.shard, due_s)
        return number

    async def remove(self, conversation: Address, number: int) -> bool:
        """Forget a schedule, which must not be paused; False when there is none of that number."""
        return await self._store.remove(self._lease(conversation), conversation, number)

    async def pause(self, conversation: Address, number: int, *, paused: bool) -> stored.KeptSchedule | None:
        """Have a schedule skip its times, or no longer; None when there is none of that number."""
        self._lease(conversation)
        found = next((kept for kept in await self.all(conversation) if kept.number == number), None)
        if found is not None:
            await self.runs.store.pause(stored.kept_key(found.event), paused=paused)
        return found

    async def is_paused(self, kept: stored.KeptSchedule) -> bool:
        return await self.runs.store.is_paused(stored.kept_key(kept.event))

    async def set_zone(self, conversation: Address, zone: ZoneInfo) -> None:
        """Set the time zone of a conversation: what is to come at "9" comes when it is 9 there."""
        lease, now = self._lease(conversation), self.clock.now()
        dues = {
            kept.number: wanted.timing.first(now, zone).timestamp()
            for kept in await self.all(conversation)
            if (wanted := kept.wanted) is not None and wanted.timing.cron
        }
        await self._store.set_zone(lease, conversation, zone.key, dues)
        self._bells.note(lease.shard, min(dues.values(), default=None))

    def _lease(self, conversation: Address) -> Lease:
        shard = shard_of(conversation.key)
        if shard not in self._leases:
            raise LeaseLost(f"Shard {shard} is not ours.")
        return self._leases[shard]

    async def _ring(self, _shard: int, kept: stored.KeptSchedule) -> bool:
        wanted = kept.wanted
        if wanted is None:
            await self._store.passed(kept, (self.clock.now() + LOCKED_FOR).timestamp())
            return True
        message = await self._attend(_message(kept, wanted.text))
        try:
            if message.kind == NOTICE or await self.runs.admit(message, self.limits):
                await self._inbox.add(message)
        except InboxFull:
            return False
        following = None if message.kind == NOTICE else await self._next(kept, wanted.timing)
        await self._store.passed(kept, following)
        return True

    async def _next(self, kept: stored.KeptSchedule, timing: SetTimes) -> float | None:
        zone = await self.zone(kept.event.address)
        following = timing.next(datetime.fromtimestamp(kept.due_s, UTC), self.clock.now(), zone)
        return None if following is None else following.timestamp()


def _message(kept: stored.KeptSchedule, text: str) -> InboxEvent:
    """The message of a schedule that is due, from the person who made it."""
    due = datetime.fromtimestamp(kept.due_s, UTC)
    return replace(
        kept.event, id=f"{SCHEDULE}.{kept.event.id}.{due.isoformat()}", text=text, sent_at=due, kind="message"
    )


class Failing(Struct, frozen=True):
    """A schedule, by its key, whose latest runs all failed; `run` is the last of them."""

    schedule: str
    address: Address
    run: stored.ScheduleRun


TellFailing = Callable[[Failing], Awaitable[None]]
"""Tells the owners, once for each run however often it is called."""


async def nobody(_failing: Failing, /) -> None:
    """Nobody is told."""


class Runs(Struct, frozen=True):
    """The runs of all schedules, as this node sees them. Everything may be done again after a crash."""

    store: stored.RunStore
    _clock: Clock
    _tell: TellFailing = nobody

    async def admit(self, event: InboxEvent, rules: RunRules) -> bool:
        """Whether the event of a schedule that is due is added to the inbox now. Decided once for each event."""
        of = stored.run_of(event.id, event.address)
        if of is None:
            return True
        why = await self._why_not(event, of, rules)
        status: stored.RunStatus = "skipped" if why else "waiting"
        now_s = self._clock.now().timestamp()
        run = stored.ScheduleRun(event.id, of.due.timestamp(), status, now_s, now_s if why else None, why)
        return (await self.store.begin(of.schedule, run)).status != "skipped"

    async def _why_not(self, event: InboxEvent, of: stored.RunOf, rules: RunRules) -> str:
        now_s = self._clock.now().timestamp()
        if await self.store.is_paused(of.schedule):
            return "paused"
        if rules.missed == "skip" and now_s - of.due.timestamp() > MISSED_AFTER_S:
            return "missed"
        if rules.overlap == "skip":
            others = [run for run in await self.store.of(of.schedule) if run.id != event.id and not run.over]
            if any(now_s - run.at_s < AT_WORK_AT_MOST_S for run in others):
                return "overlap"
        return ""

    async def begun(self, run: str, address: Address, session: SessionId) -> None:
        known = await self._known(run, address)
        if known is not None and not known[1].over:
            await self.store.put(known[0].schedule, replace(known[1], status="working", session=session))

    async def ended(self, run: str, address: Address, status: stored.RunStatus, *, why: str = "", seq: int = 0) -> None:
        """A run is over. Its first end counts."""
        known = await self._known(run, address)
        if known is None:
            return
        of, kept = known
        if not kept.over:
            now_s = self._clock.now().timestamp()
            kept = replace(kept, status=status, ended_s=now_s, why=why, seq=seq)
            await self.store.put(of.schedule, kept)
        if kept.status == "failed" and _failures(await self.store.of(of.schedule), run) == FAILURES:
            await self._tell(Failing(of.schedule, address, kept))

    async def _known(self, run: str, address: Address) -> tuple[stored.RunOf, stored.ScheduleRun] | None:
        of = stored.run_of(run, address)
        kept = [] if of is None else [one for one in await self.store.of(of.schedule) if one.id == run]
        return None if of is None or not kept else (of, kept[0])


def _failures(runs: Iterable[stored.ScheduleRun], last: str) -> int:
    """How many runs in a row failed up to this one. Those that were skipped do not count."""
    before = [run for run in runs if run.over and run.status != "skipped"]
    until = next((number for number, run in enumerate(before, 1) if run.id == last), 0)
    return sum(1 for _ in takewhile(lambda run: run.status == "failed", reversed(before[:until])))


MAX_TEXT_CHARS = 4000


class ScheduleCalls:
    def __init__(self, record: SessionRecord, schedules: Schedules) -> None:
        self._record = record
        self._schedules = schedules

    @call("Schedule", example='name = await Schedule("every weekday at 9", "ask what everybody is at")')
    async def schedule(self, frame: Frame, call: FrameCall, when: str, text: str) -> None:
        """Sends that text into the conversation at set times, as `/schedule` does, and returns "schedule 1".

        The schedule outlasts the session. A time that Parley does not understand raises an error with examples.
        """
        make = partial(self._make, when, text)
        await OutsideEffect("a schedule", make, repeatable=True).perform(frame, call)

    async def _make(self, when: str, text: str, key: str) -> str:
        """The name of the schedule of a key, which is made once however often this is called."""
        record, schedules = self._record, self._schedules
        zone, now = await schedules.zone(record.address), schedules.clock.now()
        found = read_times(when, now, zone)
        if found is None or found[2]:
            raise PlaybookError(f'Schedule does not understand {when!r}; write "every weekday at 9" or "in 20 minutes"')
        timing, said, _ = found
        first = timing.first(now, zone)
        if first <= now:
            raise PlaybookError(f"Schedule: {said} is over; it is {now.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})")
        if not text.strip() or len(text) > MAX_TEXT_CHARS:
            raise PlaybookError(f"Schedule takes a text of 1 to {MAX_TEXT_CHARS} characters, not of {len(text)}")
        program = schedule_id(record.program)
        asked = InboxEvent(key, record.address, program, record.program, "", now, kind=SCHEDULE, program=record.program)
        number = await schedules.add(asked, stored.Wanted(said, timing, text), first)
        if number is None:
            raise PlaybookError(f"there are {schedules.limits.per_conversation} schedules here, and no more are kept")
        return f"schedule {number}"

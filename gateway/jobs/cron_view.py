"""All schedules with their runs, those of the settings and those of conversations, for `parley cron`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gateway.settings.programs.cron import CronSettings
from runtime.core.address import Address
from runtime.core.ids import schedule_id
from runtime.sessions.schedules.letter import Wanted
from runtime.stores.inbox import LOCKED, Inbox, InboxEvent
from runtime.stores.operation.schedule_runs import RunStore, ScheduleRun, kept_key
from runtime.stores.schedules import SCHEDULE, KeptSchedule, ScheduleStore
from runtime.stores.sessions import SHARDS

_MOST = 10_000
"""The schedules of one shard that are listed."""


@dataclass(frozen=True, slots=True)
class CronEntry:
    """A schedule. `name` is that of the settings, or `<conversation>/<number>`; `key` is what its runs are kept under.

    `kept` is None for one of the settings.
    """

    name: str
    key: str
    when: str
    text: str
    address: Address
    next_at: datetime
    paused: bool
    runs: Sequence[ScheduleRun]
    kept: KeptSchedule | None = None

    def event(self, now: datetime) -> InboxEvent | None:
        """The event of a run that is wanted now; None for one that the settings make, or that cannot be read."""
        if self.kept is None or self.kept.event.kind == LOCKED:
            return None
        id_ = f"{SCHEDULE}.{self.kept.event.id}.{now.isoformat()}"
        return replace(self.kept.event, id=id_, text=self.text, sent_at=now, kind="message")


async def all_schedules(
    own: Sequence[CronSettings], store: ScheduleStore, runs: RunStore, now: datetime
) -> list[CronEntry]:
    """The schedules of the settings first, then those of conversations."""
    found = [await _of_settings(one, runs, now) for one in own]
    for shard in range(SHARDS):
        found += [await _kept(one, runs) for one in await store.due(shard, float("inf"), _MOST)]
    return found


async def begin_run(entry: CronEntry, event: InboxEvent, runs: RunStore, inbox: Inbox) -> bool:
    """Add a run that is wanted now, whatever else is scheduled; False when it was added already."""
    now_s = event.sent_at.timestamp()
    await runs.begin(entry.key, ScheduleRun(event.id, now_s, "waiting", now_s))
    return await inbox.add(event)


async def _of_settings(own: CronSettings, runs: RunStore, now: datetime) -> CronEntry:
    key, address = schedule_id(own.name), Address(own.platform, own.place, own.thread or None)
    when = f"{own.schedule} ({own.timezone})"
    text = own.text or f"begins {own.program}"
    paused = await runs.is_paused(key)
    return CronEntry(own.name, key, when, text, address, own.next_run(now), paused, await runs.of(key))


async def _kept(kept: KeptSchedule, runs: RunStore) -> CronEntry:
    key, name = kept_key(kept.event), f"{kept.event.address.key}/{kept.number}"
    try:
        wanted = Wanted.read(kept.event.text)
        when, text = wanted.when, wanted.text
    except (ValueError, LookupError, TypeError):
        when, text = "", "(a key of the encryption is missing)"
    due = datetime.fromtimestamp(kept.due_s, UTC)
    paused, past = await runs.is_paused(key), await runs.of(key)
    return CronEntry(name, key, when, text, kept.event.address, due, paused, past, kept)

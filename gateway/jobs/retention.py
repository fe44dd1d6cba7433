"""Retention of sessions: archiving and deleting, by a plan that can be read before it is carried out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gateway.jobs.erasure import Erasure
from gateway.jobs.runner import Job, every
from gateway.settings.operation import RetentionSettings
from runtime.bus import Bus
from runtime.core.address import session_of
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, SessionBusy
from runtime.events.service import ArchiveFailed, SessionsRetired
from runtime.stores.archive import PutsAway
from runtime.stores.catalog import KnownSession, SessionCatalog

INTERVAL = timedelta(hours=6)
"""The time between two runs of the job. Chosen: rules are in days."""

_AT_ONCE = 200
"""The number of sessions deleted together, since references by others are looked up once for all of them."""

Doing = Literal["archive", "delete"]


@dataclass(frozen=True, slots=True)
class RetentionStep:
    """The action for one session, and the setting that demands it."""

    session: KnownSession
    doing: Doing
    rule: str


@dataclass(slots=True)
class Done:
    """The numbers of archived and deleted sessions; `left` were busy, or others continue them."""

    archived: int = 0
    deleted: int = 0
    left: int = 0


class Retention:
    """Applies the rules of the settings. `cold` is None where there is no archive: then nothing is archived.

    Raises ArchiveUnavailable and StorageUnavailable; what was done until then is done, and the rest is found again.
    """

    def __init__(
        self, catalog: SessionCatalog, cold: PutsAway | None, erasure: Erasure, rules: RetentionSettings, clock: Clock
    ) -> None:
        self._catalog = catalog
        self._cold = cold
        self._erasure = erasure
        self._rules = rules
        self._clock = clock

    async def plan(self) -> AsyncIterator[RetentionStep]:
        """The actions that are due now, in no order. Reads every session and changes nothing."""
        now = self._clock.now()
        async for known in self._catalog.sessions():
            step = self._step(known, now)
            if step is not None:
                yield step

    async def apply(self) -> Done:
        """Carry out a plan."""
        done = Done()
        doomed: list[RetentionStep] = []
        async for step in self.plan():
            if step.doing == "delete":
                doomed.append(step)
            elif self._cold is not None and await self._cold.put_away(step.session.record.id):
                done.archived += 1
            else:
                done.left += 1
        for first in range(0, len(doomed), _AT_ONCE):
            await self._delete(doomed[first : first + _AT_ONCE], done)
        return done

    def job(self, bus: Bus) -> Job:

        async def run(_due: datetime) -> None:
            try:
                done = await self.apply()
            except ArchiveUnavailable as error:
                bus.publish(ArchiveFailed(str(error)))
                raise
            if done.archived or done.deleted:
                bus.publish(SessionsRetired(done.archived, done.deleted, done.left))

        return every("retention", INTERVAL, run)

    async def _delete(self, steps: list[RetentionStep], done: Done) -> None:
        ids = [step.session.record.id for step in steps]
        try:
            done.deleted += await self._erasure.sessions(ids)
        except SessionBusy:
            for id_ in ids:
                try:
                    done.deleted += await self._erasure.sessions([id_])
                except SessionBusy:
                    done.left += 1

    def _step(self, known: KnownSession, now: datetime) -> RetentionStep | None:
        rules, idle = self._rules, now - known.last_at
        if known.state == "working":
            return None
        if _over(idle, rules.delete_after_days):
            return RetentionStep(known, "delete", "retention.delete_after_days")
        if known.record.ended and session_of(known.record.address) is not None and _over(idle, rules.tasks_days):
            return RetentionStep(known, "delete", "retention.tasks_days")
        if known.record.replaced_by is not None:
            over = _over(idle, rules.replaced_days)
            return RetentionStep(known, "delete", "retention.replaced_days") if over else None
        if known.state != "archived" and self._cold is not None and _over(idle, rules.archive_after_days):
            return RetentionStep(known, "archive", "retention.archive_after_days")
        return None


def _over(idle: timedelta, days: float) -> bool:
    return days > 0 and idle > timedelta(days=days)

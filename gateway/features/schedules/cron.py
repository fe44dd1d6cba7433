"""Schedules of the settings: at set times a text is said to a program, or a program starts. All schedules, listed, and
on the bus: `GET /bus/v1/schedules`, and acts of owners on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from adapters.adapter import Inbound
from adapters.web.charters import is_closed
from gateway.clients.requests import BusClient, answer, object_of, page_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.feature import FeatureGround
from gateway.features.schedules import redis as stored
from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.schedules import Runs
from gateway.features.schedules.settings import CronSettings
from gateway.inbound.routing import Routes
from gateway.jobs.runner import Job
from gateway.settings.tree import Settings
from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.core.ids import schedule_id
from runtime.core.near_names import name_advice
from runtime.storage.redis.inbox import RedisInbox
from runtime.stores.inbox import LOCKED, Inbox, InboxEvent
from runtime.stores.sessions import SHARDS

_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_MOST = 10_000
"""The schedules of one shard that are listed."""


class Schedule(Struct, frozen=True):
    """One entry. `program` serves the place if a session starts now."""

    own: CronSettings
    program: str

    def event(self, due: datetime) -> InboxEvent:
        own, person = self.own, schedule_id(self.own.name)
        return InboxEvent(
            *(f"{person}.{due.isoformat()}", own.address, person, own.name, own.text, due),
            kind="new" if own.begins else "message",
            private=False,
            program=self.program,
        )

    def job(self, inbox: Inbox, runs: Runs) -> Job:
        """The entry as a job; other times or another time zone make another job."""

        async def run(due: datetime) -> None:
            event = self.event(due)
            if await runs.admit(event, own):
                await inbox.add(event)

        own = self.own
        digest = hashlib.sha256(f"{own.schedule} {own.timezone} {own.address.key}".encode()).hexdigest()[:8]
        return Job(f"cron.{own.name}.{digest}", own.next_run, run)

    def line(self, now: datetime) -> str:
        """The entry with its next time, for people."""
        own = self.own
        what = f"begins {self.program}" if own.begins else f'says "{_short(own.text)}" to {self.program}'
        at = own.next_run(now).astimezone(ZoneInfo(own.timezone))
        return f"{own.name}: {own.when}, next {at:%Y-%m-%d %H:%M}, {what} in {own.address.key}"


def build_schedules(settings: Sequence[CronSettings], routes: Routes) -> list[Schedule]:
    """The schedules of the settings.

    Raises ConfigError for unknown programs, for names given twice, and for places that no program serves.
    """
    made: list[Schedule] = []
    for own in settings:
        schedule = _schedule(own, routes)
        if any(own.name == other.own.name for other in made):
            raise ConfigError(f'{own.where}: "{own.name}" is the name of another schedule; choose a different name.')
        made.append(schedule)
    return made


def check_schedules(settings: Settings, routes: Routes, platforms: Mapping[str, bool]) -> None:
    """Raise ConfigError for schedules that cannot be, and for one on a platform that there is not, or that is off."""
    for own in settings.cron:
        if own.platform not in platforms:
            advice = name_advice(own.platform, sorted(platforms))
            raise ConfigError(f'{own.where}: there is no platform "{own.platform}"; {advice}')
    for schedule in build_schedules(settings.cron, routes):
        own = schedule.own
        if not platforms[own.platform]:
            raise ConfigError(f"[[cron]] {own.name}: {own.platform} is off; switch it on, or remove the schedule.")


def lines(settings: Settings, routes: Routes, now: datetime) -> Sequence[str]:
    return [schedule.line(now) for schedule in build_schedules(settings.cron, routes)]


def jobs_of(ground: FeatureGround) -> list[Job]:
    inbox, runs = RedisInbox(ground.connection), Runs(stored.RedisRuns(ground.connection), ground.clock)
    return [schedule.job(inbox, runs) for schedule in build_schedules(ground.settings.cron, ground.routes)]


def _schedule(own: CronSettings, routes: Routes) -> Schedule:
    who = ("", "", own.name, own.text, _SOME_TIME)
    arrival = Inbound(own.address, *who, private=False, addressed=True, space=own.space or None)
    program = own.program or routes.program(arrival)
    if own.program and own.program not in routes.files:
        advice = name_advice(own.program, sorted(routes.files))
        raise ConfigError(f'{own.where}: there is no program "{own.program}"; {advice}')
    if program is None:
        raise ConfigError(f'{own.where}: no route serves {own.address.key}; name a program with program = "…".')
    return Schedule(own, program)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"


class CronEntry(Struct, frozen=True):
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
    runs: Sequence[stored.ScheduleRun]
    kept: stored.KeptSchedule | None = None

    def event(self, now: datetime) -> InboxEvent | None:
        """The event of a run that is wanted now; None for one that the settings make, or that cannot be read."""
        if self.kept is None or self.kept.event.kind == LOCKED:
            return None
        id_ = f"{SCHEDULE}.{self.kept.event.id}.{now.isoformat()}"
        return replace(self.kept.event, id=id_, text=self.text, sent_at=now, kind="message")


async def all_schedules(
    own: Sequence[CronSettings], store: stored.ScheduleStore, runs: stored.RunStore, now: datetime
) -> list[CronEntry]:
    """The schedules of the settings first, then those of conversations."""
    found = [await _of_settings(one, runs, now) for one in own]
    for shard in range(SHARDS):
        found += [await _kept(one, runs) for one in await store.due(shard, float("inf"), _MOST)]
    return found


async def begin_run(entry: CronEntry, event: InboxEvent, runs: stored.RunStore, inbox: Inbox) -> bool:
    """Add a run that is wanted now, whatever else is scheduled; False when it was added already."""
    now_s = event.sent_at.timestamp()
    await runs.begin(entry.key, stored.ScheduleRun(event.id, now_s, "waiting", now_s))
    return await inbox.add(event)


async def _of_settings(own: CronSettings, runs: stored.RunStore, now: datetime) -> CronEntry:
    key, text = schedule_id(own.name), own.text or f"begins {own.program}"
    paused = await runs.is_paused(key)
    return CronEntry(own.name, key, own.when, text, own.address, own.next_run(now), paused, await runs.of(key))


async def _kept(kept: stored.KeptSchedule, runs: stored.RunStore) -> CronEntry:
    key, name = stored.kept_key(kept.event), f"{kept.event.address.key}/{kept.number}"
    wanted = kept.wanted
    when, text = ("", "(a key of the encryption is missing)") if wanted is None else (wanted.when, wanted.text)
    due = datetime.fromtimestamp(kept.due_s, UTC)
    paused, past = await runs.is_paused(key), await runs.of(key)
    return CronEntry(name, key, when, text, kept.event.address, due, paused, past, kept)


class ScheduleRoutes(GatewayView, frozen=True):
    ground: FeatureGround
    store: stored.RedisSchedules
    runs: stored.RedisRuns

    @looks("/schedules")
    async def schedules(self, request: Request, client: BusClient) -> Response:
        """The schedules of the settings, then those of conversations. Their words need the scope `content`."""
        scopes = client.scopes

        def shown(entry: CronEntry) -> dict[str, Any]:
            return _shown(entry, scopes.content and (scopes.private or not is_closed(entry.address)))

        found = await self._all()
        rows, next_ = page_of(request, found, lambda one: one.name, shown)
        return answer({"schedules": rows, "next": next_})

    @acts("/schedules/pause")
    async def pause(self, request: Request, _: BusClient) -> Response:
        return await self._paused(request, paused=True)

    @acts("/schedules/resume")
    async def resume(self, request: Request, _: BusClient) -> Response:
        return await self._paused(request, paused=False)

    @acts("/schedules/run")
    async def run(self, request: Request, _: BusClient) -> Response:
        entry = await self._named(request)
        event = entry.event(self.ground.clock.now()) or self._event_of(entry)
        if event is None:
            raise HTTPException(409, "This schedule cannot be read, so it cannot run.")
        await begin_run(entry, event, self.runs, RedisInbox(self.ground.connection))
        return answer({"schedule": entry.name, "run": event.id}, 202)

    async def _paused(self, request: Request, *, paused: bool) -> Response:
        entry = await self._named(request)
        await self.runs.pause(entry.key, paused=paused)
        return answer({"schedule": entry.name, "paused": paused})

    async def _named(self, request: Request) -> CronEntry:
        name = (await object_of(request)).get("schedule")
        for entry in await self._all():
            if entry.name == name:
                return entry
        raise HTTPException(404, "There is no such schedule.")

    async def _all(self) -> Sequence[CronEntry]:
        return await all_schedules(self.ground.settings.cron, self.store, self.runs, self.ground.clock.now())

    def _event_of(self, entry: CronEntry) -> InboxEvent | None:
        own = build_schedules(self.ground.settings.cron, self.ground.routes)
        made = next((one for one in own if one.own.name == entry.name), None)
        return None if made is None else made.event(self.ground.clock.now())


def schedule_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    return ScheduleRoutes(
        door, ground, stored.RedisSchedules(ground.connection), stored.RedisRuns(ground.connection)
    ).routes()


def _shown(entry: CronEntry, content: bool) -> dict[str, Any]:
    return {
        "schedule": entry.name,
        "when": entry.when,
        "text": entry.text if content else None,
        "conversation": entry.address.key,
        "next_at": entry.next_at.isoformat(),
        "paused": entry.paused,
        "runs": [_shown_run(run) for run in entry.runs[-5:]],
    }


def _shown_run(run: stored.ScheduleRun) -> dict[str, Any]:
    ended_s, due_at = run.ended_s, datetime.fromtimestamp(run.due_s, UTC).isoformat()
    took_s = None if ended_s is None else round(ended_s - run.at_s, 3)
    return {"status": run.status, "due_at": due_at, "took_s": took_s, "why": run.why, "session": run.session or None}

"""Schedules on the bus: `GET /bus/v1/schedules`, and acts of owners on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from adapters.web.charters import is_closed
from gateway.clients.requests import BusClient, answer, body_of, page_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.feature import FeatureGround
from gateway.features.schedules.cron import CronEntry, all_schedules, begin_run, build_schedules
from gateway.features.schedules.redis import RedisRuns, RedisSchedules, ScheduleRun
from runtime.storage.redis.inbox import RedisInbox
from runtime.stores.inbox import InboxEvent


class ScheduleRoutes(GatewayView, frozen=True):
    ground: FeatureGround
    store: RedisSchedules
    runs: RedisRuns

    @looks("/schedules")
    async def schedules(self, request: Request, client: BusClient) -> Response:
        """The schedules of the settings, then those of conversations. Their words need the scope `content`."""
        scopes = client.scopes

        def shown(entry: CronEntry) -> dict[str, Any]:
            return _schedule(entry, scopes.content and (scopes.private or not is_closed(entry.address)))

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
        body = await body_of(request)
        name = body.get("schedule") if isinstance(body, dict) else None
        for entry in await self._all():
            if entry.name == name:
                return entry
        raise HTTPException(404, "There is no such schedule.")

    async def _all(self) -> Sequence[CronEntry]:
        return await all_schedules(self.ground.settings.cron, self.store, self.runs, self.ground.clock.now())

    def _event_of(self, entry: CronEntry) -> InboxEvent | None:
        own = build_schedules(self.ground.settings.cron, self.ground.routes)
        made = next((one for one in own if one.name == entry.name), None)
        return None if made is None else made.event(self.ground.clock.now())


def schedule_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    return ScheduleRoutes(door, ground, RedisSchedules(ground.connection), RedisRuns(ground.connection)).routes()


def _schedule(entry: CronEntry, content: bool) -> dict[str, Any]:
    return {
        "schedule": entry.name,
        "when": entry.when,
        "text": entry.text if content else None,
        "conversation": entry.address.key,
        "next_at": entry.next_at.isoformat(),
        "paused": entry.paused,
        "runs": [_run(run) for run in entry.runs[-5:]],
    }


def _run(run: ScheduleRun) -> dict[str, Any]:
    ended_s, due_at = run.ended_s, datetime.fromtimestamp(run.due_s, UTC).isoformat()
    took_s = None if ended_s is None else round(ended_s - run.at_s, 3)
    return {"status": run.status, "due_at": due_at, "took_s": took_s, "why": run.why, "session": run.session or None}

"""Work without a person: `GET /bus/v1/tasks` and `/bus/v1/schedules`, and acts of owners on both."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adapters.web.charters.charter import is_closed
from gateway.clients.requests import answer, body_of
from gateway.jobs.cron_view import CronEntry, begin_run
from gateway.jobs.task_register import KnownTask
from gateway.overview.pages import limit_of, page_of
from gateway.overview.sources import Sources
from runtime.core.errors import InboxFull, TaskRefused
from runtime.stores.operation.schedule_runs import ScheduleRun

_ORDERED_WITHIN_S = 3.0
"""The wait for a node to order a task again. Chosen: an idle one takes milliseconds."""

_WORDS = ("arguments", "value", "error")
"""What people and models wrote, of a task."""


class WorkRoutes:
    """The requests about tasks and schedules."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    async def tasks(self, request: Request) -> Response:
        """The tasks that have begun, the latest active first. What they are given and return needs `content`."""
        client = self._sources.reader(request)
        try:
            page = await self._sources.tasks.page(request.query_params.get("after", ""), limit_of(request))
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error
        rows = [_task(task, await self._sources.rooms.words(client.scopes, task.session.record)) for task in page.tasks]
        return answer({"tasks": rows, "next": page.next or None})

    async def retry(self, request: Request) -> Response:
        """Order what a task did once more."""
        self._sources.writer(request)
        try:
            new, name = await self._sources.tasks.order_again(str(request.path_params["task"]), _ORDERED_WITHIN_S)
        except TaskRefused as error:
            raise HTTPException(409, str(error)) from error
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return answer({"task": new, "name": name}, 202)

    async def schedules(self, request: Request) -> Response:
        """The schedules of the settings, then those of conversations. Their words need the scope `content`."""
        client = self._sources.reader(request)
        scopes = client.scopes

        def shown(entry: CronEntry) -> dict[str, Any]:
            return _schedule(entry, scopes.content and (scopes.private or not is_closed(entry.address)))

        found = await self._sources.schedules()
        rows, next_ = page_of(request, found, lambda one: one.name, shown)
        return answer({"schedules": rows, "next": next_})

    async def pause(self, request: Request) -> Response:
        """Have a schedule skip its times."""
        return await self._paused(request, paused=True)

    async def resume(self, request: Request) -> Response:
        """Have it run at its times again."""
        return await self._paused(request, paused=False)

    async def run(self, request: Request) -> Response:
        """Run a schedule now, besides its times."""
        entry = await self._named(request)
        event = entry.event(self._sources.clock.now()) or self._sources.event_of(entry)
        if event is None:
            raise HTTPException(409, "This schedule cannot be read, so it cannot run.")
        try:
            await begin_run(entry, event, self._sources.runs, self._sources.inbox)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return answer({"schedule": entry.name, "run": event.id}, 202)

    async def _paused(self, request: Request, *, paused: bool) -> Response:
        entry = await self._named(request)
        await self._sources.runs.pause(entry.key, paused=paused)
        return answer({"schedule": entry.name, "paused": paused})

    async def _named(self, request: Request) -> CronEntry:
        self._sources.writer(request)
        body = await body_of(request)
        name = body.get("schedule") if isinstance(body, dict) else None
        for entry in await self._sources.schedules():
            if entry.name == name:
                return entry
        raise HTTPException(404, "There is no such schedule.")


def _task(task: KnownTask, content: bool) -> Mapping[str, Any]:
    data = {**task.data(), "conversation": task.session.record.address.key}
    return data if content else {name: value for name, value in data.items() if name not in _WORDS}


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

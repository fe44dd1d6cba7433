"""Tasks and meetings: `GET /bus/v1/tasks` and `/meetings`, and acts of owners on tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer, limit_of
from gateway.feature import FeatureDoor
from gateway.jobs.task_register import KnownTask, TaskRegister
from runtime.core.errors import ArchiveUnavailable, ContentLocked, InboxFull, TapeConflict, TaskRefused
from runtime.core.ids import ParticipantId, SessionId
from runtime.stores.catalog import KnownSession, SessionCatalog
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState

LOOKED_AT = 40
"""The sessions that one answer looks at."""

_REMEMBERED = 1_000
"""The sessions whose meetings are remembered until something happens in them."""

_OPEN = ("working", "resting")

_ORDERED_WITHIN_S = 3.0
"""The wait for a node to order a task again. Chosen: an idle one takes milliseconds."""

_WORDS = ("arguments", "value", "error")
"""What people and models wrote, of a task."""


class MeetingRoutes:
    """The request about meetings. A session is folded once for each time that something has happened in it."""

    def __init__(self, door: FeatureDoor, catalog: SessionCatalog) -> None:
        self._door = door
        self._catalog = catalog
        self._known: OrderedDict[SessionId, tuple[int, Sequence[dict[str, Any]]]] = OrderedDict()

    def routes(self) -> list[BaseRoute]:
        """The route, to be mounted with those of the bus."""
        return [Route("/meetings", self.some, methods=["GET"])]

    async def some(self, request: Request) -> Response:
        """The meetings of some sessions; those that are over are left out unless `over` is asked for."""
        client = self._door.reader(request)
        over = request.query_params.get("over") == "1"
        try:
            page = await self._catalog.page(request.query_params.get("after", ""), limit=LOOKED_AT)
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error
        shown: list[dict[str, Any]] = []
        for known in page.sessions:
            if known.state not in _OPEN:
                continue
            words = await self._door.rooms.words(client.scopes, known.record)
            meetings = [one for one in await self._meetings(known) if over or one["status"] != "ended"]
            shown += meetings if words else [{name: one[name] for name in one if name != "shared"} for one in meetings]
        return answer({"meetings": shown, "next": page.next or None})

    async def _meetings(self, known: KnownSession) -> Sequence[dict[str, Any]]:
        record = known.record
        kept = self._known.get(record.id)
        if kept is None or kept[0] != record.seq:
            try:
                state = (await self._door.moments.at(record.id, record.seq)).state
            except (ArchiveUnavailable, ContentLocked, TapeConflict):
                return []
            kept = record.seq, [_data(known, state, one) for one in state.meetings.values()]
            self._known[record.id] = kept
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(record.id)
        return kept[1]


def _data(known: KnownSession, state: SessionState, meeting: MeetingState) -> dict[str, Any]:
    return {
        "meeting": f"{known.record.id}.{meeting.id}",
        "session": known.record.id,
        "conversation": known.record.address.key,
        "place": None if meeting.place is None else meeting.place.key,
        "topic": meeting.topic,
        "host": _name(state, meeting.host),
        "status": meeting.status,
        "why": meeting.why,
        "since": datetime.fromtimestamp(meeting.since, UTC).isoformat() if meeting.since else None,
        "joined": [_name(state, who) for who in meeting.joined],
        "asked": [_name(state, who) for who in meeting.invited if who not in meeting.joined],
        "shared": {name: one.value for name, one in meeting.shared.items()},
    }


def _name(state: SessionState, who: ParticipantId) -> str:
    """The name of a person, or the class and number of an agent."""
    for agent in state.agents.values():
        if agent.id == who:
            return f"{agent.klass} {agent.id}"
    person = next((person for id_, person in state.people.items() if id_ == who), None)
    return str(who) if person is None else person.name


@dataclass(frozen=True, slots=True)
class WorkRoutes:
    """The requests about tasks."""

    door: FeatureDoor
    register: TaskRegister

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/tasks", self.tasks, methods=["GET"]),
            Route("/tasks/{task}/retry", self.retry, methods=["POST"]),
        ]

    async def tasks(self, request: Request) -> Response:
        """The tasks that have begun, the latest active first. What they are given and return needs `content`."""
        client = self.door.reader(request)
        try:
            page = await self.register.page(request.query_params.get("after", ""), limit_of(request))
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error
        rows = [_task(task, await self.door.rooms.words(client.scopes, task.session.record)) for task in page.tasks]
        return answer({"tasks": rows, "next": page.next or None})

    async def retry(self, request: Request) -> Response:
        """Order what a task did once more."""
        self.door.writer(request)
        try:
            new, name = await self.register.order_again(str(request.path_params["task"]), _ORDERED_WITHIN_S)
        except TaskRefused as error:
            raise HTTPException(409, str(error)) from error
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return answer({"task": new, "name": name}, 202)


def _task(task: KnownTask, content: bool) -> Mapping[str, Any]:
    data = {**task.data(), "conversation": task.session.record.address.key}
    return data if content else {name: value for name, value in data.items() if name not in _WORDS}

"""The bus for clients: one application with all of its routes, of which `/bus/v1/agents` says who is at work: nodes,
tasks, participants and clients.

`/bus/v1/ws`: events both ways over one WebSocket. Every frame is a CloudEvent; control frames are of types `bus.…`.
A client subscribes with `bus.subscribe`; a second one takes the place of the first. Each event that it gets has a
`cursor`, which it acknowledges with `bus.ack`: that acknowledges all before it as well. Who leaves too many
unacknowledged for too long is closed, and goes on from the last cursor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from gateway.clients import requests
from gateway.clients.events import EventRoutes, EventTriggers, Publishing, gone_data, wanted_by
from gateway.clients.feed import READ_AT_ONCE, EventFeed, FeedSubscription, Reader
from gateway.clients.requests import BusClient, ClientAdmission
from gateway.clients.scopes import JOURNAL
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.clients.views import ClientView, acts, looks
from gateway.socket_protocol import SocketLink
from runtime.core.address import session_of
from runtime.core.clock import Clock
from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import EventsGone, InboxFull
from runtime.core.ids import SessionId
from runtime.core.json_text import read_json, write_json
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.event_log import Cursor, cursor_text
from runtime.stores.sessions import LivingNodes
from runtime.tape.view import AGENT_SPAWN, CONTROL

WINDOW = 256
"""The number of events sent before the first of them is acknowledged."""

SLOW_S = 30.0
"""How long a full window waits for an acknowledgement."""

_SOURCE = "/bus"
_WAIT_S = 30.0

CLOSE_SLOW = 4408
CLOSE_GONE = 4410


class _Ending(Struct, frozen=True):
    code: int
    reason: str


_LEFT = _Ending(1000, "")


class SocketRoute(Struct, frozen=True):
    admission: ClientAdmission
    feed: EventFeed
    publishing: Publishing
    clock: Clock

    async def attend(self, socket: WebSocket) -> None:
        """Serve one client until it leaves."""
        try:
            client = self.admission.client(socket)
        except HTTPException as error:
            refusal = JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)
            await socket.send_denial_response(refusal)
            return
        await socket.accept()
        await _Visit(client, SocketLink(socket), self).run()


class _Visit:
    def __init__(self, client: BusClient, link: SocketLink, route: SocketRoute) -> None:
        self._client = client
        self._link = link
        self._route = route
        self._sent: deque[str] = deque()
        self._room = anyio.Event()
        self._delivering = anyio.CancelScope()
        self._count = 0
        self._ending = _LEFT

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            await self._listen(tasks)
            tasks.cancel_scope.cancel()
        await self._link.close(self._ending.code, self._ending.reason)

    async def _listen(self, tasks: TaskGroup) -> None:
        while (said := await self._link.receive()) is not None:
            frame: Mapping[str, Any] = {}
            try:
                frame = _frame(said)
                await self._take(frame, tasks)
            except HTTPException as error:
                await self._tell("bus.refused", frame, {"status": error.status_code, "error": error.detail})

    async def _take(self, frame: Mapping[str, Any], tasks: TaskGroup) -> None:
        type_ = frame.get("type")
        if type_ == "bus.subscribe":
            await self._subscribe(frame, _data(frame, "types", "subject", "after"), tasks)
        elif type_ == "bus.ack":
            self._acknowledge(_data(frame, "cursor").get("cursor"))
        elif isinstance(type_, str) and type_.startswith(CONTROL):
            raise HTTPException(422, f"There is no control frame {type_}.")
        else:
            await self._tell("bus.ack", frame, await self._route.publishing.publish(self._client, [frame]))

    async def _subscribe(self, frame: Mapping[str, Any], data: Mapping[str, Any], tasks: TaskGroup) -> None:
        types, after = data.get("types", [">"]), data.get("after")
        if not isinstance(types, list) or not types or not (after is None or isinstance(after, str)):
            raise HTTPException(422, "types is a list of patterns, and after a cursor.")
        reader = wanted_by(self._client, types, data.get("subject"))
        cursor = await self._route.feed.place(after)
        self._delivering.cancel()
        self._delivering = anyio.CancelScope()
        self._sent.clear()
        await self._tell("bus.subscribed", frame, {"cursor": cursor_text(cursor), "window": WINDOW})
        tasks.start_soon(self._deliver, reader, cursor, self._delivering, tasks)

    def _acknowledge(self, cursor: object) -> None:
        """Acknowledge everything up to a cursor; one that is not known acknowledges nothing."""
        if not isinstance(cursor, str):
            raise HTTPException(422, "An acknowledgement has a cursor.")
        if cursor not in self._sent:
            return
        while self._sent.popleft() != cursor:
            pass
        self._room.set()

    async def _deliver(self, reader: Reader, cursor: Cursor, scope: anyio.CancelScope, tasks: TaskGroup) -> None:
        with scope, self._route.feed.reading(self._client, reader, cursor) as subscription:
            try:
                self._ending = await self._send_events(subscription)
            except EventsGone:
                gone = gone_data(await self._route.feed.log.oldest())
                await self._tell("bus.refused", {}, {"status": 410, **gone})
                self._ending = _Ending(CLOSE_GONE, "events after this place are no longer kept")
            tasks.cancel_scope.cancel()

    async def _send_events(self, subscription: FeedSubscription) -> _Ending:
        while True:
            if len(self._sent) >= WINDOW:
                self._room = anyio.Event()
                with anyio.move_on_after(SLOW_S):
                    await self._room.wait()
                if len(self._sent) >= WINDOW:
                    return _Ending(CLOSE_SLOW, f"{WINDOW} events are not acknowledged; continue from the last cursor")
            before = subscription.cursor
            at_most = min(READ_AT_ONCE, WINDOW - len(self._sent))
            for logged in await subscription.next(wait_s=_WAIT_S, at_most=at_most):
                before = {**before, logged.shard: logged.entry_id}
                text = cursor_text(before)
                self._sent.append(text)
                await self._link.send(write_json({**await subscription.shown(logged.event), "cursor": text}))

    async def _tell(self, type_: str, frame: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._count += 1
        about = frame.get("id")
        known = {"correlationid": about} if isinstance(about, str) else {}
        now = self._route.clock.now()
        event = CloudEvent(str(self._count), type_, _SOURCE, now, data=dict(data), extensions=known)
        await self._link.send(write_json(event.as_data(content=False)))


def _frame(said: str) -> Mapping[str, Any]:
    """The object in a frame. Raises HTTPException for anything else."""
    try:
        frame = read_json(said)
    except ValueError as error:
        raise HTTPException(400, f"A frame is a JSON object: {error}.") from error
    if not isinstance(frame, dict):
        raise HTTPException(400, "A frame is a JSON object: this is something else.")
    return frame


def _data(frame: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The data of a control frame, with some of these keys. Raises HTTPException."""
    data = frame.get("data", {})
    if not isinstance(data, Mapping) or not set(data) <= set(keys):
        raise HTTPException(422, f"The data of {frame['type']} is a JSON object with {', '.join(keys)}.")
    return data


PREFIX = "/bus/v1"
"""Where the application is mounted."""

DOCUMENTS = ("openapi.json", "asyncapi.json")
"""The descriptions for tools, beside this file. They hold no secret, so nobody is asked who they are."""

_LOOKED_AT = 2_000
"""The other sessions among which one answer looks for tasks; the next answer goes on from there."""

_MOST = 1_000


class _TaskRoutes(ClientView, frozen=True):
    tasks: TaskService

    @acts("/tasks")
    async def order(self, request: Request, client: requests.BusClient) -> Response:
        """Order a task: 201, or 200 where its key is known."""
        task, new = await self.tasks.order(client, await requests.body_of(request))
        return requests.answer({"task": task}, 201 if new else 200)

    @looks("/tasks/{task}")
    async def look(self, request: Request, client: requests.BusClient) -> Response:
        """How far a task has come, and its result once it is over."""
        task = await self._found(request, client, "read")
        return requests.answer(task.data())

    @looks("/tasks/{task}/result")
    async def result(self, request: Request, client: requests.BusClient) -> Response:
        """The same, waited for: 202 where the time is over first, or the task asks something else than `answered`."""
        task = await self._found(request, client, "read")
        wait_s, answered = (
            requests.number(request, "wait_s", 0.0, requests.MAX_WAIT_S),
            request.query_params.get("answered"),
        )
        task = await self.tasks.wait(task, wait_s, answered=answered)
        return requests.answer(task.data(), 200 if task.over else 202)

    @acts("/tasks/{task}/cancel")
    async def cancel(self, request: Request, client: requests.BusClient) -> Response:
        """End a task."""
        task = await self._found(request, client, "write")
        await self.tasks.cancel(task)
        return requests.answer({"task": task.id, "status": task.view.status}, 202)

    @acts("/tasks/{task}/messages")
    async def speak(self, request: Request, client: requests.BusClient) -> Response:
        """Say something to a task, or answer it, once for each id."""
        task = await self._found(request, client, "write")
        said = await requests.object_of(request)
        new = await self.tasks.speak(client, task, said.get("id"), said.get("text"), said.get("ask"))
        return requests.answer({"accepted": int(new), "known": int(not new)}, 202)

    async def _found(self, request: Request, client: requests.BusClient, action: str) -> ClientTask:
        return await self.tasks.find(client, SessionId(str(request.path_params["task"])), action)


class ClientBus(Struct, frozen=True):
    """The parts that the routes share. `feed` has to run."""

    admission: requests.ClientAdmission
    feed: EventFeed
    tasks: TaskService
    living: Callable[[], Awaitable[LivingNodes]]
    fronts: Callable[[], Awaitable[LivingNodes]]
    catalog: SessionCatalog
    participants: Sequence[str]
    clock: Clock
    doors: Sequence[BaseRoute] = ()
    """The routes of the standards by which clients order tasks as well, to be mounted beside the bus."""
    views: Sequence[BaseRoute] = ()
    """Further routes of the bus: what there is to see of the whole gateway."""

    def app(self) -> Starlette:
        """The application, to be mounted at `PREFIX`."""
        publishing = Publishing(self.feed, EventTriggers(self.tasks.ordering), self.clock)
        events = EventRoutes(self.admission, self.feed, publishing)
        socket = SocketRoute(self.admission, self.feed, publishing, self.clock)
        views = [
            events,
            _TaskRoutes(self.admission, self.tasks),
            _AgentRoutes(self.admission, self),
        ]
        routes = [
            *(route for view in views for route in view.routes()),
            WebSocketRoute("/ws", socket.attend),
            *self.views,
            *(Route(f"/{name}", _document(name), methods=["GET"]) for name in DOCUMENTS),
        ]
        return Starlette(
            routes=requests.one_for_each_path(routes),
            exception_handlers={HTTPException: requests.refused, InboxFull: requests.refused},
        )


def _document(name: str) -> Callable[[Request], Awaitable[Response]]:
    file = Path(__file__).parent / name

    async def read(_: Request) -> Response:
        return FileResponse(file, media_type="application/json")

    return read


class _AgentRoutes(ClientView, frozen=True):
    bus: ClientBus

    @looks("/agents")
    async def at_work(self, request: Request, client: requests.BusClient) -> Response:
        """Nodes, fronts, tasks, participants and clients, for a client that may read of agents that begin."""
        if not client.scopes.may_read(AGENT_SPAWN):
            raise HTTPException(403, f"{client.name} has no scope to read {AGENT_SPAWN}.")
        living, fronts = await self.bus.living(), await self.bus.fronts()
        tasks, next_ = await self._tasks(client, request)
        return requests.answer(
            {
                "nodes": _alive(living),
                "fronts": _alive(fronts),
                "tasks": [_task(known) for known in tasks],
                "next": next_ or None,
                "participants": [{"name": name} for name in self.bus.participants],
                "clients": [
                    {"name": each.name, "connections_here": self.bus.feed.readers(each)}
                    for each in self.admission.clients
                ],
            }
        )

    async def _tasks(self, client: requests.BusClient, request: Request) -> tuple[list[KnownSession], str]:
        """The tasks that a client may see, and the mark of further ones."""

        async def seen(known: KnownSession) -> KnownSession | None:
            record = known.record
            may = session_of(record.address) is not None and client.scopes.may_use("read", record.program)
            return known if may else None

        after, limit = request.query_params.get("after", ""), requests.whole(request, "limit", 500, _MOST, least=1)
        with requests.known_mark():
            return await among_sessions(self.bus.catalog, after, limit, seen, _LOOKED_AT)


def _alive(living: LivingNodes) -> list[dict[str, Any]]:
    return [
        {"name": name, "status": "alive", "alive_for_s": round(left_s, 3)}
        for name, left_s in sorted(living.nodes.items())
    ]


def _task(known: KnownSession) -> dict[str, Any]:
    record = known.record
    return {
        "task": record.id,
        "program": record.program,
        "status": "ended" if record.ended else "working",
        "tape": f"{JOURNAL}{record.id}",
        "since": record.started_at.isoformat(),
        "last_heartbeat": known.last_at.isoformat(),
        "node": known.node,
    }

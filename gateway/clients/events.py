"""`/bus/v1/events`: clients send events, and read them, once or as a stream of server-sent events. Each event has the
playbooks executed whose triggers name its type.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.clients import requests
from gateway.clients.feed import READ_AT_ONCE, EventFeed, FeedSubscription, Reader
from gateway.clients.tasks.service import TaskOrdering
from gateway.clients.views import ClientView, acts, looks
from runtime.core.clock import Clock
from runtime.core.cloud_event import CloudEvent, event_from, is_pattern, matches
from runtime.core.errors import EventsGone
from runtime.core.json_text import write_json
from runtime.language.event_triggers import EventPlaybook, arguments_of, begun_on_events
from runtime.language.program import Program
from runtime.stores.event_log import Cursor, cursor_text
from runtime.tape.view import CONTROL, session_in

_MAX_BATCH = 100
_MAX_READ = 1_000
KEEP_ALIVE_S = 15.0
"""The time after which a stream without events says that it is there."""

_STREAM = "text/event-stream"


class Publishing:
    def __init__(self, feed: EventFeed, triggers: EventTriggers, clock: Clock) -> None:
        self._feed = feed
        self._triggers = triggers
        self._clock = clock

    async def publish(self, client: requests.BusClient, written: Sequence[object]) -> dict[str, int]:
        """Keep events in their order, and have executed what begins on them: how many were new and known, and how many
        readers see some of them now or playbooks begin on them.

        What begins is ordered first: a process that dies in between has answered nobody, and who sends the events again
        orders and adds nothing twice. Raises HTTPException: before any is taken, and 503 where too much waits.
        """
        events = [self._event(client, one) for one in written]
        begun = await self._triggers.begin(client, events)
        new, readers = await self._feed.log.add(events), await self._feed.receivers(events)
        return {"accepted": new, "known": len(events) - new, "receivers": readers + begun}

    def _event(self, client: requests.BusClient, written: object) -> CloudEvent:
        try:
            event = event_from(written, source=client.source, now=self._clock.now())
        except PermissionError as error:
            raise HTTPException(403, f"Not taken: {error}.") from error
        except ValueError as error:
            raise HTTPException(422, f"Not taken: {error}.") from error
        if "cursor" in event.extensions:
            raise HTTPException(422, "Not taken: the attribute cursor is the gateway's own.")
        if event.type.startswith(CONTROL):
            raise HTTPException(422, f"Not taken: types that begin with {CONTROL} are for control.")
        if not client.scopes.may_send(event.type):
            raise HTTPException(403, f"Not taken: {client.name} has no scope to send {event.type}.")
        return event


class EventRoutes(ClientView, frozen=True):
    feed: EventFeed
    publishing: Publishing

    @acts("/events")
    async def post(self, request: Request, client: requests.BusClient) -> Response:
        """Take one event, or a list of them."""
        body = await requests.body_of(request)
        written = body if isinstance(body, list) else [body]
        if not 0 < len(written) <= _MAX_BATCH:
            raise HTTPException(422, f"A batch has 1 to {_MAX_BATCH} events.")
        return requests.answer(await self.publishing.publish(client, written), 202)

    @looks("/events")
    async def get(self, request: Request, client: requests.BusClient) -> Response:
        """The events after a cursor, waited for if there are none; or a stream of them."""
        reader = wanted_by(client, request.query_params.getlist("type") or [">"], request.query_params.get("subject"))
        streams = _STREAM in request.headers.get("accept", "")
        after = request.headers.get("last-event-id") if streams else None
        cursor = await self.feed.place(after or request.query_params.get("after"))
        if streams:
            try:
                await self.feed.log.read(cursor, count=1)
            except EventsGone:
                return await self.gone()
            return StreamingResponse(
                self._stream(client, reader, cursor), media_type=_STREAM, headers=requests.STREAM_HEADERS
            )
        limit = requests.whole(request, "limit", READ_AT_ONCE, _MAX_READ, least=1)
        wait_s = requests.number(request, "wait_s", 0.0, requests.MAX_WAIT_S)
        with self.feed.reading(client, reader, cursor) as subscription:
            try:
                events = await subscription.next(wait_s=wait_s, at_most=limit)
            except EventsGone:
                return await self.gone()
            return requests.answer(
                {
                    "events": [await subscription.shown(logged.event) for logged in events],
                    "cursor": cursor_text(subscription.cursor),
                    "more": subscription.more,
                }
            )

    async def gone(self) -> Response:
        """410, with the place from which events are still there."""
        return requests.answer(gone_data(await self.feed.log.oldest()), 410)

    async def _stream(self, client: requests.BusClient, reader: Reader, cursor: Cursor) -> AsyncIterator[str]:
        with self.feed.reading(client, reader, cursor) as subscription:
            yield f"id: {cursor_text(cursor)}\n\n"  # who is cut off before the first event knows where to go on
            while True:
                try:
                    yield await _portion(subscription)
                except EventsGone:
                    data = write_json(gone_data(await self.feed.log.oldest()))
                    yield f"event: bus.gone\ndata: {data}\n\n"
                    return


async def _portion(subscription: FeedSubscription) -> str:
    """The next events as server-sent events. The last one has the cursor as its id: who resumes from an earlier one
    gets some of them again."""
    events = await subscription.next(wait_s=KEEP_ALIVE_S)
    lines = [f"data: {write_json(await subscription.shown(logged.event))}\n" for logged in events]
    if not lines:
        return f"id: {cursor_text(subscription.cursor)}\n\n: still here\n\n"
    lines[-1] = f"id: {cursor_text(subscription.cursor)}\n{lines[-1]}"
    return "".join(f"{line}\n" for line in lines)


def wanted_by(client: requests.BusClient, types: Sequence[Any], subject: Any) -> Reader:
    """A client as a reader of what it asks for. Raises HTTPException: 422 for what is no pattern, 403 for a client that
    may read nothing."""
    if not all(isinstance(pattern, str) and is_pattern(pattern) for pattern in types):
        raise HTTPException(
            422, 'A type is words with dots between them, "*" for any word, ">" at the end for the rest.'
        )
    if subject is not None and not isinstance(subject, str):
        raise HTTPException(422, "A subject is a text.")
    if not client.scopes.events_read:
        raise HTTPException(403, f"{client.name} has no scope to read events.")
    return Reader(client.scopes.events_read, tuple(types), subject)


def gone_data(oldest: Cursor) -> dict[str, str]:
    """What is said to who comes too late."""
    return {"error": "Events after this place are no longer kept. Continue from oldest.", "oldest": cursor_text(oldest)}


class EventTriggers:
    """The triggers of all programs by events of clients. Each event begins a task of the client for each playbook, once
    however often the event is sent."""

    def __init__(self, ordering: TaskOrdering) -> None:
        self._ordering = ordering
        self._known: dict[str, tuple[Program, Sequence[EventPlaybook]]] = {}

    async def begin(self, client: requests.BusClient, events: Sequence[CloudEvent], *, hops: int = 0) -> int:
        """Have executed what begins on these events and a client may begin; how many playbooks that are. Raises
        HTTPException where too much waits: then some may have begun, and the same events begin the others. `hops`
        events of programs led to them."""
        begun: set[str] = set()
        for event in events:
            for one in self.on(client, event.type):
                what = (one.klass, one.playbook.name, arguments_of(one.playbook, event))
                key = _key(one, event)
                await self._ordering.begin(client, one.program, what, key, event=event.type, hops=hops)
                begun.add(one.name)
        return len(begun)

    def on(self, client: requests.BusClient, type_: str) -> Iterator[EventPlaybook]:
        """The triggers of programs that a client may begin by an event of a type, one for each playbook."""
        names = set[str]()
        for name, program in self._ordering.door.programs.items():
            if not client.scopes.may_trigger(name):
                continue
            for one in self._of(name, program):
                if matches(one.pattern, type_) and one.name not in names:
                    names.add(one.name)
                    yield one

    def _of(self, name: str, program: Program) -> Sequence[EventPlaybook]:
        """The triggers of a program, which may have been reloaded."""
        known = self._known.get(name)
        if known is None or known[0] is not program:
            known = self._known[name] = (program, tuple(begun_on_events(name, program)))
        return known[1]


def _key(one: EventPlaybook, event: CloudEvent) -> str:
    """The name of the order: long ids and names make it no longer than the keys of clients are. The sessions of a
    program are one client."""
    id_ = event.id if session_in(event.source) is None else f"{event.source}\0{event.id}"
    return "event " + hashlib.sha256(f"{id_}\0{one.name}".encode(errors="surrogatepass")).hexdigest()

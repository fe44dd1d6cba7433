"""Events on their way over Socket Mode: each to one connection, again and again until it is acknowledged."""

import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
from msgspec import Struct, field

from runtime.core.clock import Clock
from tests.fakes.slack.conversations import APP_ID, TEAM
from tests.fakes.slack.refusal import Refusal

PATIENCE_S = (3.0, 60.0, 300.0, 3.0)
"""How long each delivery is waited for: an acknowledgement takes 3 s at most, repetitions come at once, then after a
minute and five more (docs.slack.dev, Events API)."""
MOST_CONNECTIONS = 10


class Connection(Struct, eq=False):
    """One WebSocket of a client."""

    send: Callable[[Mapping[str, Any]], Awaitable[None]]
    abort: Callable[[], None]
    gone: anyio.Event = field(default_factory=anyio.Event)


class Event(Struct, eq=False):
    """An event; `deliveries` are the envelope ids under which it went out, `acknowledged` those that came back."""

    body: dict[str, Any]
    kind: str = "events_api"
    deliveries: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    words: Any = None
    statuses: list[int] = field(default_factory=list)
    done: anyio.Event = field(default_factory=anyio.Event)
    given_up: bool = False


Post = Callable[[str, Mapping[str, Any], int], Awaitable[tuple[int, Any]]]
"""Sends a delivery by HTTP: its kind, its body and how often it was sent before; the status, and words if any."""


class EventQueue:
    """`noticed` is called when something has changed."""

    def __init__(self, clock: Clock, noticed: Callable[[], None]) -> None:
        self._clock = clock
        self._noticed = noticed
        self._ids = itertools.count(1)
        self._tickets: set[str] = set()
        self._waiting: deque[Event] = deque()
        self._more = anyio.Event()
        self._someone = anyio.Event()
        self.connections: list[Connection] = []
        self.post: Post | None = None
        self.patience_s: Sequence[float] = PATIENCE_S
        self.drops = False
        """Whether events are lost, as they are once Slack has repeated them for six minutes."""
        self.events: dict[str, Event] = {}

    @property
    def pending(self) -> list[str]:
        """Ids of the events that are neither acknowledged nor given up."""
        return [event_id for event_id, event in self.events.items() if not (event.done.is_set() or event.given_up)]

    def put(self, event: Mapping[str, Any], *, team: str = TEAM) -> str:
        """Send an event; returns its id."""
        event_id = f"Ev{next(self._ids):06d}"
        body = {
            "token": "unused",
            "team_id": team,
            "api_app_id": APP_ID,
            "event": dict(event),
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(self._clock.now().timestamp()),
        }
        self._send(event_id, Event(body))
        return event_id

    def put_payload(self, kind: str, payload: Any) -> str:
        """Send what is not an event: `interactive` or `slash_commands`."""
        event_id = f"{kind}-{next(self._ids)}"
        self._send(event_id, Event(payload, kind))
        return event_id

    def again(self, event_id: str) -> None:
        """Send an event once more, even where it was acknowledged."""
        known = self.events[event_id]
        self._enqueue(Event(known.body, known.kind, known.deliveries, known.acknowledged))

    def ticket(self) -> str:
        """The right to one connection."""
        ticket = f"ticket-{next(self._ids)}"
        self._tickets.add(ticket)
        return ticket

    def admit(self, ticket: str, connection: Connection) -> None:
        """A connection begins. Raises Refusal where the ticket is used up or there are too many."""
        if ticket not in self._tickets or len(self.connections) >= MOST_CONNECTIONS:
            raise Refusal("link_disabled")
        self._tickets.remove(ticket)
        self.connections.append(connection)
        self._someone.set()
        self._someone = anyio.Event()
        self._noticed()

    def left(self, connection: Connection) -> None:
        self.connections.remove(connection)
        connection.gone.set()
        self._noticed()

    def acknowledge(self, envelope_id: str, words: Any = None) -> None:
        for event in self.events.values():
            if envelope_id in event.deliveries and envelope_id not in event.acknowledged:
                event.acknowledged.append(envelope_id)
                event.words = words or event.words
                event.done.set()
                self._noticed()

    async def run(self) -> None:
        """Deliver, for ever."""
        async with anyio.create_task_group() as tasks:
            while True:
                while self._waiting:
                    tasks.start_soon(self._deliver, self._waiting.popleft())
                await self._more.wait()

    def _send(self, event_id: str, event: Event) -> None:
        if self.drops:
            return
        self.events[event_id] = event
        self._enqueue(event)

    def _enqueue(self, event: Event) -> None:
        self._waiting.append(event)
        self._more.set()
        self._more = anyio.Event()

    async def _deliver(self, event: Event) -> None:
        if self.post is not None:
            await self._deliver_by_http(event, self.post)
            return
        reason = None
        for attempt, patience_s in enumerate(self.patience_s):
            connection = await self._connection()
            envelope_id = f"envelope-{next(self._ids)}"
            event.deliveries.append(envelope_id)
            again = {"retry_attempt": attempt, "retry_reason": reason or ""}
            frame = {"envelope_id": envelope_id, "type": event.kind, "payload": event.body}
            await connection.send(frame | again | {"accepts_response_payload": False})
            self._noticed()
            reason = await self._outcome(event, connection, patience_s)
            if reason is None:
                return
        event.given_up = True
        self._noticed()

    async def _deliver_by_http(self, event: Event, post: Post) -> None:
        """Until it is answered with 200; only events are repeated (docs.slack.dev, using HTTP request URLs)."""
        for attempt, patience_s in enumerate(self.patience_s if event.kind == "events_api" else (3.0,)):
            event.deliveries.append(f"request-{next(self._ids)}")
            status, words = await post(event.kind, event.body, attempt)
            event.statuses.append(status)
            if status == 200:
                event.acknowledged.append(event.deliveries[-1])
                event.words = words
                event.done.set()
                self._noticed()
                return
            self._noticed()
            if attempt:
                await self._clock.sleep_until(self._clock.monotonic() + patience_s)
        event.given_up = True
        self._noticed()

    async def _connection(self) -> Connection:
        while not self.connections:
            await self._someone.wait()
        return self.connections[next(self._ids) % len(self.connections)]

    async def _outcome(self, event: Event, connection: Connection, patience_s: float) -> str | None:
        """None once it is acknowledged, else why it has to go out again."""
        outcome: str | None = "timeout"
        until_s = self._clock.monotonic() + patience_s
        async with anyio.create_task_group() as tasks:

            async def watch(wait: Callable[[], Awaitable[None]], meaning: str | None) -> None:
                nonlocal outcome
                await wait()
                outcome = meaning
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch, event.done.wait, None)
            tasks.start_soon(watch, connection.gone.wait, "connection_failed")
            tasks.start_soon(watch, lambda: self._clock.sleep_until(until_s), "timeout")
        return None if event.done.is_set() else outcome

"""The events of all shards for the clients of one process: one reader that wakes those who wait. And who reads events
now, on all nodes: each process writes down its own, and looks at the others'.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio
from msgspec import Struct, convert
from starlette.exceptions import HTTPException

from adapters.records import Records, what_can_be_read
from gateway.clients.journals import ClosedRooms
from gateway.clients.requests import BusClient
from runtime.core.clock import Clock
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.errors import StorageUnavailable
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.stores.event_log import Cursor, EventLog, LoggedEvent, cursor_from, moved
from runtime.tape.view import session_in

_OLDEST = "oldest"
"""The cursor before everything that is kept."""

READ_AT_ONCE = 100
"""Events of one read of each shard, and of one answer, unless a client wants another number."""

LOOKED_AT = 20_000
"""The events that one answer looks at. A client may see none of them; the next answer goes on from there."""

_NEWS_S = 30.0

READERS_TABLE = "bus-readers"

VALID_S = 90.0
"""Readers of a process that was killed count for so long."""

_RENEW_S = 30.0
_SHORTEST_S = 0.5
"""The shortest time between two writes: clients that come and go often are written down together."""

_LAST_WRITE_S = 2.0


class Reader(Struct, frozen=True):
    """A reading client: patterns of the types that it may read and of those that it asks for, and the subject, None for
    any."""

    may: tuple[str, ...]
    types: tuple[str, ...]
    subject: str | None

    def sees(self, event: CloudEvent) -> bool:
        if self.subject is not None and event.subject != self.subject:
            return False
        return all(any(matches(one, event.type) for one in patterns) for patterns in (self.may, self.types))


@dataclass(eq=False, slots=True)
class FeedSubscription:
    """One client that reads. `cursor` is the place up to which it has read; `more`: there may be further events for it
    behind that already."""

    client: BusClient
    reader: Reader
    cursor: Cursor
    more: bool = field(default=False, init=False)
    _feed: EventFeed = field(repr=False)

    async def shown(self, event: CloudEvent) -> dict[str, Any]:
        """An event as this client may have it: with its words, or without. Raises StorageUnavailable."""
        scopes, session = self.client.scopes, session_in(event.source)
        content = scopes.content
        if content and not scopes.private and session is not None and event.words is not None:
            content = not await self._feed.rooms.has(SessionId(session))
        return event.as_data(content=content)

    async def next(self, *, wait_s: float, at_most: int = READ_AT_ONCE) -> Sequence[LoggedEvent]:
        """The next events, in the order of each source, as soon as there are some; none after `wait_s`. There are fewer
        than `at_most` only at the end, or after `LOOKED_AT` others. The cursor moves with what was looked at. Raises
        EventsGone and StorageError.
        """
        deadline = anyio.current_time() + wait_s
        while True:
            rung = self._feed.rung
            events = await self._page(at_most)
            if events or anyio.current_time() >= deadline:
                return events
            if not self.more:
                with anyio.CancelScope(deadline=deadline):
                    await rung.wait()

    async def _page(self, at_most: int) -> Sequence[LoggedEvent]:
        seen: list[LoggedEvent] = []
        looked_at, self.more = 0, True
        while len(seen) < at_most and looked_at < LOOKED_AT:
            read = await self._feed.log.read(self.cursor, count=READ_AT_ONCE)
            if not read:
                self.more = False
                break
            passed: list[LoggedEvent] = []
            for logged in sorted(read, key=_place):
                passed.append(logged)
                seen += [logged] if self.reader.sees(logged.event) else []
                if len(seen) == at_most:
                    break
            self.cursor = moved(self.cursor, passed)
            looked_at += len(passed)
        return seen


class EventFeed:
    def __init__(self, log: EventLog, readers: ClientReaders, rooms: ClosedRooms) -> None:
        self.log = log
        self.rooms = rooms
        self._readers = readers
        self.rung = anyio.Event()
        """Set, and replaced, when there is news in any shard."""
        self._started = anyio.Event()
        self._subscriptions: set[FeedSubscription] = set()

    async def run(self) -> None:
        """Wake those who wait, and let other processes know who reads here, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._readers.run, self._here)
            await self._wake()

    async def _wake(self) -> None:
        cursor = await self.log.newest()
        self._started.set()
        while True:
            before = cursor
            cursor = await self.log.wait(before, wait_s=_NEWS_S)
            if cursor != before:
                rung, self.rung = self.rung, anyio.Event()
                rung.set()

    async def place(self, after: str | None) -> Cursor:
        """The place that a client names: None is now. Raises HTTPException for what is none."""
        await self._started.wait()
        if after is None:
            return await self.log.newest()
        try:
            return await self.log.oldest() if after == _OLDEST else cursor_from(after)
        except ValueError as error:
            raise HTTPException(422, f"after: {error}.") from error

    @contextmanager
    def reading(self, client: BusClient, reader: Reader, cursor: Cursor) -> Iterator[FeedSubscription]:
        subscription = FeedSubscription(client, reader, cursor, self)
        self._subscriptions.add(subscription)
        self._readers.changed()
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            self._readers.changed()

    async def receivers(self, events: Sequence[CloudEvent]) -> int:
        """How many who read now, on all nodes, see some of these events. Raises StorageUnavailable."""
        return receivers([*self._here(), *await self._readers.elsewhere()], events)

    def _here(self) -> list[Reader]:
        return [each.reader for each in self._subscriptions]

    def readers(self, client: BusClient) -> int:
        return sum(each.client is client for each in self._subscriptions)


def _place(logged: LoggedEvent) -> tuple[int, int]:
    first, _, second = logged.entry_id.partition("-")
    return int(first), int(second)


def receivers(readers: Iterable[Reader], events: Sequence[CloudEvent]) -> int:
    """How many of them see some of these events."""
    return sum(any(reader.sees(event) for event in events) for reader in readers)


class ClientReaders:
    """The reading clients of this process, written down for the others. `run` has to run."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._process = uuid.uuid4().hex
        self._changed = anyio.Event()
        self._others: list[Reader] = []
        self._looked_until = -math.inf

    def changed(self) -> None:
        self._changed.set()

    async def elsewhere(self) -> list[Reader]:
        """The readers of all other processes, as they were within the last half second. Raises StorageUnavailable."""
        if self._clock.monotonic() >= self._looked_until:
            self._others = await self._look()
            self._looked_until = self._clock.monotonic() + _SHORTEST_S
        return self._others

    async def _look(self) -> list[Reader]:
        now, found = self._clock.now().timestamp(), list[Reader]()
        for process, (until, readers) in what_can_be_read(await self._records.all(), _read).items():
            if process == self._process:
                continue
            if until < now:
                await self._records.remove(process)
            else:
                found += readers
        return found

    async def run(self, here: Callable[[], Iterable[Reader]]) -> None:
        """Write down who reads here, until cancelled."""
        try:
            while True:
                self._changed = anyio.Event()
                readers = list(here())
                await self._write(readers)
                await self._clock.sleep_until(self._clock.monotonic() + _SHORTEST_S)
                with anyio.move_on_after(_RENEW_S if readers else None):
                    await self._changed.wait()
        finally:
            with anyio.move_on_after(_LAST_WRITE_S, shield=True):
                await self._remove()

    async def _write(self, readers: Sequence[Reader]) -> None:
        if not readers:
            await self._remove()
            return
        expiry = (self._clock.now() + timedelta(seconds=VALID_S)).timestamp()
        data = {"until": expiry, "readers": [plain_data(reader) for reader in readers]}
        try:
            await self._records.put(self._process, json.dumps(data))
        except StorageUnavailable:
            self._changed.set()  # it is written as soon as that is possible

    async def _remove(self) -> None:
        with suppress(StorageUnavailable):  # it runs out
            await self._records.remove(self._process)


def _read(text: str) -> tuple[float, Sequence[Reader]]:
    """Until when a process's readers are there, and they."""
    written = json.loads(text)
    return float(written["until"]), convert(written["readers"], list[Reader])

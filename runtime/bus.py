"""The bus: publish and subscribe inside one process."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from fnmatch import translate
from typing import TypeVar

import anyio

from runtime.core.clock import Clock
from runtime.events.happening import BusEvent, Happening

Handler = Callable[[BusEvent], None]
Kind = TypeVar("Kind", bound=Happening)
_MAX_CACHED_NAMES = 4096


class Bus:
    """Hands each event to the subscribers whose pattern matches its name, in the order they came.

    Patterns are those of file names: "session.*", "page.sent", "*". Subscribers run inside `publish`, so they must be
    quick and may not wait. What one raises is counted in `failures` and reaches nobody else.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._subscriptions: list[_Subscription] = []
        self._cache: dict[str, tuple[_Subscription, ...]] = {}
        self.failures = 0
        """Events that a subscriber raised at."""
        self.dropped = 0
        """Events that a full `events` iterator did not take."""

    def publish(self, what: Happening, /) -> None:
        """Tell everybody what happened. Never waits and never raises what a subscriber raises."""
        subscriptions = self._cache.get(what.name)
        if subscriptions is None:
            subscriptions = self._match(what.name)
        if not subscriptions:
            return
        event = BusEvent(what, self.clock.now())
        for subscription in subscriptions:
            if not subscription.active:
                continue
            try:
                subscription.handler(event)
            except Exception:  # noqa: BLE001 - who listens must not harm who speaks; it is counted
                self.failures += 1

    def subscribe(self, pattern: str, handler: Handler) -> Callable[[], None]:
        """Call `handler` with each event whose name matches, until the returned function is called (once or more)."""
        subscription = _Subscription(re.compile(translate(pattern)), handler)
        self._subscriptions.append(subscription)
        self._cache.clear()

        def unsubscribe() -> None:
            if subscription.active:
                subscription.active = False
                self._subscriptions.remove(subscription)
                self._cache.clear()

        return unsubscribe

    def hear(self, kind: type[Kind], handler: Callable[[Kind, datetime], object]) -> Callable[[], None]:
        """Call `handler` with each happening of `kind` and its time (UTC), until the returned function is called."""

        def hear(event: BusEvent) -> None:
            if isinstance(event.what, kind):
                handler(event.what, event.at)

        return self.subscribe(kind.name, hear)

    @asynccontextmanager
    async def events(self, pattern: str, *, capacity: int) -> AsyncIterator[EventStream]:
        """The matching events from now on, as an async iterator that keeps at most `capacity` unread ones."""
        stream = EventStream(self, capacity)
        unsubscribe = self.subscribe(pattern, stream.put)
        try:
            yield stream
        finally:
            unsubscribe()

    def _match(self, name: str) -> tuple[_Subscription, ...]:
        found = tuple(subscription for subscription in self._subscriptions if subscription.pattern.match(name))
        if len(self._cache) >= _MAX_CACHED_NAMES:
            self._cache.clear()
        self._cache[name] = found
        return found


class EventStream:
    """Unread events, oldest first. When it is full a new event is not taken but counted in `dropped`."""

    def __init__(self, bus: Bus, capacity: int) -> None:
        self._bus = bus
        self._capacity = capacity
        self._unread: deque[BusEvent] = deque()
        self._arrived = anyio.Event()
        self.dropped = 0

    def put(self, event: BusEvent) -> None:
        """Take one more event, or count it."""
        if len(self._unread) >= self._capacity:
            self.dropped += 1
            self._bus.dropped += 1
            return
        self._unread.append(event)
        self._arrived.set()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> BusEvent:
        """The next event; waits for it. One reader at a time."""
        while not self._unread:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._unread.popleft()


class _Subscription:
    __slots__ = ("active", "handler", "pattern")

    def __init__(self, pattern: re.Pattern[str], handler: Handler) -> None:
        self.pattern = pattern
        self.handler = handler
        self.active = True

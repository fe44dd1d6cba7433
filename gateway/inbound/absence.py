"""The notice to people who write while no node serves conversations: what they write is kept by the front alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import anyio

from gateway.cluster.roster import Roster
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.texts import Texts
from runtime.events.service import AgentsAbsent, AgentsPresent
from runtime.stores.inbox import InboxEvent

NOTICE_AFTER_S = 10.0
"""The absence after which people are told. Chosen: a node that is restarted is back before."""

RECENTLY_S = 60.0
"""Who wrote in this time before an absence is told too: their answer may have stopped growing."""

MAX_REMEMBERED = 10_000
"""The conversations remembered, and those told in one absence. Others are not told."""

_UNANSWERED = frozenset({"reaction", "deletion"})
_LOOK_S = 30.0

Say = Callable[[Address, str], Awaitable[None]]
"""Tells a conversation something outside any session."""


class Absence:
    """Tells each conversation once an absence, and nobody in one that is short."""

    def __init__(self, roster: Roster, clock: Clock, say: Say, texts: Texts, bus: Bus) -> None:
        self._roster = roster
        self._clock = clock
        self._say = say
        self._texts = texts
        self._bus = bus
        self._recent: OrderedDict[str, tuple[Address, float]] = OrderedDict()
        self._written = anyio.Event()

    def note(self, event: InboxEvent) -> None:
        """Somebody did something that is now kept."""
        if event.kind in _UNANSWERED:
            return
        where = event.place or event.address
        self._recent[where.key] = (where, self._clock.monotonic())
        self._recent.move_to_end(where.key)
        if len(self._recent) > MAX_REMEMBERED:
            self._recent.popitem(last=False)
        self._written.set()

    async def run(self) -> None:
        """Watch and tell, until cancelled."""
        while True:
            await self._until(absent=True)
            began_s = self._clock.monotonic()
            async with beside() as tasks:
                tasks.start_soon(self._tell, began_s)
                await self._until(absent=False)
            self._recent.clear()
            if (seconds := self._clock.monotonic() - began_s) >= NOTICE_AFTER_S:
                self._bus.publish(AgentsPresent(seconds))

    async def _until(self, *, absent: bool) -> None:
        while True:
            seen = self._roster.stirs
            if (self._roster.nodes == 0) is absent:
                return
            await self._roster.stirred(seen, _LOOK_S)

    async def _tell(self, began_s: float) -> None:
        await self._clock.sleep_until(began_s + NOTICE_AFTER_S)
        self._bus.publish(AgentsAbsent())
        told: set[str] = set()
        while True:
            self._written = anyio.Event()
            while self._recent:
                key, (where, at_s) = self._recent.popitem(last=False)
                if at_s >= began_s - RECENTLY_S and key not in told and len(told) < MAX_REMEMBERED:
                    told.add(key)
                    await self._say(where, self._texts("inbound.nobody"))
            await self._written.wait()

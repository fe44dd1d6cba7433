"""Periodic news for pages: which other rooms have new messages, and who is here.

Nothing is done for a page when something happens. A turn comes four times a second while there is news; then the pages
whose turn it is are told all of it at once. Each turn is bounded, so with very many pages each is told more rarely.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice, takewhile
from typing import Protocol

import anyio

from adapters.web import codec
from adapters.web.codec import Person, Presence, RoomHead
from runtime.core.clock import Clock

TURN_S = 0.25
"""The time between two turns."""

MAX_TOLD_A_TURN = 250
"""The number of pages that get news in one turn."""


class PageReader(Protocol):
    """A page as the bulletin needs it."""

    room: str | None
    person: Person

    def push(self, frame: str, /) -> None:
        """Queue a frame."""
        ...


class Bulletin:
    """Numbers all events, and remembers for each page the number of the last one it has been told."""

    def __init__(self, presence: Callable[[str], Presence]) -> None:
        self._presence = presence
        self._number = 0
        self._heads: OrderedDict[str, tuple[int, RoomHead]] = OrderedDict()
        self._people: dict[str, int] = {}
        self._told: OrderedDict[PageReader, int] = OrderedDict()
        self._here: dict[str, int] = {}
        self._moved: dict[str, None] = {}
        self._news = anyio.Event()
        self.hears_of: Callable[[str, str], bool] = lambda _room, _person: True
        """Whether a person, by id, may hear of a room; "" is anybody."""
        self.on_turn: Callable[[str, int], None] = lambda _room, _seq: None
        """Called once a turn for each room with new messages of this node, with the newest one's `seq`."""
        self.on_people: Callable[[str], None] = lambda _room: None
        """Called once a turn for each room whose people on this node have changed."""

    async def run(self, clock: Clock) -> None:
        """Send news, until cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            self._turn()
            await clock.sleep_until(clock.monotonic() + TURN_S)

    def enter(self, reader: PageReader) -> None:
        """A page has connected; it gets news of events from now on."""
        self._told[reader] = self._number

    def leave(self, reader: PageReader) -> None:
        """A page has disconnected."""
        del self._told[reader]

    def active(self, room: str, seq: int, *, here: bool) -> None:
        """Note that a room has a new message; `here`: on this node."""
        self._heads[room] = (self._next_number(), RoomHead(room, seq))
        self._heads.move_to_end(room)
        if here:
            self._here[room] = seq

    def people_changed(self, room: str, *, here: bool = True) -> None:
        """The people who look at a room have changed; `here`: on this node."""
        self._people[room] = self._next_number()
        if here:
            self._moved[room] = None

    def forget(self, room: str) -> None:
        """Forget a room that no page shows."""
        self._people.pop(room, None)
        self._moved[room] = None
        self._news.set()

    def _next_number(self) -> int:
        self._number += 1
        self._news.set()
        return self._number

    def _turn(self) -> None:
        """Send news to the pages that have waited the longest."""
        for room, seq in self._here.items():
            self.on_turn(room, seq)
        self._here.clear()
        for room in self._moved:
            self.on_people(room)
        self._moved.clear()
        frames = _Frames(self._presence, self._heads, self.hears_of)
        behind = takewhile(lambda each: each[1] < self._number, self._told.items())
        for reader, told in list(islice(behind, MAX_TOLD_A_TURN)):
            self._tell(reader, told, frames)
            self._told[reader] = self._number
            self._told.move_to_end(reader)
        if next(iter(self._told.values()), self._number) < self._number:
            self._news.set()

    def _tell(self, reader: PageReader, told: int, frames: _Frames) -> None:
        if reader.room is not None and self._people.get(reader.room, 0) > told:
            reader.push(frames.people(reader.room))
        activity = frames.activity(told, reader)
        if activity is not None:
            reader.push(activity)


class _Frames:
    """The frames of one turn, each encoded once."""

    def __init__(
        self,
        presence: Callable[[str], Presence],
        heads: OrderedDict[str, tuple[int, RoomHead]],
        hears_of: Callable[[str, str], bool],
    ) -> None:
        self._hears_of = hears_of
        self._presence = presence
        self._heads = heads
        self._news: dict[int, dict[str, RoomHead]] = {}
        self._activity: dict[tuple[int, str | None, frozenset[str]], str] = {}
        self._people: dict[str, str] = {}

    def people(self, room: str) -> str:
        if room not in self._people:
            self._people[room] = codec.people(room, self._presence(room))
        return self._people[room]

    def activity(self, told: int, reader: PageReader) -> str | None:
        """The activity in rooms since then that a page may hear of, except in its own; None without any."""
        news = self._since(told)
        closed = [room for room in news if not self._hears_of(room, "")]
        heard = frozenset(room for room in closed if self._hears_of(room, reader.person.id))
        but = reader.room if reader.room in news else None
        shown = [room for room in news if room != but and (room in heard or room not in closed)]
        if not shown:
            return None
        key = (told, but, heard)
        if key not in self._activity:
            self._activity[key] = codec.activity(news[room] for room in shown)
        return self._activity[key]

    def _since(self, told: int) -> dict[str, RoomHead]:
        if told not in self._news:
            news = self._news[told] = {}
            for room, (number, head) in reversed(self._heads.items()):
                if number <= told:
                    break
                news[room] = head
        return self._news[told]

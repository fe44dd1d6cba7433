"""The pages that are connected: which room each one shows, and what waits to be sent to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import anyio

from adapters.web import codec
from adapters.web.codec import Person

MAX_WAITING_FRAMES = 1_000
"""A page with more frames waiting is too slow."""

MAX_WAITING_CHARACTERS = 16_000_000
"""Likewise, by the length of the frames."""


class Browser:
    """One connected page. Its frames wait here in order; pushing never blocks and never raises."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.room: str | None = None
        self.too_slow = anyio.Event()
        self._frames: deque[str] = deque()
        self._characters = 0
        self._news = anyio.Event()

    def push(self, frame: str) -> None:
        """Queue a frame. A page that lets too much wait is marked as too slow and gets nothing more."""
        if self.too_slow.is_set():
            return
        if len(self._frames) >= MAX_WAITING_FRAMES or self._characters > MAX_WAITING_CHARACTERS:
            self.too_slow.set()
            self._frames.clear()
            return
        self._frames.append(frame)
        self._characters += len(frame)
        self._news.set()

    async def next_frame(self) -> str:
        """The oldest frame that waits; waits for one."""
        while not self._frames:
            self._news = anyio.Event()
            await self._news.wait()
        frame = self._frames.popleft()
        self._characters -= len(frame)
        return frame


class Hub:
    """All connected pages."""

    def __init__(self) -> None:
        self._browsers: dict[Browser, None] = {}
        self._in_room: dict[str, dict[Browser, None]] = {}
        self.on_empty: Callable[[str], None] = lambda _room: None
        """Called when no page shows a room any more."""

    def enter(self, browser: Browser) -> None:
        self._browsers[browser] = None

    def leave(self, browser: Browser) -> None:
        """Forget a page, and tell the others in its room."""
        self._browsers.pop(browser, None)
        self._leave_room(browser)

    def show(self, browser: Browser, room: str) -> None:
        """From now on the page shows this room; tells those whom it concerns."""
        if browser.room == room:
            return
        self._leave_room(browser)
        browser.room = room
        self._in_room.setdefault(room, {})[browser] = None
        self.to_room(room, codec.people(room, self.people(room)), but=browser)

    def people(self, room: str) -> Sequence[Person]:
        """Who looks at the room, once each, in the order of arrival. The newest page knows a person's name."""
        return list({browser.person.id: browser.person for browser in self._in_room.get(room, ())}.values())

    def to_room(self, room: str, frame: str, *, but: Browser | None = None) -> None:
        """To every page that shows the room."""
        for browser in self._in_room.get(room, ()):
            if browser is not but:
                browser.push(frame)

    def to_others(self, room: str, frame: str) -> None:
        """To every page that does not show the room."""
        for browser in self._browsers:
            if browser.room != room:
                browser.push(frame)

    def to_all(self, frame: str) -> None:
        for browser in self._browsers:
            browser.push(frame)

    def _leave_room(self, browser: Browser) -> None:
        room = browser.room
        if room is None:
            return
        browser.room = None
        self._in_room[room].pop(browser, None)
        if not self._in_room[room]:
            del self._in_room[room]
            self.on_empty(room)
            return
        self.to_room(room, codec.people(room, self.people(room)))

"""The connected pages: the room that each shows, the frames that wait to be sent to it, and its periodic news.

News is which other rooms have new messages, and who is here. Nothing is done for a page when something happens. A turn
comes four times a second while there is news; then the pages whose turn it is are told all of it at once. Each turn is
bounded, so with very many pages each is told more rarely.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from itertools import islice, takewhile

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from adapters.web import codec
from adapters.web.codec import Presence, RoomHead, WebVisitor
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock

MAX_WAITING_FRAMES = 1_000
MAX_WAITING_CHARACTERS = 16_000_000
MAX_PAGES = 10_000
MAX_PAGES_A_PERSON = 20
MAX_NAMED = 100
TURN_S = 0.25
MAX_TOLD_A_TURN = 250


class Bulletin:
    """Numbers all events, and remembers for each page the number of the last one it has been told."""

    def __init__(self, presence: Callable[[str], Presence]) -> None:
        self._presence = presence
        self._number = 0
        self._heads: OrderedDict[str, tuple[int, RoomHead]] = OrderedDict()
        self._people: dict[str, int] = {}
        self._told: OrderedDict[ConnectedPage, int] = OrderedDict()
        self._here: dict[str, int] = {}
        self._moved: dict[str, None] = {}
        self._came_or_went = 0
        self._news = anyio.Event()
        self.hears_of: Callable[[str, str], bool] = lambda _room, _person: True
        """Whether a person, by id, may hear of a room; "" is anybody."""
        self.partners: Callable[[str], Collection[str]] = lambda _person: ()
        """With whom a person has direct rooms, by ids."""
        self.online: Callable[[], frozenset[str]] = frozenset
        """All who have a page open, by ids."""
        self.on_turn: Callable[[str, int], None] = lambda _room, _seq: None
        """Called once a turn for each room with new messages of this node, with the newest one's `seq`."""
        self.on_people: Callable[[str], None] = lambda _room: None
        """Called once a turn for each room whose people on this node have changed."""

    async def run(self, clock: Clock) -> None:
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            self._turn()
            await clock.sleep_until(clock.monotonic() + TURN_S)

    def enter(self, reader: ConnectedPage) -> None:
        """A page has connected; it gets news of events from now on."""
        self._told[reader] = self._number

    def leave(self, reader: ConnectedPage) -> None:
        del self._told[reader]

    def active(self, room: str, seq: int, *, here: bool) -> None:
        """Note that a room has a new message; `here`: on this node."""
        self._heads[room] = (self._next_number(), RoomHead(room, seq))
        self._heads.move_to_end(room)
        if here:
            self._here[room] = seq

    def people_changed(self, room: str, *, here: bool = True) -> None:
        """The people who look at a room have changed; `here`: on this node."""
        self._people[room] = self._came_or_went = self._next_number()
        if here:
            self._moved[room] = None

    def forget(self, room: str) -> None:
        self._people.pop(room, None)
        self._moved[room] = None
        self.somebody_moved()

    def somebody_moved(self) -> None:
        """Somebody came or went, also where nobody here looks."""
        self._came_or_went = self._next_number()

    def _next_number(self) -> int:
        self._number += 1
        self._news.set()
        return self._number

    def _turn(self) -> None:
        for room, seq in self._here.items():
            self.on_turn(room, seq)
        self._here.clear()
        for room in self._moved:
            self.on_people(room)
        self._moved.clear()
        everybody = self.online()
        frames = _Frames(self._presence, self._heads, self.hears_of)
        behind = takewhile(lambda each: each[1] < self._number, self._told.items())
        for reader, told in list(islice(behind, MAX_TOLD_A_TURN)):
            self._tell(reader, told, frames, everybody)
            self._told[reader] = self._number
            self._told.move_to_end(reader)
        if next(iter(self._told.values()), self._number) < self._number:
            self._news.set()

    def _tell(self, reader: ConnectedPage, told: int, frames: _Frames, everybody: frozenset[str]) -> None:
        if reader.room is not None and self._people.get(reader.room, 0) > told:
            reader.push(frames.people(reader.room))
        if self._came_or_went > told and (partners := self.partners(reader.person.id)):
            online = sorted(everybody.intersection(partners))
            if online != reader.online:
                reader.online = online
                reader.push(codec.online(online))
        activity = frames.activity(told, reader)
        if activity is not None:
            reader.push(activity)


class _Frames(Struct, frozen=True):
    """The frames of one turn, each encoded once."""

    presence: Callable[[str], Presence]
    heads: OrderedDict[str, tuple[int, RoomHead]]
    hears_of: Callable[[str, str], bool]
    _news: dict[int, dict[str, RoomHead]] = field(default_factory=dict)
    _activity: dict[tuple[int, str | None, frozenset[str]], str] = field(default_factory=dict)
    _people: dict[str, str] = field(default_factory=dict)

    def people(self, room: str) -> str:
        if room not in self._people:
            self._people[room] = codec.people(room, self.presence(room))
        return self._people[room]

    def activity(self, told: int, reader: ConnectedPage) -> str | None:
        """The activity in rooms since then that a page may hear of, except in its own; None without any."""
        news = self._since(told)
        closed = [room for room in news if not self.hears_of(room, "")]
        heard = frozenset(room for room in closed if self.hears_of(room, reader.person.id))
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
            for room, (number, head) in reversed(self.heads.items()):
                if number <= told:
                    break
                news[room] = head
        return self._news[told]


class ConnectedPage:
    """One connected page, to which frames leave at once, or in order. Pushing never blocks or raises."""

    def __init__(self, person: WebVisitor, send_at_once: Callable[[str], bool] = lambda _frame: False) -> None:
        self.person = person
        self._send_at_once = send_at_once
        self._sending = False
        self.room: str | None = None
        self.online: Sequence[str] = ()
        """What the page was told of those with whom the person has direct rooms."""
        self.too_slow = anyio.Event()
        self._frames: deque[str] = deque()
        self._characters = 0
        self._news = WakeSignal()

    @property
    def waiting(self) -> int:
        return len(self._frames)

    def push(self, frame: str) -> None:
        """Send a frame, or queue it. A page that lets too much wait is marked as too slow and gets nothing more."""
        if self.too_slow.is_set():
            return
        if not self._frames and not self._sending and self._send_at_once(frame):
            return
        if len(self._frames) >= MAX_WAITING_FRAMES or self._characters > MAX_WAITING_CHARACTERS:
            self.too_slow.set()
            self._frames.clear()
            return
        self._frames.append(frame)
        self._characters += len(frame)
        self._news.send()

    async def next_frame(self) -> str:
        """The oldest waiting frame, once there is one. The one before has left when this is called."""
        self._sending = False
        while not self._frames:
            await self._news.wait()
        self._sending = True
        frame = self._frames.popleft()
        self._characters -= len(frame)
        return frame


class _Room:
    def __init__(self) -> None:
        self.pages: dict[ConnectedPage, None] = {}
        self.people: dict[str, WebVisitor] = {}
        self._pages_of: Counter[str] = Counter()

    def add(self, browser: ConnectedPage) -> None:
        self.pages[browser] = None
        self.people[browser.person.id] = browser.person
        self._pages_of[browser.person.id] += 1

    def remove(self, browser: ConnectedPage) -> None:
        del self.pages[browser]
        _count_down(self._pages_of, browser.person.id)
        if browser.person.id not in self._pages_of:
            del self.people[browser.person.id]


class Hub:
    """All connected pages. An event in a room costs only the pages that show the room."""

    def __init__(self) -> None:
        self.bulletin = Bulletin(self.presence)
        self.bulletin.online = lambda: frozenset(self._pages_of) | self.elsewhere()
        self._browsers: dict[ConnectedPage, None] = {}
        self._pages_of: Counter[str] = Counter()
        self._rooms: dict[str, _Room] = {}
        self.with_others: Callable[[str, Mapping[str, WebVisitor]], Presence] = lambda _room, here: Presence(
            tuple(here.values()), len(here)
        )
        """All people of a room, with those here."""
        self.elsewhere: Callable[[], Set[str]] = set
        """The people at other nodes, by ids."""
        self.on_empty: Callable[[str], None] = lambda _room: None
        """Called when the last page has left a room."""

    @property
    def pages(self) -> int:
        return self._pages_of.total()

    def refusal(self, person: WebVisitor) -> str | None:
        """The reason why this person cannot open another page, in words for them; None if they can."""
        if self._pages_of[person.id] >= MAX_PAGES_A_PERSON:
            return f"You have this chat open in {MAX_PAGES_A_PERSON} pages already. Close one of them."
        if self.pages >= MAX_PAGES:
            return "This chat is open in as many pages as it can serve. Try again later."
        return None

    def enter(self, browser: ConnectedPage) -> None:
        """Add a page. Ask `refusal` first."""
        self._pages_of[browser.person.id] += 1
        self._browsers[browser] = None
        self.bulletin.enter(browser)

    def leave(self, browser: ConnectedPage) -> None:
        del self._browsers[browser]
        _count_down(self._pages_of, browser.person.id)
        self.bulletin.leave(browser)
        self.leave_room(browser)

    def everybody(self) -> Sequence[ConnectedPage]:
        return list(self._browsers)

    def show(self, browser: ConnectedPage, room: str) -> None:
        if browser.room == room:
            return
        self.leave_room(browser)
        browser.room = room
        self._rooms.setdefault(room, _Room()).add(browser)
        self.bulletin.people_changed(room)

    def presence(self, room: str) -> Presence:
        """The people who look at the room, each once, in the order of arrival; then those on other nodes."""
        everybody = self.everybody_in(room)
        return replace(everybody, people=everybody.people[:MAX_NAMED])

    def everybody_in(self, room: str) -> Presence:
        """As `presence`, with all whose names are known."""
        return self.with_others(room, self.here(room))

    def here(self, room: str) -> Mapping[str, WebVisitor]:
        known = self._rooms.get(room)
        return {} if known is None else known.people

    def to_room(self, room: str, frame: str, *, but: ConnectedPage | None = None) -> None:
        known = self._rooms.get(room)
        for browser in () if known is None else known.pages:
            if browser is not but:
                browser.push(frame)

    def to_person(self, room: str, person_id: str, frame: str) -> None:
        known = self._rooms.get(room)
        for browser in () if known is None else known.pages:
            if browser.person.id == person_id:
                browser.push(frame)

    def leave_room(self, browser: ConnectedPage) -> None:
        room = browser.room
        if room is None:
            return
        browser.room = None
        self._rooms[room].remove(browser)
        if not self._rooms[room].pages:
            del self._rooms[room]
            self.bulletin.forget(room)
            self.on_empty(room)
            return
        self.bulletin.people_changed(room)


def _count_down(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]

"""Events in rooms, exchanged among nodes: sent to the nodes whose pages look at a room, and received from them.

follow, unfollow   a node's pages look at a room from now on, or no more                          to all
who                a node missed something: say again which rooms you follow                      to all
active             a room has a new message, for the list of rooms                                to all
changed            something is kept: read it from the store                                      to followers
text               a text grows: keep its first characters, and add these                         to followers
people             who looks at a room on this node                                         to all
again              I do not have what this text begins with                                       to its teller
charter            a room's charter has changed                                          to all
alone              what one person's pages are told, as `frame`                        to followers
frame              what pages are told and nobody keeps, such as who is typing                    to followers

What a node tells of its people expires unless it repeats it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any, Protocol

import anyio
from msgspec import Struct, field

from adapters.web.codec import Presence, WebVisitor, common_length
from runtime.core.clock import Clock, SystemClock
from runtime.core.json_text import compact_json

_MAX_FRAMES = 200
"""The number of frames that may wait to be sent; the oldest are dropped beyond it."""
OnOpen = Callable[[], Awaitable[None]]
OnNews = Callable[[str], Awaitable[None]]

VALID_S = 90.0
"""How long people are here still, of whom their node says nothing more: it was killed."""
RENEW_S = 30.0
"""The time after which a node tells again who is there."""
MAX_TOLD = 300
"""The people of a room whom a node names to others; further ones are counted."""


class RoomNews(Protocol):
    """Texts between nodes. Nothing is stored: a node that does not listen misses texts."""

    @property
    def node(self) -> str:
        """This node's name."""

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        """Send a text to one node or to all, including this one. Texts of one caller arrive in order."""

    async def listen(self, on_open: OnOpen, on_news: OnNews, /) -> None:
        """Deliver others' texts, until cancelled; `on_open` is called when some may have been missed."""


class Audience(Protocol):
    """Shows events of other nodes to this node's pages."""

    async def catch_up(self, room: str, /) -> None:
        """A change was stored."""

    async def catch_up_all(self) -> None:
        """Changes may have been stored in any room."""

    async def grown(self, room: str, message_id: str, keep: int, add: str, /) -> bool:
        """A text has grown; False if its beginning is unknown here."""

    def growing(self, message_id: str, /) -> str | None:
        """The text of a message as far as it has grown; None for one that does not grow."""

    async def active(self, room: str, seq: int, /) -> None: ...

    async def chartered(self, room: str, /) -> None: ...

    def people_here(self, room: str, /) -> Presence:
        """Who looks at a room on this node, as far as others are told."""

    def people_elsewhere(self, node: str, room: str, presence: Presence, /) -> None: ...

    def forget_ended(self) -> None:
        """Forget people of whom their node says nothing more."""

    def show(self, room: str, frame: str, /) -> None: ...

    def show_alone(self, room: str, person_id: str, frame: str, /) -> None:
        """A frame for the pages on which one person looks at a room."""


class Echo:
    """The exchange of events. Sending never waits: the newest text of each message is sent in its turn."""

    def __init__(self, news: RoomNews | None, clock: Clock | None = None) -> None:
        self._news = news
        self.clock = clock or SystemClock()
        self._moved: dict[str, None] = {}
        self._peopled: dict[str, None] = {}
        self._followers: dict[str, set[str]] = {}
        self._followed: dict[str, None] = {}
        self._growing: dict[str, str] = {}
        """The rooms of the messages that grow by this node; the board has their texts."""
        self._told: dict[str, int] = {}
        """How many of a text's first characters its followers have."""
        self._changed: dict[str, None] = {}
        self._texts: dict[str, None] = {}
        self._frames: deque[tuple[str | None, dict[str, Any]]] = deque(maxlen=_MAX_FRAMES)
        self._something = anyio.Event()

    async def run(self, audience: Audience) -> None:
        if self._news is None:
            return
        news = self._news

        async def heard(text: str) -> None:
            await self._hear(audience, json.loads(text))

        async def opened() -> None:
            await self._send(None, t="who")
            for room in list(self._followed):
                await self._send(None, t="follow", room=room)
            self._tell_people_again()
            await audience.catch_up_all()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell_all, audience)
            tasks.start_soon(self._renew, audience)
            await news.listen(opened, heard)

    async def follow(self, room: str) -> bool:
        """Follow a room that our pages show; True, once others are bound to hear of it, if that is new."""
        if self._news is None or room in self._followed:
            return False
        self._followed[room] = None
        await self._send(None, t="follow", room=room)
        return True

    def unfollow(self, room: str) -> None:
        if self._followed.pop(room, "none") is None:
            self._later(None, t="unfollow", room=room)

    def active(self, room: str, seq: int) -> None:
        if self._news is not None:
            self._later(None, t="active", room=room, seq=seq)

    def chartered(self, room: str) -> None:
        if self._news is not None:
            self._later(None, t="charter", room=room)

    def people_changed(self, room: str) -> None:
        if self._news is not None:
            self._moved[room] = None
            self._something.set()

    async def _renew(self, audience: Audience) -> None:
        while True:
            await self.clock.sleep_until(self.clock.monotonic() + RENEW_S)
            self._tell_people_again()
            audience.forget_ended()

    def _tell_people_again(self) -> None:
        for room in self._peopled:
            self._moved[room] = None
        self._something.set()

    async def _tell_people(self, room: str, presence: Presence) -> None:
        if presence.count:
            self._peopled[room] = None
        else:
            self._peopled.pop(room, None)
        named = [[one.id, one.name] for one in presence.people]
        await self._send(None, t="people", room=room, people=named, present=presence.count)

    def changed(self, room: str) -> None:
        if room in self._followers:
            self._changed[room] = None
            self._something.set()

    def frame(self, room: str, frame: str) -> None:
        if room in self._followers:
            self._later(room, t="frame", room=room, frame=frame)

    def alone(self, room: str, person_id: str, frame: str) -> None:
        if room in self._followers:
            self._later(room, t="alone", room=room, person=person_id, frame=frame)

    def grew(self, room: str, message_id: str, before: str, after: str) -> None:
        """A text from this node has grown; what it was `before` is "" where that is not known."""
        if self._news is None:
            return
        self._growing[message_id] = room
        if known := self._told.get(message_id, 0):
            self._told[message_id] = min(known, common_length(before, after))
        if room in self._followers:
            self._texts[message_id] = None
            self._something.set()

    def ended(self, message_id: str) -> None:
        """Forget a text that no longer grows, because the stored message has all of it."""
        for known in (self._growing, self._told, self._texts):
            known.pop(message_id, None)

    def _later(self, room: str | None, /, **news: Any) -> None:
        self._frames.append((room, news))
        self._something.set()

    async def _tell_all(self, audience: Audience) -> None:
        while True:
            await self._something.wait()
            self._something = anyio.Event()
            while self._changed:
                room = next(iter(self._changed))
                del self._changed[room]
                await self._send(room, t="changed", room=room)
            while self._moved:
                room = next(iter(self._moved))
                del self._moved[room]
                await self._tell_people(room, audience.people_here(room))
            while self._frames:
                to, news = self._frames.popleft()
                await self._send(to, **news)
            while self._texts and not self._changed:
                await self._tell_text(audience, next(iter(self._texts)))

    async def _tell_text(self, audience: Audience, message_id: str) -> None:
        del self._texts[message_id]
        room, text, keep = self._growing[message_id], audience.growing(message_id), self._told.get(message_id, 0)
        if text is not None:
            self._told[message_id] = len(text)
            await self._send(room, t="text", room=room, id=message_id, keep=keep, add=text[keep:])

    async def _send(self, room: str | None, /, **news: Any) -> None:
        """Send to the followers of a room; None: to all."""
        assert self._news is not None
        text = compact_json({**news, "from": self._news.node})
        if room is None:
            await self._news.tell(text)
            return
        for node in sorted(self._followers.get(room, ())):
            await self._news.tell(text, to=node)

    async def _hear(self, audience: Audience, news: dict[str, Any]) -> None:
        assert self._news is not None
        sender, room = str(news["from"]), str(news.get("room", ""))
        if sender == self._news.node:
            return
        match news["t"]:
            case "changed":
                await audience.catch_up(room)
            case "text":
                if not await audience.grown(room, news["id"], news["keep"], news["add"]):
                    again = {"t": "again", "id": news["id"], "from": self._news.node}
                    await self._news.tell(json.dumps(again), to=sender)
            case "frame":
                audience.show(room, news["frame"])
            case "alone":
                audience.show_alone(room, news["person"], news["frame"])
            case "people":
                people = tuple(WebVisitor(id_, name) for id_, name in news["people"])
                audience.people_elsewhere(sender, room, Presence(people, news["present"]))
            case "charter":
                await audience.chartered(room)
            case "active":
                await audience.active(room, news["seq"])
            case _:
                self._hear_of_interest(sender, room, news)

    def _hear_of_interest(self, sender: str, room: str, news: dict[str, Any]) -> None:
        match news["t"]:
            case "again":
                self._tell_from_the_beginning([news["id"]])
            case "follow":
                self._followers.setdefault(room, set()).add(sender)
                self._tell_from_the_beginning([id_ for id_, where in self._growing.items() if where == room])
            case "unfollow":
                self._forget(room, sender)
            case "who":
                for known in list(self._followers):
                    self._forget(known, sender)
                for followed in self._followed:
                    self._later(None, t="follow", room=followed)
                self._tell_people_again()

    def _tell_from_the_beginning(self, messages: list[str]) -> None:
        for message_id in messages:
            if message_id in self._growing:
                self._told.pop(message_id, None)
                self._texts[message_id] = None
                self._something.set()

    def _forget(self, room: str, node: str) -> None:
        following = self._followers.get(room, set())
        following.discard(node)
        if not following:
            self._followers.pop(room, None)


class Elsewhere(Struct, frozen=True):
    clock: Clock
    _rooms: dict[str, dict[str, tuple[Presence, float]]] = field(default_factory=dict)
    """What each node has told of a room, and until when that holds."""

    def told(self, node: str, room: str, presence: Presence) -> None:
        nodes = self._rooms.setdefault(room, {})
        nodes.pop(node, None)
        if presence.count:
            nodes[node] = (presence, self.clock.monotonic() + VALID_S)
        if not nodes:
            del self._rooms[room]

    def everybody(self) -> Set[str]:
        return {one.id for nodes in self._rooms.values() for presence, _ in nodes.values() for one in presence.people}

    def with_these(self, room: str, here: Mapping[str, WebVisitor]) -> Presence:
        """All people of a room, with those who look at it here, each once."""
        people, present = dict(here), len(here)
        for told, _ in self._rooms.get(room, {}).values():
            new = [one for one in told.people if one.id not in people]
            people |= {one.id: one for one in new}
            present += told.count - len(told.people) + len(new)
        return Presence(tuple(people.values()), present)

    def forget_ended(self) -> Sequence[str]:
        """Forget what has run out; the rooms whose people have changed by that."""
        now_s, changed = self.clock.monotonic(), list[str]()
        for room, nodes in list(self._rooms.items()):
            for node, (_, until_s) in list(nodes.items()):
                if until_s <= now_s:
                    self.told(node, room, Presence((), 0))
                    changed.append(room)
        return changed

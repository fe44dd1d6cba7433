"""A chat platform that can do nothing but take texts and tell what people said."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import anyio
from msgspec import Struct

BOT = "parley"
MAX_TEXT = 2000
"""Characters of one post, the author's name included."""

Reason = Literal["flood", "forbidden", "empty", "too_long", "unknown_room"]


class Refused(Exception):
    """The platform says no; after a flood it says for how many seconds."""

    def __init__(self, reason: Reason, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


class NoAnswer(Exception):
    """The connection ended before there was an answer."""


class Said(Struct, frozen=True):
    """What a person wrote. `number` counts everything that people wrote, from 1."""

    number: int
    room: str
    person: str
    name: str
    text: str
    at: datetime

    @property
    def id(self) -> str:
        return f"m{self.number}"


class Post(Struct, frozen=True):
    """What the bot wrote, and the people who were notified."""

    id: str
    room: str
    text: str
    notified: tuple[str, ...]


class MinimalPlatform:
    """Rooms of one bot: one of each person's own, and those that have several people."""

    def __init__(self, rooms: Sequence[str], people: Sequence[str]) -> None:
        self.posts: list[Post] = []
        self.heard_up_to = 0
        self._rooms = frozenset(rooms)
        self._people = frozenset(people)
        self._log: list[Said] = []
        self._changed = anyio.Event()
        self._next: Refused | NoAnswer | None = None
        self._posted = 0
        self._cuts = 0

    async def post(self, room: str, text: str, notify: Sequence[str]) -> str:
        """The bot writes. Raises Refused and NoAnswer."""
        await anyio.lowlevel.checkpoint()
        trouble, self._next = self._next, None
        if trouble is not None:
            raise trouble
        if room not in self._rooms:
            raise Refused("unknown_room")
        if not text.strip() or len(text) > MAX_TEXT:
            raise Refused("too_long" if text.strip() else "empty")
        self._posted += 1
        self.posts.append(Post(f"b{self._posted}", room, text, tuple(p for p in notify if p in self._people)))
        return self.posts[-1].id

    async def after(self, number: int) -> Said:
        """The first thing said after `number`, once there is one. Raises NoAnswer."""
        cuts = self._cuts
        while True:
            if cuts != self._cuts:
                raise NoAnswer
            if number < len(self._log):
                return self._log[number]
            await self._changed.wait()

    def say(self, text: str, room: str, *, person: str, name: str) -> str:
        """A person writes."""
        self._log.append(Said(len(self._log) + 1, room, person, name, text, datetime.now(UTC)))
        self._wake()
        return self._log[-1].id

    def fail_next(self, trouble: Refused | NoAnswer) -> None:
        """Let the next post come to nothing."""
        self._next = trouble

    def cut(self) -> None:
        """Break the connection of whoever listens; what was heard last will be told again."""
        self._cuts += 1
        self._wake()

    def again(self) -> None:
        """Forget that the newest was heard."""
        self.heard_up_to = len(self._log) - 1
        self.cut()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

"""Charters of rooms: who may see a room and its files, its title, and who made it; and the colours of those in it.

They are read from the store for what somebody asks, and remembered for what is told to many.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from adapters.records import ChangedTogether, readable
from runtime.core.address import Address
from runtime.core.json_text import plain_data

RoomKind = Literal["open", "private", "direct"]

DIRECT, PRIVATE = "direct-", "private-"
"""The beginnings of the ids of rooms that are not open. Nobody can open a room of such a name."""
MAX_TITLE = 80
MAX_PEOPLE = 500
_ID_BYTES = 12
_CLOSED = re.compile(rf"(?:{DIRECT}|{PRIVATE})[0-9a-f]{{8,24}}")
_WEB = "web"

CHARTERS_TABLE = "web:charters"
MAX_CHARTERS = 5_000
"""The number of rooms beyond which nobody can make one that is not open."""
MAX_CHARTERS_OF_ONE = 500
"""The rooms that one person has made, archived ones too, beyond which they can make none that is not open."""
_ATTEMPTS = 20

HUES_TABLE = "web:hues"
HUES = 12
_APART = 2
"""Nearer hues are taken for the same."""
MAX_HUES = 200
"""The people and agents of a room whose colours are kept."""

FILES_TABLE = "web:files"
MAX_KNOWN = 200
"""The rooms and people that are remembered of a file; the first ones are forgotten."""
_PERSON = ":"
"""What the id of a person has, and that of a room has not."""


class RoomCharter(Struct, frozen=True):
    """A room as its people made it. A room without a record is open, and nobody is known to have made it.

    `people` are names by id, of a room that is not open. A `direct` room has two people, or a person and the `agent`.
    `left` are those who took an open room off their list.
    """

    title: str = ""
    kind: RoomKind = "open"
    made_by: str = ""
    people: Mapping[str, str] = field(default_factory=dict)
    agent: str = ""
    archived: bool = False
    left: frozenset[str] = frozenset()

    def admits(self, person_id: str) -> bool:
        """Whether a person may see the room, and that it exists."""
        return self.kind == "open" or person_id in self.people

    def lists(self, person_id: str) -> bool:
        return self.admits(person_id) and person_id not in self.left

    def title_for(self, person_id: str) -> str:
        """The title that a person sees: of a direct room the name of the other. Empty: the room's id."""
        if self.kind != "direct":
            return self.title
        others = [name for id_, name in self.people.items() if id_ != person_id]
        return self.agent or ", ".join(others) or self.title

    @property
    def among_people(self) -> bool:
        """Whether two people talk here with each other, so that agents hear only what is for them."""
        return self.kind == "direct" and not self.agent

    def text(self) -> str:
        return json.dumps({**plain_data(self), "left": sorted(self.left)}, ensure_ascii=False)


def charter_of(room: str, text: str | None) -> RoomCharter:
    """The charter that is kept as this text. Without one a room is open, unless its id is that of another kind: whoever
    was in that room, nobody sees it any more. One that cannot be read admits nobody.
    """
    if text is None:
        return RoomCharter(kind="private") if _CLOSED.fullmatch(room) else RoomCharter()
    return readable(room, text, _charter) or RoomCharter(kind="private")


def _charter(text: str) -> RoomCharter:
    data = json.loads(text)
    return RoomCharter(**{**data, "left": frozenset(data.get("left", ()))})


def is_closed(address: Address) -> bool:
    """Whether an address is a room that is not open, or in one."""
    return address.platform == _WEB and address.conversation.startswith((DIRECT, PRIVATE))


def direct_room(one: str, other: str) -> str:
    """The id of the room of two, the same for both."""
    names = "\n".join(sorted((one, other)))
    return DIRECT + hashlib.blake2b(names.encode(), digest_size=_ID_BYTES).hexdigest()


class RoomCharters(Struct, frozen=True):
    """Raises StorageUnavailable from every async method."""

    records: ChangedTogether
    known: dict[str, RoomCharter] = field(default_factory=dict)
    others: dict[str, dict[str, str]] = field(default_factory=dict)
    """With whom people have direct rooms, by room."""

    def partners(self, person_id: str) -> Collection[str]:
        """Those with whom a person has a direct room, as far as is remembered."""
        return self.others.get(person_id, {}).values()

    async def get(self, room: str) -> RoomCharter:
        """The charter as it is now. Of a room that there may not be, nothing is remembered."""
        kept = await self.records.get(room)
        return charter_of(room, None) if kept is None and room not in self.known else self._remember(room, kept)

    async def know(self, room: str) -> RoomCharter:
        """The charter of a room that there is, as it is remembered, and from the store where it is not."""
        return self.known.get(room) or self._remember(room, await self.records.get(room))

    def tells_of(self, room: str, person_id: str) -> bool:
        """Whether a person may hear of a room, by what is remembered: nobody, of an unknown one."""
        return room in self.known and self.known[room].admits(person_id)

    async def all(self) -> Mapping[str, RoomCharter]:
        return {room: self._remember(room, kept) for room, kept in (await self.records.all()).items()}

    async def change(self, room: str, edit: Callable[[RoomCharter], RoomCharter]) -> RoomCharter:
        """Change a charter by a function of what is there now, which may be called again, and may raise."""
        for _ in range(_ATTEMPTS):
            kept = await self.records.get(room)
            now = charter_of(room, kept)
            wanted = edit(now)
            if wanted == now:
                return self._remember(room, kept)
            if await self.records.change({room: (kept, wanted.text())}):
                return self._remember(room, wanted.text())
        return await self.get(room)

    def _remember(self, room: str, kept: str | None) -> RoomCharter:
        charter = self.known[room] = charter_of(room, kept)
        if charter.among_people and len(charter.people) == 2:
            one, other = charter.people
            self.others.setdefault(one, {})[room] = other
            self.others.setdefault(other, {})[room] = one
        return charter


class RoomHues(Struct, frozen=True):
    """The colour of everybody in a room, a number from 0 to `HUES` - 1 by their key: of a person the id, of an agent
    `agent ` and its name. It is chosen when they come, far from those of the others, and kept. Raises
    StorageUnavailable.
    """

    records: ChangedTogether
    known: dict[str, Mapping[str, int]] = field(default_factory=dict)

    async def of(self, room: str) -> Mapping[str, int]:
        self.known[room] = readable(room, await self.records.get(room), json.loads) or {}
        return self.known[room]

    async def give(self, room: str, key: str) -> Mapping[str, int] | None:
        """The colours in a room, after one was given to `key`; None where they had one, or too many have."""
        while key not in self.known.get(room, ()):
            kept = await self.records.get(room)
            now: dict[str, int] = readable(room, kept, json.loads) or {}
            self.known[room] = now
            if key in now or len(now) >= MAX_HUES:
                break
            wanted = {**now, key: _free_hue(list(now.values()), zlib.crc32(key.encode()) % HUES)}
            if await self.records.change({room: (kept, json.dumps(wanted))}):
                self.known[room] = wanted
                return wanted
        return None


def _free_hue(taken: Sequence[int], wanted: int) -> int:
    """The hue that is wanted, or where somebody has one that is alike, the rarest of those farthest from all others."""

    def nearest(hue: int) -> int:
        return min((min((hue - other) % HUES, (other - hue) % HUES) for other in taken), default=HUES)

    if nearest(wanted) >= _APART:
        return wanted
    return min(range(HUES), key=lambda hue: (taken.count(hue), -nearest(hue), (hue - wanted) % HUES))


class ShownFiles(Struct, frozen=True):
    """Raises StorageUnavailable. An unknown file is shown to everybody, as it was before there were
    private rooms.

    A file is known by its content, so somebody can post what others have posted where they cannot see it.
    """

    records: ChangedTogether
    charters: RoomCharters

    async def uploaded(self, file_id: str, person_id: str) -> None:
        if not await self.shows(file_id, person_id):
            await self.posted(file_id, person_id)

    async def shows(self, file_id: str, person_id: str) -> bool:
        kept = await self.records.get(file_id)
        whom = _whom(kept)
        for room in whom:
            if room == person_id or (_PERSON not in room and (await self.charters.get(room)).admits(person_id)):
                return True
        return kept is None

    async def forget(self, file_id: str) -> None:
        await self.records.remove(file_id)

    async def posted(self, file_id: str, whom: str) -> None:
        """Show a file to a room, or to one person."""
        kept = await self.records.get(file_id)
        while whom not in _whom(kept):
            wanted = json.dumps([*_whom(kept), whom][-MAX_KNOWN:])
            if await self.records.change({file_id: (kept, wanted)}):
                return
            kept = await self.records.get(file_id)


def _whom(kept: str | None) -> Sequence[str]:
    return readable("file", kept, _rooms) or []


def _rooms(kept: str) -> Sequence[str]:
    rooms = json.loads(kept)
    if not isinstance(rooms, list) or not all(isinstance(room, str) for room in rooms):
        raise TypeError(f"{rooms!r} is no list of rooms")
    return rooms

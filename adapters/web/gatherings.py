"""People and their rooms: who has been here, and requests to make, enter, leave and change rooms."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from adapters.records import ChangedTogether
from adapters.web import codec
from adapters.web.board import FIRST_ROOM, RoomBoard
from adapters.web.charters import (
    MAX_CHARTERS,
    MAX_CHARTERS_OF_ONE,
    MAX_PEOPLE,
    MAX_TITLE,
    PRIVATE,
    RoomCharter,
    direct_room,
)
from adapters.web.codec import WebVisitor
from adapters.web.hub import ConnectedPage
from adapters.web.requests import (
    ArchiveRoom,
    DirectRequest,
    Gather,
    InviteRequest,
    LeaveRoom,
    ListPeople,
    MembersRequest,
    PrivateRequest,
    RetitleRequest,
)
from adapters.web.rooms import RoomRules
from runtime.core.clock import Clock
from runtime.core.markup import as_written
from runtime.core.room import RoomPost

_WRITERS = 200
"""The number of messages whose authors are the members of an open room."""
DIRECTORY_TABLE = "web:directory"
MAX_LISTED = 2_000
_TURN = "turn"
"""Beside the people: another value after each change, so that of two changes at once one is done again."""


class PeopleDirectory(Struct, frozen=True):
    """Names by id; no two of the people that are listed have the same. Raises StorageUnavailable."""

    records: ChangedTogether

    async def known_as(self, person: WebVisitor) -> WebVisitor:
        """The person under the name that they chose, or with a number behind it while somebody else has that one."""
        listed = {one.id: one.name for one in await self.all()}
        known, taken = listed.pop(person.id, ""), {name.casefold() for name in listed.values()}
        numbered = [f"{person.name} {number}" for number in range(2, len(taken) + 3)]
        kept = [known] if known in numbered else []
        return WebVisitor(person.id, next(n for n in (person.name, *kept, *numbered) if n.casefold() not in taken))

    async def calls_otherwise(self, person: WebVisitor) -> bool:
        """Whether somebody is known, by another name."""
        return await self.name_of(person.id) not in (None, person.name)

    async def met(self, person: WebVisitor) -> bool:
        """Note somebody's name; False where somebody else, who may be on another node, has taken it meanwhile."""
        listed = dict(await self.records.all())
        turn, known = listed.pop(_TURN, None), listed.pop(person.id, None)
        if person.name.casefold() in {name.casefold() for name in listed.values()}:
            return False
        if known == person.name or (known is None and len(listed) >= MAX_LISTED):
            return True
        return await self.records.change({_TURN: (turn, str(uuid4())), person.id: (known, person.name)})

    async def name_of(self, person_id: str) -> str | None:
        return None if person_id == _TURN else await self.records.get(person_id)

    async def all(self) -> Sequence[WebVisitor]:
        listed = [WebVisitor(id_, name) for id_, name in (await self.records.all()).items() if id_ != _TURN]
        return sorted(listed, key=lambda one: (one.name.casefold(), one.id))


class _NotDone(Exception):
    """The text says why, for the person."""


class RoomGatherings(Struct, frozen=True):
    """Raises StorageUnavailable."""

    board: RoomBoard
    directory: PeopleDirectory
    clock: Clock
    rules: RoomRules

    async def take(self, browser: ConnectedPage, act: Gather) -> None:
        try:
            await self._do(browser, act)
        except _NotDone as error:
            browser.push(codec.error(str(error)))

    async def _do(self, browser: ConnectedPage, act: Gather) -> None:
        person = browser.person
        match act:
            case PrivateRequest(name):
                await self._private(browser, name)
            case DirectRequest(other, agent):
                await self._direct(browser, other, agent)
            case MembersRequest(room):
                await self._members(browser, room)
            case InviteRequest(room, other):
                await self._invite(person, room, other)
            case LeaveRoom(room):
                await self._leave(person, room)
            case RetitleRequest(room, title):
                await self._retitle(person, room, title)
            case ArchiveRoom(room, archived):
                await self._archive(person, room, archived=archived)
            case ListPeople():
                others = [one for one in await self.directory.all() if one.id != person.id]
                out = await self.rules.shut_out([one.id for one in others])
                browser.push(codec.directory([one for one in others if one.id not in out], self.rules.agents))

    async def came(self, person: WebVisitor) -> WebVisitor:
        """Somebody has come, under a name that may be new: their rooms call them by it. Returns them as they are known
        here."""
        while True:
            known = await self.directory.known_as(person)
            if await self.directory.calls_otherwise(known):
                for room, charter in (await self.board.charters.all()).items():
                    if charter.people.get(known.id, known.name) != known.name:
                        await self.board.alter(room, partial(_renamed, known))
            if await self.directory.met(known):
                return known

    async def opened(self, room: str, person: WebVisitor) -> None:
        await self.board.charters.change(room, lambda now: replace(now, made_by=now.made_by or person.id))

    async def _private(self, browser: ConnectedPage, name: str) -> None:
        title = _title(name)
        room, person = PRIVATE + secrets.token_hex(8), browser.person
        await self._check_room_for(person)
        await self.board.alter(room, lambda _: RoomCharter(title, "private", person.id, {person.id: person.name}))
        made = f"{person.name} made this private room. Only invited people see it{self._but}. Agents hear it."
        await self.note(room, made)
        browser.push(codec.frame("opened", room=room))

    async def _direct(self, browser: ConnectedPage, other: str, agent: str) -> None:
        person = browser.person
        name = agent if agent in self.rules.agents else await self._name_of(other) if other else None
        if name is None or other == person.id:
            raise _NotDone("There is nobody like that to write to.")
        room = direct_room(person.id, f"agent {agent}" if agent else other)
        if not await self.board.has(room):
            await self._check_room_for(person)
        people = {person.id: person.name} | ({} if agent else {other: name})
        changed: dict[str, Any] = {"kind": "direct", "people": people, "agent": agent, "archived": False}
        await self.board.alter(room, lambda now: replace(now, made_by=now.made_by or person.id, **changed))
        if not await self.board.has(room):
            await self.note(room, f"Only {person.name} and {name} see this room{self._but}.")
        browser.push(codec.frame("opened", room=room))

    @property
    def _but(self) -> str:
        return ", and whoever runs this chat" if self.rules.overseen else ""

    async def _name_of(self, person_id: str) -> str | None:
        return None if await self.rules.shut_out([person_id]) else await self.directory.name_of(person_id)

    async def _members(self, browser: ConnectedPage, room: str) -> None:
        charter = await self.board.charters.get(room)
        here = {one.id: one for one in self.board.people(room)}
        if charter.kind == "open":
            wrote = await self.board.newest(room, _WRITERS)
            people = {one.author_id: one.author_name for one in wrote if one.author_kind == "person"}
            people = {id_: name for id_, name in people.items() if id_ not in charter.left}
        else:
            people = dict(charter.people)
        people |= {one.id: one.name for one in here.values()}
        may = await self._may_change(browser.person, room, charter)
        browser.push(codec.members(room, charter, [WebVisitor(*one) for one in people.items()], set(here), may=may))

    async def _invite(self, person: WebVisitor, room: str, other: str) -> None:
        name = await self._name_of(other)
        charter = await self.board.charters.get(room)
        if charter.kind != "private" or name is None:
            raise _NotDone("Only people who have been here can be invited, and only to private rooms.")
        if other in charter.people:
            return

        def with_them(now: RoomCharter) -> RoomCharter:
            if person.id not in now.people:
                raise _NotDone("You are no longer in this room.")
            if len(now.people) >= MAX_PEOPLE:
                raise _NotDone(f"A private room has at most {MAX_PEOPLE} people.")
            return replace(now, people={**now.people, other: name})

        await self.board.alter(room, with_them)
        await self.note(room, f"{person.name} invited {name}.")

    async def _leave(self, person: WebVisitor, room: str) -> None:
        charter = await self.board.charters.get(room)
        if room == FIRST_ROOM or charter.kind == "direct":
            raise _NotDone("This room cannot be left.")
        if charter.kind == "private":
            await self.note(room, f"{person.name} left.")

        def without_them(now: RoomCharter) -> RoomCharter:
            if now.kind == "open":
                return replace(now, left=now.left | {person.id})
            people = {id_: name for id_, name in now.people.items() if id_ != person.id}
            return replace(now, people=people, archived=now.archived or not people)

        await self.board.alter(room, without_them)

    async def _retitle(self, person: WebVisitor, room: str, title: str) -> None:
        wanted = _title(title)
        await self._check_may_change(person, room)
        await self.board.alter(room, lambda now: replace(now, title=wanted))
        await self.note(room, f"{person.name} renamed this room to {wanted}.")

    async def _archive(self, person: WebVisitor, room: str, *, archived: bool) -> None:
        await self._check_may_change(person, room)
        await self.board.alter(room, lambda now: replace(now, archived=archived))
        done = "archived this room" if archived else "took this room out of the archive"
        await self.note(room, f"{person.name} {done}.")

    async def _may_change(self, person: WebVisitor, room: str, charter: RoomCharter) -> bool:
        """Whether somebody may rename and archive: who made the room, and owners."""
        if charter.kind == "direct" or room == FIRST_ROOM:
            return False
        return charter.made_by == person.id or await self.rules.is_owner(person.id)

    async def _check_may_change(self, person: WebVisitor, room: str) -> None:
        if not await self._may_change(person, room, await self.board.charters.get(room)):
            raise _NotDone("Only the person who made this room, or an owner, can do that.")

    async def _check_room_for(self, person: WebVisitor) -> None:
        charters = await self.board.charters.all()
        if sum(charter.made_by == person.id for charter in charters.values()) >= MAX_CHARTERS_OF_ONE:
            raise _NotDone(f"You have made {MAX_CHARTERS_OF_ONE} rooms, and nobody makes more. Use one of them.")
        if len(charters) >= MAX_CHARTERS:
            raise _NotDone(f"There are {MAX_CHARTERS:,} rooms already. Use one of them.")

    async def note(self, room: str, text: str) -> None:
        """Say what happened to a room, in it."""
        text = as_written(text)
        await self.board.post(room, RoomPost(str(uuid4()), "", "Parley", "notice", text, self.clock.now()))


def _renamed(person: WebVisitor, charter: RoomCharter) -> RoomCharter:
    if person.id not in charter.people:
        return charter
    return replace(charter, people={**charter.people, person.id: person.name})


def _title(name: str) -> str:
    """A title without invisible characters. Raises _NotDone."""
    title = "".join(char for char in " ".join(name.split()) if char.isprintable()).strip()
    if not title or len(title) > MAX_TITLE:
        raise _NotDone(f"A title needs a visible character, and at most {MAX_TITLE} characters in all.")
    return title

"""Roles of people, requests for access, and what strangers were told. Durable, and read for every decision, so that a
change by another process applies at once.

| role | may |
| --- | --- |
| owner | everything: also approve, block and promote others; limits do not hold for owners |
| member | what guests may; stop, begin again, choose a program, invite to meetings and end them |
| guest | talk, answer choices, look and leave, where a chat or a space is open to them |
| blocked | nothing |
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import IntEnum

from msgspec import Struct, field
from msgspec.structs import replace

from adapters.records import ChangedTogether, Records, readable, what_can_be_read
from runtime.core.address import Address, address_from
from runtime.core.background import ListenerList
from runtime.core.clock import Clock, aware
from runtime.core.errors import InboxFull
from runtime.core.message import Choice
from runtime.core.texts import Texts
from runtime.stores.inbox import NOTICE, Inbox, InboxEvent

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 8

PEOPLE_TABLE = "access:people"
REQUESTS_TABLE = "access:requests"
TOLD_TABLE = "access:told"

MAX_TOLD = 2_000
"""The number of people for whom it is remembered what they were told; the one told the longest ago is forgotten first.
"""


class Role(IntEnum):
    """In the order of what they may do; each may do everything that a lesser one may."""

    BLOCKED = 0
    GUEST = 1
    MEMBER = 2
    OWNER = 3

    @property
    def word(self) -> str:
        """As people write it: `member`."""
        return self.name.lower()


def role_named(word: str) -> Role | None:
    """The role that is written so; None when there is none."""
    return next((role for role in Role if role.word == word.strip().lower()), None)


class KnownPerson(Struct, frozen=True):
    """A person whose role was given by an owner or by the start-up code."""

    id: str
    name: str
    role: Role

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.id})" if self.name else self.id


class AccessRequest(Struct, frozen=True):
    """Somebody who asks to be let in, with the code that an owner approves; void after `expires_at`. `source` is where
    strangers come from: a platform, or a workspace or server there."""

    code: str
    person_id: str
    name: str
    address: Address
    expires_at: datetime
    source: str


class KnownPeople(Struct, frozen=True):
    """The people and the requests of all platforms. Raises StorageUnavailable, and nothing else."""

    _people: ChangedTogether
    _requests: Records
    _told: Records
    _clock: Clock
    _news: Callable[[str], Awaitable[None]] | None = None
    """Hears the id of a person whose role has changed."""

    async def find(self, person_id: str) -> KnownPerson | None:
        """The record of a person; None when there is none."""
        kept = await self._people.get(person_id)
        return None if kept is None else _person(person_id, kept)

    async def all(self) -> list[KnownPerson]:
        found = [_person(id_, kept) for id_, kept in (await self._people.all()).items()]
        return sorted(found, key=lambda person: (-person.role, person.id))

    async def set(self, person_id: str, role: Role, name: str = "") -> KnownPerson:
        """Give a person a role, which also settles that person's request."""
        known = await self.find(person_id)
        person = KnownPerson(person_id, name or (known.name if known is not None else ""), role)
        await self._people.put(person_id, json.dumps({"role": role.word, "name": person.name}))
        await self._requests.remove(person_id)
        await self._tell(person_id)
        return person

    async def rename(self, person_id: str, name: str) -> None:
        """Keep a person under another name; whatever role an owner gives meanwhile stays."""
        while (kept := await self._people.get(person_id)) is not None:
            renamed = json.dumps({"role": _person(person_id, kept).role.word, "name": name})
            if await self._people.change({person_id: (kept, renamed)}):
                return

    async def forget(self, person_id: str) -> bool:
        """Remove a person's role or block. False when there was none."""
        known = await self.find(person_id)
        await self._people.remove(person_id)
        await self._requests.remove(person_id)
        await self._tell(person_id)
        return known is not None

    async def _tell(self, person_id: str) -> None:
        if self._news is not None:
            await self._news(person_id)

    async def has_owner(self, platform: str) -> bool:
        return any(person.role is Role.OWNER and person.id.startswith(f"{platform}:") for person in await self.all())

    async def ask(
        self, who: KnownPerson, address: Address, space: str | None, *, minutes: float, at_most: int
    ) -> AccessRequest | None:
        """A new request of a person, which replaces an earlier one; None when no request may be open.

        Of more than `at_most` requests from one source the oldest are dropped, so strangers there cannot keep others
        from asking.
        """
        if not at_most:
            return None
        source = address.platform if space is None else f"{address.platform}:{space}"
        open_ = [request for request in await self.requests() if request.source == source]
        for oldest in open_[: max(0, len(open_) - at_most + 1)]:
            await self._requests.remove(oldest.person_id)
        expires_at = self._clock.now() + timedelta(minutes=minutes)
        request = AccessRequest(new_code(), who.id, who.name, address, expires_at, source)
        await self._requests.put(who.id, _request_to_json(request))
        return request

    async def waits(self, person_id: str) -> bool:
        return any(request.person_id == person_id for request in await self.requests())

    async def requests(self) -> list[AccessRequest]:
        """The open requests, soonest expiry first. Expired ones are forgotten."""
        now, found = self._clock.now(), list[AccessRequest]()
        kept = await self._requests.all()
        readable_ones = what_can_be_read(kept, _request)
        for person_id in kept:
            request = readable_ones.get(person_id)
            if request is not None and request.expires_at > now:
                found.append(replace(request, person_id=person_id))
            else:
                await self._requests.remove(person_id)
        return sorted(found, key=lambda request: request.expires_at)

    async def is_news(self, person_id: str, what: str, *, for_s: float) -> bool:
        """Whether a person has yet to be told something. The person then counts as told for this many seconds."""
        now = self._clock.now()
        kept = await self._told.get(person_id)
        told = _times(kept)
        if what in told and told[what] > now:
            return False
        if kept is None:
            await self._forget_told(now)
        until = {name: at.isoformat() for name, at in told.items()} | {
            what: (now + timedelta(seconds=for_s)).isoformat()
        }
        await self._told.put(person_id, json.dumps(until))
        return True

    async def _forget_told(self, now: datetime) -> None:
        """Make room for one more who was told something."""
        until = {id_: max(_times(kept).values(), default=now) for id_, kept in (await self._told.all()).items()}
        in_order = sorted(until, key=until.__getitem__)
        for place, person_id in enumerate(in_order):
            if until[person_id] <= now or len(in_order) - place >= MAX_TOLD:
                await self._told.remove(person_id)

    async def approve(self, code: str, role: Role = Role.MEMBER) -> AccessRequest | None:
        """Admit the person who asks with this code; None when no open request has it."""
        wanted = code.strip().upper()
        for request in await self.requests():
            if request.code == wanted:
                await self.set(request.person_id, role, request.name)
                return request
        return None


def new_code() -> str:
    """A code that cannot be guessed and is easy to read aloud."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(_CODE_LENGTH))


def is_code(text: str) -> bool:
    """Whether a text in capitals has the form of a code."""
    return len(text) == _CODE_LENGTH and set(text) <= set(CODE_LETTERS)


def _times(kept: str | None) -> dict[str, datetime]:
    """The times until which a person counts as told, by what was said."""
    return readable("told", kept, lambda text: {what: aware(at) for what, at in json.loads(text).items()}) or {}


def _person(person_id: str, kept: str) -> KnownPerson:
    """A person whose record cannot be read is blocked, and so is one with an unknown role."""
    data: Mapping[str, str] = readable(person_id, kept, _read_person) or {"name": "", "role": ""}
    role = role_named(data["role"])
    return KnownPerson(person_id, data["name"], Role.BLOCKED if role is None else role)


def _read_person(kept: str) -> Mapping[str, str]:
    data = json.loads(kept)
    return {key: str(data[key]) for key in ("name", "role")}


def _request_to_json(request: AccessRequest) -> str:
    address = request.address
    place = [address.platform, address.conversation, address.thread]
    expires_at = request.expires_at.isoformat()
    about = {"code": request.code, "name": request.name, "place": place, "expires_at": expires_at}
    return json.dumps({**about, "source": request.source})


def _request(kept: str) -> AccessRequest:
    """The request without the person, whose id is the record's name."""
    data = json.loads(kept)
    place = address_from(data["place"])
    source = data.get("source", place.platform)
    return AccessRequest(str(data["code"]), "", str(data["name"]), place, aware(data["expires_at"]), str(source))


OWNER_PLACES_TABLE = "access:owner-places"

IsOwner = Callable[[str], Awaitable[bool]]
"""Whether a person, by their id, is an owner now."""


class OwnerNotices(Struct, frozen=True):
    """Tells all owners who have ever written in private, or in a chat that asks everybody in. Raises
    StorageUnavailable, and nothing else."""

    _places: Records
    _is_owner: IsOwner
    _inbox: Inbox
    _texts: Mapping[str, Texts]
    """Those of the platforms that are on, by name."""
    _clock: Clock
    _known: dict[str, str] = field(default_factory=dict)
    came: ListenerList[None] = field(default_factory=ListenerList)
    """Told when an owner has another place than before: what nobody could be told may be told now."""

    async def seen(self, person_id: str, address: Address, *, alone: bool = True) -> None:
        """An owner wrote where only they read. If others read there, too (not `alone`), a notice is shown to the owner
        alone."""
        among = [] if alone else ["among others"]
        place = json.dumps([address.platform, address.conversation, address.thread, *among])
        if self._known.get(person_id) != place:
            await self._places.put(person_id, place)
            self._known[person_id] = place
            self.came.tell(None)

    async def tell(
        self, notice: str, key: str, choices: Sequence[Choice] = (), *, among: str = "", **values: object
    ) -> bool:
        """Tell them a text, by its key; whether there was somebody to tell. A notice is said once, by its id. Where
        others read, too, there are no choices, and `among` is the key."""
        told = False
        offered = tuple({"id": choice.id, "label": choice.label} for choice in choices)
        places = what_can_be_read(await self._places.all(), _place)
        for person_id, (address, alone) in places.items():
            texts = self._texts.get(address.platform)
            if texts is None or not await self._is_owner(person_id):
                continue
            text, now = texts(key if alone else among or key, **values), self._clock.now()
            with suppress(InboxFull):  # the log says it too
                await self._inbox.add(
                    InboxEvent(notice, address, person_id, "", text, now, NOTICE, offered, private=alone)
                )
                told = True
        return told


def _place(stored: str) -> tuple[Address, bool]:
    """Where an owner is told, and whether nobody else reads there. Raises ValueError."""
    match json.loads(stored):
        case [*address, "among others"]:
            return address_from(address), False
        case address:
            return address_from(address), True

"""Notices to the owners, in private: each where they last wrote to the gateway alone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from adapters.records import Records, what_can_be_read
from runtime.core.address import Address, address_from
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.message import Choice
from runtime.core.signals import ListenerList
from runtime.core.texts import Texts
from runtime.stores.inbox import NOTICE, Inbox, InboxEvent

OWNER_PLACES_TABLE = "access:owner-places"

IsOwner = Callable[[str], Awaitable[bool]]
"""Whether a person, by their id, is an owner now."""


class OwnerNotices:
    """Tells all owners who have ever written in private, or in a chat that asks everybody in. Raises
    StorageUnavailable, and nothing else."""

    def __init__(
        self, places: Records, is_owner: IsOwner, inbox: Inbox, texts: Mapping[str, Texts], clock: Clock
    ) -> None:
        """`texts` are those of the platforms that are on, by name."""
        self._places = places
        self._is_owner = is_owner
        self._inbox = inbox
        self._texts = texts
        self._clock = clock
        self._known: dict[str, str] = {}
        self.came = ListenerList[None]()
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

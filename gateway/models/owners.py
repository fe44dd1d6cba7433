"""Owners are told what is wrong with models, in words of the provider, once a day where they wrote last in private."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from adapters.adapter import Inbound
from adapters.records import Records
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull, StorageUnavailable
from runtime.core.texts import Texts
from runtime.events.frames import LLMFailed
from runtime.events.service import ModelKeyRefused
from runtime.stores.inbox import NOTICE, Inbox, InboxEvent

OWNERS_TABLE = "owners:private"
"""The table of the places where owners wrote last in private, by their ids."""

_UNHEARD_FAILURES = 1_000
_SHOWN_CHARS = 500


class OwnerNotices:
    """Notices for owners. The id of a notice has its day, so that all nodes together send it once."""

    def __init__(
        self,
        places: Records,
        is_owner: Callable[[str], Awaitable[bool]],
        inbox: Inbox,
        texts: Texts,
        clock: Clock,
    ) -> None:
        self._places = places
        self._is_owner = is_owner
        self._inbox = inbox
        self._texts = texts
        self._clock = clock
        self._known: dict[str, Address] = {}

    async def note(self, event: Inbound) -> None:
        """An owner has written in private."""
        if self._known.get(event.person_id) == event.address:
            return
        address = event.address
        kept = json.dumps([event.person_name, address.platform, address.conversation, address.thread])
        await self._places.put(event.person_id, kept)
        self._known[event.person_id] = address

    async def follow(self, bus: Bus, name: str) -> None:
        """Tell of events of this name until cancelled."""
        async with bus.events(name, capacity=_UNHEARD_FAILURES) as failures:
            async for failure in failures:
                with suppress(StorageUnavailable, InboxFull):  # the log has it
                    await self.tell(failure.what)

    async def tell(self, what: object) -> None:
        """Tell all owners of a failure, unless they were told of its kind today."""
        if isinstance(what, ModelKeyRefused):
            kind, text = f"key.{what.entry}", self._texts("models.key_refused", entry=what.entry, error=what.error)
        elif isinstance(what, LLMFailed):
            kind, text = what.error.partition(":")[0], self._texts("models.failed", error=what.error[:_SHOWN_CHARS])
        else:
            return
        now = self._clock.now()
        for person, kept in (await self._places.all()).items():
            if await self._is_owner(person):
                name, *place = json.loads(kept)
                id_ = f"model.{kind}.{now.date().isoformat()}.{person}"
                await self._inbox.add(InboxEvent(id_, Address(*place), person, name, text, now, kind=NOTICE))

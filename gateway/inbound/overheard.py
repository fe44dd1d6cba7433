"""Messages in threads that belong to no session yet.

After a restart somebody may write below a question before its session has found the question's message again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from adapters.adapter import Inbound
from runtime.core.address import Address
from runtime.core.errors import StorageUnavailable
from runtime.core.fairness import oldest_of_largest
from runtime.core.ids import SessionId
from runtime.stores.meeting_places import HeldPlace, PlaceStore

MAX_KEPT: Final = 200
"""Messages that are kept; beyond them the oldest of who wrote most is forgotten. A restart forgets them all."""

Take = Callable[[Inbound], Awaitable[None]]


class Overheard:
    """The messages that this process has overheard. None is stored or passed on unless its thread becomes a place."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Inbound, Take]] = OrderedDict()

    def keep(self, event: Inbound, take: Take) -> None:
        """Keep a message in a thread; `take` is called with it when the thread is held."""
        if event.act != "message" or event.address.thread is None:
            return
        self._kept[event.event_id] = event, take
        if len(self._kept) > MAX_KEPT:
            place = oldest_of_largest([event.person_id for event, _ in self._kept.values()])
            del self._kept[list(self._kept)[place]]

    async def repeat(self, place: Address) -> None:
        """Take the messages of a place that is held now. Raises StorageUnavailable; the rest stays kept."""
        waiting = [id_ for id_, (event, _) in self._kept.items() if event.address == place]
        said = [self._kept.pop(id_) for id_ in waiting]
        while said:
            event, take = said[0]
            try:
                await take(event)
            except StorageUnavailable:
                self._kept |= {one.event_id: (one, again) for one, again in said}
                raise
            said.pop(0)


class HeardPlaces:
    """A place store that takes the overheard messages of a place when it is held.

    Implements `runtime.stores.meeting_places.PlaceStore`.
    """

    def __init__(self, store: PlaceStore, overheard: Overheard) -> None:
        self._store = store
        self._overheard = overheard

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        await self._store.put(place, held)
        await self._overheard.repeat(place)

    async def get(self, place: Address, /) -> HeldPlace | None:
        return await self._store.get(place)

    async def release(self, place: Address, session: SessionId, /) -> None:
        await self._store.release(place, session)

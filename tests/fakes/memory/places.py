"""Places of meetings, in memory: for tests and for trying things out."""

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.sessions import HeldPlace


class MemoryPlaceStore:
    """Implements `runtime.stores.sessions.PlaceStore`."""

    def __init__(self) -> None:
        self.held: dict[str, HeldPlace] = {}

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        self.held[place.key] = held

    async def get(self, place: Address, /) -> HeldPlace | None:
        return self.held.get(place.key)

    async def release(self, place: Address, session: SessionId, /) -> None:
        if place.key in self.held and self.held[place.key].session == session:
            del self.held[place.key]

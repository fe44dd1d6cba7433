"""Sessions of private and direct rooms: what is said in them is for those people, not for all who may read words."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Protocol

from starlette.exceptions import HTTPException

from adapters.web.charters import is_closed
from gateway.clients.admission import Client
from gateway.clients.scopes import CONSOLE, PRIVATE, Scopes
from runtime.core.address import Address, session_of
from runtime.core.errors import ArchiveUnavailable, ContentLocked, TapeConflict
from runtime.core.ids import SessionId
from runtime.stores.catalog import KnownSession
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.tape import Fact

_KEPT = 10_000
_HIDDEN = "What is said in a private room is for its people."
_AT_CONSOLE = "Owners read it where the settings have console.private = true."
_FIRST_FACTS = 20
"""Among so many of the first facts of a task is its order."""


class Finds(Protocol):
    """Finds sessions, as `runtime.stores.catalog.SessionCatalog` does it."""

    async def find(self, session: SessionId, /) -> KnownSession | None: ...


class Facts(Protocol):
    """Reads the facts of sessions, as `runtime.tape.tape.TapeStore` does it."""

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]: ...


async def is_closed_task(tapes: Facts, task: SessionId) -> bool | None:
    """Whether a task was ordered in a closed room, also where that cannot be read; None while it has no order."""
    try:
        async for fact in tapes.read_session(task, until=_FIRST_FACTS):
            order = read_as(fact, OrderTaken)
            if order is not None:
                return is_closed(order.home) or is_closed(order.place)
    except (ArchiveUnavailable, ContentLocked, TapeConflict, LookupError):
        return True
    return None


class ClosedRooms:
    """The sessions of closed rooms: those at their addresses, the tasks that were ordered there, and every
    session that goes on from one of these. Raises StorageUnavailable."""

    def __init__(self, catalog: Finds, tapes: Facts) -> None:
        self._catalog = catalog
        self._tapes = tapes
        self._known: OrderedDict[SessionId, bool] = OrderedDict()

    async def has(self, session: SessionId) -> bool:
        """Whether a session is of a closed room; also one that is not there."""
        if session in self._known:
            return self._known[session]
        known = await self._catalog.find(session)
        return True if known is None else await self.holds(known.record)

    async def holds(self, record: SessionRecord) -> bool:
        """As `has`, of a session that is known."""
        if record.id not in self._known:
            found = await self._look(record)
            if found is None:
                return True
            self._known[record.id] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return self._known[record.id]

    async def at(self, address: Address) -> bool:
        """Whether an address is a closed room, or that of a task of one."""
        task = session_of(address)
        return is_closed(address) if task is None else await self.has(task)

    async def words(self, scopes: Scopes, record: SessionRecord) -> bool:
        """Whether a client of these scopes may read what is said in a session."""
        return scopes.content and (scopes.private or not await self.holds(record))

    async def check(self, client: Client, record: SessionRecord) -> None:
        """Raise HTTPException, 403, where a client may not read what is said in a session."""
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        await self.check_room(client, record)

    async def check_room(self, client: Client, record: SessionRecord) -> None:
        """Raise HTTPException, 403, for a session of a closed room, unless the client may read in these."""
        if not client.scopes.private and await self.holds(record):
            opened = _AT_CONSOLE if client.name.startswith(CONSOLE) else f"{client.name} has no scope {PRIVATE}."
            raise HTTPException(403, f"{_HIDDEN} {opened}")

    async def _look(self, record: SessionRecord) -> bool | None:
        if is_closed(record.address):
            return True
        if record.parent is not None and await self.has(record.parent.session):
            return True
        task = session_of(record.address)
        return False if task is None else await is_closed_task(self._tapes, task)

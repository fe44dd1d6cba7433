"""Requests of clients about journals, on which a session acts itself, and the names of tapes. What is said in private
and direct rooms is for those people, not for all who may read words.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request

from adapters.web.charters import is_closed
from gateway.clients.requests import BusClient
from gateway.clients.scopes import CONSOLE, JOURNAL, PRIVATE, ClientScopes
from runtime.core.address import CLIENT, Address, session_of
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, ContentLocked, TapeConflict
from runtime.core.ids import SessionId
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import FORK_WANTED, Inbox, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.state.people import MAX_EXCHANGES
from runtime.tape.tape import TapeStore

TAPES = "/tape/v1"
"""Where the routes of tapes are mounted."""

_KEPT = 10_000
_HIDDEN = "What is said in a private room is for its people."
_AT_CONSOLE = "Owners read it where the settings have console.private = true."
_FIRST_FACTS = 20
"""Among so many of the first facts of a task is its order."""


class ClientJournals(Struct, frozen=True):
    """Sends what is asked for into the inbox. A request with a `key` is taken once."""

    catalog: SessionCatalog
    inbox: Inbox
    clock: Clock

    async def undo(self, client: BusClient, session: SessionId, exchanges: int, key: str | None) -> dict[str, Any]:
        """Undo the last exchanges of a session, as `/undo` does."""
        if not 1 <= exchanges <= MAX_EXCHANGES:
            raise HTTPException(422, f"exchanges is a number from 1 to {MAX_EXCHANGES}.")
        return await self._send(client, session, "undo", str(exchanges), key)

    async def fork(self, client: BusClient, session: SessionId, title: str, key: str | None) -> dict[str, Any]:
        """Have a session go on in a second place, as `/fork` does."""
        return await self._send(client, session, FORK_WANTED, title, key)

    async def stop(self, client: BusClient, session: SessionId, key: str | None = None) -> dict[str, Any]:
        """Stop everything that a session does, as `/stop` does."""
        return await self._send(client, session, "stop", "", key)

    async def end_meeting(self, client: BusClient, session: SessionId, meeting: str) -> dict[str, Any]:
        """End a meeting of a session, as `/meeting 101 end` does."""
        return await self._send(client, session, "meeting", f"{meeting} end", f"end {meeting}")

    async def _send(
        self, client: BusClient, session: SessionId, kind: str, text: str, key: str | None
    ) -> dict[str, Any]:
        known = await self.catalog.find(session)
        if known is None:
            raise HTTPException(404, "There is no such session.")
        record = known.record
        named = hashlib.sha256(f"{client.source}\0{session}\0{key or uuid.uuid4().hex}".encode()).hexdigest()[:32]
        id_ = f"{kind}.{named}"
        if await self.inbox.known(record.address, id_) is not None:
            return {"accepted": 0, "known": 1}
        if record.ended or record.replaced_by is not None:
            raise HTTPException(409, "The session has ended, or another one goes on in its place.")
        event = InboxEvent(
            id_,
            record.address,
            f"{CLIENT}:{client.name}",
            client.shown or client.name,
            text,
            self.clock.now(),
            kind=kind,
            program=record.program,
            by_owner=True,
        )
        new = await self.inbox.add(event)
        return {"accepted": int(new), "known": int(not new)}


def tape_name(client: BusClient, action: str, request: Request) -> str:
    """The tape of a request's path. Raises HTTPException: 403 where the client has no scope for it."""
    return allowed(client, action, str(request.path_params["tape"]))


def allowed(client: BusClient, action: Any, name: str) -> str:
    """The name, where the client may do this with the tape of that name. Raises HTTPException."""
    if not client.scopes.may_tape(action, name):
        raise HTTPException(403, f"{client.name} has no scope to {action} this tape.")
    return name


def journal_of(name: str) -> SessionId | None:
    """The session whose journal has this name; None for a notebook."""
    return SessionId(name.removeprefix(JOURNAL)) if name.startswith(JOURNAL) else None


async def is_closed_task(tapes: TapeStore, task: SessionId) -> bool | None:
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

    def __init__(self, catalog: SessionCatalog, tapes: TapeStore) -> None:
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
        found = self._known.get(record.id)
        if found is None:
            found = await self._look(record)
            if found is None:
                return True
            self._known[record.id] = found
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    async def at(self, address: Address) -> bool:
        """Whether an address is a closed room, or that of a task of one."""
        task = session_of(address)
        return is_closed(address) if task is None else await self.has(task)

    async def words(self, scopes: ClientScopes, record: SessionRecord) -> bool:
        """Whether a client of these scopes may read what is said in a session."""
        return scopes.content and (scopes.private or not await self.holds(record))

    async def check(self, client: BusClient, record: SessionRecord) -> None:
        """Raise HTTPException, 403, where a client may not read what is said in a session."""
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        await self.check_room(client, record)

    async def check_room(self, client: BusClient, record: SessionRecord) -> None:
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

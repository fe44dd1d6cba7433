"""Requests of clients about journals, on which a session acts itself, and the names of tapes."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request

from gateway.clients.admission import Client
from gateway.clients.scopes import JOURNAL
from runtime.core.address import CLIENT, Address
from runtime.core.clock import Clock
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import FORK_WANTED, Inbox, InboxEvent, KnownEvent
from runtime.tape.state.people import MAX_EXCHANGES

TAPES = "/tape/v1"
"""Where the routes of tapes are mounted."""


class _Asked(Protocol):
    def text(self, name: str, /) -> str | None: ...

    def number(self, name: str, /) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Journals:
    """Sends what is asked for into the inbox. `known` finds an event that was taken in at an address, by its id."""

    catalog: SessionCatalog
    inbox: Inbox
    known: Callable[[Address, str], Awaitable[KnownEvent | None]]
    clock: Clock

    async def undo(self, client: Client, session: SessionId, body: _Asked) -> dict[str, Any]:
        """Undo the last exchanges of a session, as `/undo` does."""
        exchanges = body.number("exchanges")
        count = 1 if exchanges is None else exchanges
        if not 1 <= count <= MAX_EXCHANGES:
            raise HTTPException(422, f"exchanges is a number from 1 to {MAX_EXCHANGES}.")
        return await self._send(client, session, "undo", str(count), body.text("key"))

    async def fork(self, client: Client, session: SessionId, body: _Asked) -> dict[str, Any]:
        """Have a session go on in a second place, as `/fork` does."""
        return await self._send(client, session, FORK_WANTED, body.text("title") or "", body.text("key"))

    async def stop(self, client: Client, session: SessionId, key: str | None = None) -> dict[str, Any]:
        """Stop everything that a session does, as `/stop` does."""
        return await self._send(client, session, "stop", "", key)

    async def end_meeting(self, client: Client, session: SessionId, meeting: str) -> dict[str, Any]:
        """End a meeting of a session, as `/meeting 101 end` does."""
        return await self._send(client, session, "meeting", f"{meeting} end", f"end {meeting}")

    async def _send(self, client: Client, session: SessionId, kind: str, text: str, key: str | None) -> dict[str, Any]:
        known = await self.catalog.find(session)
        if known is None:
            raise HTTPException(404, "There is no such session.")
        record = known.record
        named = hashlib.sha256(f"{client.source}\0{session}\0{key or uuid.uuid4().hex}".encode()).hexdigest()[:32]
        id_ = f"{kind}.{named}"
        if await self.known(record.address, id_) is not None:
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
        try:
            new = await self.inbox.add(event)
        except InboxFull as error:
            raise HTTPException(503, "Too much is waiting. Try again.", {"retry-after": "5"}) from error
        return {"accepted": int(new), "known": int(not new)}


def may(client: Client, action: Any, name: str) -> bool:
    """Whether a client may do something with a tape."""
    return client.scopes.may_tape(action, name)


def tape_name(client: Client, action: str, request: Request) -> str:
    """The tape of a request's path. Raises HTTPException: 403 where the client has no scope for it."""
    return allowed(client, action, str(request.path_params["tape"]))


def allowed(client: Client, action: str, name: str) -> str:
    """The name, where the client may do this with the tape of that name. Raises HTTPException."""
    if not may(client, action, name):
        raise HTTPException(403, f"{client.name} has no scope to {action} this tape.")
    return name


def journal_of(name: str) -> SessionId | None:
    """The session whose journal has this name; None for a notebook."""
    return SessionId(name.removeprefix(JOURNAL)) if name.startswith(JOURNAL) else None

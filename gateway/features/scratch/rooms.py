"""Copies of sessions in scratch rooms: begun from a moment of rest, spoken to, and changed, by events of their inboxes.

A copy is a session of its own, which goes on from facts of the other one. Nothing of it is seen anywhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from gateway.clients.requests import Client
from runtime.core.address import CLIENT, SCRATCH, Address
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.sessions.commands.alter import Alteration
from runtime.sessions.commands.fork import Origin
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import ALTERED, FORK, Inbox, InboxEvent, shard_of
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ExchangeBegun
from runtime.tape.moments import Moments
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Following, TapeReader

BEGUN_WITHIN_S = 15.0
"""How long a new copy is waited for."""

_ID_CHARS = 32
_SOON = 20
"""The facts after a moment of rest within which an exchange that goes on from there begins."""


class NotPossible(Exception):
    """A request cannot be done; the text says why, in a sentence."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was ordered: its session, the fact that it goes on from, and what was said next in the other one."""

    session: SessionId
    seq: int
    words: str
    begun: bool


@dataclass(frozen=True, slots=True)
class ScratchRooms:
    """Raises NotPossible, InboxFull and StorageError."""

    catalog: SessionCatalog
    tapes: TapeReader
    moments: Moments
    inbox: Inbox
    beginning: Callable[[SessionId, int], AbstractAsyncContextManager[Following]]
    """News of a session that is to begin in a shard."""
    clock: Clock

    async def begin(self, client: Client, session: SessionId, at: int | None, key: str) -> Copy:
        """Copy a session as it was when it rested last, not after fact `at`. The same key is the same copy."""
        record = await self._record(session)
        seq = record.seq if at is None else min(at, record.seq)
        state = (await self.moments.at(session, seq)).state
        if state.order is not None:
            raise NotPossible("A task cannot be copied: its result is for who ordered it.")
        rest, words = await self._rest(state, record, seq)
        if not rest:
            raise NotPossible("There is nothing to copy before this: the conversation had not come to rest yet.")
        copy = SessionId(_digest(client.source, session, key))
        origin = Origin(record.at(rest), None)
        await self.inbox.add(self._event(client, record, copy, FORK, str(origin), key))
        return Copy(copy, rest, words, await self._begun(copy))

    async def say(self, client: Client, session: SessionId, text: str, person: str | None, key: str) -> bool:
        """Say something to a copy, in the name of a `person` of it or in one's own. False where it was said before."""
        record = await self._copy(session)
        event = self._event(client, record, record.id, "message", text, key)
        state = (await self.moments.at(session, record.seq)).state
        if person is None:
            return await self._add(event, state.private)
        known = state.person_of(person)
        if known is None:
            raise NotPossible("Nobody of this id has taken part in this conversation.")
        return await self._add(event, state.private, person_id=person, person_name=known.name)

    async def alter(self, client: Client, session: SessionId, change: Alteration, key: str) -> bool:
        """Change a variable of an agent of a copy, or a name of its frame. False where that was asked before."""
        record = await self._copy(session)
        state = (await self.moments.at(session, record.seq)).state
        agent = state.agents.get(change.agent)
        frame = state.frames.get(change.frame or "")
        if change.frame is not None:
            if frame is None or frame.agent != change.agent or change.name not in {**frame.kwargs, **frame.locals}:
                raise NotPossible(f"There is no {change.name} in what {change.agent} does now in this conversation.")
        elif agent is None or change.name not in agent.variables:
            raise NotPossible(f"There is no agent {change.agent} with a variable {change.name} in this conversation.")
        return await self._add(self._event(client, record, record.id, ALTERED, str(change), key), state.private)

    async def _add(self, event: InboxEvent, private: bool, **more: Any) -> bool:
        return await self.inbox.add(replace(event, private=private, **more))

    async def _record(self, session: SessionId) -> SessionRecord:
        known = await self.catalog.find(session)
        if known is None:
            raise LookupError(session)
        if known.record.archived:
            raise NotPossible("The session is in the archive. Open it first, so that it comes back.")
        return known.record

    async def _copy(self, session: SessionId) -> SessionRecord:
        record = await self._record(session)
        if record.address.platform != SCRATCH:
            raise NotPossible("Only a copy in a scratch room can be spoken to or changed here.")
        if record.ended or record.replaced_by is not None:
            raise NotPossible("This copy has ended, or another one continues in its place.")
        return record

    def _event(
        self, client: Client, record: SessionRecord, copy: SessionId, kind: str, text: str, key: str
    ) -> InboxEvent:
        address = record.address if kind != FORK else Address(SCRATCH, copy)
        id_ = f"{kind}.{_digest(client.source, copy, key)}"
        return InboxEvent(
            id_,
            address,
            f"{CLIENT}:{client.name}",
            client.shown or client.name,
            text,
            self.clock.now(),
            kind=kind,
            message_id=id_ if kind == "message" else None,
            program=record.program,
            by_owner=True,
        )

    async def _rest(self, state: SessionState, record: SessionRecord, seq: int) -> tuple[int, str]:
        """The last fact of rest not after `seq`, 0 for none, and what somebody did next there."""
        if seq == record.seq and not state.ended and not state.at_work():
            return seq, ""
        async for fact in self.tapes.read_session(record.id, after=seq, until=min(seq + _SOON, record.seq)):
            begun = read_as(fact, ExchangeBegun)
            if begun is not None:
                if begun.seq == seq:
                    return seq, begun.text
                break
        before = [one for one in state.exchanges if one.seq <= seq]
        return (before[-1].seq, before[-1].text) if before else (0, "")

    async def _begun(self, copy: SessionId) -> bool:
        with anyio.move_on_after(BEGUN_WITHIN_S):
            async with self.beginning(copy, shard_of(Address(SCRATCH, copy).key)) as following:
                while await self.catalog.find(copy) is None:
                    await following.news()
            return True
        return False


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:_ID_CHARS]

"""`…/scratch`, `…/messages` and `…/variables` of `/bus/v1/sessions/{session}`.

Copies of sessions in scratch rooms: begun from a moment of rest, spoken to, and changed, by events of their inboxes.

A copy is a session of its own, which goes on from facts of the other one. Nothing of it is seen anywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.clients.requests import BusClient, answer, object_of
from gateway.clients.views import FeatureDoor, GatewayView, acts
from gateway.feature import FeatureGround
from runtime.core.address import CLIENT, SCRATCH, Address
from runtime.core.clock import Clock
from runtime.core.ids import AgentId, SessionId, digest_of
from runtime.sessions.commands.alter import VariableAlteration
from runtime.sessions.commands.fork import ForkOrigin
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import ALTERED, FORK, Inbox, InboxEvent, shard_of
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ExchangeBegun
from runtime.tape.snapshot import TapeMoments
from runtime.tape.state.session import SessionState
from runtime.tape.tape import TapeFollowing, TapeReader

MAX_TEXT = 20_000

MAX_VALUE = 100_000

MAX_KEY = 200
_MOST = 2**53

Found = TypeVar("Found")

BEGUN_WITHIN_S = 15.0
"""How long a new copy is waited for."""

_ID_CHARS = 32
_SOON = 20
"""The facts after a moment of rest within which an exchange that goes on from there begins."""


class NotPossible(Exception):
    """A request cannot be done; the text says why, in a sentence."""


class Copy(Struct, frozen=True):
    """A copy that was ordered: its session, the fact that it goes on from, and what was said next in the other one."""

    session: SessionId
    seq: int
    words: str
    begun: bool


class ScratchRooms(Struct, frozen=True):
    """Raises NotPossible, InboxFull and StorageError."""

    catalog: SessionCatalog
    tapes: TapeReader
    moments: TapeMoments
    inbox: Inbox
    beginning: Callable[[SessionId, int], AbstractAsyncContextManager[TapeFollowing]]
    """News of a session that is to begin in a shard."""
    clock: Clock

    async def begin(self, client: BusClient, session: SessionId, at: int | None, key: str) -> Copy:
        """Copy a session as it was when it rested last, not after fact `at`. The same key is the same copy."""
        record = await self._record(session)
        seq = record.seq if at is None else min(at, record.seq)
        state = (await self.moments.at(session, seq)).state
        if state.order is not None:
            raise NotPossible("A task cannot be copied: its result is for who ordered it.")
        rest, words = await self._rest(state, record, seq)
        if not rest:
            raise NotPossible("There is nothing to copy before this: the conversation had not come to rest yet.")
        copy = SessionId(digest_of(client.source, session, key)[:_ID_CHARS])
        origin = ForkOrigin(record.at(rest), None)
        await self.inbox.add(self._event(client, record, copy, FORK, str(origin), key))
        return Copy(copy, rest, words, await self._begun(copy))

    async def say(self, client: BusClient, session: SessionId, text: str, person: str | None, key: str) -> bool:
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

    async def alter(self, client: BusClient, session: SessionId, change: VariableAlteration, key: str) -> bool:
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
        self, client: BusClient, record: SessionRecord, copy: SessionId, kind: str, text: str, key: str
    ) -> InboxEvent:
        address = record.address if kind != FORK else Address(SCRATCH, copy)
        id_ = f"{kind}.{digest_of(client.source, copy, key)[:_ID_CHARS]}"
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


class ScratchRoutes(GatewayView, frozen=True):
    """The requests about scratch rooms. Each has a key: the same key is done once."""

    scratch: ScratchRooms
    catalog: SessionCatalog

    async def _check(self, request: Request, client: BusClient) -> None:
        """Raise HTTPException for a client that may not know what is said in the session."""
        known = await self.catalog.find(_session(request))
        if known is not None:
            await self.door.rooms.check_room(client, known.record)

    @acts("/sessions/{session}/scratch")
    async def begin(self, request: Request, client: BusClient) -> Response:
        """Copy a session into a scratch room, as it was at fact {"at"}: 201, or 202 where it has not begun yet."""
        await self._check(request, client)
        body = await object_of(request)
        at = body.get("at")
        if at is not None and not (type(at) is int and 0 < at < _MOST):
            raise HTTPException(422, "at is the number of a fact.")
        copy = await _done(self.scratch.begin(client, _session(request), at, _text(body, "key", MAX_KEY)))
        words = copy.words if client.scopes.content else ""
        told = {"session": copy.session, "seq": copy.seq, "words": words, "begun": copy.begun}
        return answer(told, 201 if copy.begun else 202)

    @acts("/sessions/{session}/messages")
    async def say(self, request: Request, client: BusClient) -> Response:
        """Say {"text"} to a copy, in the name of the person {"as"} or in one's own."""
        await self._check(request, client)
        body = await object_of(request)
        text, key = _text(body, "text", MAX_TEXT), _text(body, "key", MAX_KEY)
        person = None if body.get("as") is None else _text(body, "as", MAX_KEY)
        return _kept(await _done(self.scratch.say(client, _session(request), text, person, key)))

    @acts("/sessions/{session}/variables")
    async def alter(self, request: Request, client: BusClient) -> Response:
        """Give the variable {"name"} of {"agent"}, or of its {"frame"}, another {"value"} in a copy."""
        await self._check(request, client)
        body = await object_of(request)
        agent, name, key = (_text(body, one, MAX_KEY) for one in ("agent", "name", "key"))
        if "value" not in body or len(json.dumps(body["value"])) > MAX_VALUE:
            raise HTTPException(422, f"value is JSON of at most {MAX_VALUE:,} characters.")
        frame = None if body.get("frame") is None else _text(body, "frame", MAX_KEY)
        change = VariableAlteration(AgentId(agent), name, body["value"], frame)
        return _kept(await _done(self.scratch.alter(client, _session(request), change, key)))


async def _done(work: Awaitable[Found]) -> Found:
    try:
        return await work
    except NotPossible as error:
        raise HTTPException(409, str(error)) from error
    except LookupError as error:
        raise HTTPException(404, "There is no such session.") from error


def _session(request: Request) -> SessionId:
    return SessionId(str(request.path_params["session"]))


def _text(body: Mapping[str, Any], name: str, most: int) -> str:
    text = body.get(name)
    if not isinstance(text, str) or not text.strip() or len(text) > most:
        raise HTTPException(422, f"{name} is a text of 1 to {most:,} characters.")
    return text


def _kept(new: bool) -> Response:
    return answer({"accepted": int(new), "known": int(not new)}, 202)


def scratch_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    catalog, tapes, inbox = ground.database.catalog, ground.database.tapes, ground.database.inbox
    scratch = ScratchRooms(catalog, tapes, door.moments, inbox, tapes.beginning, ground.clock)
    return ScratchRoutes(door, scratch, catalog).routes()

"""Reading tapes on Redis: a session's own facts, and those that it has from the ones it goes on from."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import TapeConflict
from runtime.core.ids import SessionId, TapeId
from runtime.storage.codec import fact_from_fields
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.keys import ShardKeys
from runtime.storage.redis.session_places import SessionPlaces
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Branch, Fact, tape_in, tape_owner

_PAGE_OF_FACTS = 500
_TRIES = 2


@dataclass(frozen=True, slots=True)
class _Session:
    """What reading needs of a session. `early`: some of its facts came from a parent that is no more."""

    keys: ShardKeys
    id: SessionId
    seq: int
    parent: Branch | None
    early: bool
    tapes: Sequence[TapeId]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A session's own facts after number `after` up to `last`."""

    session: _Session
    after: int
    last: int


class RedisTapes:
    """Implements `runtime.tape.tape.TapeStore`."""

    def __init__(self, connection: RedisConnection, places: SessionPlaces) -> None:
        self._connection = connection
        self._places = places

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        seen = last = after
        for _ in range(_TRIES):
            stretches = await self._stretches(session, seen, until)
            for stretch in stretches:
                last = stretch.last
                async for fact in _merged([self._read(stretch, tape) for tape in stretch.session.tapes]):
                    if fact.seq != seen + 1:
                        break
                    seen = fact.seq
                    yield _in(session, fact)
            if seen >= last or not stretches:
                return
            # A session that it goes on from was deleted meanwhile; its facts are this one's own then.
        raise TapeConflict(
            f"Session {session} lacks fact {seen + 1}, though it is at fact {last}: what it goes on from is not there.",
            expected=last,
            actual=seen,
        )

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        session = tape_owner(tape)
        for stretch in await self._stretches(session, after, None):
            async for fact in self._read(stretch, tape_in(tape, stretch.session.id)):
                yield _in(session, fact)

    async def snapshot(self, session: SessionId, version: str) -> Snapshot | None:
        """The newest snapshot of this version that the session can go on from."""
        found, last = await self._session(session), None
        while found is not None:
            name = found.keys.snapshot(found.id)

            async def call(client: Redis, name: str = name) -> Any:
                return await client.hmget(name, ["seq", "version", "text"])

            seq, its_version, text = await self._connection.retrying(call, name)
            if its_version == version and (last is None or int(seq) <= last):
                return Snapshot(int(seq), version, text)
            if found.parent is None:
                break
            last = found.parent.seq if last is None else min(last, found.parent.seq)
            found = await self._session(found.parent.session)
        return None

    async def _stretches(self, session: SessionId, after: int, until: int | None) -> Sequence[_Stretch]:
        """Where the facts after `after` up to `until` are, in order; from the first session that is there."""
        stretches: list[_Stretch] = []
        found = await self._session(session)
        last = 0 if found is None else found.seq
        last = last if until is None else min(last, until)
        while found is not None:
            parent = found.parent
            first = after if parent is None else max(after, parent.seq)
            if last > first:
                stretches.append(_Stretch(found, first, last))
            if parent is None or after >= parent.seq:
                break
            last = min(last, parent.seq)
            found = await self._session(parent.session)
        return stretches[::-1]

    async def _session(self, session: SessionId) -> _Session | None:
        keys = await self._places.keys(session)
        if keys is None:
            return None

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                batch.hmget(keys.session(session), ["seq", "parent", "parent_seq", "early"])
                batch.smembers(keys.tapes(session))
                return await batch.execute()

        (seq, parent, parent_seq, early), tapes = await self._connection.retrying(call, keys.session(session))
        if seq is None:
            self._places.forget(session)
            return None
        branch = None if parent is None else Branch(SessionId(parent), int(parent_seq))
        return _Session(keys, session, int(seq), branch, early is not None, [TapeId(tape) for tape in tapes])

    async def _read(self, stretch: _Stretch, tape: TapeId) -> AsyncIterator[Fact]:
        keys, after = stretch.session.keys, stretch.after
        for key in (keys.early(tape), keys.tape(tape)) if stretch.session.early else (keys.tape(tape),):
            async for fact in self._read_stream(key, tape, after, stretch.last):
                yield fact

    async def _read_stream(self, key: str, tape: TapeId, after: int, last: int) -> AsyncIterator[Fact]:
        while True:
            page = await self._page(key, after, last)
            for entry_id, fields in page:
                after = int(entry_id.partition("-")[0])
                yield fact_from_fields(tape, after, (fields["k"], fields["t"], fields["d"]))
            if len(page) < _PAGE_OF_FACTS:
                return

    async def _page(self, key: str, after: int, last: int) -> Sequence[tuple[str, Mapping[str, str]]]:
        async def call(client: Redis) -> Any:
            return await client.xrange(key, min=f"{after + 1}-0", max=f"{last}-0", count=_PAGE_OF_FACTS)

        page: Sequence[tuple[str, Mapping[str, str]]] = await self._connection.retrying(call, key)
        return page


def _in(session: SessionId, fact: Fact) -> Fact:
    """The fact as one of `session`, whoever wrote it."""
    tape = tape_in(fact.tape, session)
    return fact if tape == fact.tape else replace(fact, tape=tape)


async def _merged(readers: Sequence[AsyncIterator[Fact]]) -> AsyncIterator[Fact]:
    """The facts of several tapes, each in order, as one order of `seq`."""
    heads: list[tuple[int, int, Fact]] = []
    for number, reader in enumerate(readers):
        async for fact in reader:
            heads.append((fact.seq, number, fact))
            break
    heapq.heapify(heads)
    while heads:
        _, number, fact = heads[0]
        yield fact
        following = await anext(readers[number], None)
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (following.seq, number, following))

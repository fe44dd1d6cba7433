"""Sessions and their tapes on Redis: one script makes a whole commit true."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import LeaseLost, TapeConflict
from runtime.core.ids import SessionId, TapeId
from runtime.sessions.store import SHARDS, Commit, SessionRecord
from runtime.storage.codec import address_from_json, address_to_json, fact_fields, fact_from_fields, to_json
from runtime.storage.redis.connection import RedisConnection
from runtime.storage.redis.keys import ShardKeys
from runtime.storage.redis.script import load_script
from runtime.tape.tape import Fact

COMMIT = load_script("commit")
"""Takes what `commit_call` gives."""

_PAGE_OF_FACTS = 500
_KNOWN_SHARDS = 100_000
_RECORD_FIELDS = ("address", "program", "started_at", "seq", "ended")


class RedisSessionStore:
    """Implements `runtime.sessions.store.SessionStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._shards: dict[SessionId, int] = {}
        self._writer = uuid.uuid4().hex
        self._calls = itertools.count(1)

    async def commit(self, commit: Commit, /) -> None:
        outcome, found = await self._connection.run(COMMIT, *commit_call(commit, self._writer, next(self._calls)))
        self._raise_refusal(commit, outcome, found)
        self._remember(commit.session, commit.lease.shard)

    def _raise_refusal(self, commit: Commit, outcome: str, found: int) -> None:
        if outcome == "lease":
            raise LeaseLost(f"Shard {commit.lease.shard} was taken over: token {found}, ours is {commit.lease.token}.")
        if outcome == "conflict":
            raise TapeConflict(
                f"Session {commit.session} is at fact {found}, not at {commit.expect}.",
                expected=commit.expect,
                actual=found,
            )
        if outcome == "unknown":
            raise TapeConflict(f"Session {commit.session} has not begun.", expected=commit.expect, actual=0)

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        async def call(client: Redis) -> Any:
            return await client.hget(ShardKeys(shard).current, conversation)

        found = await self._connection.retrying(call)
        return None if found is None else await self.session(shard, SessionId(found))

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        async def call(client: Redis) -> Any:
            return await client.hmget(ShardKeys(shard).session(session), _RECORD_FIELDS)

        address, program, started_at, seq, ended = await self._connection.retrying(call)
        if seq is None:
            return None
        self._remember(session, shard)
        return SessionRecord(
            session, address_from_json(address), program, datetime.fromisoformat(started_at), int(seq), ended == "1"
        )

    async def unfinished(self, shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        keys = ShardKeys(shard)

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                batch.smembers(keys.awake)
                batch.smembers(keys.outbox)
                return await batch.execute()

        awake, outbox = await self._connection.retrying(call)
        pages: dict[SessionId, set[str]] = {SessionId(session): set() for session in awake}
        for member in outbox:
            session, page = json.loads(member)
            pages.setdefault(SessionId(session), set()).add(page)
        for session in pages:
            self._remember(session, shard)
        return {session: frozenset(found) for session, found in pages.items()}

    async def read_session(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        keys = await self._keys_of(session)
        if keys is None:
            return

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                batch.hget(keys.session(session), "seq")
                batch.smembers(keys.tapes(session))
                return await batch.execute()

        seq, tapes = await self._connection.retrying(call)
        last = int(seq or 0)
        readers = [self._read_stream(keys, TapeId(tape), after, last) for tape in tapes]
        async for fact in _merged(readers):
            yield fact

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        keys = await self._keys_of(SessionId(tape.rpartition("/")[0]))
        if keys is not None:
            async for fact in self._read_stream(keys, tape, after, None):
                yield fact

    async def _read_stream(self, keys: ShardKeys, tape: TapeId, after: int, last: int | None) -> AsyncIterator[Fact]:
        end = "+" if last is None else f"{last}-0"
        while True:
            page = await self._page(keys.tape(tape), after, end)
            for entry_id, fields in page:
                after = int(entry_id.partition("-")[0])
                yield fact_from_fields(tape, after, (fields["k"], fields["t"], fields["d"]))
            if len(page) < _PAGE_OF_FACTS:
                return

    async def _page(self, key: str, after: int, end: str) -> Sequence[tuple[str, Mapping[str, str]]]:
        async def call(client: Redis) -> Any:
            return await client.xrange(key, min=f"{after + 1}-0", max=end, count=_PAGE_OF_FACTS)

        page: Sequence[tuple[str, Mapping[str, str]]] = await self._connection.retrying(call)
        return page

    async def _keys_of(self, session: SessionId) -> ShardKeys | None:
        """Where the session is; all shards are asked for one that was not met here yet."""
        if session not in self._shards:

            async def call(client: Redis) -> Any:
                async with client.pipeline(transaction=False) as batch:
                    for shard in range(SHARDS):
                        batch.exists(ShardKeys(shard).session(session))
                    return await batch.execute()

            found = await self._connection.retrying(call)
            if 1 not in found:
                return None
            self._remember(session, found.index(1))
        return ShardKeys(self._shards[session])

    def _remember(self, session: SessionId, shard: int) -> None:
        self._shards[session] = shard
        if len(self._shards) > _KNOWN_SHARDS:
            del self._shards[next(iter(self._shards))]


def commit_call(commit: Commit, writer: str = "", call: int = 0) -> tuple[list[str], list[str | int]]:
    """The keys and arguments with which `COMMIT` makes a commit true. Raises TapeConflict for misnumbered facts.

    The digest covers all but the token: by it a repetition is recognised. A copy that the network holds back until
    `writer` has committed more is recognised by `call`, which only grows; without a writer it is not.
    """
    keys = ShardKeys(commit.lease.shard)
    tapes = list(dict.fromkeys(fact.tape for fact in commit.facts))
    content = _commit_arguments(commit, tapes)
    digest = hashlib.blake2b("\0".join(map(str, (commit.expect, *content))).encode(), digest_size=16).hexdigest()
    names = [
        keys.lease,
        keys.session(commit.session),
        keys.inbox,
        keys.awake,
        keys.outbox,
        keys.current,
        keys.tapes(commit.session),
        *map(keys.tape, tapes),
    ]
    return names, [commit.lease.token, commit.expect, digest, *content[:7], writer, call, *content[7:]]


def _commit_arguments(commit: Commit, tapes: Sequence[TapeId]) -> list[str | int]:
    """What `scripts/commit.lua` takes from its fourth argument on, but for who sends it."""
    begin = commit.begin
    arguments: list[str | int] = [
        commit.session,
        "" if commit.awake is None else int(commit.awake),
        "1" if commit.end else "",
    ]
    if begin is None:
        arguments += ["", "", "", ""]
    else:
        arguments += [begin.address.key, address_to_json(begin.address), begin.program, begin.started_at.isoformat()]
    arguments += [len(commit.consume), *commit.consume]
    for pages in (commit.outbox_add, commit.outbox_done):
        arguments += [len(pages), *(to_json([commit.session, page]) for page in pages)]
    numbers = {tape: number for number, tape in enumerate(tapes, start=8)}
    arguments.append(len(commit.facts))
    for seq, fact in enumerate(commit.facts, start=commit.expect + 1):
        if fact.seq != seq:
            raise TapeConflict(
                f"A fact of {fact.tape} is numbered {fact.seq}, not {seq}.", expected=seq, actual=fact.seq
            )
        arguments += [numbers[fact.tape], seq, *fact_fields(fact)]
    return [*arguments, *tapes]


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

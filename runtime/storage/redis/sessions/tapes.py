"""Reading of tapes on Redis: a session's own facts, and those of the sessions that it continues. One read brings the
news for everybody who follows tapes.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.errors import ContentLocked, StorageError, TapeConflict
from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding.sealing import snapshot_binding
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import EARLIER, ShardKeys
from runtime.storage.redis.client.streams import Entries
from runtime.storage.redis.sessions.fact_form import FactReading, anchor_name, anchor_seq, large_values
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeBranch, tape_in, tape_owner

_PAGE_OF_FACTS = 500
_TRIES = 2

_NEWS_KEPT = 100
"""The number of a shard's latest commits that the scripts keep at least."""

_WAIT_S = 30.0


class _Session(Struct, frozen=True):
    """The data for reading a session. `early`: some of its facts came from a parent that was deleted. `indexed`: its
    anchors are known.
    """

    keys: ShardKeys
    id: SessionId
    seq: int
    parent: TapeBranch | None
    early: bool
    indexed: bool
    tapes: Sequence[TapeId]


class _Stretch(Struct, frozen=True):
    """A session's own facts after number `after`, up to `last`."""

    session: _Session
    after: int
    last: int


class RedisTapes:
    """Implements `runtime.tape.tape.TapeReader`."""

    def __init__(self, connection: RedisConnection, places: SessionPlaces) -> None:
        self._connection = connection
        self._places = places
        self.news = TapeNews(connection)

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        seen = last = after
        for _ in range(_TRIES):
            stretches = await self._stretches(session, seen, until)
            for stretch in stretches:
                last = stretch.last
                async for fact in self._read_stretch(stretch):
                    if fact.seq != seen + 1:
                        break
                    seen = fact.seq
                    yield _in(session, fact)
            if seen >= last or not stretches:
                return
            # A session that it goes on from was deleted meanwhile; its facts are this one's own then.
        raise _lacks(session, seen + 1, last)

    async def read_back(self, session: SessionId, *, before: int | None = None) -> AsyncIterator[Fact]:
        left = None if before is None else before - 1
        for _ in range(_TRIES):
            stretches = await self._stretches(session, 0, left)
            for stretch in reversed(stretches):
                left = stretch.last if left is None else min(left, stretch.last)
                async for fact in self._read_stretch(stretch, back=True):
                    if fact.seq != left:
                        break
                    left -= 1
                    yield _in(session, fact)
            if not left or not stretches:
                return
        raise _lacks(session, left or 0, left or 0)

    async def follow(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        async with self.following(session) as following:
            while await self._session(session) is not None:
                async for fact in RedisTapes.read_session(self, session, after=after):  # out of no archive
                    after = fact.seq
                    yield fact
                await following.news()

    @asynccontextmanager
    async def following(self, session: SessionId) -> AsyncIterator[NewsFollower]:
        keys = await self._places.keys(session)
        if keys is None:
            yield NewsFollower(session, "")
            return
        async with self.beginning(session, keys.shard) as follower:
            yield follower

    @asynccontextmanager
    async def beginning(self, session: SessionId, shard: int) -> AsyncIterator[NewsFollower]:
        """News of a session that is to begin in this shard, from now on."""
        follower = await self.news.follower(session, ShardKeys(shard).news)
        try:
            yield follower
        finally:
            self.news.leave(follower)

    async def last_anchor(self, session: SessionId, kind: str, *, until: int | None = None) -> int | None:
        for stretch in reversed(await self._stretches(session, 0, until)):
            found = await (self._anchor(stretch, kind) if stretch.session.indexed else self._search(stretch, kind))
            if found is not None:
                return found
        return None

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        session = tape_owner(tape)
        for stretch in await self._stretches(session, after, None):
            async for fact in self._read(stretch, tape_in(tape, stretch.session.id), back=False):
                yield _in(session, fact)

    async def snapshot(self, session: SessionId, version: str, /, *, until: int | None = None) -> Snapshot | None:
        """The newest snapshot of this version with which the session can continue, of at most `until` facts."""
        found, last = await self._session(session), until
        while found is not None:
            name = found.keys.snapshot(found.id)
            seq, its_version, text = await self._connection.read("hmget", name, ["seq", "version", "text"])
            at = int(seq) if its_version == version else 0
            if last is not None and at > last:
                at, text = await self._earlier(name, last)
            if at and text is not None:
                with suppress(ContentLocked):  # the facts are the truth, and say what is wrong with them
                    opened = self._connection.sealing.open(snapshot_binding(found.id, at, version), text)
                    return Snapshot(at, version, opened)
            if found.parent is None:
                break
            last = found.parent.seq if last is None else min(last, found.parent.seq)
            found = await self._session(found.parent.session)
        return None

    async def _earlier(self, name: str, last: int) -> tuple[int, str | None]:
        """The last of the earlier snapshots of at most `last` facts: its fact and text."""
        fields = await self._connection.read("hkeys", name)
        seqs = [int(field.removeprefix(EARLIER)) for field in fields if field.startswith(EARLIER)]
        at = max((seq for seq in seqs if seq <= last), default=0)
        return at, await self._connection.read("hget", name, f"{EARLIER}{at}") if at else None

    async def _stretches(self, session: SessionId, after: int, until: int | None) -> Sequence[_Stretch]:
        """The places of the facts after `after`, up to `until`, in order, starting with the first session that
        exists.
        """
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
        fields = ["seq", "parent", "parent_seq", "early", "anchors"]
        (seq, parent, parent_seq, early, anchors), tapes = await self._connection.read_at_once(
            keys.lease, ("hmget", keys.session(session), fields), ("smembers", keys.tapes(session))
        )
        if seq is None:
            self._places.forget(session)
            return None
        branch = None if parent is None else TapeBranch(SessionId(parent), int(parent_seq))
        named = [TapeId(tape) for tape in tapes]
        return _Session(keys, session, int(seq), branch, early is not None, anchors is not None, named)

    def _read_stretch(self, stretch: _Stretch, *, back: bool = False) -> AsyncIterator[Fact]:
        return _merged([self._read(stretch, tape, back=back) for tape in stretch.session.tapes], back=back)

    async def _read(self, stretch: _Stretch, tape: TapeId, *, back: bool) -> AsyncIterator[Fact]:
        keys = stretch.session.keys
        reading = FactReading(keys.shard, self._connection.sealing)
        streams = [keys.early(tape), keys.tape(tape)] if stretch.session.early else [keys.tape(tape)]
        for key in reversed(streams) if back else streams:
            async for seq, fields in self._entries(key, stretch, back):
                large = {
                    name: (digest, await self._connection.read("hget", keys.value(digest), "text"))
                    for name, digest in large_values(fields).items()
                }
                yield reading.fact(tape, seq, fields, large)

    async def _entries(self, key: str, stretch: _Stretch, back: bool) -> AsyncIterator[tuple[int, Mapping[str, str]]]:
        first, last = stretch.after + 1, stretch.last
        while first <= last:
            bounds = {"min": f"{first}-0", "max": f"{last}-0", "count": _PAGE_OF_FACTS}
            page = await self._connection.read("xrevrange" if back else "xrange", key, **bounds)
            for entry_id, fields in page:
                seq = int(entry_id.partition("-")[0])
                first, last = (first, seq - 1) if back else (seq + 1, last)
                yield seq, fields
            if len(page) < _PAGE_OF_FACTS:
                return

    async def _anchor(self, stretch: _Stretch, kind: str) -> int | None:
        key = stretch.session.keys.anchors(stretch.session.id)
        last, first = f"[{anchor_name(kind, stretch.last)}", f"({anchor_name(kind, stretch.after)}"
        return anchor_seq(await self._connection.read("zrevrangebylex", key, last, first, start=0, num=1))

    async def _search(self, stretch: _Stretch, kind: str) -> int | None:
        """The search in a session that is older than recorded anchors."""
        async for fact in self._read_stretch(stretch, back=True):
            if fact.kind == kind:
                return fact.seq
        return None


class TapeNews:
    """Reads the news of all followed sessions, while there are any."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._watch = connection.watch()
        self._followers: dict[str, set[NewsFollower]] = {}
        self._cursors: dict[str, str] = {}
        self._runs = False
        self._reading = anyio.CancelScope()

    async def follower(self, session: SessionId, stream: str) -> NewsFollower:
        """Follow news from now on, until `leave`. Raises StorageError."""
        follower = NewsFollower(session, stream)
        self._followers.setdefault(stream, set()).add(follower)
        try:
            last = self._cursors.get(stream) or await self._last(stream)
        except BaseException:
            self.leave(follower)
            raise
        if stream not in self._cursors:
            self._cursors[stream] = last
            self._read_anew()
        return follower

    def leave(self, follower: NewsFollower) -> None:
        """Stop listening."""
        others = self._followers.get(follower.stream, set())
        others.discard(follower)
        if not others:
            self._followers.pop(follower.stream, None)
        if not self._followers:
            self._reading.cancel()

    def _read_anew(self) -> None:
        """Start another read, with one more stream."""
        if self._runs:
            self._reading.cancel()
        else:
            self._runs = True
            self._connection.start_soon(self._run)

    async def _run(self) -> None:
        try:
            while self._cursors:
                with anyio.CancelScope() as self._reading:
                    await self._read()
                self._cursors = {stream: at for stream, at in self._cursors.items() if stream in self._followers}
        except StorageError as error:
            self._cursors.clear()
            for stream in self._followers:
                self._ring(stream, error=error)
        finally:
            self._runs = False

    async def _read(self) -> None:
        answer = await self._watch.read(dict(self._cursors), wait_s=_WAIT_S, count=_NEWS_KEPT)
        for stream, entries in answer:
            self._cursors[stream] = entries[-1][0]
            self._ring(stream, entries)
        for stream in () if answer else list(self._cursors):  # the server may be another one by now
            self._cursors[stream] = await self._last(stream)
            self._ring(stream)

    def _ring(self, stream: str, entries: Entries = (), error: StorageError | None = None) -> None:
        """Wake the followers that the entries concern; all of them without entries, or if the oldest entry may
        be gone.
        """
        some = 0 < len(entries) < _NEWS_KEPT
        told = {fields["s"] for _, fields in entries}
        for follower in self._followers.get(stream, ()):
            if not some or follower.session in told:
                follower.ring(error)

    async def _last(self, stream: str) -> str:
        entries = await self._connection.read("xrevrange", stream, count=1)
        return str(entries[0][0]) if entries else "0-0"


class NewsFollower(Struct, eq=False):
    """A listener for a session's news, which are in the shard's stream `stream`."""

    session: SessionId
    stream: str
    _rung: anyio.Event = field(default_factory=anyio.Event)
    _error: StorageError | None = None

    async def news(self) -> None:
        """Return when there may be news since the last wait. Raises StorageError."""
        await self._rung.wait()
        self._rung = anyio.Event()
        if self._error is not None:
            raise self._error

    def ring(self, error: StorageError | None = None) -> None:
        """Report possible news, or a failed read."""
        self._error = self._error or error
        self._rung.set()


def _lacks(session: SessionId, seq: int, last: int) -> TapeConflict:
    return TapeConflict(
        f"Session {session} lacks fact {seq}, though it is at fact {last}: the session that it continues is missing.",
        expected=last,
        actual=seq - 1,
    )


def _in(session: SessionId, fact: Fact) -> Fact:
    """The fact as one of `session`, whichever session wrote it."""
    tape = tape_in(fact.tape, session)
    return fact if tape == fact.tape else replace(fact, tape=tape)


async def _merged(readers: Sequence[AsyncIterator[Fact]], *, back: bool) -> AsyncIterator[Fact]:
    """The facts of several ordered tapes in the order of `seq`; in reverse if they are read `back`."""
    sign = -1 if back else 1
    heads: list[tuple[int, int, Fact]] = []
    for number, reader in enumerate(readers):
        async for fact in reader:
            heads.append((sign * fact.seq, number, fact))
            break
    heapq.heapify(heads)
    while heads:
        _, number, fact = heads[0]
        yield fact
        following = await anext(readers[number], None)
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (sign * following.seq, number, following))

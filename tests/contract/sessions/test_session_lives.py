"""Sessions in any order of what may happen to them: they go on, sleep until a time, go into the archive and come back,
are gone on from, undone, moved as files, deleted. Each has at every moment what it should, and nothing else is left."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from runtime.core.errors import SessionBusy, SessionExists, TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.archive.sqlite import open_sqlite
from runtime.storage.encoding.codec import session_from_archive, session_to_archive
from runtime.storage.encoding.sealing import PLAIN
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.leases import RedisLeaseStore, RedisTimers
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.archive import SessionArchive
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, SessionRecord, SessionTimer
from runtime.tape.snapshot import Snapshot
from tests.contract.sessions.test_any_lineage import CHECKED, PLACES, Known, Life, written
from tests.contract.storage_samples import T0
from tests.fakes.servers.valkey import RealValkey

EXAMPLES = 15
DEEDS = (
    *("begin", "append", "append", "fork", "undo", "delete", "keep"),
    *("stir", "rest", "sleep", "wake", "ring", "put_away", "speak", "export", "bring_in", "replace_it"),
)


@dataclass
class Lives(Life):
    """Also what is awake, shown, asleep until a time, in the archive, and in files."""

    store: RedisSessionStore = field(kw_only=True)
    cold: RedisSessionCatalog = field(kw_only=True)
    archive: SessionArchive = field(kw_only=True)
    timers: RedisTimers = field(kw_only=True)
    client: Any = field(kw_only=True)
    awake: set[SessionId] = field(default_factory=set)
    pages: dict[SessionId, set[str]] = field(default_factory=dict)
    due: dict[SessionId, float] = field(default_factory=dict)
    away: set[SessionId] = field(default_factory=set)
    files: list[tuple[WholeSession, Known]] = field(default_factory=list)

    async def append(self) -> None:
        session = self.one(alive=True)
        if session is None:
            return
        if session in self.away:
            known = self.known[session]
            commit = Commit(await self.lease(known.place), session, len(known.facts), written(session, 9, []))
            with pytest.raises(TapeConflict, match="archive"):
                await self.store.commit(commit)
            await self._come_back(session)
        known, told = self.known[session], self.told()
        expect = len(known.facts)
        commit = Commit(await self.lease(known.place), session, expect, facts=written(session, expect, told))
        await self.store.commit(commit)
        known.facts += told

    async def keep(self) -> None:
        session = self.one(alive=True)
        if session is not None:
            seq = self.rng.randrange(len(self.known[session].facts) + 1)
            lease = await self.lease(self.known[session].place)
            await self.store.keep_snapshot(lease, session, Snapshot(seq, "v", f"{session} {seq}"))

    async def _go_on(self, place: Any, replaces: SessionId | None) -> None:
        before = set(self.known)
        await Life._go_on(self, place, replaces)
        for new in set(self.known) - before:
            branch = self.known[new].parent
            assert branch is not None
            if branch.session in self.away:
                self._back(branch.session)
        if replaces is not None and self.known[replaces].replaced_by is not None:
            self.awake.discard(replaces)
            self.pages.pop(replaces, None)

    async def stir(self) -> None:
        """Something goes on, and somebody is to see it."""
        if (session := self._in_memory()) is not None:
            await self._change(session, awake=True, add=("p1", "p2"))

    async def rest(self) -> None:
        if (session := self._in_memory()) is not None:
            await self._change(session, awake=False, done=("p1", "p2"))

    async def sleep(self) -> None:
        """Leave memory until a time."""
        session = self._in_memory()
        if session is None:
            return
        await self._change(session, awake=True, done=("p1", "p2"))
        known, due = self.known[session], float(self.rng.randrange(1, 100))
        done = await self.timers.set(await self.lease(known.place), SessionTimer(session, due), len(known.facts))
        assert done == (not known.ended)
        if done:
            self.due[session] = due
            self.awake.discard(session)

    def _in_memory(self) -> SessionId | None:
        session = self.one(alive=True)
        return None if session in self.away or session in self.due else session

    async def _change(
        self, session: SessionId, *, awake: bool, add: tuple[str, ...] = (), done: tuple[str, ...] = ()
    ) -> None:
        """A commit with what goes on; it has facts, for without any it may be a repetition."""
        known, told = self.known[session], self.told()
        lease, seq = await self.lease(known.place), len(known.facts)
        facts = written(session, seq, told)
        await self.store.commit(Commit(lease, session, seq, facts, outbox_add=add, outbox_done=done, awake=awake))
        known.facts += told
        (self.awake.add if awake else self.awake.discard)(session)
        self.pages[session] = (self.pages.get(session, set()) | set(add)) - set(done)

    async def wake(self) -> None:
        """Come back before the time."""
        session = self.one(alive=True)
        if session is not None and session in self.due:
            known = self.known[session]
            if await self.timers.cancel(await self.lease(known.place), session, len(known.facts)):
                del self.due[session]
                self.awake.add(session)

    async def ring(self) -> None:
        """Some time has come."""
        shard = shard_of(self.rng.choice(PLACES).key)
        for timer in await self.timers.due(shard, float(self.rng.randrange(100)), 10):
            assert self.due.pop(timer.session) == timer.due_s
            await self.timers.done(shard, timer)

    async def put_away(self) -> None:
        session = self.one()
        if session is None:
            return
        forked = any(one.parent is not None and one.parent.session == session for one in self.known.values())
        still = session in self.awake or self.pages.get(session) or session in self.due or session in self.away
        assert await self.cold.put_away(session) == (not forked and not still)
        if not forked and not still:
            self.away.add(session)
            self.known[session].parent = None
            self.known[session].kept = 0

    async def speak(self) -> None:
        """Somebody speaks where a session may be in the archive."""
        place = self.rng.choice(PLACES)
        await self.store.current(shard_of(place.key), place.key)
        if (session := self.current.get(place)) is not None:
            self._back(session)

    async def _come_back(self, session: SessionId) -> None:
        assert await self.store.session(shard_of(self.known[session].place.key), session) is not None
        self._back(session)

    def _back(self, session: SessionId) -> None:
        self.away.discard(session)

    async def export(self) -> None:
        session = self.one()
        if session is not None:
            whole = await self.cold.whole(session)
            assert whole is not None
            assert list(whole.facts) == list(written(session, 0, self.known[session].facts))
            known = self.known[session]
            self.files.append(
                (
                    session_from_archive(session, session_to_archive(whole, PLAIN), PLAIN),
                    replace(known, facts=list(known.facts)),
                )
            )

    async def bring_in(self) -> None:
        """Take in a session from a file, where there may be one."""
        if not self.files:
            return
        whole, known = self.rng.choice(self.files)
        session, place = whole.record.id, known.place
        if session in self.known or (place in self.current and not known.ended):
            with pytest.raises(SessionExists):
                await self.cold.insert(whole)
            return
        await self.cold.insert(whole)
        self.known[session] = replace(known, facts=list(known.facts), parent=None, replaced_by=None, kept=0)
        if whole.awake:
            self.awake.add(session)
        self.pages[session] = set(whole.pages)
        if not known.ended:
            self.current[place] = session

    async def replace_it(self) -> None:
        """The same with what is there taken out first."""
        if self.files:
            session = self.rng.choice(self.files)[0].record.id
            if session in self.known:
                await self.remove(session)
            await self.bring_in()

    async def delete(self) -> None:
        session = self.one()
        if session is None:
            return
        if session in self.awake or self.pages.get(session):
            await self.lease(self.known[session].place)
            with pytest.raises(SessionBusy):
                await self.cold.delete(session)
        await self.remove(session)

    async def remove(self, session: SessionId) -> None:
        await Life.remove(self, session)
        self.awake.discard(session)
        self.away.discard(session)
        self.pages.pop(session, None)
        self.due.pop(session, None)

    async def check(self) -> None:
        """Everything is as it should be; looking at it changes nothing."""
        listed = {found.record.id: found async for found in self.cold.sessions()}
        assert set(listed) == set(self.known)
        for session, found in listed.items():
            known = self.known[session]
            assert found.record == SessionRecord(
                session,
                known.place,
                "hello",
                T0,
                len(known.facts),
                known.ended,
                known.parent,
                known.replaced_by,
                session in self.away,
            )
            assert (found.awake, found.pages) == (session in self.awake, frozenset(self.pages.get(session, ())))
        for session in self.rng.sample(sorted(self.known), min(len(self.known), CHECKED)):
            facts = list(written(session, 0, self.known[session].facts))
            whole = await self.cold.whole(session)
            assert whole is not None
            assert list(whole.facts) == facts
            if session not in self.away:
                assert [fact async for fact in self.store.read_session(session)] == facts
                snapshot = await self.store.snapshot(session, "v")
                assert snapshot is None or snapshot.seq <= len(facts)
        await self._check_shards()
        await self._check_keys()

    async def _check_shards(self) -> None:
        for shard in sorted({shard_of(place.key) for place in PLACES}):
            here = {session for session, known in self.known.items() if shard_of(known.place.key) == shard}
            busy = {session for session in here if session in self.awake or self.pages.get(session)}
            unfinished = await self.store.unfinished(shard)
            assert unfinished == {session: self.pages.get(session, set()) for session in busy}
            assert not set(unfinished) & self.away
            due = {timer.session: timer.due_s for timer in await self.timers.due(shard, 1e9, 1000)}
            assert due == {session: due for session, due in self.due.items() if session in here}
            current = await self.client.hgetall(ShardKeys(shard).current)
            assert current == {place.key: id_ for place, id_ in self.current.items() if shard_of(place.key) == shard}

    async def _check_keys(self) -> None:
        """Every key that names a session is of one that is there, and every large value is one's."""
        counted: Counter[str] = Counter()
        stored: dict[str, int] = {}
        async for key in self.client.scan_iter(count=1000):
            tag, _, name = key.partition("}:")
            kind, _, rest = name.partition(":")
            owner = SessionId(rest.rpartition("/")[0] if kind in ("tape", "early") else rest)
            if kind == "value":
                stored[key] = int(await self.client.hget(key, "sessions"))
            elif kind in ("session", "tapes", "tape", "early", "anchors", "values", "snapshot", "forks"):
                assert owner in self.known, f"{key} is left"
                assert kind == "session" or owner not in self.away, f"{key} is left of what is in the archive"
            if kind == "values":
                digests = await self.client.smembers(key)
                counted.update(f"{tag}}}:value:{digest}" for digest in digests)
        assert stored == counted
        assert {session async for session in self.archive.sessions()} <= set(self.known)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The loop in which everything runs."""
    with asyncio.Runner() as runner:
        yield runner


@settings(
    max_examples=EXAMPLES,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
)
@given(deeds=st.lists(st.sampled_from(DEEDS), min_size=20, max_size=40), rng=st.randoms(use_true_random=False))
def test_whatever_happens_to_sessions_nothing_is_lost_and_nothing_is_left(
    valkey: RealValkey,
    runner: asyncio.Runner,
    tmp_path_factory: pytest.TempPathFactory,
    deeds: list[str],
    rng: random.Random,
) -> None:
    valkey.flush()
    runner.run(_live(valkey.socket, tmp_path_factory.mktemp("archive") / "archive.sqlite", deeds, rng))


async def _live(socket: Path, file: Path, deeds: list[str], rng: random.Random) -> None:
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(open_connection(socket, patience_s=20))
        archive = await stack.enter_async_context(open_sqlite(file))
        client = Redis(unix_socket_path=str(socket), decode_responses=True)
        stack.push_async_callback(client.aclose)
        store, catalog = RedisSessionStore(connection, archive), RedisSessionCatalog(connection, archive)
        leases, timers = RedisLeaseStore(connection), RedisTimers(connection)
        lives = Lives(
            rng, store, store, catalog, leases, store=store, cold=catalog, archive=archive, timers=timers, client=client
        )
        for deed in deeds:
            await getattr(lives, deed)()
            await lives.check()
        for session in sorted(lives.known):
            await lives.remove(session)
            await lives.check()
        left = [key async for key in client.scan_iter()]
        assert {key.partition("}:")[2] for key in left} <= {"lease", "news", "sessions-known"}, left

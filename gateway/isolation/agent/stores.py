"""The store, the inbox and the timers of a task's process: each call is one of its node, which writes for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from gateway.isolation.forms import COMMIT, ENTRIES, ENTRY, EVENT, FACTS, LEASE, RECORD, SNAPSHOT, TIMER, UNFINISHED
from gateway.isolation.peer import Peer
from runtime.core.ids import SessionId, TapeId
from runtime.execution.calls.extensions import ExtensionCall, with_calls
from runtime.language.pbasm.notation import read
from runtime.language.program import Program
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.stores.timers import Timer
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact


class RemoteStore:
    """Implements `runtime.stores.sessions.SessionStore` over a connection to who has it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def commit(self, commit: Commit, /) -> None:
        await self._peer.call("commit", COMMIT.write(commit))

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        return RECORD.read(await self._peer.call("current", [shard, conversation]))

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        return RECORD.read(await self._peer.call("session", [shard, session]))

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        return SNAPSHOT.read(await self._peer.call("snapshot", [session, version]))

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        data = [LEASE.write(lease), session, SNAPSHOT.write(snapshot), taken_in]
        await self._peer.call("keep_snapshot", data)

    async def unfinished(self, shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        found = UNFINISHED.read(await self._peer.call("unfinished", shard))
        return {SessionId(session): pages for session, pages in found.items()}

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        more = True
        while more:
            data = await self._peer.call("read_session", [session, after, until])
            more = data["more"]
            for fact in FACTS.read(data["facts"]):
                yield fact
                after = fact.seq

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        async for fact in self.read_session(SessionId(tape.rpartition("/")[0]), after=after):
            if fact.tape == tape:
                yield fact


class RemoteInbox:
    """Implements `runtime.stores.inbox.Inbox` over a connection to who has it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def add(self, event: InboxEvent, /) -> bool:
        return bool(await self._peer.call("add", EVENT.write(event)))

    async def read(self, after: Mapping[int, str], /, *, wait_s: float) -> Sequence[InboxEntry]:
        return ENTRIES.read(await self._peer.call("read", [list(after.items()), wait_s]))

    async def still_waiting(self, entries: Sequence[InboxEntry], /) -> Sequence[InboxEntry]:
        return ENTRIES.read(await self._peer.call("still_waiting", ENTRIES.write(list(entries))))

    async def discard(self, entry: InboxEntry, token: int, /, *, reason: str) -> None:
        await self._peer.call("discard", [ENTRY.write(entry), token, reason])

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        await self._peer.call("dismiss", [ENTRY.write(entry), token])


class RemoteVersions:
    """Implements `runtime.sessions.versions.Versions` for the program of a task."""

    def __init__(self, peer: Peer, name: str, calls: Mapping[str, ExtensionCall]) -> None:
        """`name` is the program's, `calls` are those of extensions."""
        self._peer = peer
        self._name = name
        self._calls = calls

    async def find(self, digest: str, /) -> Program | None:
        text: str | None = await self._peer.call("version", digest)
        return None if text is None else with_calls(read(text, self._name), self._calls)

    async def is_newer(self, digest: str, than: Program, /) -> bool:
        return bool(await self._peer.call("is_newer", [digest, than.digest]))


class RemoteTimers:
    """Sets the timers of a task; implements of `runtime.stores.timers.Timers` what a session uses. Its node rings
    them."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def set(self, lease: Lease, timer: Timer, seq: int, /) -> bool:
        return bool(await self._peer.call("set_timer", [LEASE.write(lease), TIMER.write(timer), seq]))

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        return bool(await self._peer.call("cancel_timer", [LEASE.write(lease), session, seq]))

    async def first(self, _shard: int, /) -> float | None:
        """None rings here."""
        return None

    async def due(self, _shard: int, _until_s: float, _limit: int, /) -> Sequence[Timer]:
        """None rings here."""
        return []

    async def done(self, _shard: int, _timer: Timer, /) -> None:
        """None rings here."""

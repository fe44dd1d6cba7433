"""The store, the inbox and the timers as the process of one task has them: narrowed to the task, under its lease."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.isolation.node.rights import Rights
from gateway.isolation.node.store_calls import SetsTimers
from runtime.core.errors import LeaseLost, TaskRefused
from runtime.core.ids import SessionId, TapeId
from runtime.stores.inbox import Inbox, InboxEntry, InboxEvent
from runtime.stores.sessions import Commit, Lease, SessionRecord, SessionStore
from runtime.stores.timers import Timer
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, tape_owner


@dataclass
class Own:
    """The identity of a task's process: the rights of its task, and the lease under which it was started, its epoch."""

    rights: Rights
    lease: Lease

    def check(self, session: SessionId, lease: Lease | None = None) -> None:
        """Raise TaskRefused for another's session, and LeaseLost for another epoch."""
        if session != self.rights.session:
            raise TaskRefused("A task has its own tape alone.")
        if lease is not None and lease != self.lease:
            raise LeaseLost(f"Shard {self.lease.shard} is held under another lease than the task began with.")


class OwnStore:
    """Implements `runtime.stores.sessions.SessionStore` for the session of a task."""

    def __init__(self, store: SessionStore, own: Own) -> None:
        self._store = store
        self._own = own

    async def commit(self, commit: Commit, /) -> None:
        rights = self._own.rights
        self._own.check(commit.session, commit.lease)
        if commit.begin is not None:
            self._own.check(commit.begin.id)
            rights.check_beginning(commit.begin, commit.facts)
        if commit.replaces is not None or not set(commit.consume) <= rights.entries.keys():
            raise TaskRefused("A task takes its own events, and replaces no session.")
        for fact in commit.facts:
            self._own.check(tape_owner(fact.tape))
            rights.read(fact)
        await self._store.commit(replace(commit, lease=self._own.lease))

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        if (shard, conversation) != (self._own.lease.shard, self._own.rights.address.key):
            raise TaskRefused("A task asks for its own session alone.")
        return await self._store.current(shard, conversation)

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        self._own.check(session)
        return await self._store.session(shard, session)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        self._own.check(session)
        return await self._store.snapshot(session, version)

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        self._own.check(session, lease)
        await self._store.keep_snapshot(self._own.lease, session, snapshot, taken_in=taken_in)

    async def unfinished(self, _shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        raise TaskRefused("What is unfinished is the node's affair.")

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        self._own.check(session)
        async for fact in self._store.read_session(session, after=after, until=until):
            yield fact

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        self._own.check(tape_owner(tape))
        async for fact in self._store.read_tape(tape, after=after):
            yield fact


class OwnInbox:
    """Implements `runtime.stores.inbox.Inbox` for a task: its own events, and letters to whom it concerns."""

    def __init__(self, inbox: Inbox, own: Own) -> None:
        self._inbox = inbox
        self._own = own

    async def add(self, event: InboxEvent, /) -> bool:
        self._own.rights.check_letter(event)
        return await self._inbox.add(event)

    async def read(self, _after: Mapping[int, str], /, *, wait_s: float) -> Sequence[InboxEntry]:
        raise TaskRefused("A task is given its events.")

    async def still_waiting(self, entries: Sequence[InboxEntry], /) -> Sequence[InboxEntry]:
        return await self._inbox.still_waiting([self._given(entry) for entry in entries])

    async def discard(self, entry: InboxEntry, token: int, /, *, reason: str) -> None:
        await self._inbox.discard(self._given(entry, token), self._own.lease.token, reason=reason)

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        await self._inbox.dismiss(self._given(entry, token), self._own.lease.token)

    def _given(self, entry: InboxEntry, token: int | None = None) -> InboxEntry:
        """The entry as it was given, whatever came back."""
        own, found = self._own, self._own.rights.entries.get(entry.entry_id)
        if found is None or entry.shard != found.shard:
            raise TaskRefused("A task has its own events alone.")
        own.check(own.rights.session, None if token is None else Lease(own.lease.shard, token))
        return found


class OwnTimers:
    """Sets and cancels the timer of a task."""

    def __init__(self, timers: SetsTimers, own: Own) -> None:
        self._timers = timers
        self._own = own

    async def set(self, lease: Lease, timer: Timer, seq: int, /) -> bool:
        self._own.check(timer.session, lease)
        return await self._timers.set(self._own.lease, timer, seq)

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        self._own.check(session, lease)
        return await self._timers.cancel(self._own.lease, session, seq)

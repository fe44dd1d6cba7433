"""The stores of sessions, and of memories of people, in memory: the required behaviour in the fewest lines."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import InboxFull, LeaseLost, TapeConflict
from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding.codec import event_from_json, event_to_json, fact_fields, fact_from_fields
from runtime.stores import inbox as port
from runtime.stores.memories import MemoryScope, StoredMemory
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeFollowing, tape_in, tape_owner

StoredFact = tuple[TapeId, tuple[str, str, str]]
"""A stored fact: its tape, and its kind, time and data."""


class _HeldLease(Struct):
    node: str = ""
    token: int = 0
    expires_s: float = 0.0


class MemoryLeaseStore:
    """Implements `runtime.stores.sessions.LeaseStore`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._leases: dict[str, _HeldLease] = {}

    async def acquire(self, name: str, holder: LeaseHolder, /, *, living: Collection[str] = ()) -> int | None:
        lease, now = self._leases.setdefault(name, _HeldLease()), self._clock.monotonic()
        kept = lease.expires_s > now or (lease.expires_s != 0.0 and lease.node in living)
        if lease.node != holder.node and kept:
            return None
        lease.node, lease.token, lease.expires_s = holder.node, lease.token + 1, now + holder.ttl_s
        return lease.token

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        lease = self._leases.get(name)
        if lease is None or (lease.node, lease.token) != (holder.node, token):
            return False
        lease.expires_s = self._clock.monotonic() + holder.ttl_s
        return True

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None:
        if await self.renew(name, holder, token):
            self._leases[name].expires_s = 0.0

    def node(self, name: str) -> str | None:
        """The current holder of a lease."""
        lease = self._leases.get(name)
        return lease.node if lease is not None and lease.expires_s > self._clock.monotonic() else None

    def check(self, shard: int, token: int) -> None:
        """Raise LeaseLost unless `token` is the shard's latest."""
        lease = self._leases.get(f"shard:{shard}", _HeldLease())
        if lease.token != token:
            raise LeaseLost(f"Shard {shard} was taken over: token {lease.token}, ours is {token}.")


class MemoryInbox:
    """Implements `runtime.stores.inbox.Inbox`. `bound` is the most events that may wait in one shard."""

    def __init__(
        self,
        leases: MemoryLeaseStore,
        *,
        bound: int = 10_000,
        conversation_bound: int = port.CONVERSATION_BOUND,
        person_bound: int = port.PERSON_BOUND,
    ) -> None:
        self._leases = leases
        self.bound = bound
        self._person_bound = person_bound
        self._conversation_bound = conversation_bound
        self._seen: dict[tuple[str, str], tuple[int, str]] = {}
        self._waiting: dict[int, dict[int, str]] = {}
        self._count = 0
        self._news = anyio.Event()
        self.dead: list[tuple[port.InboxEntry, str]] = []

    async def add(self, event: port.InboxEvent, /) -> bool:
        conversation = event.address.key
        shard = port.shard_of(conversation)
        waiting = self._waiting.setdefault(shard, {})
        if (conversation, event.id) in self._seen:
            return False
        if len(waiting) >= self.bound:
            raise InboxFull(f"{self.bound} events wait in shard {shard}; the one from {conversation} was not accepted.")
        others = [event_from_json(text) for text in waiting.values()]
        of_conversation = sum(other.address.key == conversation for other in others)
        if event.kind in port.CROWDING and of_conversation >= self._conversation_bound:
            raise port.crowded(conversation, self._conversation_bound)
        of_person = sum(other.person_id == event.person_id for other in others)
        if port.has_share(event) and of_person >= self._person_bound:
            raise port.share_used(event.person_id, self._person_bound)
        self._append(waiting, event)
        self._seen[conversation, event.id] = self._count, event.program
        return True

    def _append(self, waiting: dict[int, str], event: port.InboxEvent) -> None:
        self._count += 1
        waiting[self._count] = event_to_json(event)
        self._news.set()
        self._news = anyio.Event()

    async def known(self, address: Address, event_id: str, /) -> port.KnownEvent | None:
        """An event that was taken in at an address."""
        seen = self._seen.get((address.key, event_id))
        if seen is None:
            return None
        number, program = seen
        return port.KnownEvent(program, number in self._waiting.get(port.shard_of(address.key), {}))

    async def read(self, after: Mapping[int, str], /, *, wait_s: float) -> Sequence[port.InboxEntry]:
        with anyio.move_on_after(wait_s):
            while not (entries := self._behind(after)):
                await self._news.wait()
            return entries
        return []

    def _behind(self, after: Mapping[int, str]) -> list[port.InboxEntry]:
        return [
            port.InboxEntry(shard, f"{number}-0", event_from_json(text))
            for shard, entry_id in after.items()
            for number, text in self._waiting.get(shard, {}).items()
            if number > _number(entry_id)
        ]

    async def discard(self, entry: port.InboxEntry, token: int, /, *, reason: str) -> None:
        self._leases.check(entry.shard, token)
        if self.consume(entry.shard, entry.entry_id):
            person, shard = entry.event.person_id, entry.shard
            own = [one for one in self.dead if (one[0].shard, one[0].event.person_id) == (shard, person)]
            if port.has_share(entry.event) and len(own) >= self._person_bound:
                self.dead.remove(own[0])
            self.dead.append((entry, reason))

    async def dismiss(self, entry: port.InboxEntry, token: int, /) -> None:
        self._leases.check(entry.shard, token)
        self.consume(entry.shard, entry.entry_id)

    async def still_waiting(self, entries: Sequence[port.InboxEntry], /) -> Sequence[port.InboxEntry]:
        return [entry for entry in entries if self.has(entry.shard, [entry.entry_id])]

    def has(self, shard: int, entry_ids: Sequence[str]) -> bool:
        """Whether all these entries are waiting."""
        return all(_number(entry_id) in self._waiting.get(shard, {}) for entry_id in entry_ids)

    def consume(self, shard: int, entry_id: str) -> bool:
        """Remove an entry; False if it is not there."""
        return self._waiting.get(shard, {}).pop(_number(entry_id), None) is not None


class StoredSession(Struct):
    """What is kept of a session."""

    record: SessionRecord
    last_commit: Commit
    facts: list[StoredFact] = field(default_factory=list)
    snapshot: Snapshot | None = None


class MemorySessionStore:
    """Implements `runtime.stores.sessions.SessionStore` and `runtime.tape.tape.TapeReader`."""

    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        self.changed = anyio.Event()
        """Set, and replaced, when there are new facts, or a session is gone."""
        self._leases = leases
        self._inbox = inbox
        self._sessions: dict[SessionId, StoredSession] = {}
        self._current: dict[str, SessionId] = {}
        self._awake: set[tuple[int, SessionId]] = set()
        self._pages: dict[tuple[int, SessionId], set[str]] = {}

    async def commit(self, commit: Commit, /) -> None:
        self._leases.check(commit.lease.shard, commit.lease.token)
        session = self._sessions.get(commit.session)
        if session is not None and replace(session.last_commit, lease=commit.lease) == commit:
            return
        if session is not None and session.record.replaced_by is not None:
            text = f"Session {commit.session} was replaced, and accepts nothing more."
            raise TapeConflict(text, expected=commit.expect, actual=session.record.seq)
        known = self._sessions.get(commit.replaces or commit.session)
        if known is not None and commit.taken_in not in (None, known.record.taken_in):
            text = f"Session {known.record.id} was imported again from a file."
            raise TapeConflict(text, expected=commit.expect, actual=known.record.seq)
        actual = self._beginning(commit) if session is None else session.record.seq
        if actual != commit.expect or (session is None and commit.begin is None):
            text = f"Session {commit.session} is at fact {actual}, not at {commit.expect}, or has not started."
            raise TapeConflict(text, expected=commit.expect, actual=actual)
        for number, fact in enumerate(commit.facts, start=commit.expect + 1):
            if fact.seq != number:
                text = f"A fact of {fact.tape} is numbered {fact.seq}, not {number}."
                raise TapeConflict(text, expected=number, actual=fact.seq)
        if not self._inbox.has(commit.lease.shard, commit.consume):
            text = f"An event that session {commit.session} takes is no longer in the inbox."
            raise TapeConflict(text, expected=commit.expect, actual=commit.expect)
        self._apply(commit)

    def _beginning(self, commit: Commit) -> int:
        """The number after which a session starts. Raises TapeConflict if there is nothing that it can continue."""
        begin = commit.begin
        if begin is not None and commit.replaces is not None:
            replaced = self._sessions.get(commit.replaces)
            if replaced is None or replaced.record.address.key != begin.address.key:
                text = f"Session {commit.session} replaces {commit.replaces}, which is not of its conversation."
                raise TapeConflict(text, expected=commit.expect, actual=0)
        if begin is None or begin.parent is None:
            return 0
        parent = self._sessions.get(begin.parent.session)
        has = 0 if parent is None else parent.record.seq
        if parent is None or has < begin.parent.seq:
            text = f"Session {commit.session} cannot continue {begin.parent.session}, which has {has} facts."
            raise TapeConflict(text, expected=begin.parent.seq, actual=has)
        return begin.parent.seq

    def _apply(self, commit: Commit) -> None:
        if commit.begin is not None:
            known = self._sessions.get(commit.session)
            facts = [] if known is None else known.facts
            begun = dataclasses.replace(commit.begin, ended=False)
            self._sessions[commit.session] = StoredSession(begun, commit, facts)
            self._current[commit.begin.address.key] = commit.session
        if commit.replaces is not None:
            self._replace(commit.replaces, commit.session)
        session = self._sessions[commit.session]
        session.facts += [(fact.tape, fact_fields(fact)) for fact in commit.facts]
        session.last_commit = commit
        session.record = dataclasses.replace(session.record, seq=commit.expect + len(commit.facts))
        self._apply_work(commit)
        if commit.end:
            session.record = dataclasses.replace(session.record, ended=True)
            if self._current.get(session.record.address.key) == commit.session:
                del self._current[session.record.address.key]
        self.tell()

    def _replace(self, old: SessionId, new: SessionId) -> None:
        replaced = self._sessions[old]
        place = (port.shard_of(replaced.record.address.key), old)
        replaced.record = dataclasses.replace(replaced.record, ended=True, replaced_by=new)
        self._awake.discard(place)
        self._pages.pop(place, None)

    def _apply_work(self, commit: Commit) -> None:
        place = (commit.lease.shard, commit.session)
        for entry_id in commit.consume:
            self._inbox.consume(commit.lease.shard, entry_id)
        pages = self._pages.setdefault(place, set())
        pages.update(commit.outbox_add)
        pages.difference_update(commit.outbox_done)
        if commit.awake is not None:
            (self._awake.add if commit.awake else self._awake.discard)(place)

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        session = self._current.get(conversation)
        return None if session is None else await self.session(shard, session)

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        found = self._sessions.get(session)
        return None if found is None or port.shard_of(found.record.address.key) != shard else found.record

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        found, last = self._sessions.get(session), None
        while found is not None:
            kept, parent = found.snapshot, found.record.parent
            if kept is not None and kept.version == version and (last is None or kept.seq <= last):
                return kept
            if parent is None:
                break
            last = parent.seq if last is None else min(last, parent.seq)
            found = self._sessions.get(parent.session)
        return None

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        self._leases.check(lease.shard, lease.token)
        found = self._sessions.get(session)
        if found is None or found.record.seq < snapshot.seq or taken_in not in (None, found.record.taken_in):
            return
        kept = found.snapshot
        if kept is None or kept.version != snapshot.version or kept.seq < snapshot.seq:
            found.snapshot = snapshot

    async def unfinished(self, shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        places = self._awake | {place for place, pages in self._pages.items() if pages}
        return {
            session: frozenset(self._pages.get((place, session), ())) for place, session in places if place == shard
        }

    def tell(self) -> None:
        """Report new facts, or a removed session."""
        news, self.changed = self.changed, anyio.Event()
        news.set()

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        facts = list(self.stored(session) or ())[:until]
        for seq, (tape, fields) in enumerate(facts, start=1):
            if seq > after:
                yield fact_from_fields(tape_in(tape, session), seq, fields)

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        async for fact in self.read_session(tape_owner(tape), after=after):
            if fact.tape == tape:
                yield fact

    async def read_back(self, session: SessionId, *, before: int | None = None) -> AsyncIterator[Fact]:
        until = None if before is None else max(0, before - 1)
        for fact in reversed([fact async for fact in self.read_session(session, until=until)]):
            yield fact

    async def last_anchor(self, session: SessionId, kind: str, *, until: int | None = None) -> int | None:
        found = [fact.seq async for fact in self.read_session(session, until=until) if fact.kind == kind]
        return found[-1] if found else None

    async def follow(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        while self.stored(session) is not None:
            news = self.changed
            async for fact in self.read_session(session, after=after):
                after = fact.seq
                yield fact
            await news.wait()

    @asynccontextmanager
    async def following(self, session: SessionId) -> AsyncIterator[TapeFollowing]:
        del session
        yield _Follower(self)

    def stored(self, session: SessionId) -> Sequence[StoredFact] | None:
        found = self._sessions.get(session)
        return None if found is None else self._facts(found)

    def _facts(self, session: StoredSession) -> list[StoredFact]:
        """All facts of a session, starting with those of the session that it continues."""
        parent = session.record.parent
        if parent is None:
            return session.facts
        return self._facts(self._sessions[parent.session])[: parent.seq] + session.facts


class _Follower:
    def __init__(self, tapes: MemorySessionStore) -> None:
        self._tapes = tapes
        self._news = tapes.changed

    async def news(self) -> None:
        await self._news.wait()
        self._news = self._tapes.changed


def _number(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])


class MemoryMemories:
    """Implements `runtime.stores.memories.MemoryStore`."""

    def __init__(self) -> None:
        self.kept: dict[MemoryScope, dict[str, StoredMemory]] = {}
        self.gone: set[str] = set()
        self._last: dict[MemoryScope, int] = {}
        self._changes = 0

    async def keep(self, memory: StoredMemory, /, *, keep_s: float) -> None:
        del keep_s
        here = self.kept.setdefault(memory.scope, {})
        if memory.id in here or memory.id in self.gone:
            return
        number = self._last[memory.scope] = self._last.get(memory.scope, 0) + 1
        here[memory.id] = replace(memory, number=number)
        self._changes += 1

    async def version(self, scope: MemoryScope, /) -> str:
        return f"{self._changes}" if scope in self.kept else ""

    async def all(self, scope: MemoryScope, /) -> Sequence[StoredMemory]:
        return list(self.kept.get(scope, {}).values())

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        here = self.kept.get(scope, {})
        found = [id_ for id_ in ids if here.pop(id_, None) is not None]
        self.gone |= set(ids)
        self._changes += 1
        return len(found)

"""Sessions in memory that are looked at, taken in and removed from outside."""

from collections.abc import Sequence
from dataclasses import replace

from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import fact_fields
from runtime.storage.memory.sessions import MemoryInbox, MemorySessionStore, StoredSession
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.tape import Fact


class OpenInbox(MemoryInbox):
    """An inbox that takes a discarded event again."""

    def put_again(self, event: InboxEvent) -> bool:
        """Add a discarded event again; False when the shard is full."""
        waiting = self._waiting.setdefault(shard_of(event.address.key), {})
        if len(waiting) >= self.bound:
            return False
        self._append(waiting, event)
        return True


class OpenSessionStore(MemorySessionStore):
    """A store whose sessions others reach."""

    def known(self) -> list[SessionId]:
        """Every session."""
        return list(self._sessions)

    def shard(self, session: SessionId) -> int | None:
        """The shard of a session; None without one."""
        found = self._sessions.get(session)
        return None if found is None else shard_of(found.record.address.key)

    def work(self, shard: int, session: SessionId) -> tuple[bool, frozenset[str]]:
        """Whether the session is awake, and its pages in the outbox."""
        return (shard, session) in self._awake, frozenset(self._pages.get((shard, session), ()))

    def mark_awake(self, shard: int, session: SessionId, *, awake: bool) -> None:
        """Set whether a restart continues the session."""
        (self._awake.add if awake else self._awake.discard)((shard, session))

    def remove(self, session: SessionId) -> None:
        """Remove a session. Sessions that continue it keep its facts."""
        for fork in self._sessions.values():
            if fork.record.parent is not None and fork.record.parent.session == session:
                fork.facts = list(self._facts(fork))
                fork.record = replace(fork.record, parent=None)
        key = self._sessions.pop(session).record.address.key
        self.tell()
        self._awake.discard((shard_of(key), session))
        self._pages.pop((shard_of(key), session), None)
        if self._current.get(key) == session:
            del self._current[key]

    def take_in(self, record: SessionRecord, facts: Sequence[Fact], awake: bool, pages: frozenset[str]) -> None:
        """Add a session from elsewhere."""
        key = record.address.key
        place = (shard_of(key), record.id)
        unlike_any = Commit(Lease(place[0], 0), record.id, -1)
        kept = [(fact.tape, fact_fields(fact)) for fact in facts]
        self._sessions[record.id] = StoredSession(record, unlike_any, kept)
        self._pages[place] = set(pages)
        if awake:
            self._awake.add(place)
        if not record.ended:
            self._current[key] = record.id

"""Dead letters and all sessions, in memory, over the stores of `runtime.storage.memory.sessions`."""

import dataclasses
import uuid
from collections.abc import AsyncIterator, Sequence

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import InboxFull, LetterGone, SessionExists
from runtime.core.ids import SessionId
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.stores.catalog import KnownSession, SessionPage, WholeSession, busy_session
from runtime.stores.inbox import DeadLetter, letter_id, letter_place, shard_of
from runtime.stores.sessions import SessionRecord
from tests.fakes.memory.sessions import OpenInbox, OpenSessionStore


class MemoryDeadLetters:
    """Implements `runtime.stores.inbox.DeadLetters`."""

    def __init__(self, inbox: OpenInbox, clock: Clock | None = None) -> None:
        self._inbox = inbox
        self._clock = clock or SystemClock()

    async def page(self, after: str = "", /, *, limit: int) -> Sequence[DeadLetter]:
        behind = _order(after) if after else (-1, -1)
        return [letter for letter in self._all() if _order(letter.id) > behind][:limit]

    async def get(self, letter: str, /) -> DeadLetter | None:
        return next((found for found in self._all() if found.id == letter), None)

    async def replay(self, letter: str, /) -> DeadLetter:
        found = await self._found(letter)
        if not self._inbox.put_again(found.event):
            raise InboxFull(f"The inbox of shard {found.shard} is full; the letter {letter} stays. Try again later.")
        return self._without(found)

    async def drop(self, letter: str, /) -> DeadLetter:
        return self._without(await self._found(letter))

    async def _found(self, letter: str) -> DeadLetter:
        found = await self.get(letter)
        if found is None:
            raise LetterGone(f"There is no dead letter {letter} (any more); see parley debug letters list.")
        return found

    def _without(self, letter: DeadLetter) -> DeadLetter:
        self._inbox.dead = [each for each in self._inbox.dead if each[0].entry_id != letter.entry_id]
        return letter

    def _all(self) -> list[DeadLetter]:
        letters = [
            DeadLetter(letter_id(entry.shard, entry.entry_id), entry.event, entry.entry_id, reason, self._clock.now())
            for entry, reason in self._inbox.dead
        ]
        return sorted(letters, key=lambda letter: _order(letter.id))


def _order(letter: str) -> tuple[int, int]:
    shard, number = letter_place(letter)
    return shard, int(number.partition("-")[0] or 0)


def _mark(known: KnownSession) -> str:
    return f"{known.last_at.isoformat()}:{known.record.id}"


class MemorySessionCatalog:
    """Implements `runtime.stores.catalog.SessionCatalog`."""

    def __init__(self, store: OpenSessionStore, leases: MemoryLeaseStore) -> None:
        self._store = store
        self._leases = leases

    async def sessions(self) -> AsyncIterator[KnownSession]:
        for session in self._store.known():
            found = await self.find(session)
            if found is not None:
                yield found

    async def page(self, after: str = "", /, *, limit: int) -> SessionPage:
        known = {_mark(one): one async for one in self.sessions()}
        marks = sorted((mark for mark in known if not after or mark < after), reverse=True)
        next_ = marks[limit - 1] if len(marks) > limit else ""
        return SessionPage([known[mark] for mark in marks[:limit]], next_, marks[:limit])

    async def count(self) -> int:
        return len(self._store.known())

    async def find(self, session: SessionId, /) -> KnownSession | None:
        shard = self._store.shard(session)
        record = None if shard is None else await self._store.session(shard, session)
        if shard is None or record is None:
            return None
        last_at, size = record.started_at, 0
        async for fact in self._store.read_session(session, after=0 if record.parent is None else record.parent.seq):
            last_at, size = max(last_at, fact.at), size + len(str(fact.data))
        awake, pages = self._store.work(shard, session)
        return KnownSession(record, awake, pages, last_at, size, self._leases.node(f"shard:{shard}"))

    async def whole(self, session: SessionId, /) -> WholeSession | None:
        found = await self.find(session)
        if found is None:
            return None
        facts = [fact async for fact in self._store.read_session(session)]
        return WholeSession(found.record, found.awake, found.pages, facts)

    async def delete(self, session: SessionId, /, *, force: bool = False) -> bool:
        found = await self.find(session)
        if found is None:
            return False
        if found.busy and not force:
            raise busy_session(session, found.node)
        self._store.remove(session)
        return True

    async def insert(self, whole: WholeSession, /) -> None:
        record = whole.record
        if self._store.shard(record.id) is not None:
            raise SessionExists(f"There is a session {record.id} already.")
        await self._refuse_taken(record)
        kept = dataclasses.replace(record, seq=len(whole.facts), parent=None, taken_in=uuid.uuid4().hex)
        self._store.take_in(kept, whole.facts, whole.awake, whole.pages)

    async def replace(self, whole: WholeSession, /, *, force: bool = False) -> None:
        await self._refuse_taken(whole.record)
        await self.delete(whole.record.id, force=force)
        await self.insert(whole)

    async def _refuse_taken(self, record: SessionRecord) -> None:
        current = await self._store.current(shard_of(record.address.key), record.address.key)
        if current is not None and current.id != record.id and not record.ended:
            raise SessionExists(f"The conversation {record.address.key} has another session now, {current.id}.")

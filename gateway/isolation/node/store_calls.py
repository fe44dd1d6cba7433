"""Answers to the calls of a store, an inbox and timers that come over a connection."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Protocol

from gateway.isolation.forms import COMMIT, ENTRIES, ENTRY, EVENT, FACTS, LEASE, RECORD, SNAPSHOT, TIMER, UNFINISHED
from gateway.isolation.peer import Handler
from runtime.core.ids import SessionId
from runtime.stores.inbox import Inbox
from runtime.stores.sessions import Lease, SessionStore
from runtime.stores.timers import Timer
from runtime.tape.tape import Fact

FACTS_AT_ONCE = 100
"""The number of facts in one answer."""


class SetsTimers(Protocol):
    """Sets and cancels the timers of sessions; see `runtime.stores.timers.Timers`."""

    async def set(self, lease: Lease, timer: Timer, seq: int, /) -> bool: ...

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool: ...


class StoreCalls:
    """The calls, each by its name. What may be asked for is decided by `store`, `inbox` and `timers`."""

    def __init__(self, store: SessionStore, inbox: Inbox, timers: SetsTimers | None = None) -> None:
        self._store = store
        self._inbox = inbox
        self._timers = timers

    def table(self) -> Mapping[str, Handler]:
        """The calls by name."""
        own = (self.commit, self.current, self.session, self.snapshot, self.keep_snapshot, self.unfinished)
        events = (self.add, self.read, self.still_waiting, self.discard, self.dismiss)
        return {call.__name__: call for call in (*own, self.read_session, *events, self.set_timer, self.cancel_timer)}

    async def commit(self, data: Any) -> None:
        await self._store.commit(COMMIT.read(data))

    async def current(self, data: Any) -> Any:
        shard, conversation = data
        return RECORD.write(await self._store.current(int(shard), str(conversation)))

    async def session(self, data: Any) -> Any:
        shard, session = data
        return RECORD.write(await self._store.session(int(shard), SessionId(session)))

    async def snapshot(self, data: Any) -> Any:
        session, version = data
        return SNAPSHOT.write(await self._store.snapshot(SessionId(session), str(version)))

    async def keep_snapshot(self, data: Any) -> None:
        lease, session, written, taken_in = data
        snapshot = SNAPSHOT.read(written)
        if snapshot is not None:
            await self._store.keep_snapshot(LEASE.read(lease), SessionId(session), snapshot, taken_in=taken_in)

    async def unfinished(self, data: Any) -> Any:
        return UNFINISHED.write({str(one): pages for one, pages in (await self._store.unfinished(int(data))).items()})

    async def read_session(self, data: Any) -> Any:
        session, after, until = data
        facts: list[Fact] = []
        found = self._store.read_session(SessionId(session), after=after, until=until)
        async with aclosing(found):  # type: ignore[type-var]
            async for fact in found:
                if len(facts) == FACTS_AT_ONCE:
                    return {"facts": FACTS.write(facts), "more": True}
                facts.append(fact)
        return {"facts": FACTS.write(facts), "more": False}

    async def add(self, data: Any) -> bool:
        return await self._inbox.add(EVENT.read(data))

    async def read(self, data: Any) -> Any:
        after, wait_s = data
        return ENTRIES.write(list(await self._inbox.read({int(one): str(id_) for one, id_ in after}, wait_s=wait_s)))

    async def still_waiting(self, data: Any) -> Any:
        return ENTRIES.write(list(await self._inbox.still_waiting(ENTRIES.read(data))))

    async def discard(self, data: Any) -> None:
        entry, token, reason = data
        await self._inbox.discard(ENTRY.read(entry), int(token), reason=str(reason))

    async def dismiss(self, data: Any) -> None:
        entry, token = data
        await self._inbox.dismiss(ENTRY.read(entry), int(token))

    async def set_timer(self, data: Any) -> bool:
        lease, timer, seq = data
        if self._timers is None:
            return True
        return await self._timers.set(LEASE.read(lease), TIMER.read(timer), int(seq))

    async def cancel_timer(self, data: Any) -> bool:
        lease, session, seq = data
        return self._timers is None or await self._timers.cancel(LEASE.read(lease), SessionId(session), int(seq))

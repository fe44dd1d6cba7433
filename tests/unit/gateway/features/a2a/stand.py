"""A task of a client, fact by fact, without a gateway."""

from collections.abc import Mapping
from typing import cast

import anyio

from gateway.clients.feed import ClientReaders, EventFeed
from gateway.clients.journals import ClosedRooms
from gateway.clients.requests import BusClient
from gateway.clients.scopes import scopes_from
from gateway.clients.tasks.service import TaskDoor, TaskService
from runtime.core.address import CLIENT, Address, address_of
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.event_log import EventLog
from runtime.stores.inbox import KnownEvent, shard_of
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import PageBegun, PageFinished
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.tape import Fact, agent_tape
from tests.contract.storage_samples import T0, shard_lease
from tests.fakes.observing.records import MemoryRecords

TASK = SessionId("a-task")
PARTNER = BusClient("partner", scopes_from(["tasks:write:*", "tasks:read:*"]))


class _KnowingInbox(MemoryInbox):
    async def known(self, _address: Address, event_id: str, /) -> KnownEvent | None:
        return KnownEvent("parcels", waits=True) if event_id == TASK else None


class TaskStand:
    """The store of one task, and the service that clients use."""

    def __init__(self, clock: Clock, programs: Mapping[str, Program] | None = None) -> None:
        self.leases = MemoryLeaseStore(clock)
        self.inbox = _KnowingInbox(self.leases)
        self.store = MemorySessionStore(self.leases, self.inbox)
        self.feed = EventFeed(cast("EventLog", None), ClientReaders(MemoryRecords(), clock), cast("ClosedRooms", None))
        door = TaskDoor(programs or {}, self.store, self.inbox, clock, TaskLimits(within_s=60.0))
        self.service = TaskService(self.feed, door)
        self._lease: Lease | None = None
        self._seq = 0

    async def begin(self, context: str | None = None) -> None:
        """The task takes its order."""
        home = Address(CLIENT, PARTNER.name, context)
        await self.note(OrderTaken(0, SessionId(""), home, home, 0.0, 1))

    async def say(self, text: str) -> None:
        """An agent of the task says something."""
        await self.note(PageBegun("1000.0", "1000", "user"))
        await self.note(PageFinished(str(self._seq), text))

    async def note(self, content: FactContent) -> None:
        """A fact of the task is committed."""
        shard = shard_of(address_of(TASK).key)
        self._lease = self._lease or await shard_lease(self.leases, shard=shard)
        record = SessionRecord(TASK, address_of(TASK), "parcels", T0, 0) if self._seq == 0 else None
        fact = Fact(agent_tape(TASK, "1000"), self._seq + 1, content.kind, T0, content.data())
        await self.store.commit(Commit(self._lease, TASK, self._seq, facts=(fact,), begin=record))
        self._seq += 1
        rung, self.feed.rung = self.feed.rung, anyio.Event()
        rung.set()

"""Processes whose sessions leave memory as soon as they wait, on stores in memory and a clock moved by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from gateway.extensions.node import NodeExtensions
from gateway.features.reports.node import NodeReports
from gateway.features.schedules.node import NodeSchedules
from gateway.features.schedules.schedules import Attend, Failing, Runs, Schedules
from gateway.features.schedules.settings import ScheduleSettings
from gateway.features.tasks.node import NodeTasks
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.execution.calls.remote import ExtensionCall
from runtime.language.program import Program
from runtime.sandbox.executor import Sandbox
from runtime.sessions.failures import ReportDesk
from runtime.sessions.idle import RestingSessions, TimerAlarm
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Lease, LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS, Crash, World
from tests.fakes.memory.schedule_runs import MemoryRuns
from tests.fakes.memory.schedules import MemorySchedules
from tests.fakes.memory.sessions import OpenSessionStore
from tests.fakes.memory.timers import MemoryTimers
from tests.fakes.people.talk import Model

SHARD = shard_of(ADDRESS.key)
_NODE = LeaseHolder("node")
_ROUNDS = 400


_MORTAL = frozenset({"commit", "set", "cancel", "done", "add", "remove", "set_zone", "passed", "begin", "put", "take"})


class Mortal:
    """A store at whose calls the process may die: before and after each of them."""

    def __init__(self, inner: Any, world: World) -> None:
        self._inner = inner
        self._world = world

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _MORTAL:
            return found
        return self._dying(found)

    def _dying(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def dying(*arguments: Any, **named: Any) -> Any:
            await checkpoint()
            self._world.point()
            answer = await call(*arguments, **named)
            self._world.point()
            return answer

        return dying


async def nobody_asks(message: InboxEvent) -> InboxEvent:
    """Every message of a schedule is said."""
    return message


@dataclass
class Sleepers:
    """What outlives a process. `crashes` of the world are the points at which one dies."""

    program: Program
    sandbox: Sandbox
    world: World = field(default_factory=lambda: World(()))
    clock: FakeClock = field(default_factory=FakeClock)
    idle_s: float = 0.0
    limits: ScheduleSettings = field(default_factory=ScheduleSettings)
    attend: Attend = nobody_asks
    reports: ReportDesk | None = None
    calls: Mapping[str, ExtensionCall] = field(default_factory=dict)
    shard: int = SHARD

    def __post_init__(self) -> None:
        self.leases = MemoryLeaseStore(self.clock)
        self.inbox = MemoryInbox(self.leases)
        self.store = OpenSessionStore(self.leases, self.inbox)
        self.timers = MemoryTimers(self.leases, self.store)
        self.schedules = MemorySchedules(self.leases)
        self.runs = MemoryRuns()
        self.failing: list[Failing] = []
        self.events: list[str] = []

    def beside(self, address: Address, program: Program, calls: Mapping[str, ExtensionCall]) -> Sleepers:
        """The same stores, with processes that serve the shard of another address."""
        other = replace(self, program=program, calls=calls, shard=shard_of(address.key))
        other.leases, other.inbox, other.store = self.leases, self.inbox, self.store
        other.timers = MemoryTimers(self.leases, self.store)
        return other

    @property
    def chat(self) -> list[str]:
        """What people see now."""
        return [shown.text for shown in self.world.chat]

    @property
    def asleep(self) -> bool:
        """Whether a session is to be brought back by a timer."""
        return bool(self.timers.all(self.shard))

    async def post(self, id_: str, text: str, kind: str = "message") -> None:
        """Ada does something."""
        event = InboxEvent(
            *(id_, ADDRESS, "test:ada", "Ada", text, self.clock.now()),
            kind=kind,
            message_id=id_,
            program=self.program.name,
        )
        await self.inbox.add(event)

    async def live(self, until: Callable[[], bool], *, node_clock: Clock | None = None, pass_s: float = 0.0) -> bool:
        """Run a process until a condition holds; False when it died before. Time passes while no session is in memory,
        so much at a time."""
        self.world.revive()
        try:
            await self._live(until, node_clock or self.clock, pass_s)
        except BaseExceptionGroup as group:
            if group.split(Crash)[1] is not None:
                raise
            return False
        except Crash:
            return False
        return True

    async def _live(self, until: Callable[[], bool], clock: Clock, pass_s: float) -> None:
        token = await self.leases.acquire(f"shard:{self.shard}", _NODE)
        assert token is not None
        lease = Lease(self.shard, token)
        store, inbox = Mortal(self.store, self.world), Mortal(self.inbox, self.world)
        alarm = TimerAlarm(Mortal(self.timers, self.world), store, inbox, clock)
        runs = Runs(Mortal(self.runs, self.world), clock, self._note_failing)
        schedules = Schedules(Mortal(self.schedules, self.world), inbox, clock, self.limits, self.attend, runs)
        bus = Bus(clock)
        bus.subscribe("*", lambda event: self.events.append(event.name))
        reporting = () if self.reports is None else (NodeReports(Mortal(self.reports, self.world)),)
        around = NodeContext(
            {self.program.name: self.program},
            store,
            self.world,
            self.sandbox,
            Model(),
            bus,
            resting=RestingSessions(idle_s=self.idle_s, alarm=alarm),
            features=(
                NodeTasks(TaskLimits()),
                *reporting,
                NodeSchedules(schedules),
                NodeExtensions(self.calls, None),
            ),
        )
        async with anyio.create_task_group() as tasks:
            self.world.tasks = tasks
            registry = ConversationRegistry(around, inbox, tasks)
            await registry.gained(lease)
            tasks.start_soon(alarm.run)
            tasks.start_soon(schedules.run)
            tasks.start_soon(self._hand_over, registry, lease)
            for _ in range(_ROUNDS):
                await FakeClock.settle()
                if until():
                    break
                if not len(registry) and pass_s:
                    await self.clock.advance(pass_s)
            else:
                raise AssertionError(f"it never came about; people saw {self.chat}")
            tasks.cancel_scope.cancel()

    async def _note_failing(self, failing: Failing) -> None:
        self.failing.append(failing)

    async def _hand_over(self, registry: ConversationRegistry, lease: Lease) -> None:
        cursor = "0"
        while True:
            for entry in await self.inbox.read({self.shard: cursor}, wait_s=3600):
                cursor = entry.entry_id
                registry.dispatch(entry, lease)

"""The conversation of a task, in a node's memory: executed here, or by a process of its own that is kept alive."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from gateway.isolation.handover import FENCED
from gateway.isolation.node.isolation import Isolated
from gateway.isolation.node.rights import Rights, rights_by_order, rights_by_tape
from gateway.isolation.node.run import Ended, TaskRun
from runtime.core.background import beside
from runtime.core.clock import until
from runtime.core.signals import Signal
from runtime.events.sessions import TaskProcessDied
from runtime.sessions.conversation import Conversation
from runtime.sessions.node_context import NodeContext
from runtime.stores.inbox import TASK, TASK_CANCEL, Inbox, InboxEntry
from runtime.stores.sessions import Lease, SessionRecord

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

DEATHS = 5
"""A task has failed when its process has died so often in a row."""

STEADY_S = 60.0
"""After this time a process has recovered: deaths before it no longer count."""

GRACE_S = 10.0
"""How long a process may go on after the end of its task's time, or after it was cancelled, before it is killed."""

REST_S = 2.0
"""What a process may need to end beyond the time that it is given."""


class TaskConversation:
    """Feeds the session of one task; see `runtime.sessions.conversation.Conversation`, whose place it takes."""

    def __init__(
        self,
        shard: int,
        key: str,
        lease: Callable[[], Lease],
        around: NodeContext,
        inbox: Inbox,
        isolated: Isolated,
    ) -> None:
        self._shard = shard
        self._key = key
        self._lease = lease
        self._around = around
        self._inbox = inbox
        self._isolated = isolated
        self._entries: list[InboxEntry] = []
        self._here: Conversation | None = None
        self._begins_here = True
        self._run: TaskRun | None = None
        self._resting = False
        self._over = Signal()
        self._cancelled = anyio.Event()
        self.listens = Signal()
        """Sent when its session asks for the next event, and when it has ended."""

    def put(self, entry: InboxEntry) -> None:
        """The next event."""
        if entry.event.kind == TASK_CANCEL:
            self._cancelled.set()
        if self._here is not None and (self._begins_here or entry.event.kind != TASK):
            self._here.put(entry)
            return
        self._entries.append(entry)
        if self._run is not None:
            self._run.give(entry)

    @property
    def waiting(self) -> int:
        """Events that no session has taken."""
        if self._resting:
            return 0
        return len(self._entries) + (0 if self._here is None else self._here.waiting)

    @property
    def quiet(self) -> bool:
        """Whether no work is in progress, and nothing waits."""
        return self._run is None and not self._entries and (self._here is None or self._here.quiet)

    async def come_to_rest(self, within_s: float, written_within_s: float) -> None:
        """See `Conversation.come_to_rest`."""
        self._resting = True
        if self._here is not None:
            await self._here.come_to_rest(within_s, written_within_s)
        elif self._run is not None:
            self._run.come_to_rest(within_s, written_within_s)
            with anyio.move_on_after(within_s + written_within_s + REST_S):
                await self._over.wait()

    async def run(self, wake: SessionRecord | None) -> bool:
        """Live as long as there is something to do; False when the shard is another node's now."""
        record = wake or await self._around.store.current(self._shard, self._key)
        rights = await self._rights(record)
        self._begins_here = rights is not None or record is not None
        if rights is None:
            return await self._run_here(record)
        kind = self._isolated.of(rights.program, rights.order.isolation)
        if kind == "inline":
            return await self._run_here(record)
        if kind not in self._isolated.launchers:
            return await self._fail(record, self._around.texts("session.task_isolation_gone", isolation=kind))
        return await self._run_elsewhere(rights, record)

    async def _rights(self, record: SessionRecord | None) -> Rights | None:
        """The rights of the task; None where nothing of a program is to be executed."""
        places = tuple(self._around.task_places.values())
        if record is not None:
            return await rights_by_tape(self._around.store, record, places)
        order = next((entry for entry in self._entries if entry.event.kind == TASK), None)
        if order is None:
            return None
        try:
            rights = rights_by_order(order, self._around.program_name(order.event.program), places)
        except (ValueError, TypeError, LookupError):
            return None  # no session can take it
        return rights if await self._around.store.session(self._shard, rights.session) is None else None

    async def _run_here(self, record: SessionRecord | None, broken: str | None = None) -> bool:
        here = Conversation(self._shard, self._key, self._lease, self._around, self._inbox, broken=broken)
        entries, self._entries = self._entries, []
        for entry in entries:
            here.put(entry)
        self._here = here
        try:
            async with beside() as tasks:
                tasks.start_soon(self._pass_on, here)
                ours = await here.run(record)
                while ours and here.waiting:
                    ours = await here.run(None)
            return ours
        finally:
            self._here = None

    async def _pass_on(self, here: Conversation) -> None:
        while True:
            await here.listens.wait()
            self.listens.send()

    async def _fail(self, record: SessionRecord | None, why: str) -> bool:
        """End the task without executing anything of it."""
        return await self._run_here(record, broken=why)

    async def _run_elsewhere(self, rights: Rights, record: SessionRecord | None) -> bool:
        """Keep a process alive until nothing is left to do; False where the lease was lost. `record` is the session, if
        it has begun: one that has ended may owe its result."""
        deaths = 0
        while True:
            began_s = self._around.clock.monotonic()
            ended, why = await self._one_run(rights, record)
            if self._resting or ended.code == FENCED:
                return self._resting
            waited, self._entries = self._entries, list(await self._inbox.still_waiting(self._entries))
            if ended.over and why is None and not self._entries:
                return True
            record = await self._around.store.session(self._shard, rights.session)
            if ended.over and len(self._entries) < len(waited):
                continue  # the rest came when it was about to end
            deaths = 1 if self._around.clock.monotonic() - began_s >= STEADY_S else deaths + 1
            if why is None:
                self._around.bus.publish(TaskProcessDied(rights.session, self._key, ended.code, deaths))
            if deaths >= DEATHS:
                why = self._around.texts("session.task_process_died", times=deaths, code=ended.code)
            if why is not None:
                return await self._fail(record, why)
            await self._pause(deaths)

    async def _pause(self, deaths: int) -> None:
        pause_s = min(FIRST_PAUSE_S * 2 ** (deaths - 1), LONGEST_PAUSE_S)
        await self._around.clock.sleep_until(self._around.clock.monotonic() + pause_s)

    async def _one_run(self, rights: Rights, record: SessionRecord | None) -> tuple[Ended, str | None]:
        """Have the process live once; how it ended, and why the task cannot go on, if it had to be killed."""
        run = self._run = TaskRun(rights, self._lease(), self._around, self._inbox, self.listens, record)
        ended, why = Ended(over=False, code=0), list[str]()
        try:
            async with anyio.create_task_group() as tasks:

                async def kill(key: str) -> None:
                    clock = self._around.clock
                    await clock.sleep_until(clock.monotonic() + GRACE_S)
                    why.append(self._around.texts(key))
                    tasks.cancel_scope.cancel()

                async def in_time() -> None:
                    await until(self._around.clock, rights.order.due)
                    await kill("session.task_late")

                async def when_cancelled() -> None:
                    await self._cancelled.wait()
                    await kill("session.task_killed")

                tasks.start_soon(in_time)
                tasks.start_soon(when_cancelled)
                ended = await self._isolated.live(run, self._entries)
                tasks.cancel_scope.cancel()
        finally:
            self._run = None
            self._over.send()
        return ended, why[0] if why else None

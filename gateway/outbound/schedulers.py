"""The scheduler of each platform, with the state that outlives the process."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import Adapter, HearsShare
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.lanes import FloodMemory
from adapters.records import Records
from gateway.cluster.shares import Shares
from runtime.core.clock import Clock

DRAIN_LIMIT_S = 3.0
"""The time that a stop waits for platforms' answers. Chosen: stopped processes are killed after about ten seconds."""


class Schedulers:
    """Creates the schedulers.

    They run in `tasks`, with our share of the limits and with the state that outlives a process (table
    `rates:<platform>`). A conversation, given by its key, is shown something only while `may_show` allows it.
    """

    def __init__(
        self,
        records: Callable[[str], Records],
        shares: Shares,
        clock: Clock,
        tasks: TaskGroup,
        *,
        may_show: Callable[[str], bool] = lambda _conversation: True,
    ) -> None:
        self._may_show = may_show
        self._records = records
        self._shares = shares
        self._clock = clock
        self._tasks = tasks
        self._open: list[EditScheduler] = []

    async def open(self, adapter: Adapter) -> EditScheduler:
        """The scheduler of a platform. Raises StorageUnavailable."""
        memory = FloodMemory(self._records(f"rates:{adapter.name}"), self._clock)
        await memory.open()
        self._tasks.start_soon(memory.run)
        total = adapter.capabilities.total_budget
        scheduler = EditScheduler(total, self._clock, self._tasks, memory=memory, may_show=self._may_show)
        self._shares.tell(scheduler.grant)
        if isinstance(adapter, HearsShare):
            self._shares.tell(adapter.granted)
        self._open.append(scheduler)
        return scheduler

    def resume(self) -> None:
        """Allow calls to platforms again."""
        for scheduler in self._open:
            scheduler.resume()

    async def drain(self) -> None:
        """Make no more calls to platforms. Returns when every call on its way has been answered, or after a
        time limit.
        """
        with anyio.move_on_after(DRAIN_LIMIT_S):
            async with anyio.create_task_group() as tasks:
                for scheduler in self._open:
                    tasks.start_soon(scheduler.drain)

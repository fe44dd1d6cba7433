"""Tasks that run beside a block of code, and end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context

import anyio
from anyio.abc import TaskGroup

from runtime.core.signals import WakeSignal


@asynccontextmanager
async def beside() -> AsyncIterator[TaskGroup]:
    """A group for what goes on while the block does: whatever of it is left at the block's end is cancelled.

    An exception of the block leaves as itself, while a task group would put it into an exception group; one of a task
    cancels the block, and comes in a group.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
            failure = error
        finally:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


class OnDemand:
    """Work that is begun when there is something to do, and ends with it. A task that waits for that would take some 5
    KiB all the while."""

    __slots__ = ("_context", "_ended", "_running", "_tasks", "_wanted", "_work")

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        """`work` does all that there is to do now. When it fails, its group does, and it is not begun again."""
        self._work = work
        self._wanted = self._running = False
        self._tasks: TaskGroup | None = None
        self._ended = WakeSignal()

    def start(self, tasks: TaskGroup) -> None:
        """Work in `tasks` from now on, and in the context of this call, whoever calls `wake`."""
        self._tasks, self._context = tasks, copy_context()
        self._begin()

    def wake(self) -> None:
        """Have the work done, once more if it is under way. Needs a task: a callback of the loop cannot begin one."""
        self._wanted = True
        self._begin()

    async def until(self, is_done: Callable[[], bool]) -> None:
        """Have the work done until this is so. Needs `start`."""
        while not is_done():
            self.wake()
            await self._ended.wait()

    def _begin(self) -> None:
        if self._tasks is None or not self._wanted or self._running or self._tasks.cancel_scope.cancel_called:
            return
        self._context.run(self._tasks.start_soon, self._run)
        self._running = True

    async def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            await self._work()
            self._ended.send()
        self._running = False

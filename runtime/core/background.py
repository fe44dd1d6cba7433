"""Tasks that run beside a block of code, and end with it; signals between tasks, and to functions that subscribed.

A signal creates nothing before somebody waits: an event of asyncio takes almost a kilobyte, and most are never waited
for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

T = TypeVar("T")


class WakeSignal:
    """Wakes all who wait; nobody hears it who waits later."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def send(self) -> None:
        woken, self._waiting = self._waiting, ()
        for future in woken:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Return at the next `send`."""
        future = asyncio.get_running_loop().create_future()
        self._waiting += (future,)
        try:
            await future
        finally:
            if future.cancelled():  # who was woken waits no longer
                self._waiting = tuple(other for other in self._waiting if other is not future)


class ListenerList(Generic[T]):
    """The functions to call with each value, in the order in which they subscribed."""

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions: tuple[Callable[[T], object], ...] = ()

    def subscribe(self, *functions: Callable[[T], object]) -> None:
        self._functions += functions

    def tell(self, value: T) -> None:
        for function in self._functions:
            function(value)


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

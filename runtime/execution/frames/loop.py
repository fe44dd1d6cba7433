"""An event loop that knows when a frame's code is quiet, that is, when none of its callbacks waits to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

RUNNING: ContextVar[Counted | None] = ContextVar("parley_running_frame", default=None)
"""The frame of the code that runs now; None outside of playbooks."""

MAX_HASTE_S = 600.0
"""The pauses of one text that are left out, in seconds. Code that waits for something else by looking again and again
goes on at its own pace after that."""

HASTE: ContextVar[RepeatedPauses | None] = ContextVar("parley_haste", default=None)
"""Whether the code that runs now makes its pauses once more; None where it makes them for the first time."""

_call_soon = asyncio.SelectorEventLoop.call_soon


class Counted(Protocol):
    """The code of a frame, with a count of its pending callbacks and a record of its tasks."""

    pending: int
    tasks: set[asyncio.Task[Any]]

    def refuse(self, what: str, /) -> NoReturn:
        """The code is about to wait for something that no journal records. Raises Unjournaled."""


@dataclass
class RepeatedPauses:
    """Pauses that code makes once more, after a restart, and that nobody is to wait for again; until it is `over`."""

    left_s: float = MAX_HASTE_S
    over: bool = False

    def time_of(self, when: float, now: float) -> float:
        """The time at which a pause ends that was to end `when`."""
        pause_s = when - now
        if self.over or pause_s > self.left_s:
            return when
        self.left_s -= pause_s
        return now


class FrameLoop(asyncio.SelectorEventLoop):
    """Counts `call_soon` per frame, so that a frame can be handed its results one at a time, each when it is quiet.

    Tasks that a playbook starts (`asyncio.gather`, task groups) inherit its context, so their callbacks count too.
    """

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        frame = RUNNING.get() if context is None else context.get(RUNNING)
        if frame is None:
            return _call_soon(self, callback, *args, context=context)
        frame.pending += 1

        def counted(*inner: Any) -> None:
            frame.pending -= 1
            callback(*inner)

        return _call_soon(self, counted, *args, context=context or copy_context())

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self._only_host_calls("a timer of its own (asyncio.sleep, a time limit)")
        haste = HASTE.get()
        if haste is not None and len(args) == 2 and asyncio.isfuture(args[0]):  # asyncio.sleep, and no time limit
            when = haste.time_of(when, self.time())
        return super().call_at(when, callback, *args, **more)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        self._only_host_calls("a thread or a name on the network")
        return super().run_in_executor(executor, func, *args)

    async def create_connection(self, *args: Any, **more: Any) -> Any:
        self._only_host_calls("a connection")
        return await super().create_connection(*args, **more)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        self._only_host_calls("a connection")
        await super().sock_connect(sock, address)

    async def subprocess_exec(self, *args: Any, **more: Any) -> Any:
        self._only_host_calls("a process")
        return await super().subprocess_exec(*args, **more)

    @staticmethod
    def _only_host_calls(what: str) -> None:
        """A playbook that waits for anything else cannot be run again with its recorded results."""
        frame = RUNNING.get()
        if frame is not None:
            frame.refuse(what)

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        """Wrap host calls, which are futures, because `asyncio.create_task(Playbook())` and task groups need
        coroutines.
        """
        task = super().create_task(_awaited(coro) if asyncio.isfuture(coro) else coro, **more)
        frame = RUNNING.get()
        if frame is not None:
            frame.tasks.add(task)
            task.add_done_callback(frame.tasks.discard)
        return task


async def _awaited(call: asyncio.Future[Any]) -> Any:
    return await call

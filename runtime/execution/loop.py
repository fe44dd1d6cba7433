"""An event loop that knows when a frame's code is quiet: when none of its callbacks is waiting to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol


class Counted(Protocol):
    """Something whose pending callbacks are counted."""

    pending: int


RUNNING: ContextVar[Counted | None] = ContextVar("parley_running_frame", default=None)
"""The frame to which the code that runs now belongs; None outside of playbooks."""


class FrameLoop(asyncio.SelectorEventLoop):
    """Counts `call_soon` per frame, so that a frame can be handed its results one at a time, each when it is quiet.

    Tasks that a playbook starts (`asyncio.gather`, task groups) inherit its context, so their callbacks count too.
    """

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        frame = RUNNING.get() if context is None else context.get(RUNNING)
        if frame is None:
            return super().call_soon(callback, *args, context=context)
        frame.pending += 1

        def counted(*inner: Any) -> None:
            frame.pending -= 1
            callback(*inner)

        return super().call_soon(counted, *args, context=context or copy_context())

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        """Host calls are futures; `asyncio.create_task(Playbook())` and task groups take them as coroutines."""
        return super().create_task(_awaited(coro) if asyncio.isfuture(coro) else coro, **more)


async def _awaited(call: asyncio.Future[Any]) -> Any:
    return await call

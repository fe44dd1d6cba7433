"""Observers of a node's sessions while somebody writes a program: a debugger, or a board beside the chat."""

from __future__ import annotations

from typing import Protocol

import anyio
from anyio.abc import TaskStatus

from runtime.execution.frames.step_watcher import StepWatcher, Watched


class Observer(Protocol):
    """Watches all sessions of a node."""

    @property
    def head(self) -> str:
        """The word before the line."""
        ...

    @property
    def line(self) -> str:
        """What people are told about it at the start."""
        ...

    def watch(self, watched: Watched, /) -> StepWatcher:
        """A session was loaded into memory."""
        ...

    async def serve(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Be there until cancelled; reports the port, 0 where there is none."""
        ...

    def close(self) -> None:
        """Let every session go on, because the gateway stops."""
        ...

"""Tasks that run beside a block of code, and end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


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

"""Pages of tasks that clients have ordered, and of scratch rooms: on the tape while they grow, and on no platform."""

from __future__ import annotations

from contextlib import suppress

from anyio.abc import TaskGroup

from runtime.channels.outbox import PageRecord
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, StorageError

GROWS_S = 0.5
"""The shortest time between two records of one text that grows: who follows the session reads it in such pieces."""


class FollowedPage:
    """A page that is followed on the tape. What is finished sooner than its first record is not written down before."""

    def __init__(self, record: PageRecord, clock: Clock, tasks: TaskGroup) -> None:
        self._record = record
        self._clock = clock
        self._tasks = tasks
        self._text = ""
        self._writing = False
        self._over = False

    def update(self, text: str, /) -> None:
        self._text = text
        if not self._writing and not self._over:
            self._writing = True
            self._tasks.start_soon(self._write)

    async def _write(self) -> None:
        written = ""
        while self._text != written:
            await self._clock.sleep_until(self._clock.monotonic() + GROWS_S)
            if self._over:
                return
            written = self._text
            with suppress(AdapterError, StorageError):  # whoever executes the session learns it by its own commits
                await self._record.grows(written)
        self._writing = False

    def ends(self) -> None:
        self._over = True

    async def finish(self, text: str, /) -> bool:
        self._over = True
        return True

    async def rest(self) -> None:
        self._over = True

    def abandon(self) -> None:
        self._over = True

"""The order in which one URL is told of a task, and when: pieces of texts that grow at intervals, the rest at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
from a2a.utils.proto_utils import to_stream_response
from anyio.abc import TaskGroup
from google.protobuf.json_format import MessageToDict

from gateway.clients.tasks.service import ClientTask
from gateway.features.a2a.growing import GrowingTexts
from gateway.features.a2a.messages import Mark, Named, updates_of
from runtime.core.clock import Clock

PIECES_S = 1.0
"""The shortest time between two notifications of a text that grows: what comes meanwhile goes with the next."""


class Telling:
    """Tells one URL of one task. `take` sends a notification until it is taken, and is False when that is given up;
    `note` writes down what was taken."""

    def __init__(
        self,
        task: ClientTask,
        named: Named,
        take: Callable[[object], Awaitable[bool]],
        note: Callable[[Mark], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._task = task
        self._named = named
        self._take = take
        self._note = note
        self._clock = clock
        self._growing = GrowingTexts(task, anew=True)
        self._due_s = 0.0
        self._turn = anyio.Lock()
        self._waits = False

    async def run(self, changes: AsyncIterator[ClientTask], told: Mark) -> None:
        """Tell what is new since `told`, until the task is over or a notification was given up."""
        async with anyio.create_task_group() as tasks:
            async for now in changes:
                async with self._turn:
                    self._task = now
                    updates = [*self._pieces(tasks), *updates_of(now, self._named, told)]
                    if not await self._tell(updates):
                        break
                    if Mark.of(now) != told:
                        told = Mark.of(now)
                        if not now.over:
                            await self._note(told)
            tasks.cancel_scope.cancel()

    def _pieces(self, tasks: TaskGroup) -> list[object]:
        """What may be told of texts now. What has to wait is told when its time comes, whatever happens by then."""
        early = self._clock.monotonic() < self._due_s
        pieces = [*self._growing.updates(self._task, self._named.context, finished_alone=early)]
        if pieces and not early:
            self._due_s = self._clock.monotonic() + PIECES_S
        if early and not self._waits and self._task.view.growing:
            self._waits = True
            tasks.start_soon(self._tell_later, tasks)
        return [*pieces]

    async def _tell_later(self, tasks: TaskGroup) -> None:
        await self._clock.sleep_until(self._due_s)
        async with self._turn:
            self._waits = False
            if not await self._tell(self._pieces(tasks)):
                tasks.cancel_scope.cancel()

    async def _tell(self, updates: list[object]) -> bool:
        for update in updates:
            if not await self._take(MessageToDict(to_stream_response(update))):  # type: ignore[arg-type]
                return False
        return True

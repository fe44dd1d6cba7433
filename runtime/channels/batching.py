"""The time at which an agent gets its messages: at once, or together with those that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
from anyio.abc import TaskGroup

from runtime.core.clock import Clock
from runtime.core.errors import QueueClosed, QueueFull
from runtime.core.message import Message, MessageType

MEETING_WAIT_S = 5.0
"""The time, from the first message, in which the talk among agents in a meeting is collected."""

ADDRESSED_WAIT_S = 0.5
"""The longest wait when one of the messages is addressed to the agent."""

_CAPACITY = 100


class Batcher:
    """Collects the messages of one agent and delivers them in the order in which they came.

    Only what an agent says to a whole meeting waits. A person's message, one for this agent alone and a notice about
    the meeting are delivered at once, after everything that waits. `deliver` takes all of a batch or raises QueueFull;
    then the batch goes on waiting, and the sender whose message made it due is told. What still waits when the agent
    has ended (QueueClosed) has no reader and goes.
    """

    def __init__(
        self,
        deliver: Callable[[Sequence[Message]], None],
        clock: Clock,
        tasks: TaskGroup,
        is_addressed: Callable[[Message], bool],
        *,
        capacity: int = _CAPACITY,
    ) -> None:
        self._deliver = deliver
        self._clock = clock
        self._tasks = tasks
        self._is_addressed = is_addressed
        self._capacity = capacity
        self._waiting: list[Message] = []
        self._due_s = 0.0
        self._timer: anyio.CancelScope | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message) -> None:
        """Take a message. If it is due now, raises what `deliver` raises; the message is then not taken."""
        self._waiting.append(message)
        if _may_wait(message) and len(self._waiting) < self._capacity:
            if self._is_addressed(message):
                self._wait(ADDRESSED_WAIT_S)
            elif self._timer is None:
                self._wait(MEETING_WAIT_S)
            return
        try:
            self.flush()
        except BaseException:
            self._waiting.pop()
            raise

    def flush(self) -> None:
        """Deliver the waiting messages now. Raises what `deliver` raises; then they continue to wait."""
        if self._waiting:
            self._deliver(tuple(self._waiting))
            self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        """Deliver the waiting messages within `seconds`."""
        due_s = self._clock.monotonic() + seconds
        if self._timer is not None:
            if self._due_s <= due_s:
                return
            self._timer.cancel()
        self._due_s = due_s
        self._timer = anyio.CancelScope()
        self._tasks.start_soon(self._deliver_when_due, self._timer, due_s)

    async def _deliver_when_due(self, timer: anyio.CancelScope, due_s: float) -> None:
        with timer:
            await self._clock.sleep_until(due_s)
            self._timer = None
            try:
                self.flush()
            except QueueFull:
                self._wait(MEETING_WAIT_S)
            except QueueClosed:
                self._waiting.clear()


def _may_wait(message: Message) -> bool:
    if message.meeting_id is None or message.recipient_id is not None or message.from_human:
        return False
    return message.type != MessageType.MEETING_NOTICE

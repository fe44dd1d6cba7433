"""The queue of unread messages of one agent, and the time at which it gets them: at once, or together with those that
follow.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import count, islice

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from runtime.core.clock import Clock
from runtime.core.errors import QueueClosed, QueueFull, QueueTimeout
from runtime.core.message import Message, MessageType

Match = Callable[[Message], bool]
"""A selection of messages: a predicate without effects or errors."""

MEETING_WAIT_S = 5.0
"""The time, from the first message, in which the talk among agents in a meeting is collected."""

ADDRESSED_WAIT_S = 0.5
"""The longest wait when one of the messages is addressed to the agent."""

_BATCH = 100


class _Waiter(Struct, eq=False):
    match: Match | None
    most: int
    woken: asyncio.Future[list[Message] | None]
    """Completed with messages that have left the queue, or with None after a time limit or when the queue closes."""

    def wants(self, message: Message) -> bool:
        return not self.woken.done() and (self.match is None or self.match(message))


class MessageQueue:
    """A bounded queue, oldest first, whose readers wait for the messages they choose.

    `put` never waits, and costs the same however much waits. Readers are served in the order in which they came, each
    as soon as it can be; a message goes to one reader. Cancelling a reader loses nothing: what it was about to get goes
    back to where it was.
    """

    def __init__(self, capacity: int, clock: Clock) -> None:
        self._capacity = capacity
        self._clock = clock
        self._numbers = count()
        self._messages: OrderedDict[int, Message] = OrderedDict()
        self._waiters: dict[_Waiter, None] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: Message, *, priority: bool = False) -> None:
        """Add a message, before all others with `priority`. Raises QueueFull and QueueClosed; the message is then not
        added.
        """
        if self._closed or len(self._messages) >= self._capacity:
            self._check_room(1)
        if not self._waiters or not self._hand_over(message):
            self._insert(message, first=priority)

    def put_all(self, messages: Sequence[Message]) -> None:
        """Add all of the messages or none; a reader of batches sees them together. Raises as `put`."""
        if len(messages) == 1:
            self.put(messages[0])
            return
        self._check_room(len(messages))
        self._messages.update(zip(self._numbers, messages, strict=False))
        if self._waiters:
            self._serve(messages)

    async def get(self, match: Match | None = None, *, timeout_s: float | None = None) -> Message:
        """The oldest message that matches; waits for one. Raises QueueTimeout and QueueClosed."""
        return (await self.get_batch(match, max_messages=1, timeout_s=timeout_s))[0]

    async def get_batch(
        self, match: Match | None = None, *, max_messages: int = 100, timeout_s: float | None = None
    ) -> list[Message]:
        """The oldest messages that match, at most so many; waits for one. Raises QueueTimeout and QueueClosed."""
        messages = self.take(match, max_messages=max_messages)
        if not messages and (timeout_s is None or timeout_s > 0):
            messages = await self._wait(
                _Waiter(match, max_messages, asyncio.get_running_loop().create_future()), timeout_s
            )
            messages += self._take(self._find(match, max_messages - len(messages)))
        if not messages:
            self._check_open()
            raise QueueTimeout(f"no message that was waited for came within {timeout_s} s")
        return messages

    def take(self, match: Match | None = None, *, max_messages: int = 100) -> list[Message]:
        """The oldest messages that match now, perhaps none. Raises QueueClosed."""
        self._check_open()
        return self._take(self._find(match, max_messages))

    def remove(self, match: Match) -> int:
        return len(self._take(self._find(match, None)))

    def close(self) -> list[Message]:
        """Close the queue: it takes and gives nothing more, and waiting readers get QueueClosed. Returns the unread
        messages.
        """
        self._closed = True
        for waiter in self._waiters:
            if not waiter.woken.done():
                waiter.woken.set_result(None)
        return self._take(list(self._messages))

    def _check_open(self) -> None:
        if self._closed:
            raise QueueClosed("the queue is closed; its agent has ended")

    def _check_room(self, needed: int) -> None:
        self._check_open()
        if len(self._messages) + needed > self._capacity:
            raise QueueFull(f"{len(self._messages)} of {self._capacity} messages are unread; send again later")

    def _insert(self, message: Message, *, first: bool = False) -> None:
        number = next(self._numbers)
        self._messages[number] = message
        if first:
            self._messages.move_to_end(number, last=False)

    def _find(self, match: Match | None, most: int | None) -> list[int]:
        if match is None:
            return list(islice(self._messages, most))
        return list(islice((number for number, message in self._messages.items() if match(message)), most))

    def _take(self, numbers: Sequence[int]) -> list[Message]:
        return [self._messages.pop(number) for number in numbers]

    def _hand_over(self, message: Message) -> bool:
        """Give the message to the first reader that waits for such a one, without a look at other messages."""
        for waiter in self._waiters:
            if waiter.wants(message):
                waiter.woken.set_result([message])
                return True
        return False

    def _serve(self, added: Sequence[Message]) -> None:
        """Give a batch to each reader that waits for such messages as came."""
        for waiter in self._waiters:
            if not any(waiter.wants(message) for message in added):
                continue
            numbers = self._find(waiter.match, waiter.most)
            if numbers:
                waiter.woken.set_result(self._take(numbers))

    async def _wait(self, waiter: _Waiter, timeout_s: float | None) -> list[Message]:
        self._waiters[waiter] = None
        arrived = False
        try:
            if timeout_s is None:
                messages = await waiter.woken
            else:
                messages = await self._wait_until(waiter, self._clock.monotonic() + timeout_s)
            arrived = True
        finally:
            del self._waiters[waiter]
            if not arrived:
                self._give_back(waiter)
        return messages or []

    async def _wait_until(self, waiter: _Waiter, due_s: float) -> list[Message] | None:
        async def expire() -> None:
            await self._clock.sleep_until(due_s)
            if not waiter.woken.done():
                waiter.woken.set_result(None)

        async with anyio.create_task_group() as timer:
            timer.start_soon(expire)
            messages = await waiter.woken
            timer.cancel_scope.cancel()
        return messages

    def _give_back(self, waiter: _Waiter) -> None:
        """Put back the messages that a cancelled reader was given but did not see."""
        if not waiter.woken.done() or waiter.woken.cancelled():
            return
        messages = waiter.woken.result() or []
        for message in reversed(messages):
            self._insert(message, first=True)
        self._serve(messages)


class MessageBatcher(Struct, eq=False):
    """Collects the messages of one agent and delivers them in the order in which they came.

    Only what an agent says to a whole meeting waits. A person's message, one for this agent alone and a notice about
    the meeting are delivered at once, after everything that waits. `deliver` takes all of a batch or raises QueueFull;
    then the batch goes on waiting, and the sender whose message made it due is told. What still waits when the agent
    has ended (QueueClosed) has no reader and goes.
    """

    _deliver: Callable[[Sequence[Message]], None]
    _clock: Clock
    _tasks: TaskGroup
    _is_addressed: Callable[[Message], bool]
    capacity: int = _BATCH
    _waiting: list[Message] = field(default_factory=list)
    _due_s: float = 0.0
    _timer: anyio.CancelScope | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: Message) -> None:
        """Take a message. If it is due now, raises what `deliver` raises; the message is then not taken."""
        self._waiting.append(message)
        if _may_wait(message) and len(self._waiting) < self.capacity:
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

"""The participants of a channel, and their acknowledgements of messages: by an agent when it consumes one, by a
platform when it shows one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime

import anyio
from msgspec import Struct, field

from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.core.ids import MessageId, ParticipantId
from runtime.core.message import Message, StreamObserver, StreamStart

MAX_REMEMBERED = 1_000
"""The number of messages of one session whose acknowledgements are remembered; the oldest are forgotten first."""


class Participant(Struct, frozen=True, eq=False):
    """Somebody in a channel. `klass` is the agent's class, or the person's.

    `deliver` takes a finished message; its result is to be awaited. It raises if the message cannot be taken, and then
    it was not. `observe` gives the observer that shows a stream while it grows, None for one who wants finished
    messages only; a message whose stream was observed is visible already, and now final.
    """

    id: ParticipantId
    klass: str
    deliver: Callable[[Message], Awaitable[None] | None]
    observe: Callable[[StreamStart], StreamObserver | None] | None = None


class Ack(Struct, frozen=True):
    """A participant has a message; `at` is UTC."""

    message_id: MessageId
    participant_id: ParticipantId
    at: datetime


class _Expected(Struct, eq=False):
    awaited: set[ParticipantId]
    came: list[Ack] = field(default_factory=list)
    news: WakeSignal = field(default_factory=WakeSignal)


class MessageAcknowledgements:
    """The acknowledgements of one session's messages.

    Only expected ones are remembered, up to a bound, so nothing grows while nobody waits.
    """

    def __init__(self, clock: Clock, *, capacity: int = MAX_REMEMBERED) -> None:
        self._clock = clock
        self._capacity = capacity
        self._expected: OrderedDict[MessageId, _Expected] = OrderedDict()

    @property
    def remembered(self) -> int:
        return len(self._expected)

    def expect(self, message_id: MessageId, participants: Iterable[ParticipantId]) -> None:
        self._expected[message_id] = _Expected(set(participants))
        while len(self._expected) > self._capacity:
            _, forgotten = self._expected.popitem(last=False)
            forgotten.awaited.clear()
            forgotten.news.send()

    def acknowledge(self, message_id: MessageId, participant_id: ParticipantId) -> None:
        """The participant has the message. An unexpected or repeated acknowledgement changes nothing."""
        expected = self._expected.get(message_id)
        if expected is not None and participant_id in expected.awaited:
            expected.awaited.discard(participant_id)
            expected.came.append(Ack(message_id, participant_id, self._clock.now()))
            expected.news.send()

    def give_up(self, message_id: MessageId, participant_id: ParticipantId) -> None:
        """End the waits for a participant that will never have the message."""
        expected = self._expected.get(message_id)
        if expected is not None and participant_id in expected.awaited:
            expected.awaited.discard(participant_id)
            expected.news.send()

    async def wait_for_one(self, message_id: MessageId, timeout_s: float, *, by: ParticipantId | None) -> Ack | None:
        """The acknowledgement of `by`, or the first one of anybody; None after a time limit, or when it can no longer
        come.
        """
        expected = self._expected.get(message_id)
        if expected is None:
            return None

        def found() -> Ack | None:
            return next((ack for ack in expected.came if by in (None, ack.participant_id)), None)

        def over() -> bool:
            return found() is not None or not expected.awaited or not (by is None or by in expected.awaited)

        await self._until(over, expected, timeout_s)
        return found()

    async def wait_for_all(self, message_id: MessageId, timeout_s: float) -> dict[ParticipantId, Ack]:
        """The acknowledgements by participant, once all have come or after a time limit."""
        expected = self._expected.get(message_id)
        if expected is None:
            return {}
        await self._until(lambda: not expected.awaited, expected, timeout_s)
        return {ack.participant_id: ack for ack in expected.came}

    async def _until(self, over: Callable[[], bool], expected: _Expected, timeout_s: float) -> None:
        if over():
            return

        async def expire() -> None:
            await self._clock.sleep_until(self._clock.monotonic() + timeout_s)
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(expire)
            while not over():
                await expected.news.wait()
            tasks.cancel_scope.cancel()

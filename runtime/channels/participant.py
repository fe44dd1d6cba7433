"""The participants of a channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import HUMAN_CLASS, Message
from runtime.core.stream import StreamObserver, StreamStart


class Participant(Protocol):
    """Somebody in a channel, who knows how to receive messages."""

    @property
    def id(self) -> ParticipantId: ...

    @property
    def klass(self) -> str:
        """The agent's class, or the person's."""
        ...

    def deliver(self, message: Message, /) -> Awaitable[None] | None:
        """Take a finished message; the result is to be awaited. Raises if the message cannot be taken, and then it was
        not.
        """
        ...


@runtime_checkable
class Watching(Protocol):
    """A participant that also sees streams. One without `observe` gets finished messages only."""

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer that shows this stream while it grows; None for a participant who wants finished
        messages only.
        """
        ...


class AgentParticipant:
    """An agent of this session: `accept` puts a message into the agent's queue."""

    def __init__(self, agent_id: AgentId, klass: str, accept: Callable[[Message], Awaitable[None] | None]) -> None:
        self.id: ParticipantId = agent_id
        self.klass = klass
        self._accept = accept

    def deliver(self, message: Message, /) -> Awaitable[None] | None:
        """Pass the message to the agent."""
        return self._accept(message)


class Display(Protocol):
    """The display on which a person sees messages."""

    async def deliver(self, message: Message, /) -> None:
        """Show a finished message. One whose `stream_id` was observed is already visible and now final."""
        ...

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer that shows this stream as it grows; None if only the finished text is shown."""
        ...


class HumanParticipant:
    """A person, reached by their display."""

    def __init__(self, person_id: PersonId, display: Display, klass: str = HUMAN_CLASS) -> None:
        self.id: ParticipantId = person_id
        self.klass = klass
        self._display = display

    async def deliver(self, message: Message, /) -> None:
        """Show the message."""
        await self._display.deliver(message)

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer of the display."""
        return self._display.observe(start)

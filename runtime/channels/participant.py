"""The participants of a channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import HUMAN_CLASS, Message
from runtime.core.stream import StreamObserver, StreamStart


class Participant(Protocol):
    """Somebody in a channel. How a message reaches them is theirs to know."""

    @property
    def id(self) -> ParticipantId: ...

    @property
    def klass(self) -> str:
        """The agent's class, or the person's."""
        ...

    def deliver(self, message: Message, /) -> Awaitable[None] | None:
        """Take a finished message; what is returned is to be awaited. Raises when it cannot be taken; then it was
        not."""
        ...

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer that shows this stream while it is written; None for participants who want finished messages
        only.
        """
        ...


class AgentParticipant:
    """An agent of this session: `accept` puts a message where the agent reads."""

    def __init__(self, agent_id: AgentId, klass: str, accept: Callable[[Message], Awaitable[None] | None]) -> None:
        self.id: ParticipantId = agent_id
        self.klass = klass
        self._accept = accept

    def deliver(self, message: Message, /) -> Awaitable[None] | None:
        """Hand it to the agent."""
        return self._accept(message)

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """Agents read finished messages."""
        return None


class Display(Protocol):
    """The display on which a person sees messages."""

    async def deliver(self, message: Message, /) -> None:
        """Show a finished message; one whose `stream_id` was observed is on show already and is now final."""
        ...

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer that shows this stream as it grows; None when it is shown only when finished."""
        ...


class HumanParticipant:
    """A person, by the display that shows them what is said."""

    def __init__(self, person_id: PersonId, display: Display, klass: str = HUMAN_CLASS) -> None:
        self.id: ParticipantId = person_id
        self.klass = klass
        self._display = display

    async def deliver(self, message: Message, /) -> None:
        """Show it."""
        await self._display.deliver(message)

    def observe(self, start: StreamStart, /) -> StreamObserver | None:
        """The observer of the display."""
        return self._display.observe(start)

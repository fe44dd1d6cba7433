"""The port for what waits for participants in other processes: one mailbox each, whichever node their sessions are on.

a session's message is on its tape ──> put ──> mailbox ──> read by whoever is connected ──> acknowledged: take_out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.errors import MailboxFull
from runtime.core.ids import AgentId, MessageId, SessionId

START = "0-0"
"""The position before everything in a mailbox."""


class ParticipantSeat(Struct, frozen=True):
    """A participant's place in a session: the agent that it plays there. What it says goes to `address`.

    `stops` is how often people stopped what goes on there: what it does about something from before comes to nothing.
    """

    session: SessionId
    agent: AgentId
    address: Address
    stops: int = 0

    @property
    def id(self) -> str:
        """The name of the seat in its participant's mailbox."""
        return f"{self.session}/{self.agent}" + (f"/{self.stops}" if self.stops else "")


class SeatLetter(Struct, frozen=True):
    """A message for a seat. `content` is what the participant reads, as JSON data."""

    seat: ParticipantSeat
    message: MessageId
    content: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.seat.id}/{self.message}"


class MailboxEntry(Struct, frozen=True):
    """A letter with its place in a mailbox; entry ids rise."""

    entry_id: str
    letter: SeatLetter


class MailboxReader(Struct, frozen=True):
    """A reader of a mailbox. `connection` identifies it, and `news` is its knowledge of other readers."""

    connection: str
    news: str


class MailboxRead(Struct, frozen=True):
    """The result of a read. `replaced`: another reader has taken over, and this one must stop."""

    mail: tuple[MailboxEntry, ...] = ()
    replaced: bool = False


class SeatMailboxes(Protocol):
    """Mailboxes by participant; by default, there are none. Raises StorageUnavailable, and the errors named below."""

    async def put(self, participant: str, letter: SeatLetter, /) -> bool:
        """Store a letter; False when it is there, or was in the last days. Raises MailboxFull."""
        raise MailboxFull(f"Nobody can connect as {participant} here.")

    async def read(
        self, participant: str, after: str, reader: MailboxReader, /, *, wait_s: float, at_most: int
    ) -> MailboxRead:
        """The mail after an entry, oldest first. Returns as soon as there is any, or another reader takes over.

        Removes nothing. Can be cancelled.
        """
        return MailboxRead()

    async def waiting(self, participant: str, until: str, /, *, at_most: int) -> Sequence[MailboxEntry]:
        """The oldest mail, up to and including an entry."""
        return ()

    async def take_out(self, participant: str, mail: Sequence[MailboxEntry], /) -> None:
        """Remove an acknowledged letter; `put` still recognises it for some days."""
        return

    async def seat(self, participant: str, seat_id: str, /) -> ParticipantSeat | None:
        """The place of a seat; None if the participant never had it, or received nothing there for a month."""
        return None

    async def attend(self, participant: str, connection: str, /) -> MailboxReader:
        """Start reading. An earlier reader is replaced, on whatever node it is."""
        return MailboxReader(connection, START)


class NoMailboxes(SeatMailboxes):
    """The mailboxes of a gateway without remote participants, which refuse every letter."""

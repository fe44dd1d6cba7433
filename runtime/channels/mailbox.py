"""The port for what waits for participants in other processes: one mailbox each, whichever node their sessions are on.

a session's message is on its tape ──> put ──> mailbox ──> read by whoever is connected ──> acknowledged: take_out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.core.address import Address
from runtime.core.errors import MailboxFull
from runtime.core.ids import AgentId, MessageId, SessionId

START = "0-0"
"""Before everything in a mailbox."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A participant's place in a session: the agent that it plays there. What it says goes to `address`.

    `stops` is how often people stopped what goes on there: what it does about something from before comes to nothing.
    """

    session: SessionId
    agent: AgentId
    address: Address
    stops: int = 0

    @property
    def id(self) -> str:
        """Names the seat in its participant's mailbox."""
        return f"{self.session}/{self.agent}" + (f"/{self.stops}" if self.stops else "")


@dataclass(frozen=True, slots=True)
class Letter:
    """A message for a seat. `content` is what the participant reads, as JSON data."""

    seat: Seat
    message: MessageId
    content: Mapping[str, Any]

    @property
    def id(self) -> str:
        """An id that is the same for the same message to the same seat."""
        return f"{self.seat.id}/{self.message}"


@dataclass(frozen=True, slots=True)
class Mail:
    """A letter at its place in a mailbox; entry ids grow."""

    entry_id: str
    letter: Letter


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who reads a mailbox. `connection` names them, `news` is what they know of others who do."""

    connection: str
    news: str


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a read. `replaced`: another reader has taken over, and this one must stop."""

    mail: tuple[Mail, ...] = ()
    replaced: bool = False


class Mailboxes(Protocol):
    """Mailboxes by their participants' names. Raises StorageUnavailable, and what is said below."""

    async def put(self, participant: str, letter: Letter, /) -> bool:
        """Keep a letter durably; False when it is there, or was in the last days. Raises MailboxFull."""
        ...

    async def read(self, participant: str, after: str, reader: Reader, /, *, wait_s: float, at_most: int) -> Found:
        """The mail behind an entry, oldest first; returns as soon as there is any, or somebody else reads.

        A plain read: nothing is taken out. Can be cancelled.
        """
        ...

    async def waiting(self, participant: str, until: str, /, *, at_most: int) -> Sequence[Mail]:
        """The oldest mail up to an entry, that one included."""
        ...

    async def take_out(self, participant: str, mail: Sequence[Mail], /) -> None:
        """The participant has acknowledged it; `put` knows it for some days yet."""
        ...

    async def seat(self, participant: str, seat_id: str, /) -> Seat | None:
        """The place of a seat; None when the participant never had it, or nothing came for it for a month."""
        ...

    async def attend(self, participant: str, connection: str, /) -> Reader:
        """Read from now on. An earlier reader is replaced, on whatever node."""
        ...


class NoMailboxes:
    """Mailboxes of a gateway without remote participants: each letter is refused."""

    async def put(self, participant: str, _letter: Letter, /) -> bool:
        raise MailboxFull(f"Nobody can connect as {participant} here.")

    async def read(self, _participant: str, _after: str, _reader: Reader, /, *, wait_s: float, at_most: int) -> Found:
        del wait_s, at_most
        return Found()

    async def waiting(self, _participant: str, _until: str, /, *, at_most: int) -> Sequence[Mail]:
        del at_most
        return ()

    async def take_out(self, _participant: str, _mail: Sequence[Mail], /) -> None:
        return

    async def seat(self, _participant: str, _seat_id: str, /) -> Seat | None:
        return None

    async def attend(self, _participant: str, connection: str, /) -> Reader:
        return Reader(connection, START)

"""Events of participants in other processes, and of the servers of remote agents."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.events.happening import Happening, happening


@dataclass(frozen=True, slots=True)
class OfMailbox(Happening):
    """Something of a message for a participant in another process."""

    session_id: str
    agent_id: str
    message_id: str
    participant: str


@happening("participant.posted", "debug")
class ParticipantPosted(OfMailbox):
    """The message is in the participant's mailbox."""


@happening("participant.refused", "warning")
class ParticipantRefused(OfMailbox):
    """The participant's mailbox is full; the sender was told."""


@happening("participant.connected")
class ParticipantConnected(Happening):
    """A participant in another process connected."""

    participant: str


@happening("participant.left")
class ParticipantDisconnected(Happening):
    """It left."""

    participant: str
    reason: str


@dataclass(frozen=True, slots=True)
class OfServer(Happening):
    """Something of an agent's server."""

    agent: str
    server: str


@happening("remote.connected")
class RemoteConnected(OfServer):
    """The server answers and has listed its `tools`, which are counted."""

    tools: int


@happening("remote.listed")
class RemoteListed(OfServer):
    """The server's tools have changed."""

    tools: int


@happening("remote.returned", "debug")
class RemoteReturned(OfServer):
    """A call of a tool has ended after `seconds`; `error` says how it failed."""

    playbook: str
    seconds: float
    error: str | None = None


@happening("remote.lost", "warning")
class RemoteLost(OfServer):
    """The connection ended while a call was under way."""

    playbook: str
    error: str


@happening("remote.unreachable", "warning")
class RemoteUnreachable(OfServer):
    """There is no connection."""

    error: str
    retry_after_s: float | None = None


@happening("remote.progressed", "debug")
class RemoteProgressed(OfServer):
    """The progress of a call, in the server's words."""

    text: str


@happening("remote.said", "debug")
class RemoteSaid(OfServer):
    """A text from the server for people."""

    text: str

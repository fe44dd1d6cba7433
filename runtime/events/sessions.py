"""Events of sessions: of their lives, their agents' work, their meetings and their tasks; of participants in other
processes, and of the servers of remote agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.events.happening import Happening, happening


@dataclass(frozen=True, slots=True)
class OfSession(Happening):
    """Something of a session as a whole."""

    session_id: str
    conversation: str


@happening("session.started")
class SessionStarted(OfSession):
    """A session started."""

    program: str


@happening("session.restored")
class SessionRestored(OfSession):
    """A session was restored from its tapes."""

    program: str


@happening("session.rested", "debug")
class SessionRested(OfSession):
    """A session was idle for a while and left memory, `until` a time (ISO 8601) if it waits for one."""

    until: str | None = None


@happening("session.failed", "error")
class SessionFailed(OfSession):
    """A session cannot go on."""

    error: str
    cause: BaseException


@happening("session.fenced", "warning")
class SessionFenced(OfSession):
    """Another node has its shard: a write was refused, and the session leaves memory."""

    reason: str


@happening("content.locked", "error")
class ContentIsLocked(Happening):
    """The content of a conversation is encrypted and cannot be read."""

    conversation: str
    error: str


@dataclass(frozen=True, slots=True)
class OfPlaybook(Happening):
    """Something of a call that nobody in the session made."""

    session_id: str
    agent_id: str
    playbook: str


@happening("report.failed", "error")
class ReportFailed(Happening):
    """A report about a failure could not be made."""

    session_id: str
    error: str


@happening("playbook.started")
class PlaybookStarted(OfPlaybook):
    """A call started."""


@happening("playbook.returned")
class PlaybookReturned(OfPlaybook):
    """It returned."""


@happening("playbook.failed", "error")
class PlaybookFailed(OfPlaybook):
    """It ended with an exception that nobody caught. `raised_at` is the place in one line, `lines` are the lines of
    Python that led to it."""

    error: str
    raised_at: str
    lines: Sequence[str]


@happening("program.logged")
class ProgramLogged(Happening):
    """A program wrote a line, with values by name."""

    session_id: str
    frame: str
    agent_id: str
    agent: str
    playbook: str
    program: str
    line: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OfMeeting(Happening):
    """Something of a meeting."""

    session_id: str
    meeting_id: str


@happening("meeting.started")
class MeetingStarted(OfMeeting):
    """A meeting started."""


@happening("meeting.ended")
class MeetingOver(OfMeeting):
    """It ended."""


@happening("meeting.placeless", "warning")
class MeetingPlaceless(OfMeeting):
    """Its place could not be opened, or can no longer be used."""

    error: str


@happening("task.untold", "warning")
class TaskUntold(Happening):
    """The queue of the agent that ordered a task is full; it is not told the result."""

    session_id: str
    task: int


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

"""Events of sessions: of their lives, their agents' work, their meetings and their tasks; of participants in other
processes, and of the servers of remote agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.events.happening import Happening, happening


class OfSession(Happening, frozen=True):
    """Something of a session as a whole."""

    session_id: str
    conversation: str


@happening("session.started")
class SessionStarted(OfSession, frozen=True):
    program: str


@happening("session.restored")
class SessionRestored(OfSession, frozen=True):
    """A session was restored from its tapes."""

    program: str


@happening("session.rested", "debug")
class SessionRested(OfSession, frozen=True):
    """A session was idle for a while and left memory, `until` a time (ISO 8601) if it waits for one."""

    until: str | None = None


@happening("session.failed", "error")
class SessionFailed(OfSession, frozen=True):
    """A session cannot go on."""

    error: str
    cause: BaseException


@happening("session.fenced", "warning")
class SessionFenced(OfSession, frozen=True):
    """Another node has its shard: a write was refused, and the session leaves memory."""

    reason: str


@happening("content.locked", "error")
class ContentIsLocked(Happening, frozen=True):
    """The content of a conversation is encrypted and cannot be read."""

    conversation: str
    error: str


class OfPlaybook(Happening, frozen=True):
    """Something of a call that nobody in the session made."""

    session_id: str
    agent_id: str
    playbook: str


@happening("report.failed", "error")
class ReportFailed(Happening, frozen=True):
    """A report about a failure could not be made."""

    session_id: str
    error: str


@happening("playbook.started")
class PlaybookStarted(OfPlaybook, frozen=True):
    """A call started."""


@happening("playbook.returned")
class PlaybookReturned(OfPlaybook, frozen=True):
    """It returned."""


@happening("playbook.failed", "error")
class PlaybookFailed(OfPlaybook, frozen=True):
    """It ended with an exception that nobody caught. `raised_at` is the place in one line, `lines` are the lines of
    Python that led to it."""

    error: str
    raised_at: str
    lines: Sequence[str]


@happening("program.logged")
class ProgramLogged(Happening, frozen=True):
    """A program wrote a line, with values by name."""

    session_id: str
    frame: str
    agent_id: str
    agent: str
    playbook: str
    program: str
    line: str
    values: Mapping[str, Any]


class OfMeeting(Happening, frozen=True):
    """Something of a meeting."""

    session_id: str
    meeting_id: str


@happening("meeting.started")
class MeetingStarted(OfMeeting, frozen=True):
    """A meeting started."""


@happening("meeting.ended")
class MeetingOver(OfMeeting, frozen=True):
    """It ended."""


@happening("meeting.placeless", "warning")
class MeetingPlaceless(OfMeeting, frozen=True):
    """Its place could not be opened, or can no longer be used."""

    error: str


@happening("task.untold", "warning")
class TaskUntold(Happening, frozen=True):
    """The queue of the agent that ordered a task is full; it is not told the result."""

    session_id: str
    task: int


class OfMailbox(Happening, frozen=True):
    """Something of a message for a participant in another process."""

    session_id: str
    agent_id: str
    message_id: str
    participant: str


@happening("participant.posted", "debug")
class ParticipantPosted(OfMailbox, frozen=True):
    """The message is in the participant's mailbox."""


@happening("participant.refused", "warning")
class ParticipantRefused(OfMailbox, frozen=True):
    """The participant's mailbox is full; the sender was told."""


@happening("participant.connected")
class ParticipantConnected(Happening, frozen=True):
    """A participant in another process connected."""

    participant: str


@happening("participant.left")
class ParticipantDisconnected(Happening, frozen=True):
    """It left."""

    participant: str
    reason: str


class OfServer(Happening, frozen=True):
    """Something of an agent's server."""

    agent: str
    server: str


@happening("remote.connected")
class RemoteConnected(OfServer, frozen=True):
    """The server answers and has listed its `tools`, which are counted."""

    tools: int


@happening("remote.listed")
class RemoteListed(OfServer, frozen=True):
    """The server's tools have changed."""

    tools: int


@happening("remote.returned", "debug")
class RemoteReturned(OfServer, frozen=True):
    """A call of a tool has ended after `seconds`; `error` says how it failed."""

    playbook: str
    seconds: float
    error: str | None = None


@happening("remote.lost", "warning")
class RemoteLost(OfServer, frozen=True):
    """The connection ended while a call was under way."""

    playbook: str
    error: str


@happening("remote.unreachable", "warning")
class RemoteUnreachable(OfServer, frozen=True):
    """There is no connection."""

    error: str
    retry_after_s: float | None = None


@happening("remote.progressed", "debug")
class RemoteProgressed(OfServer, frozen=True):
    """The progress of a call, in the server's words."""

    text: str


@happening("remote.said", "debug")
class RemoteSaid(OfServer, frozen=True):
    """A text from the server for people."""

    text: str

"""What happens between people and a session: messages come in, pages are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from runtime.core.events import Happening


@dataclass(frozen=True, slots=True)
class AdapterConnected(Happening):
    """The connection to a platform is open."""

    name: ClassVar[str] = "adapter.connected"
    platform: str


@dataclass(frozen=True, slots=True)
class MessageAdmitted(Happening):
    """A person with access did something on a platform; it is kept for the conversation next."""

    name: ClassVar[str] = "message.admitted"
    platform: str
    conversation: str
    message_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class MessageReceived(Happening):
    """A session took a person's message."""

    name: ClassVar[str] = "message.received"
    session_id: str
    conversation: str
    program: str
    message_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class PageOpened(Happening):
    """A part of a text is about to become visible."""

    name: ClassVar[str] = "page.opened"
    session_id: str
    page_id: str
    frame: str
    part: int
    platform: str


@dataclass(frozen=True, slots=True)
class PageSent(Happening):
    """It is visible."""

    name: ClassVar[str] = "page.sent"
    session_id: str
    page_id: str
    frame: str
    part: int
    platform: str


@dataclass(frozen=True, slots=True)
class OfPage(Happening):
    """Something of a page as a whole."""

    session_id: str
    agent_id: str
    page_id: str
    frame: str


@dataclass(frozen=True, slots=True)
class PageClosed(OfPage):
    """The text was closed unfinished, with a mark."""

    name: ClassVar[str] = "page.closed"


@dataclass(frozen=True, slots=True)
class PageFailed(OfPage):
    """The text could not be shown."""

    name: ClassVar[str] = "page.failed"
    error: str


@dataclass(frozen=True, slots=True)
class PageFinished(OfPage):
    """The text has its final form; `delivered`: people see it."""

    name: ClassVar[str] = "page.finished"
    delivered: bool

"""What happens between people and a session: messages come in, pages are shown."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.core.events import Happening, happening


@happening("adapter.connected")
class AdapterConnected(Happening):
    """The connection to a platform is open."""

    platform: str


@happening("message.admitted")
class MessageAdmitted(Happening):
    """A person with access did something on a platform; it is kept for the conversation next."""

    platform: str
    conversation: str
    message_id: str
    kind: str


@happening("message.received")
class MessageReceived(Happening):
    """A session took a person's message."""

    session_id: str
    conversation: str
    program: str
    message_id: str
    participant_id: str


@dataclass(frozen=True, slots=True)
class OfPagePart(Happening):
    """Something of one part of a page."""

    session_id: str
    page_id: str
    frame: str
    part: int
    platform: str


@happening("page.opened")
class PageOpened(OfPagePart):
    """A part of a text is about to become visible."""


@happening("page.sent")
class PageSent(OfPagePart):
    """It is visible."""


@dataclass(frozen=True, slots=True)
class OfPage(Happening):
    """Something of a page as a whole."""

    session_id: str
    agent_id: str
    page_id: str
    frame: str


@happening("page.closed")
class PageClosed(OfPage):
    """The text was closed unfinished, with a mark."""


@happening("page.failed")
class PageFailed(OfPage):
    """The text could not be shown."""

    error: str


@happening("page.finished")
class PageFinished(OfPage):
    """The text has its final form; `delivered`: people see it."""

    delivered: bool

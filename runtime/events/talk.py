"""Events between people and a session: messages come in, channels and the streams in them carry what is said, pages are
shown.
"""

from __future__ import annotations

from runtime.events.happening import Happening, happening


@happening("adapter.connected")
class AdapterConnected(Happening, frozen=True):
    """The connection to a platform is open."""

    platform: str


@happening("message.admitted", "debug")
class MessageAdmitted(Happening, frozen=True):
    """A person with access did something on a platform; it is kept for the conversation next."""

    platform: str
    conversation: str
    message_id: str
    kind: str


@happening("message.received")
class MessageReceived(Happening, frozen=True):
    """A session took a person's message."""

    session_id: str
    conversation: str
    program: str
    message_id: str
    participant_id: str


@happening("feedback.given")
class AnswerRated(Happening, frozen=True):
    """A person rated what an agent said, or took that back: "none"."""

    session_id: str
    conversation: str
    program: str
    message_id: str
    participant_id: str
    rating: str
    step: str
    model: str


class OfPagePart(Happening, frozen=True):
    """Something of one part of a page."""

    session_id: str
    page_id: str
    frame: str
    part: int
    platform: str


@happening("page.opened", "debug")
class PageOpened(OfPagePart, frozen=True):
    """A part of a text is about to become visible."""


@happening("page.sent", "debug")
class PageSent(OfPagePart, frozen=True):
    """It is visible."""


class OfPage(Happening, frozen=True):
    """Something of a page as a whole."""

    session_id: str
    agent_id: str
    page_id: str
    frame: str


@happening("page.closed")
class PageCutShort(OfPage, frozen=True):
    """The text was closed unfinished, with a mark."""


@happening("page.failed", "error")
class PageFailed(OfPage, frozen=True):
    """The text could not be shown."""

    error: str


@happening("page.finished")
class PageSettled(OfPage, frozen=True):
    """The text has its final form; `delivered`: people see it."""

    delivered: bool


class OnPlatform(Happening, frozen=True):
    """Something that only the pages of a platform know."""

    page_id: str
    conversation: str


@happening("page.refused", "warning")
class PageRefused(OnPlatform, frozen=True):
    """The platform refused the text permanently."""

    part: int
    reason: str


@happening("page.checked", "debug")
class PageChecked(OnPlatform, frozen=True):
    """The platform shows the text that was said, in `parts` messages, and nothing else of the page."""

    parts: int
    chars: int


@happening("page.diverged", "warning")
class PageDiverged(OnPlatform, frozen=True):
    """The platform shows something different, in another place or too much."""

    cause: str
    part: int | None = None
    reason: str | None = None


@happening("page.orphaned", "warning")
class PageOrphaned(OnPlatform, frozen=True):
    """A crash or a lost answer may have left a message that nobody finishes."""

    part: int
    reason: str


@happening("adapter.rate_limited", "warning")
class AdapterRateLimited(OnPlatform, frozen=True):
    """A platform asked for a pause."""

    part: int
    retry_after_s: float


@happening("adapter.failed", "error")
class AdapterFailed(Happening, frozen=True):
    """A platform refuses the token or the permissions."""

    platform: str
    error: str


@happening("adapter.broke", "error")
class AdapterBroke(Happening, frozen=True):
    """The connection to a platform ended by a fault; it is opened again after a pause."""

    platform: str
    error: str
    pause_s: float


@happening("channel.created")
class ChannelCreated(Happening, frozen=True):
    """A channel was created; `participants` are counted."""

    channel_id: str
    participants: int


@happening("channel.watcher_failed", "warning")
class WatcherFailed(Happening, frozen=True):
    """An observer of channels raised an exception, or an extension's function took too long."""

    error: str
    channel_id: str | None = None
    extension: str | None = None


@happening("stream.started", "debug")
class StreamStarted(Happening, frozen=True):
    """An utterance is in progress."""

    stream_id: str
    channel_id: str
    agent_id: str


@happening("stream.completed", "debug")
class StreamCompleted(Happening, frozen=True):
    """An utterance is complete, `corrected` after it was shown; or it has no message (`failed`)."""

    stream_id: str
    channel_id: str
    agent_id: str
    failed: bool
    corrected: bool


@happening("stream.observer_failed", "warning")
class ObserverFailed(Happening, frozen=True):
    """An observer of a stream raised an exception, or an extension's function took too long."""

    error: str
    channel_id: str | None = None
    stream_id: str | None = None
    extension: str | None = None


@happening("message.routed", "debug")
class MessageRouted(Happening, frozen=True):
    """An agent is about to say something: to whom in its own words, and how many characters."""

    session_id: str
    frame: str
    channel_id: str
    sender_id: str
    receiver_spec: str
    message_length: int


@happening("message.delivered")
class MessageDelivered(Happening, frozen=True):
    """An utterance reached its channel."""

    session_id: str
    agent_id: str
    playbook: str
    message_id: str
    chars: int


@happening("message.undelivered", "warning")
class MessageUndelivered(Happening, frozen=True):
    """A message reached nobody, or not this participant."""

    error: str
    meeting_id: str | None = None
    channel_id: str | None = None
    participant_id: str | None = None
    message_id: str | None = None
    extension: str | None = None

"""Events of channels and of the streams in them."""

from __future__ import annotations

from runtime.events.happening import Happening, happening


@happening("channel.created")
class ChannelCreated(Happening):
    """A channel was created; `participants` are counted."""

    channel_id: str
    participants: int


@happening("channel.watcher_failed", "warning")
class WatcherFailed(Happening):
    """An observer of channels raised an exception, or an extension's function took too long."""

    error: str
    channel_id: str | None = None
    extension: str | None = None


@happening("stream.started", "debug")
class StreamStarted(Happening):
    """An utterance is in progress."""

    stream_id: str
    channel_id: str
    agent_id: str


@happening("stream.completed", "debug")
class StreamCompleted(Happening):
    """An utterance is complete, `corrected` after it was shown; or it has no message (`failed`)."""

    stream_id: str
    channel_id: str
    agent_id: str
    failed: bool
    corrected: bool


@happening("stream.observer_failed", "warning")
class ObserverFailed(Happening):
    """An observer of a stream raised an exception, or an extension's function took too long."""

    error: str
    channel_id: str | None = None
    stream_id: str | None = None
    extension: str | None = None


@happening("message.routed", "debug")
class MessageRouted(Happening):
    """An agent is about to say something: to whom in its own words, and how many characters."""

    session_id: str
    frame: str
    channel_id: str
    sender_id: str
    receiver_spec: str
    message_length: int


@happening("message.delivered")
class MessageDelivered(Happening):
    """An utterance reached its channel."""

    session_id: str
    agent_id: str
    playbook: str
    message_id: str
    chars: int


@happening("message.undelivered", "warning")
class MessageUndelivered(Happening):
    """A message reached nobody, or not this participant."""

    error: str
    meeting_id: str | None = None
    channel_id: str | None = None
    participant_id: str | None = None
    message_id: str | None = None
    extension: str | None = None

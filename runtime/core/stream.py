"""An utterance in progress: start, chunks in order, complete exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.core.ids import ChannelId, ParticipantId, StreamId
from runtime.core.message import Message


@dataclass(frozen=True, slots=True)
class StreamStart:
    """`recipient_id` None means everyone in the channel."""

    stream_id: StreamId
    channel_id: ChannelId
    sender_id: ParticipantId
    sender_class: str
    recipient_id: ParticipantId | None = None


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """The next piece of the text."""

    stream_id: StreamId
    text: str
    recipient_id: ParticipantId | None = None


@dataclass(frozen=True, slots=True)
class StreamComplete:
    """The end of a stream. `message` is None when it failed or was cancelled; `error` says why.

    `corrected`: the final text does not begin with what was streamed; show the message's content in its place.
    """

    stream_id: StreamId
    message: Message | None
    recipient_id: ParticipantId | None = None
    error: str | None = None
    corrected: bool = False


class StreamObserver(Protocol):
    """Sees start, then chunks in order, then complete. What it raises is counted, never passed on."""

    async def on_stream_start(self, event: StreamStart, /) -> None: ...
    async def on_stream_chunk(self, event: StreamChunk, /) -> None: ...
    async def on_stream_complete(self, event: StreamComplete, /) -> None: ...

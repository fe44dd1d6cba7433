"""Open spans: stretches of work, and the frames in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext, Status, StatusCode, set_span_in_context

from gateway.observability.tracing import names
from runtime.events.frames import FrameAbout

MAX_REMEMBERED = 1_000
"""The number of pages on their way and of ended frames that are remembered."""

Key = tuple[str, str]
"""A frame, or a page, by its session and its id there."""


@dataclass(slots=True)
class SpanStretch:
    """The spans above a root frame; `agent` and `program` end with it."""

    program: Span
    agent: Span
    began: datetime


@dataclass(slots=True)
class OpenFrame:
    """A frame in memory. `span` is None while it waits, `before` where its last span was.

    `since` when it was taken up, for one that is at work and has no span yet.
    """

    about: FrameAbout
    span: Span | None = None
    before: SpanContext | None = None
    since: datetime | None = None
    arguments: Any = None
    at_work: set[str] = field(default_factory=set)
    """The frames that it called and that have a span."""
    waits: bool = False
    chat: Span | None = None
    chat_model: str = ""

    @property
    def place(self) -> SpanContext | None:
        """The place of its current or last span; None when it has had none here."""
        return self.before if self.span is None else self.span.get_span_context()


def make_room(remembered: dict[Key, Any]) -> None:
    """Forget the oldest entries beyond the limit."""
    if len(remembered) >= MAX_REMEMBERED:
        del remembered[next(iter(remembered))]


def root_of(frame: str) -> str:
    """The root frame above a frame."""
    return frame.partition(":")[0]


def nanoseconds(at: datetime) -> int:
    """A time in nanoseconds since 1970, as spans have it."""
    return int(at.timestamp() * 1_000_000) * 1_000


def within(span: Span) -> Context:
    """The place below a span."""
    return set_span_in_context(span, Context())


def fail(span: Span, failed: tuple[str, str | None]) -> None:
    """Mark a span with an error, its type and its text."""
    kind, text = failed
    span.set_attribute(names.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, text))

"""Spans of pages on platforms. A page may still be on its way when its frame has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import NonRecordingSpan, Span, SpanKind, Status, StatusCode

from gateway.observability.tracing import names
from gateway.observability.tracing.names import whose
from gateway.observability.tracing.open_spans import Key, OpenFrame, make_room, nanoseconds, within
from runtime.bus import Kind
from runtime.events.talk import OfPage, PageCutShort, PageFailed, PageOpened, PageSettled

_ENDS: Sequence[type[OfPage]] = (PageSettled, PageFailed, PageCutShort)


class Publisher(Protocol):
    """The part of the bus that is used here."""

    def hear(self, kind: type[Kind], handler: Callable[[Kind, datetime], None]) -> Callable[[], None]: ...


class PageSpans:
    """One span a page, below its frame, which `frame_of` knows by its key."""

    def __init__(self, tracer: Tracer, frame_of: Callable[[Key], OpenFrame | None]) -> None:
        self._tracer = tracer
        self._frame_of = frame_of
        self._open: dict[Key, Span] = {}

    def attach(self, bus: Publisher) -> list[Callable[[], None]]:
        """Hear `bus` until the returned functions are called."""
        return [bus.hear(PageOpened, self._begin), *(bus.hear(kind, self._end) for kind in _ENDS)]

    def end_all(self) -> None:
        """End every open span."""
        for page in self._open.values():
            page.end()
        self._open.clear()

    def _begin(self, what: PageOpened, at: datetime) -> None:
        page = (what.session_id, what.page_id)
        known = self._frame_of((what.session_id, what.frame))
        place = None if known is None else known.place
        if known is None or place is None or page in self._open:
            return
        make_room(self._open)
        attributes = {**whose(known.about), names.PLATFORM: what.platform, names.SPAN_KIND: "CHAIN"}
        above = within(NonRecordingSpan(place))
        self._open[page] = self._tracer.start_span(
            f"show {what.platform}", above, SpanKind.PRODUCER, attributes, start_time=nanoseconds(at)
        )

    def _end(self, what: OfPage, at: datetime) -> None:
        span = self._open.pop((what.session_id, what.page_id), None)
        if span is None:
            return
        if isinstance(what, PageSettled):
            span.set_attribute(names.DELIVERED, what.delivered)
        if isinstance(what, PageFailed):
            span.set_status(Status(StatusCode.ERROR))
        span.end(nanoseconds(at))

"""Spans of pages on platforms. A page may still be on its way when its frame has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import NonRecordingSpan, Span, SpanKind, Status, StatusCode

from gateway.observability.tracing import names
from gateway.observability.tracing.attributes import whose
from gateway.observability.tracing.open_spans import Key, OpenFrame, make_room, nanoseconds, within
from runtime.core.events import Event


class PageSpans:
    """One span a page, below its frame, which `frame_of` knows by its key."""

    def __init__(self, tracer: Tracer, frame_of: Callable[[Key], OpenFrame | None]) -> None:
        self._tracer = tracer
        self._frame_of = frame_of
        self._open: dict[Key, Span] = {}

    @property
    def handlers(self) -> Mapping[str, Callable[[Event], None]]:
        """The handlers by event."""
        return {"page.opened": self._begin} | dict.fromkeys(("page.finished", "page.failed", "page.closed"), self._end)

    def end_all(self) -> None:
        """End every open span."""
        for page in self._open.values():
            page.end()
        self._open.clear()

    def _begin(self, event: Event) -> None:
        session, platform = str(event.data["session_id"]), str(event.data["platform"])
        page = (session, str(event.data["page_id"]))
        known = self._frame_of((session, str(event.data["frame"])))
        place = None if known is None else known.place
        if known is None or place is None or page in self._open:
            return
        make_room(self._open)
        attributes = {**whose(known.about), names.PLATFORM: platform, names.SPAN_KIND: "CHAIN"}
        above, at = within(NonRecordingSpan(place)), nanoseconds(event.at)
        self._open[page] = self._tracer.start_span(
            f"show {platform}", above, SpanKind.PRODUCER, attributes, start_time=at
        )

    def _end(self, event: Event) -> None:
        span = self._open.pop((str(event.data.get("session_id")), str(event.data.get("page_id"))), None)
        if span is None:
            return
        if "delivered" in event.data:
            span.set_attribute(names.DELIVERED, bool(event.data["delivered"]))
        if event.name == "page.failed":
            span.set_status(Status(StatusCode.ERROR))
        span.end(nanoseconds(event.at))

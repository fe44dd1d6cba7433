"""Tracing by OpenTelemetry: the only module that knows the SDK's parts together. Imported only when tracing is on."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from gateway.observability.tracing.open_spans import SpanContent, SpanIds
from gateway.observability.tracing.spans import Spans
from gateway.observability.watching import SecretMasking
from gateway.settings.operation import TracingSettings
from gateway.version import VERSION
from runtime.bus import Bus
from runtime.core.background import beside
from runtime.events.happening import Tell
from runtime.events.service import TracingFailed, TracingResumed

MAX_WAITING = 4_096
"""The number of waiting spans; further ones are dropped."""

BATCH = 512
GATHERED_S = 1.0
"""A batch is sent when it is full, or this long after its first span."""

FLUSHED_WITHIN_S = 3.0
"""The time for the remaining spans at the end."""

_LIBRARY = "opentelemetry"

SCOPE = "parley"


class Shipping(SpanProcessor):
    """Keeps finished spans until they are sent. `dropped` counts those that never were."""

    def __init__(self, exporter: SpanExporter, tell: Tell) -> None:
        self.dropped = 0
        self._exporter = exporter
        self._tell = tell
        self._waiting: deque[ReadableSpan] = deque()
        self._arrived = anyio.Event()
        self._full = anyio.Event()
        self._failing = False
        self._remarks = _Remarks()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """See `SpanProcessor`."""

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, or count it as dropped. Never waits."""
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.append(span)
        self._arrived.set()
        if len(self._waiting) >= BATCH:
            self._full.set()

    async def run(self) -> None:
        """Send spans as they come, until cancelled."""
        while True:
            await self._arrived.wait()
            with anyio.move_on_after(GATHERED_S):
                await self._full.wait()
            await self._send()

    async def flush(self) -> None:
        """Send the remaining spans within a time limit and end the connection. The rest is dropped."""
        with anyio.move_on_after(FLUSHED_WITHIN_S, shield=True):
            while self._waiting and not self._failing:
                await self._send()
        self._exporter.shutdown()
        self._remarks.end()

    async def _send(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        if not self._waiting:
            self._arrived = anyio.Event()
        if len(self._waiting) < BATCH:
            self._full = anyio.Event()
        if not batch:
            return
        if await self._exported(batch):
            if self._failing:
                self._tell(TracingResumed(self.dropped))
            self._failing = False
            return
        self.dropped += len(batch)
        if not self._failing:
            self._tell(TracingFailed(self._remarks.last or "nobody took them", self.dropped))
        self._failing = True

    async def _exported(self, batch: Sequence[ReadableSpan]) -> bool:
        """Whether the collector took the spans. Runs in a thread that the end of the process does not wait for."""
        loop, done, results = asyncio.get_running_loop(), anyio.Event(), list[SpanExportResult]()

        def export() -> None:
            try:
                results.append(self._exporter.export(batch))
            except Exception as error:  # noqa: BLE001 - whatever the library raises: these spans are lost, and it is told
                self._remarks.last = f"{type(error).__name__}: {error}"
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=export, name="spans", daemon=True).start()
        await done.wait()
        return results == [SpanExportResult.SUCCESS]


class _Remarks(logging.Handler):
    """Keeps the library's last remark and keeps it off standard error, because Parley reports it once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self._logger = logging.getLogger(_LIBRARY)
        self._propagated, self._logger.propagate = self._logger.propagate, False
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()

    def end(self) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._propagated


@asynccontextmanager
async def traced(
    settings: TracingSettings, endpoint: str, headers: Mapping[str, str], node: str, bus: Bus, masking: SecretMasking
) -> AsyncIterator[Shipping]:
    """Export the events of `bus` as spans within the context, with these headers. At its end every span ends and is
    sent if possible.
    """
    sent, limit_s = dict(headers), settings.timeout_s
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=sent, timeout=limit_s, compression=Compression.Gzip)
    shipping = Shipping(exporter, bus.publish)
    ids = SpanIds()
    content = SpanContent(masking, on=settings.content)
    spans = Spans(tracer_of(shipping, ids, node), ids, content, share=settings.share)
    detach = spans.attach(bus)
    try:
        async with beside() as tasks:
            tasks.start_soon(shipping.run)
            yield shipping
    finally:
        detach()
        await shipping.flush()


def tracer_of(shipping: Shipping, ids: SpanIds, node: str) -> Tracer:
    """A tracer whose spans go to `shipping`. The standard variables may add to the resource or rename it."""
    resource = Resource.create({"service.version": VERSION, "service.instance.id": node})
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": SCOPE}))
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(shipping)
    tracer = provider.get_tracer(SCOPE, VERSION)
    assert isinstance(tracer, Tracer)
    return tracer

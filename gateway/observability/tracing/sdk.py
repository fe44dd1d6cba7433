"""Tracing by OpenTelemetry: the only module that knows the SDK's parts together. Imported only when tracing is on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Tracer, TracerProvider

from gateway.observability.masking import Masking
from gateway.observability.tracing.content import SpanContent
from gateway.observability.tracing.export import Shipping
from gateway.observability.tracing.ids import SpanIds
from gateway.observability.tracing.spans import Spans
from gateway.version import VERSION
from runtime.bus import Bus
from runtime.core.background import beside

SCOPE = "parley"


@dataclass(frozen=True, slots=True)
class TracingOptions:
    """`endpoint` is the URL to post to, `headers` are sent along; see gateway/settings/connections/tracing.py."""

    endpoint: str
    headers: Mapping[str, str]
    node: str
    content: bool = False
    share: float = 1.0
    timeout_s: float = 5.0


@asynccontextmanager
async def traced(options: TracingOptions, bus: Bus, masking: Masking) -> AsyncIterator[Shipping]:
    """Export the events of `bus` as spans within the context. At its end every span ends and is sent if possible."""
    exporter = OTLPSpanExporter(
        endpoint=options.endpoint,
        headers=dict(options.headers),
        timeout=options.timeout_s,
        compression=Compression.Gzip,
    )
    shipping = Shipping(exporter, bus.publish)
    ids = SpanIds()
    spans = Spans(
        tracer_of(shipping, ids, options.node), ids, SpanContent(masking, on=options.content), share=options.share
    )
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

"""The set-up of tracing and metrics. Their libraries are imported only if they are on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.observability.watching import NodeGauges, SecretMasking
from gateway.settings.operation import MetricsSettings, TracingSettings
from gateway.settings.tree import otel_variables
from gateway.web.guard import MetricsScrape
from runtime.bus import Bus
from runtime.core.errors import ConfigError
from runtime.events.service import TracingFailed


@asynccontextmanager
async def telling_spans(settings: TracingSettings, bus: Bus, masking: SecretMasking, node: str) -> AsyncIterator[None]:
    """Export the events of `bus` to the collector of the settings; without OpenTelemetry only a warning.

    Raises ConfigError if no collector is configured.
    """
    if not settings.on:
        yield
        return
    variables = otel_variables()
    endpoint = settings.target(variables)
    if endpoint is None:
        raise ConfigError("tracing.on is set, but spans have no destination; set tracing.endpoint.")
    try:
        from gateway.observability.tracing.sdk import traced
    except ImportError as error:
        why = f'tracing.on needs the extra "otel": pip install "parley-gateway[otel]" ({error}). No spans are sent.'
        bus.publish(TracingFailed(why, 0))
        yield
        return
    headers = settings.sent_headers(variables)
    masking.hide(word for value in headers.values() for word in (value, value.rpartition(" ")[2]))
    async with traced(settings, endpoint, headers, node, bus, masking):
        yield


def counting(settings: MetricsSettings, bus: Bus, gauges: NodeGauges) -> MetricsScrape | None:
    """Count the events of `bus` for requests with the token; None if no token is set."""
    if settings.token is None:
        return None
    from gateway.observability.metrics import CONTENT_TYPE, ProcessMetrics

    metrics = ProcessMetrics(gauges)
    metrics.attach(bus)
    return MetricsScrape(settings.token.get_secret_value(), metrics.text, CONTENT_TYPE)

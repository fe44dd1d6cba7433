"""Spans on their way to a real collector: who we say we are, what is dropped, what never waits."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from gateway.observability.tracing.open_spans import SpanIds
from gateway.observability.tracing.sdk import MAX_WAITING, Shipping, traced, tracer_of
from gateway.observability.tracing.setup import telling_spans
from gateway.observability.watching import SecretMasking
from gateway.settings.operation import TracingSettings
from runtime.bus import Bus
from runtime.core.background import beside
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.events.frames import FrameAbout, FrameCompleted, FrameOpened
from runtime.events.happening import BusEvent
from tests.fakes.observing.span_collector import KEYS, collecting
from tests.fakes.servers.ports import free_port

ROOT = Path(__file__).parents[5]
HEADERS = {"authorization": KEYS, "x-langfuse-ingestion-version": "4"}


def happen(bus: Bus, *, times: int = 1) -> None:
    """A frame begins and returns."""
    for number in range(times):
        whose = ("s1", "test:1", "test", f"1000.{number}", None, "1000")
        about = FrameAbout(*whose, "Shop", "Main", "python", participant_id=None, meeting_id=None)
        bus.publish(FrameOpened(about, {}))
        bus.publish(FrameCompleted(about, None))


def traced_to(
    url: str, bus: Bus, headers: Mapping[str, str] = HEADERS, *, timeout_s: float = 30
) -> AbstractAsyncContextManager[Shipping]:
    return traced(TracingSettings(timeout_s=timeout_s), url, headers, "node-1", bus, SecretMasking())


class Heard:
    """What is told about tracing itself."""

    def __init__(self, bus: Bus) -> None:
        self.events: list[BusEvent] = []
        self._changed = anyio.Event()
        bus.subscribe("tracing.*", self._hear)

    def _hear(self, event: BusEvent) -> None:
        self.events.append(event)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def until(self, *names: str) -> None:
        with anyio.fail_after(40):
            while [event.name for event in self.events] != list(names):
                await self._changed.wait()


async def test_spans_are_posted_with_keys_and_version_and_say_whose_they_are() -> None:
    bus = Bus(SystemClock())
    async with collecting() as collector:
        async with traced_to(collector.url, bus):
            happen(bus)
            await collector.until(lambda: len(collector.spans) == 3)
        assert [span.name for span in collector.spans] == ["Shop.Main", "Shop", "test"]
        assert collector.versions == ["4"]
        (resource,) = collector.resources
    assert resource["service.name"] == "parley"
    assert resource["service.instance.id"] == "node-1"


async def test_what_is_left_at_the_end_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.observability.tracing.sdk.FLUSHED_WITHIN_S", 60.0)
    bus = Bus(SystemClock())
    async with collecting() as collector:
        async with traced_to(collector.url, bus):
            happen(bus)
        assert len(collector.spans) == 3


async def test_a_collector_that_refuses_is_told_of_once_until_it_takes_spans_again() -> None:
    bus = Bus(SystemClock())
    heard = Heard(bus)
    async with collecting() as collector, traced_to(collector.url, bus) as shipping:
        collector.refuses = 403
        happen(bus)
        await heard.until("tracing.failed")
        happen(bus)
        await collector.until(lambda: collector.asked == 2)
        collector.refuses = None
        happen(bus)
        await collector.until(lambda: len(collector.spans) == 3)
        await heard.until("tracing.failed", "tracing.resumed")
        assert shipping.dropped == 6
    assert "403" in heard.events[0].data["error"]
    assert [event.data["dropped"] for event in heard.events] == [3, 6]


async def test_wrong_keys_are_named_and_never_shown() -> None:
    bus = Bus(SystemClock())
    heard = Heard(bus)
    async with (
        collecting() as collector,
        traced_to(collector.url, bus, {"authorization": "Basic no"}),
    ):
        happen(bus)
        await heard.until("tracing.failed")
    assert "401" in heard.events[0].data["error"]


class Odd(SpanExporter):
    """Raises at the first that it is given, instead of saying that it failed."""

    def __init__(self) -> None:
        self.asked = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked += 1
        if self.asked == 1:
            raise ValueError("they cannot be written")
        return SpanExportResult.SUCCESS


async def test_spans_at_which_the_library_raises_are_dropped_and_later_ones_are_sent() -> None:
    bus = Bus(SystemClock())
    heard = Heard(bus)
    shipping = Shipping(Odd(), bus.publish)
    tracer = tracer_of(shipping, SpanIds(), "node-1")
    async with beside() as tasks:
        tasks.start_soon(shipping.run)
        tracer.start_span("one").end()
        await heard.until("tracing.failed")
        tracer.start_span("two").end()
        await heard.until("tracing.failed", "tracing.resumed")
    await shipping.flush()
    assert heard.events[0].data == {"error": "ValueError: they cannot be written", "dropped": 1}


async def test_nobody_waits_for_a_collector_that_is_away_and_what_does_not_fit_is_counted() -> None:
    bus = Bus(SystemClock())
    async with traced_to(f"http://127.0.0.1:{free_port()}/v1/traces", bus, {}) as shipping:
        happen(bus, times=MAX_WAITING)  # all before anything could be sent
        assert shipping.dropped == 2 * MAX_WAITING
        assert bus.failures == 0


async def test_a_collector_that_never_answers_does_not_keep_the_process_from_stopping() -> None:
    bus = Bus(SystemClock())
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(SocketAttribute.local_port)  # the system accepts, and nobody reads
        with anyio.fail_after(40):
            async with traced_to(f"http://127.0.0.1:{port}/v1/traces", bus, {}, timeout_s=50):
                happen(bus)
        assert {thread.daemon for thread in threading.enumerate() if thread.name == "spans"} == {True}


async def test_where_tracing_is_not_installed_that_is_told_and_everything_else_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "gateway.observability.tracing.sdk")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    settings = TracingSettings(on=True, endpoint="http://127.0.0.1:1/v1/traces")
    heard: list[str] = []
    bus = Bus(SystemClock())
    bus.subscribe("tracing.failed", lambda event: heard.append(str(event.data["error"])))
    async with telling_spans(settings, bus, SecretMasking(), "node-1"):
        happen(bus)
    (said,) = heard
    assert said.startswith('tracing.on needs the extra "otel": pip install')


async def test_switched_off_nothing_is_told_and_on_it_needs_a_place() -> None:
    bus = Bus(SystemClock())
    async with telling_spans(TracingSettings(), bus, SecretMasking(), "node-1"):
        pass
    with pytest.raises(ConfigError, match=r"set tracing\.endpoint"):
        async with telling_spans(TracingSettings(on=True), bus, SecretMasking(), "node-1"):
            pass


def test_our_settings_go_before_the_standard_variables() -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/",
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20one,x-more=1",
    }
    assert TracingSettings().target(variables) == "http://collector:4318/v1/traces"
    assert TracingSettings().target(variables | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x/t"}) == "http://x/t"
    own = TracingSettings.model_validate({"endpoint": "https://one/t", "headers": "authorization=Basic two=="})
    assert own.target(variables) == "https://one/t"
    assert own.sent_headers(variables) == {"authorization": "Basic two==", "x-more": "1"}
    assert own.words() == {"Basic two==", "two=="}
    assert own.target({}) == "https://one/t"
    with pytest.raises(ValueError, match="lines of name=value"):
        TracingSettings.model_validate({"headers": "Basic two"})


def test_what_tracing_and_metrics_need_is_imported_only_when_they_are_switched_on() -> None:
    ours = ("gateway.observability.tracing.sdk", "opentelemetry.exporter", "prometheus_client")
    program = f"import sys, gateway.assembly.app; print([name for name in {ours!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

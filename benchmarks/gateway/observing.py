"""The cost of logs, spans and metrics, per event and per turn: `python -m benchmarks.gateway.observing`.

The events are those of a real conversation of two turns, with nested calls; they are published once more, many times,
to one subscriber after the other. The floor is the bus with somebody who does nothing.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from benchmarks.table import Row, show
from gateway.observability.logs import LogWriter
from gateway.observability.metrics import ProcessMetrics
from gateway.observability.tracing.open_spans import SpanContent, SpanIds
from gateway.observability.tracing.sdk import Shipping, tracer_of
from gateway.observability.tracing.spans import Spans
from gateway.observability.watching import NodeGauges, SecretMasking
from gateway.settings.execution import LogSettings
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.happening import BusEvent
from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox
from tests.fakes.observing.span_tree import told_again
from tests.fakes.people.talk import Model, block, talking
from tests.unit.runtime.sessions import programs as small

TIMES = 300
TRIES = 5

_CODE = """
async def Look(query):
    return await Find(query)

async def Find(query):
    return "nothing about " + query
"""


class _Nowhere(SpanExporter):
    """Takes what comes."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


async def conversation() -> Sequence[BusEvent]:
    """What happens in two turns: a question, and an answer after two nested calls."""
    main = small.llm("Main", "01:QUE Ask", "02:QUE Answer", begins=True)
    shop = small.agent("Shop", main, small.python("Look", "query"), small.python("Find", "query"), code=_CODE)
    model = Model(
        block('await Step("Main:01:QUE")', 'await Say("user", "What?")', 'await Yld("user")'),
        block(
            'await Step("Main:02:QUE")',
            'found = await Look("x")',
            'await Say("user", found)',
            "await Return(found)",
        ),
    )
    async with MontySandbox(max_workers=1) as sandbox, talking(small.program(shop), model, sandbox) as talk:
        await talk.say("hello")
        await talk.say("something")
        return talk.events


async def _none(_shards: object) -> tuple[int, int]:
    return 0, 0


def metrics(bus: Bus) -> ProcessMetrics:
    """Metrics that count what happens on `bus`."""
    made = ProcessMetrics(NodeGauges(frozenset, int, int, int, int, bool, _none))
    made.attach(bus)
    return made


def spans(bus: Bus) -> None:
    """Spans, made and thrown away."""
    shipping, ids = Shipping(_Nowhere(), bus.publish), SpanIds()
    Spans(tracer_of(shipping, ids, "node"), ids, SpanContent(SecretMasking(), on=False)).attach(bus)


def conversation_us(events: Sequence[BusEvent], watch: Callable[[Bus], object]) -> float:
    """Telling of the whole conversation once, in microseconds of the processor: the best of some tries."""
    found = []
    for _ in range(TRIES):
        bus = Bus(SystemClock())
        watch(bus)
        started = time.process_time()
        for _ in range(TIMES):
            for event in events:
                told_again(bus, event)
        found.append((time.process_time() - started) / TIMES * 1e6)
        assert bus.failures == 0
    return min(found)


def nobody(bus: Bus) -> None:
    """Somebody who does nothing."""
    bus.subscribe("*", lambda _event: None)


def logs(bus: Bus) -> None:
    """Lines at level info, as JSON."""
    LogWriter(LogSettings(), SecretMasking(), stream=io.StringIO()).attach(bus)


def scrape_ms(events: Sequence[BusEvent]) -> float:
    """Answering Prometheus once, in milliseconds."""
    bus = Bus(SystemClock())
    counted = metrics(bus)
    for event in events:
        told_again(bus, event)

    async def some() -> float:
        started = time.perf_counter()
        for _ in range(20):
            await counted.text()
        return (time.perf_counter() - started) / 20 * 1e3

    return asyncio.run(some())


def run() -> list[Row]:
    """The rows of this benchmark."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        events = runner.run(conversation())
    floor = conversation_us(events, nobody)
    rows = []
    for name, watch in (("logs", logs), ("metrics", metrics), ("spans", spans)):
        taken = conversation_us(events, watch)
        rows.append(
            Row(f"telling {name} of an event", taken / len(events), "µs", floor / len(events), "nobody listens")
        )
        rows.append(Row(f"telling {name} of a turn", taken / 2, "µs", floor / 2, "nobody listens"))
    rows.append(Row("answering Prometheus", scrape_ms(events), "ms"))
    return rows


if __name__ == "__main__":
    print(show(run()))

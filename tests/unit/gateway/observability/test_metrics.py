"""What is counted, read as Prometheus reads it; and the table of the documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.observability.metrics import MAX_LABELS, ProcessMetrics
from gateway.observability.watching import NodeGauges
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.frames import LLMFailed, LLMRequested, StepRejected
from runtime.events.service import JobFailed
from runtime.events.talk import (
    AdapterRateLimited,
    MessageAdmitted,
    MessageReceived,
    ObserverFailed,
    PageOrphaned,
    PageSent,
)
from runtime.llm.client import Usage
from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.observing.span_tree import told_again
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.gateway.observability.tracing.test_spans import FIRST_TURN, SECOND_TURN, SHOP

pytestmark = pytest.mark.anyio

AT = ("s", "1000.0", "1000", "Main")
DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "metrics.md"


async def three_waiting(shards: Collection[int]) -> tuple[int, int]:
    return 3, len(shards)


async def away(_shards: Collection[int]) -> tuple[int, int]:
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


def gauges(**more: Any) -> NodeGauges:
    asked: dict[str, Any] = {"shards": lambda: frozenset({1, 2}), "conversations": lambda: 5, "at_work": lambda: 1}
    asked |= {"sandbox_busy": lambda: 2, "sandbox_workers": lambda: 4, "sandbox_jailed": lambda: True}
    return NodeGauges(**{**asked, "waiting": three_waiting, **more})


async def read(metrics: ProcessMetrics) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families((await metrics.text()).decode())}


async def values(metrics: ProcessMetrics) -> dict[str, float]:
    """Every sample that is not 0, by its name and labels."""
    families = await read(metrics)
    return {
        " ".join(
            [sample.name.removeprefix("parley_"), *(sample.labels[name] for name in sorted(sample.labels))]
        ): sample.value
        for family in families.values()
        for sample in family.samples
        if sample.value and family.name.startswith("parley_") and not sample.name.endswith("_bucket")
    }


async def test_a_conversation_is_counted_from_message_to_message(sandbox: MontySandbox) -> None:
    model = Model(Reply(FIRST_TURN.text, usage=Usage(100, 20, 80, 0.5)), SECOND_TURN)
    metrics = ProcessMetrics(gauges())
    async with talking(SHOP, model, sandbox) as talk:
        await talk.say("hello there")
        await talk.say("some query")
    bus = Bus(talk.world.clock)
    metrics.attach(bus)
    for event in talk.events:
        told_again(bus, event)
    assert bus.failures == 0
    found = await values(metrics)
    assert {name: value for name, value in found.items() if "seconds" not in name} == {
        "messages_received_total test": 2,
        "messages_delivered_total": 2,
        "pages_total finished": 2,
        "sessions_total started": 1,
        "playbook_calls_total llm test": 1,
        "playbook_calls_total python test": 3,
        "playbook_call_failures_total python test": 1,
        "turns_total": 2,
        "model_requests_total scripted": 2,
        "model_tokens_total in scripted": 100,
        "model_tokens_total out scripted": 20,
        "model_tokens_total cached scripted": 80,
        "model_cost_usd_total scripted": 0.5,
        "shards": 2,
        "conversations": 5,
        "conversations_at_work": 1,
        "inbox_events": 3,
        "outbox_pages": 2,
        "store_answers": 1,
        "sandbox_workers_busy": 2,
        "sandbox_workers": 4,
        "sandbox_jailed": 1,
    }
    assert found["first_text_seconds_count test"] == 2
    assert found["model_seconds_count scripted"] == 2


async def test_the_first_text_is_measured_from_when_the_message_came(sandbox: MontySandbox) -> None:
    clock = FakeClock()
    bus, metrics = Bus(clock), ProcessMetrics(gauges())
    metrics.attach(bus)
    bus.publish(MessageAdmitted("web", "web:1", "in.1", "message"))
    await clock.advance(2.0)
    bus.publish(MessageReceived("s", "web:1", "shop", "in.1", "web:7"))
    await clock.advance(1.0)
    bus.publish(PageSent("s", "1", "1000.0", 0, "web"))
    bus.publish(PageSent("s", "2", "1000.0", 0, "web"))
    found = await values(metrics)
    assert found["first_text_seconds_sum web"] == 3.0
    assert found["first_text_seconds_count web"] == 1


async def test_a_store_that_is_away_keeps_nobody_waiting_for_the_rest() -> None:
    found = await values(ProcessMetrics(gauges(waiting=away)))
    assert found["shards"] == 2
    assert "store_answers" not in found


async def test_what_goes_wrong_is_counted_by_its_event() -> None:
    bus, metrics = Bus(SystemClock()), ProcessMetrics(gauges())
    metrics.attach(bus)
    bus.publish(LLMFailed(*AT, "x"))
    bus.publish(StepRejected(*AT, "order", "x"))
    bus.publish(AdapterRateLimited("p", "telegram:1", part=0, retry_after_s=3))
    bus.publish(ObserverFailed("x"))
    bus.publish(PageOrphaned("p", "telegram:1", part=0, reason="x"))
    bus.subscribe("job.failed", lambda _: 1 / 0)  # type: ignore[arg-type]
    bus.publish(JobFailed(job="x", error="y"))
    found = await values(metrics)
    assert found["failures_total llm.failed"] == 1
    assert found["rejections_total order"] == 1
    assert found["rate_limits_total telegram"] == 1
    assert found["observers_lost_total"] == 1
    assert found["pages_total orphaned"] == 1
    assert found["bus_failures"] == 1


async def test_labels_stay_few_whatever_happens() -> None:
    bus, metrics = Bus(SystemClock()), ProcessMetrics(gauges())
    metrics.attach(bus)
    for number in range(3 * MAX_LABELS):
        bus.publish(LLMRequested(*AT, f"model-{number}", ()))
    found = [name for name in await values(metrics) if name.startswith("model_requests_total")]
    assert len(found) == MAX_LABELS + 1
    assert (await values(metrics))["model_requests_total other"] == 2 * MAX_LABELS


async def test_the_document_says_what_there_is() -> None:
    rows = re.findall(r"^\| `(parley_\w+)`(?: \{([\w, ]+)\})? \| (\w+) \|", DOCUMENT.read_text(), re.MULTILINE)
    families = [
        family for family in (await read(ProcessMetrics(gauges()))).values() if family.name.startswith("parley_")
    ]
    collectors = [vars(collector) for collector in ProcessMetrics(gauges()).registry._collector_to_names]
    labels = {known["_name"]: ", ".join(known["_labelnames"]) for known in collectors if "_labelnames" in known}
    found = {
        (family.name + ("_total" if family.type == "counter" else ""), labels[family.name], family.type)
        for family in families
    }
    assert set(rows) == found


def test_the_dashboard_asks_for_what_there_is() -> None:
    panels = json.loads(DOCUMENT.with_name("metrics-dashboard.json").read_text())["panels"]
    asked = {name for panel in panels for one in panel["targets"] for name in re.findall(r"parley_\w+", one["expr"])}
    known = set(re.findall(r"^\| `(parley_\w+)`", DOCUMENT.read_text(), re.MULTILINE))
    assert {name.removesuffix("_bucket") for name in asked} <= known
    assert len(panels) == 8

"""Log lines without secrets, and what is counted, read as Prometheus reads it."""

import io
import json
import logging
import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.observability.logs import MAX_VALUE_CHARS, LogWriter
from gateway.observability.metrics import MAX_LABELS, ProcessMetrics
from gateway.observability.watching import MASK, NodeGauges, SecretMasking
from gateway.settings.execution import LogSettings
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.frames import LLMFailed, LLMRequested, StepRejected
from runtime.events.happening import BusEvent
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
from tests.fakes.observing.happenings import KINDS, happened
from tests.fakes.observing.span_tree import told_again
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.gateway.observability.tracing.test_spans import FIRST_TURN, SECOND_TURN, SHOP

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"

TELEGRAM = "8123456789:AAH-abcdefghijklmnopqrstuvwxyz0123456"


def _lines(
    name: str, *, level: Literal["debug", "info", "error"] = "info", secrets: frozenset[str] = frozenset(), **data: Any
) -> list[dict[str, Any]]:
    stream = io.StringIO()
    logs = LogWriter(LogSettings(level=level), SecretMasking(secrets), stream=stream)
    logs.write(BusEvent(happened(name, **data), datetime(2026, 1, 2, tzinfo=UTC)))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_event_is_one_json_line_where_there_is_no_terminal() -> None:
    assert _lines("session.started", session="s1", seq=3) == [
        {"event": "session.started", "level": "info", "at": "2026-01-02T00:00:00+00:00", "session": "s1", "seq": 3}
    ]


def test_every_event_of_the_bus_is_heard_until_detached() -> None:
    stream = io.StringIO()
    bus = Bus(SystemClock())
    detach = LogWriter(LogSettings(), SecretMasking(), stream=stream).attach(bus)
    bus.publish(happened("meeting.started", meeting="100"))
    bus.publish(happened("session.ended", text="line one\nline two"))
    detach()
    bus.publish(happened("meeting.ended", meeting="100"))
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "meeting.started",
        "session.ended",
    ]
    assert bus.failures == 0


def test_a_remark_of_an_adapter_is_a_line_with_all_it_says_and_no_secret() -> None:
    stream = io.StringIO()
    detach = LogWriter(LogSettings(), SecretMasking({TOKEN}), stream=stream).attach(Bus(SystemClock()))
    logger = logging.getLogger("adapters.telegram.adapter")
    logger.warning("Telegram cannot be polled", extra={"error": f"/bot{TOKEN}/getMe: 502", "retry_in_s": 2.0})
    logger.debug("nobody wants to know")
    detach()
    logger.debug("nor this")
    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "event": "Telegram cannot be polled",
        "level": "warning",
        "logger": "adapters.telegram.adapter",
        "error": "/bot********/getMe: 502",
        "retry_in_s": 2.0,
    }


def test_human_lines_are_not_json_and_name_the_event() -> None:
    stream = io.StringIO()
    LogWriter(LogSettings(format="human"), SecretMasking(), stream=stream).write(
        BusEvent(happened("session.started", session="s1"), datetime.now(UTC))
    )
    assert "session.started" in stream.getvalue()
    assert "session=s1" in stream.getvalue()


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_foreign_text_steers_no_terminal(form: Literal["human", "json"]) -> None:
    stream = io.StringIO()
    LogWriter(LogSettings(format=form), SecretMasking(), stream=stream).write(
        BusEvent(
            happened("model.fell_back", error="bad \x1b[2J\x9b thing \u202e", more={"of": "\x07"}), datetime.now(UTC)
        )
    )
    assert "bad " in stream.getvalue()
    assert not set("\x1b\x9b\u202e\x07") & set(stream.getvalue())


def test_text_of_messages_is_shown_at_debug_only() -> None:
    assert "text" not in _lines("message.received", text="private")[0]
    assert _lines("message.received", level="debug", text="private")[0]["text"] == "private"


@pytest.mark.parametrize(
    "value",
    [
        f"https://api.telegram.org/bot{TOKEN}/getMe failed",
        "key sk-abcdefghijkl refused",
        "redis://user:hunter2@host:6379",
        "own-secret was refused",
    ],
)
def test_secrets_are_masked_inside_texts(value: str) -> None:
    (line,) = _lines("adapter.failed", secrets=frozenset({"own-secret"}), error=value)
    assert "********" in line["error"]
    assert not any(secret in line["error"] for secret in (TOKEN, "sk-abcdef", "hunter2", "own-secret"))


def test_values_under_secret_names_are_masked_and_counts_of_tokens_are_not() -> None:
    (line,) = _lines("llm.answered", bot_token="x1", password="x2", input_tokens=7)
    assert (line["bot_token"], line["password"], line["input_tokens"]) == ("********", "********", 7)


def test_long_values_are_cut() -> None:
    (line,) = _lines("playbook.failed", error="x" * 10_000)
    assert line["error"] == "x" * MAX_VALUE_CHARS + "… (10000 characters)"


def test_events_below_the_level_are_not_written() -> None:
    assert _lines("step.executed") == []
    assert _lines("session.started", level="error") == []
    assert _lines("llm.failed", level="error")[0]["level"] == "error"


def test_level_follows_from_the_name() -> None:
    names = ("session.failed", "stream.observer_failed", "step.executed", "page.finished")
    assert [KINDS[name].level for name in names] == ["error", "warning", "debug", "info"]


def test_values_by_name_stay_values_without_their_secrets() -> None:
    (line,) = _lines("program.logged", line="sold", values={"pieces": 3, "api_key": "k", "url": f"x/bot{TOKEN}"})
    assert line["values"] == {"pieces": 3, "api_key": "********", "url": "x/bot********"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"POST /bot{TELEGRAM}/getMe failed", f"POST /bot{MASK}/getMe failed"),
        ("the key sk-proj-0123456789 is refused", f"the key {MASK} is refused"),
        ("redis://ada:opensesame@db:6379 is away", f"redis://{MASK}@db:6379 is away"),
        ("order 4711:12 at 12:30", "order 4711:12 at 12:30"),
        ("our own word", f"our own {MASK}"),
    ],
)
def test_the_usual_forms_of_secrets_and_those_that_are_known_are_masked(text: str, shown: str) -> None:
    assert SecretMasking(["word"]).masked(text) == shown


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["1", "1234567:", "sk-", "://", "a-"])
def test_a_long_text_without_a_secret_is_looked_through_in_a_moment(piece: str) -> None:
    assert SecretMasking().masked(piece * 200_000)


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


async def test_a_conversation_is_counted_from_message_to_message() -> None:
    model = Model(Reply(FIRST_TURN.text, usage=Usage(100, 20, 80, 0.5)), SECOND_TURN)
    metrics = ProcessMetrics(gauges())
    async with talking(SHOP, model, after="hello there") as talk:
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
    metrics = ProcessMetrics(gauges())
    metrics.attach(Bus(SystemClock()))
    families = [family for family in (await read(metrics)).values() if family.name.startswith("parley_")]
    collectors = [vars(collector) for collector in metrics.registry._collector_to_names]
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

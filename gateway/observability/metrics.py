"""Metrics for Prometheus: counted from events on the bus, or asked for when they are read.

Labels have few values: platforms, programs, models, rules. Nothing is labelled with people or conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gateway.observability.watching import FirstTexts, NodeGauges
from runtime.bus import Bus
from runtime.core.address import platform_in
from runtime.core.errors import ParleyError
from runtime.events import frames, sessions, talk
from runtime.events.happening import Happening
from runtime.events.service import ArchiveFailed, JobFailed, ModelFellBack, StorageLost, TracingFailed

CONTENT_TYPE = CONTENT_TYPE_LATEST
MAX_LABELS = 100
"""The number of values of one label; further values become "other"."""

ASKED_WITHIN_S = 2.0
"""The time limit for the store's answer."""

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120)

_OUTCOMES: Mapping[type[Happening], str] = {
    talk.PageSettled: "finished",
    talk.PageCutShort: "closed",
    talk.PageRefused: "refused",
    talk.PageFailed: "failed",
    talk.PageOrphaned: "orphaned",
    talk.PageDiverged: "diverged",
}
_LIVES: Mapping[type[Happening], str] = {
    sessions.SessionStarted: "started",
    sessions.SessionRestored: "restored",
    sessions.SessionRested: "rested",
}
_FAILED = (
    talk.AdapterFailed,
    ArchiveFailed,
    sessions.ContentIsLocked,
    JobFailed,
    frames.LLMFailed,
    sessions.PlaybookFailed,
    sessions.RemoteLost,
    sessions.RemoteUnreachable,
    frames.SandboxFailed,
    sessions.SessionFailed,
    sessions.SessionFenced,
    StorageLost,
    TracingFailed,
)


class ProcessMetrics:
    def __init__(self, gauges: NodeGauges) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # the library has no types for it
        self.registry = CollectorRegistry(auto_describe=True)
        self._gauges = gauges
        self._labels: dict[str, set[str]] = {}
        self._gauge("shards", "Shards that this node holds.", lambda: len(gauges.shards()))
        self._gauge("conversations", "Conversations in memory.", gauges.conversations)
        self._gauge("conversations_at_work", "Conversations in which work is in progress.", gauges.at_work)
        self._inbox = self._gauge("inbox_events", "Events of this node's shards that no session has taken.")
        self._outbox = self._gauge("outbox_pages", "Pages of this node's shards that are not final on a platform.")
        self._store_answers = self._gauge("store_answers", "1 if the store answered, else 0.")
        self._gauge("sandbox_workers_busy", "Processes that are running code from models.", gauges.sandbox_busy)
        self._gauge("sandbox_workers", "The largest number of these processes.", gauges.sandbox_workers)
        self._gauge("sandbox_jailed", "1 if these processes are in a jail, else 0.", gauges.sandbox_jailed)
        ProcessCollector(registry=self.registry)

    def attach(self, bus: Bus) -> None:
        """Count the events of `bus`."""
        self._gauge("bus_events_dropped", "Events dropped because a reader of the bus was full.", lambda: bus.dropped)
        self._gauge("bus_failures", "Events whose handler raised an exception.", lambda: bus.failures)
        self._count_talk(bus)
        self._count_models(bus)
        self._count_faults(bus)

    async def text(self) -> bytes:
        """All metrics in Prometheus' text form. Values that the store does not deliver in time stay unchanged."""
        try:
            with anyio.fail_after(ASKED_WITHIN_S):
                events, pages = await self._gauges.waiting(self._gauges.shards())
        except (TimeoutError, ParleyError):
            self._store_answers.set(0)
        else:
            self._store_answers.set(1)
            self._inbox.set(events)
            self._outbox.set(pages)
        return generate_latest(self.registry)

    def _count_talk(self, bus: Bus) -> None:
        admitted = self._counter("messages_admitted", "Events from people that passed the access check.", "platform")
        received = self._counter("messages_received", "Messages from people that a conversation accepted.", "platform")
        delivered = self._counter("messages_delivered", "Utterances of agents that reached their channel.")
        undelivered = self._counter("messages_undelivered", "Messages that reached nobody.")
        pages = self._counter("pages", "Utterances to people, by outcome.", "outcome")
        lives = self._counter("sessions", "Sessions that started, returned to memory or left it.", "change")
        calls = self._counter("playbook_calls", "Playbook calls.", "program", "kind")
        failures = self._counter(
            "playbook_call_failures", "Playbook calls that ended with an exception.", "program", "kind"
        )
        turns = self._counter("turns", "Model replies that were read and run to their end.")
        first_text = self._histogram(
            "first_text_seconds", "From a person's message to the first visible text that follows it.", "platform"
        )

        ratings = self._counter(
            "feedback", "Ratings by people of what agents said.", "program", "step", "model", "rating"
        )

        def on_call(counter: Counter) -> Callable[[frames.OfFrame, datetime], None]:
            return lambda what, _: counter.labels(self._label("program", what.about.program), what.about.kind).inc()

        def on_rated(what: talk.AnswerRated, _: datetime) -> None:
            named = {"program": what.program, "step": what.step, "model": what.model}
            ratings.labels(*(self._label(name, value) for name, value in named.items()), what.rating).inc()

        bus.hear(talk.MessageAdmitted, lambda what, _: admitted.labels(self._label("platform", what.platform)).inc())
        bus.hear(talk.MessageReceived, lambda what, _: received.labels(self._platform(what.conversation)).inc())
        FirstTexts(lambda where, s, _: first_text.labels(self._platform(where)).observe(s)).attach(bus)
        bus.hear(talk.AnswerRated, on_rated)
        bus.hear(frames.FrameOpened, on_call(calls))
        bus.hear(frames.FrameFailed, on_call(failures))
        _count(bus, talk.MessageDelivered, delivered)
        _count(bus, talk.MessageUndelivered, undelivered)
        _count(bus, frames.TurnCompleted, turns)
        for page, outcome in _OUTCOMES.items():
            _count(bus, page, pages.labels(outcome))
        for life, change in _LIVES.items():
            _count(bus, life, lives.labels(change))

    def _count_models(self, bus: Bus) -> None:
        requests = self._counter("model_requests", "Questions to language models.", "model")
        tokens = self._counter("model_tokens", "Tokens, in, out and read from the cache.", "model", "direction")
        cost = self._counter("model_cost_usd", "Cost of the models in US dollars, where it is known.", "model")
        seconds = self._histogram(
            "model_seconds", "Time until a model's last word, without the work its reply does.", "model"
        )
        first = self._histogram("model_first_text_seconds", "Time until a model's first text.", "model")

        def on_used(what: frames.LLMAnswered, _at: datetime) -> None:
            model = self._label("model", what.model)
            for direction, count in (("in", what.tokens_in), ("out", what.tokens_out), ("cached", what.tokens_cached)):
                tokens.labels(model, direction).inc(count)
            cost.labels(model).inc(what.cost_usd or 0.0)

        def on_answered(what: frames.LLMAnswered, at: datetime) -> None:
            model = self._label("model", what.model)
            on_used(what, at)
            seconds.labels(model).observe(what.seconds)
            if what.first_text_s is not None:
                first.labels(model).observe(what.first_text_s)

        bus.hear(frames.LLMRequested, lambda what, _: requests.labels(self._label("model", what.model)).inc())
        bus.hear(frames.LLMAnswered, on_answered)
        bus.hear(frames.LLMAnsweredInPart, on_used)
        fell_back = self._counter("model_fallbacks", "Failures of models that others stand in for.", "model")
        bus.hear(ModelFellBack, lambda what, _: fell_back.labels(self._label("model", what.model)).inc())

    def _count_faults(self, bus: Bus) -> None:
        rejections = self._counter("rejections", "Answers and statements of models that were refused.", "rule")
        failures = self._counter("failures", "Failures, by the event that reports them.", "event")
        limits = self._counter("rate_limits", "Pauses that platforms demanded.", "platform")
        lost = self._counter("observers_lost", "Observers and watchers that raised an exception.")
        bus.hear(frames.StepRejected, lambda what, _: rejections.labels(self._label("rule", what.rule)).inc())
        bus.hear(talk.AdapterRateLimited, lambda what, _: limits.labels(self._platform(what.conversation)).inc())
        _count(bus, talk.ObserverFailed, lost)
        _count(bus, talk.WatcherFailed, lost)
        for failure in _FAILED:
            _count(bus, failure, failures.labels(failure.name))

    # -- instruments

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace="parley", registry=self.registry)

    def _gauge(self, name: str, text: str, value: Callable[[], float] | None = None) -> Gauge:
        gauge = Gauge(name, text, namespace="parley", registry=self.registry)
        if value is not None:
            gauge.set_function(value)
        return gauge

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, namespace="parley", registry=self.registry, buckets=_SECONDS)

    def _platform(self, conversation: str) -> str:
        return self._label("platform", platform_in(conversation))

    def _label(self, name: str, value: object) -> str:
        known = self._labels.setdefault(name, set())
        text = str(value)
        if text not in known and len(known) >= MAX_LABELS:
            return "other"
        known.add(text)
        return text


def _count(bus: Bus, kind: type[Happening], counter: Counter) -> None:
    bus.hear(kind, lambda _what, _at: counter.inc())

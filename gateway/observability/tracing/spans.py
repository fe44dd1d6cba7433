"""From events to spans: what each frame does, from when it has something to do until it waits for people.

A root frame with all that it calls is a trace of its own for each such stretch: the program, the agent, the frame, the
frames that it calls, the models that they ask and what is shown on platforms. A stretch begins with a link to the
earlier one. Nothing about spans is stored: where this process does not know the earlier one, the link is to the first
span of the root frame, whose id follows from the session's and the frame's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
)

from gateway.observability.tracing import names
from gateway.observability.tracing.attributes import agent_of, attributes_of, title_of, whose
from gateway.observability.tracing.content import Content
from gateway.observability.tracing.ids import SpanIds, first_span, is_chosen
from gateway.observability.tracing.open_spans import (
    Key,
    OpenFrame,
    Stretch,
    fail,
    make_room,
    nanoseconds,
    root_of,
    within,
)
from gateway.observability.tracing.page_spans import PageSpans
from runtime.core.events import Event

MAX_OPEN_S = 3_600.0
"""The longest stretch; longer ones are sent in parts."""

SHORT_WAIT_S = 60.0
"""A frame that waits for at most this long still counts as working."""


class Publisher(Protocol):
    """The part of the bus that is used here."""

    def subscribe(self, pattern: str, handler: Callable[[Event], None]) -> Callable[[], None]: ...


class Spans:
    """Turns events of the bus into spans of a tracer, for the chosen `share` of sessions."""

    def __init__(self, tracer: Tracer, ids: SpanIds, content: Content, *, share: float = 1.0) -> None:
        self._tracer = tracer
        self._ids = ids
        self._content = content
        self._share = share
        self._frames: dict[Key, OpenFrame] = {}
        self._stretches: dict[Key, Stretch] = {}
        self._pages = PageSpans(tracer, lambda key: self._frames.get(key) or self._ended.get(key))
        self._ended: dict[Key, OpenFrame] = {}
        """Recently ended frames, which may still have pages on their way."""
        self._handlers: dict[str, Callable[[Key, OpenFrame, Event], None]] = {
            "frame.parked": self._on_parked,
            "frame.resumed": self._on_resumed,
            "frame.returned": self._on_returned,
            "frame.failed": self._on_failed,
            "frame.stopped": self._on_stopped,
            "llm.requested": self._on_asked,
            "llm.answered": self._on_answered,
            "llm.broke_off": self._on_broke_off,
            "llm.failed": self._on_unanswered,
            "sandbox.failed": self._on_mark,
            "step.executed": self._on_mark,
            "step.rejected": self._on_mark,
            "trigger.fired": self._on_mark,
            "turn.completed": self._on_mark,
        }

    def attach(self, bus: Publisher) -> Callable[[], None]:
        """Follow `bus` until the returned function is called, which ends every open span."""
        handlers = dict.fromkeys(self._handlers, self._hear)
        handlers |= dict.fromkeys(("frame.started", "frame.restored"), self._take_up)
        handlers |= self._pages.handlers
        forget = [bus.subscribe(name, handler) for name, handler in handlers.items()]

        def detach() -> None:
            for one in forget:
                one()
            self._end_all()

        return detach

    # -- events

    def _hear(self, event: Event) -> None:
        key = (str(event.data.get("session_id")), str(event.data.get("frame")))
        known = self._frames.get(key)
        if known is not None:
            self._handlers[event.name](key, known, event)
            self._part_long_ones(event.at)

    def _take_up(self, event: Event) -> None:
        about = dict(event.data)
        arguments = about.pop("arguments", None)
        key = (str(about["session_id"]), str(about["frame"]))
        if not is_chosen(key[0], self._share):
            return
        if key in self._frames:
            self._leave(key, self._frames[key], event.at)
        known = self._frames[key] = OpenFrame(about, since=event.at, arguments=arguments)
        if event.name == "frame.started":
            self._open(key, known, event.at)
        else:
            known.before = first_span(key[0], root_of(key[1]))

    def _on_parked(self, key: Key, known: OpenFrame, event: Event) -> None:
        waits_for, until = event.data["waits_for"], event.data["until"]
        soon = until is not None and (datetime.fromisoformat(until) - event.at).total_seconds() <= SHORT_WAIT_S
        if waits_for == "agents" or soon:
            return
        if known.span is not None:
            known.span.set_attribute(names.WAITS_FOR, waits_for)
        known.waits = True
        if not known.at_work:
            self._park(key, known, event.at)

    def _on_resumed(self, key: Key, known: OpenFrame, event: Event) -> None:
        known.waits = False
        self._open(key, known, event.at)

    def _on_returned(self, key: Key, known: OpenFrame, event: Event) -> None:
        span = self._open(key, known, event.at)
        span.set_attributes(self._content.output(event.data.get("value"), names.CALL_RESULT))
        self._leave(key, known, event.at)

    def _on_failed(self, key: Key, known: OpenFrame, event: Event) -> None:
        span = self._open(key, known, event.at)
        failed = self._content.failure(str(event.data["error_type"]), str(event.data["error"]))
        fail(span, failed)
        stretch = self._stretches.get(key)
        if stretch is not None:
            fail(stretch.agent, failed)
            fail(stretch.program, failed)
        self._leave(key, known, event.at)

    def _on_stopped(self, key: Key, known: OpenFrame, event: Event) -> None:
        if known.span is not None:
            known.span.set_attribute(names.STOPPED, value=True)
        self._leave(key, known, event.at)

    def _on_asked(self, key: Key, known: OpenFrame, event: Event) -> None:
        self._end_chat(known, event.at)
        known.chat_model = str(event.data["model"])
        known.chat = self._chat(key, known, event.at)
        known.chat.set_attributes(self._content.prompt(event.data.get("prompt")))

    def _on_answered(self, key: Key, known: OpenFrame, event: Event) -> None:
        data = event.data
        chat = self._chat_told_of(key, known, event)
        told = {
            names.TOKENS_IN: data["tokens_in"],
            names.TOKENS_OUT: data["tokens_out"],
            names.TOKENS_CACHED: data["tokens_cached"],
            names.COST: data["cost_usd"],
            names.FIRST_TEXT_S: data["first_text_s"],
            names.WAITED_S: data["seconds"],
        }
        chat.set_attributes({name: value for name, value in told.items() if value is not None})
        chat.set_attributes(self._content.reply(data.get("reply")))
        self._end_chat(known, event.at)

    def _on_unanswered(self, key: Key, known: OpenFrame, event: Event) -> None:
        if known.chat is not None:
            self._on_broke_off(key, known, event)
        self._on_mark(key, known, event)

    def _on_broke_off(self, key: Key, known: OpenFrame, event: Event) -> None:
        chat = self._chat_told_of(key, known, event)
        kind, _, text = str(event.data["error"]).partition(": ")
        fail(chat, self._content.failure(kind, text))
        self._end_chat(known, event.at)

    def _chat_told_of(self, key: Key, known: OpenFrame, event: Event) -> Span:
        """The span of the call whose end an event tells of; nobody tells when a summary is asked for."""
        if known.chat is None:
            known.chat_model = str(event.data["model"])
            began = datetime.fromtimestamp(event.at.timestamp() - event.data["seconds"], UTC)
            known.chat = self._chat(key, known, began)
        known.chat.set_attribute(names.PURPOSE, event.data.get("purpose", "execute"))
        return known.chat

    def _on_mark(self, key: Key, known: OpenFrame, event: Event) -> None:
        marks = {"step": names.STEP, "trigger": names.TRIGGER, "rule": names.RULE}
        attributes = {name: str(event.data[key]) for key, name in marks.items() if key in event.data}
        self._open(key, known, event.at).add_event(event.name, attributes, nanoseconds(event.at))

    # -- spans

    def _open(self, key: Key, known: OpenFrame, at: datetime) -> Span:
        """Open the span of a frame; after a wait, a new one with a link to the earlier."""
        if known.span is not None:
            return known.span
        began = known.since or at
        caller = self._caller(key, known)
        if caller is None:
            above = self._begin_stretch(key, known, began).agent
        else:
            caller_key, calling = caller
            above = self._open(caller_key, calling, began)
            calling.at_work.add(key[1])
        links = [] if known.before is None else [Link(known.before)]
        if caller is None and known.before is None:
            self._ids.next_span = first_span(*key).span_id
        about = known.about
        known.span = self._tracer.start_span(
            title_of(about), within(above), SpanKind.INTERNAL, attributes_of(about), links, nanoseconds(began)
        )
        known.span.set_attributes(self._content.input(known.arguments, names.CALL_ARGUMENTS))
        known.since = None
        return known.span

    def _begin_stretch(self, key: Key, known: OpenFrame, began: datetime) -> Stretch:
        about, at = known.about, nanoseconds(began)
        if known.before is None:
            self._ids.next_trace = first_span(*key).trace_id
        workflow = {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW: about["program"], names.SPAN_KIND: "CHAIN"}
        program = self._tracer.start_span(
            str(about["program"]), Context(), SpanKind.INTERNAL, whose(about) | workflow, start_time=at
        )
        invoked = {names.OPERATION: names.INVOKE_AGENT, names.SPAN_KIND: "AGENT"} | agent_of(about)
        agent = self._tracer.start_span(
            str(about["agent"]), within(program), SpanKind.INTERNAL, whose(about) | invoked, start_time=at
        )
        self._stretches[key] = made = Stretch(program, agent, began)
        return made

    def _chat(self, key: Key, known: OpenFrame, began: datetime) -> Span:
        parent, model = self._open(key, known, began), known.chat_model
        provider, slash, _ = model.partition("/")
        attributes = {names.OPERATION: names.CHAT, names.MODEL: model, names.SPAN_KIND: "LLM"}
        if slash:
            attributes[names.PROVIDER] = provider
        attributes |= whose(known.about) | agent_of(known.about)
        return self._tracer.start_span(
            f"{names.CHAT} {model}", within(parent), SpanKind.CLIENT, attributes, start_time=nanoseconds(began)
        )

    def _end_chat(self, known: OpenFrame, at: datetime) -> None:
        if known.chat is not None:
            known.chat.end(nanoseconds(at))
            known.chat = None

    def _caller(self, key: Key, known: OpenFrame) -> tuple[Key, OpenFrame] | None:
        caller_key = (key[0], str(known.about["caller"]))
        calling = self._frames.get(caller_key)
        return None if calling is None else (caller_key, calling)

    def _park(self, key: Key, known: OpenFrame, at: datetime) -> None:
        """The frame waits. So does its caller, if it waits for nothing else."""
        self._close(key, known, at)
        caller = self._caller(key, known)
        if caller is not None and not caller[1].at_work:
            self._park(*caller, at)

    def _leave(self, key: Key, known: OpenFrame, at: datetime) -> None:
        self._close(key, known, at)
        make_room(self._ended)
        known.arguments = None
        self._ended[key] = self._frames.pop(key)
        caller = self._caller(key, known)
        if caller is not None and caller[1].waits and not caller[1].at_work:
            self._park(*caller, at)

    def _close(self, key: Key, known: OpenFrame, at: datetime) -> None:
        known.since = None
        if known.span is None:
            return
        self._end_chat(known, at)
        known.span.end(nanoseconds(at))
        known.before, known.span = known.span.get_span_context(), None
        caller = self._caller(key, known)
        if caller is not None:
            caller[1].at_work.discard(key[1])
        self._end_stretch(key, at)

    def _end_stretch(self, root: Key, at: datetime) -> None:
        stretch = self._stretches.pop(root, None)
        if stretch is not None:
            stretch.agent.end(nanoseconds(at))
            stretch.program.end(nanoseconds(at))

    def _part_long_ones(self, now: datetime) -> None:
        """End the spans of work that takes too long for one span."""
        while self._stretches:
            (session, root), oldest = next(iter(self._stretches.items()))
            if (now - oldest.began).total_seconds() <= MAX_OPEN_S:
                return
            below = [key for key in self._frames if key[0] == session and root_of(key[1]) == root]
            for key in sorted(below, key=lambda key: key[1].count(":"), reverse=True):
                self._close(key, self._frames[key], now)
            self._end_stretch((session, root), now)

    def _end_all(self) -> None:
        for key in sorted(self._frames, key=lambda key: key[1].count(":"), reverse=True):
            known = self._frames[key]
            if known.span is not None:
                known.span.end()
        for stretch in self._stretches.values():
            stretch.agent.end()
            stretch.program.end()
        self._pages.end_all()
        self._frames.clear()
        self._stretches.clear()

"""From events to spans: what each frame does, from when it has something to do until it waits for people.

A root frame with all that it calls is a trace of its own for each such stretch: the program, the agent, the frame, the
frames that it calls, the models that they ask and what is shown on platforms. A stretch begins with a link to the
earlier one. Nothing about spans is stored: where this process does not know the earlier one, the link is to the first
span of the root frame, whose id follows from the session's and the frame's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
)

from gateway.observability.tracing import open_spans as spans
from runtime.bus import Bus
from runtime.events import frames as happened

MAX_OPEN_S = 3_600.0
"""The longest stretch; longer ones are sent in parts."""

SHORT_WAIT_S = 60.0
"""A frame that waits for at most this long still counts as working."""


Noted = TypeVar("Noted", bound=happened.OfFrame | happened.InFrame)

_MARKS: Sequence[type[happened.InFrame]] = (
    happened.SandboxFailed,
    happened.StepExecuted,
    happened.StepRejected,
    happened.TriggerFired,
    happened.TurnCompleted,
)
"""The events that are marks in the spans of their frames."""


class Spans:
    """Turns events of the bus into spans of a tracer, for the chosen `share` of sessions."""

    def __init__(self, tracer: Tracer, ids: spans.SpanIds, content: spans.SpanContent, *, share: float = 1.0) -> None:
        self._tracer = tracer
        self._ids = ids
        self._content = content
        self._share = share
        self._frames: dict[spans.Key, spans.OpenFrame] = {}
        self._stretches: dict[spans.Key, spans.SpanStretch] = {}
        self._pages = spans.PageSpans(tracer, lambda key: self._frames.get(key) or self._ended.get(key))
        self._ended: dict[spans.Key, spans.OpenFrame] = {}
        """Frames that have ended lately, which may have pages on their way."""

    def attach(self, bus: Bus) -> Callable[[], None]:
        """Hear `bus` until the returned function is called: then every span that is open ends."""
        forget = [
            bus.hear(happened.FrameOpened, self._take_up),
            bus.hear(happened.FrameRestored, self._take_up),
            bus.hear(happened.FrameWaiting, self._known(self._on_parked)),
            bus.hear(happened.FrameResumed, self._known(self._on_resumed)),
            bus.hear(happened.FrameCompleted, self._known(self._on_returned)),
            bus.hear(happened.FrameFailed, self._known(self._on_failed)),
            bus.hear(happened.FrameStopped, self._known(self._on_stopped)),
            bus.hear(happened.LLMRequested, self._known(self._on_asked)),
            bus.hear(happened.LLMAnswered, self._known(self._on_answered)),
            bus.hear(happened.LLMBrokeOff, self._known(self._on_broke_off)),
            bus.hear(happened.LLMFailed, self._known(self._on_unanswered)),
            *(bus.hear(kind, self._known(self._mark)) for kind in _MARKS),
        ]
        forget += self._pages.attach(bus)

        def detach() -> None:
            for one in forget:
                one()
            self._end_all()

        return detach

    # -- events

    def _known(
        self, handler: Callable[[spans.Key, spans.OpenFrame, Noted, datetime], None]
    ) -> Callable[[Noted, datetime], None]:
        """`handler`, for the events of known frames only."""

        def hear(what: Noted, at: datetime) -> None:
            known = self._frames.get(what.key)
            if known is not None:
                handler(what.key, known, what, at)
                self._part_long_ones(at)

        return hear

    def _take_up(self, what: happened.FrameOpened | happened.FrameRestored, at: datetime) -> None:
        key = what.key
        if not spans.is_chosen(key[0], self._share):
            return
        if key in self._frames:
            self._leave(key, self._frames[key], at)
        known = self._frames[key] = spans.OpenFrame(what.about, since=at, arguments=what.arguments)
        if isinstance(what, happened.FrameOpened):
            self._open(key, known, at)
        else:
            known.before = spans.first_span(key[0], spans.root_of(key[1]))

    def _on_parked(self, key: spans.Key, known: spans.OpenFrame, what: happened.FrameWaiting, at: datetime) -> None:
        until = what.until
        soon = until is not None and (datetime.fromisoformat(until) - at).total_seconds() <= SHORT_WAIT_S
        if what.waits_for == "agents" or soon:
            return
        if known.span is not None:
            known.span.set_attribute("parley.waits_for", what.waits_for)
        known.waits = True
        if not known.at_work:
            self._park(key, known, at)

    def _on_resumed(self, key: spans.Key, known: spans.OpenFrame, _: happened.FrameResumed, at: datetime) -> None:
        known.waits = False
        self._open(key, known, at)

    def _on_returned(self, key: spans.Key, known: spans.OpenFrame, what: happened.FrameCompleted, at: datetime) -> None:
        span = self._open(key, known, at)
        span.set_attributes(self._content.output(what.value, "gen_ai.tool.call.result"))
        self._leave(key, known, at)

    def _on_failed(self, key: spans.Key, known: spans.OpenFrame, what: happened.FrameFailed, at: datetime) -> None:
        span = self._open(key, known, at)
        failed = self._content.failure(what.error_type, what.error)
        spans.fail(span, failed)
        stretch = self._stretches.get(key)
        if stretch is not None:
            spans.fail(stretch.agent, failed)
            spans.fail(stretch.program, failed)
        self._leave(key, known, at)

    def _on_stopped(self, key: spans.Key, known: spans.OpenFrame, _: happened.FrameStopped, at: datetime) -> None:
        if known.span is not None:
            known.span.set_attribute("parley.stopped", value=True)
        self._leave(key, known, at)

    def _on_asked(self, key: spans.Key, known: spans.OpenFrame, what: happened.LLMRequested, at: datetime) -> None:
        self._end_chat(known, at)
        known.chat_model = what.model
        known.chat = self._chat(key, known, at)
        known.chat.set_attributes(self._content.prompt(what.prompt))

    def _on_answered(self, key: spans.Key, known: spans.OpenFrame, what: happened.LLMAnswered, at: datetime) -> None:
        chat = self._chat_told_of(key, known, what, at)
        told = {
            "gen_ai.usage.input_tokens": what.tokens_in,
            "gen_ai.usage.output_tokens": what.tokens_out,
            "gen_ai.usage.cache_read.input_tokens": what.tokens_cached,
            "gen_ai.usage.cost": what.cost_usd,
            "gen_ai.response.time_to_first_chunk": what.first_text_s,
            "parley.waited_s": what.seconds,
        }
        chat.set_attributes({name: value for name, value in told.items() if value is not None})
        chat.set_attributes(self._content.reply(what.reply))
        self._end_chat(known, at)

    def _on_unanswered(self, key: spans.Key, known: spans.OpenFrame, what: happened.LLMFailed, at: datetime) -> None:
        if known.chat is not None:
            self._break_off(known.chat, known, what.error, at)
        self._mark(key, known, what, at)

    def _on_broke_off(self, key: spans.Key, known: spans.OpenFrame, what: happened.LLMBrokeOff, at: datetime) -> None:
        self._break_off(self._chat_told_of(key, known, what, at), known, what.error, at)

    def _break_off(self, chat: Span, known: spans.OpenFrame, error: str, at: datetime) -> None:
        kind, _, text = error.partition(": ")
        spans.fail(chat, self._content.failure(kind, text))
        self._end_chat(known, at)

    def _chat_told_of(
        self, key: spans.Key, known: spans.OpenFrame, what: happened.LLMAnswered | happened.LLMBrokeOff, at: datetime
    ) -> Span:
        """The span of the call that has ended. It is made here for a summary, whose start is no event."""
        if known.chat is None:
            known.chat_model = what.model
            began = datetime.fromtimestamp(at.timestamp() - what.seconds, UTC)
            known.chat = self._chat(key, known, began)
        known.chat.set_attribute("parley.purpose", what.purpose)
        known.chat.set_attribute("gen_ai.response.model", what.model)
        return known.chat

    def _mark(self, key: spans.Key, known: spans.OpenFrame, what: happened.InFrame, at: datetime) -> None:
        match what:
            case happened.StepExecuted():
                attributes = {"parley.step": str(what.step)}
            case happened.StepRejected():
                attributes = {"parley.rule": what.rule}
            case happened.TriggerFired():
                attributes = {"parley.trigger": what.trigger}
            case _:
                attributes = {}
        self._open(key, known, at).add_event(what.name, attributes, spans.nanoseconds(at))

    # -- spans

    def _open(self, key: spans.Key, known: spans.OpenFrame, at: datetime) -> Span:
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
            self._ids.next_span = spans.first_span(*key).span_id
        about = known.about
        known.span = self._tracer.start_span(
            spans.title_of(about),
            spans.within(above),
            SpanKind.INTERNAL,
            spans.attributes_of(about),
            links,
            spans.nanoseconds(began),
        )
        known.span.set_attributes(self._content.input(known.arguments, "gen_ai.tool.call.arguments"))
        known.since = None
        return known.span

    def _begin_stretch(self, key: spans.Key, known: spans.OpenFrame, began: datetime) -> spans.SpanStretch:
        about, at = known.about, spans.nanoseconds(began)
        if known.before is None:
            self._ids.next_trace = spans.first_span(*key).trace_id
        workflow = {spans.OPERATION: "invoke_workflow", "gen_ai.workflow.name": about.program, spans.SPAN_KIND: "CHAIN"}
        program = self._tracer.start_span(
            about.program, Context(), SpanKind.INTERNAL, spans.whose(about) | workflow, start_time=at
        )
        invoked = {spans.OPERATION: spans.INVOKE_AGENT, spans.SPAN_KIND: "AGENT"} | spans.agent_of(about)
        agent = self._tracer.start_span(
            about.agent, spans.within(program), SpanKind.INTERNAL, spans.whose(about) | invoked, start_time=at
        )
        self._stretches[key] = made = spans.SpanStretch(program, agent, began)
        return made

    def _chat(self, key: spans.Key, known: spans.OpenFrame, began: datetime) -> Span:
        parent, model = self._open(key, known, began), known.chat_model
        provider, slash, _ = model.partition("/")
        attributes = {spans.OPERATION: spans.CHAT, "gen_ai.request.model": model, spans.SPAN_KIND: "LLM"}
        if slash:
            attributes["gen_ai.provider.name"] = provider
        attributes |= spans.whose(known.about) | spans.agent_of(known.about)
        return self._tracer.start_span(
            f"{spans.CHAT} {model}",
            spans.within(parent),
            SpanKind.CLIENT,
            attributes,
            start_time=spans.nanoseconds(began),
        )

    def _end_chat(self, known: spans.OpenFrame, at: datetime) -> None:
        if known.chat is not None:
            known.chat.end(spans.nanoseconds(at))
            known.chat = None

    def _caller(self, key: spans.Key, known: spans.OpenFrame) -> tuple[spans.Key, spans.OpenFrame] | None:
        caller_key = (key[0], str(known.about.caller))
        calling = self._frames.get(caller_key)
        return None if calling is None else (caller_key, calling)

    def _park(self, key: spans.Key, known: spans.OpenFrame, at: datetime) -> None:
        """The frame waits. So does its caller, if it waits for nothing else."""
        self._close(key, known, at)
        caller = self._caller(key, known)
        if caller is not None and not caller[1].at_work:
            self._park(*caller, at)

    def _leave(self, key: spans.Key, known: spans.OpenFrame, at: datetime) -> None:
        self._close(key, known, at)
        spans.make_room(self._ended)
        known.arguments = None
        self._ended[key] = self._frames.pop(key)
        caller = self._caller(key, known)
        if caller is not None and caller[1].waits and not caller[1].at_work:
            self._park(*caller, at)

    def _close(self, key: spans.Key, known: spans.OpenFrame, at: datetime) -> None:
        known.since = None
        if known.span is None:
            return
        self._end_chat(known, at)
        known.span.end(spans.nanoseconds(at))
        known.before, known.span = known.span.get_span_context(), None
        caller = self._caller(key, known)
        if caller is not None:
            caller[1].at_work.discard(key[1])
        self._end_stretch(key, at)

    def _end_stretch(self, root: spans.Key, at: datetime) -> None:
        stretch = self._stretches.pop(root, None)
        if stretch is not None:
            stretch.agent.end(spans.nanoseconds(at))
            stretch.program.end(spans.nanoseconds(at))

    def _part_long_ones(self, now: datetime) -> None:
        """End the spans of work that takes too long for one span."""
        while self._stretches:
            (session, root), oldest = next(iter(self._stretches.items()))
            if (now - oldest.began).total_seconds() <= MAX_OPEN_S:
                return
            below = [key for key in self._frames if key[0] == session and spans.root_of(key[1]) == root]
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

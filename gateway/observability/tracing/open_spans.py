"""Open spans: stretches of work, the frames in them, and pages on platforms, which may still be on their way when their
frame has ended. The id of a root frame's first span is derived, so that any node can link to it; the others are random.
And the attributes of spans, with their content: none unless the settings want it; then without secrets, and cut.

`gen_ai.*`, `error.type`: OpenTelemetry's semantic conventions for generative AI, in development
(github.com/open-telemetry/semantic-conventions-genai, model/gen-ai). `session.id`, `user.id`: its general conventions.
`input.*`, `output.*`, `openinference.span.kind`: OpenInference (github.com/Arize-ai/openinference,
spec/semantic_conventions.md), read by Phoenix, and by Langfuse where it does not know the former. `gen_ai.usage.cost`:
Langfuse's (langfuse.com/docs, OpenTelemetry, property mapping). `parley.*` are ours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct, field
from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer
from opentelemetry.sdk.trace.id_generator import IdGenerator

from gateway.observability.watching import SecretMasking
from runtime.bus import Bus
from runtime.events.frames import FrameAbout
from runtime.events.talk import OfPage, PageCutShort, PageFailed, PageOpened, PageSettled
from runtime.llm.client import ChatMessage

OPERATION: Final = "gen_ai.operation.name"
SPAN_KIND: Final = "openinference.span.kind"
INPUT: Final = "input.value"
INPUT_FORM: Final = "input.mime_type"
OUTPUT: Final = "output.value"
OUTPUT_FORM: Final = "output.mime_type"

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"

_MAX_CHARS = 50_000
"""The longest text; longer ones are cut."""

_JSON = "application/json"
_TEXT = "text/plain"


def title_of(about: FrameAbout) -> str:
    """The name of a frame's span: `Agent.Playbook`."""
    playbook = about.playbook
    return playbook if about.kind == "remote" else f"{about.agent}.{playbook}"


def whose(about: FrameAbout) -> dict[str, str]:
    told: dict[str, str | None] = {"session.id": about.session_id, "gen_ai.conversation.id": about.conversation}
    told |= {"user.id": about.participant_id, "parley.meeting": about.meeting_id}
    return {name: str(value) for name, value in told.items() if value is not None}


def agent_of(about: FrameAbout) -> dict[str, str]:
    return {"gen_ai.agent.name": about.agent, "gen_ai.agent.id": str(about.agent_id)}


def attributes_of(about: FrameAbout) -> dict[str, str]:
    found = whose(about) | agent_of(about) | {"parley.frame": about.frame}
    if about.kind == "llm":
        return found | {OPERATION: INVOKE_AGENT, SPAN_KIND: "CHAIN"}
    found |= {OPERATION: "execute_tool", SPAN_KIND: "TOOL", "gen_ai.tool.name": title_of(about)}
    return found | {
        "gen_ai.tool.type": "extension" if about.kind == "remote" else "function",
        "gen_ai.tool.call.id": about.frame,
    }


class SpanContent:
    """Attributes with content; empty while content is off."""

    def __init__(self, masking: SecretMasking, *, on: bool) -> None:
        self._masking = masking
        self._on = on

    def input(self, arguments: Any, name: str) -> Mapping[str, str]:
        """The arguments of a playbook, also as the attribute `name`."""
        return {} if arguments is None else self._data(arguments, INPUT, INPUT_FORM, name)

    def output(self, value: Any, name: str) -> Mapping[str, str]:
        return self._data(value, OUTPUT, OUTPUT_FORM, name)

    def _data(self, value: Any, key: str, form: str, name: str) -> Mapping[str, str]:
        if not self._on:
            return {}
        text = self._text(json.dumps(value, ensure_ascii=False, default=str))
        return {key: text, form: _JSON, name: text}

    def prompt(self, messages: Sequence[ChatMessage] | None) -> Mapping[str, str]:
        if not self._on or messages is None:
            return {}
        told = [_message(message.role, self._text(message.content)) for message in messages]
        text = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        return {
            "gen_ai.input.messages": json.dumps(told, ensure_ascii=False),
            INPUT: self._text(text),
            INPUT_FORM: _TEXT,
        }

    def reply(self, text: str | None) -> Mapping[str, str]:
        if not self._on or text is None:
            return {}
        said = self._text(text)
        answer = [_message("assistant", said) | {"finish_reason": "stop"}]
        return {
            "gen_ai.output.messages": json.dumps(answer, ensure_ascii=False),
            OUTPUT: said,
            OUTPUT_FORM: _TEXT,
        }

    def failure(self, kind: str, text: str) -> tuple[str, str | None]:
        """An error's type, and its text, which may quote what was said."""
        return kind, self._text(text) if self._on else None

    def _text(self, text: str) -> str:
        text = self._masking.masked(text)
        return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}… ({len(text)} characters)"


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


_MAX_REMEMBERED = 1_000
"""The number of pages on their way and of ended frames that are remembered."""

Key = tuple[str, str]
"""A frame, or a page, by its session and its id there."""

_ENDS: Sequence[type[OfPage]] = (PageSettled, PageFailed, PageCutShort)


class SpanStretch(Struct):
    """The spans above a root frame; `agent` and `program` end with it."""

    program: otel.Span
    agent: otel.Span
    began: datetime


class OpenFrame(Struct):
    """A frame in memory. `span` is None while it waits, `before` where its last span was.

    `since` when it was taken up, for one that is at work and has no span yet.
    """

    about: FrameAbout
    span: otel.Span | None = None
    before: otel.SpanContext | None = None
    since: datetime | None = None
    arguments: Any = None
    at_work: set[str] = field(default_factory=set)
    """The frames that it called and that have a span."""
    waits: bool = False
    chat: otel.Span | None = None
    chat_model: str = ""

    @property
    def place(self) -> otel.SpanContext | None:
        """The place of its current or last span; None when it has had none here."""
        return self.before if self.span is None else self.span.get_span_context()


def make_room(remembered: dict[Key, Any]) -> None:
    """Forget the oldest entries beyond the limit."""
    if len(remembered) >= _MAX_REMEMBERED:
        del remembered[next(iter(remembered))]


def root_of(frame: str) -> str:
    return frame.partition(":")[0]


def nanoseconds(at: datetime) -> int:
    """A time in nanoseconds since 1970, as spans have it."""
    return int(at.timestamp() * 1_000_000) * 1_000


def within(span: otel.Span) -> Context:
    """The place below a span."""
    return otel.set_span_in_context(span, Context())


def fail(span: otel.Span, failed: tuple[str, str | None]) -> None:
    kind, text = failed
    span.set_attribute("error.type", kind)
    span.set_status(otel.Status(otel.StatusCode.ERROR, text))


class PageSpans:
    """One span a page, below its frame, which `frame_of` knows by its key."""

    def __init__(self, tracer: Tracer, frame_of: Callable[[Key], OpenFrame | None]) -> None:
        self._tracer = tracer
        self._frame_of = frame_of
        self._open: dict[Key, otel.Span] = {}

    def attach(self, bus: Bus) -> list[Callable[[], None]]:
        """Hear `bus` until the returned functions are called."""
        return [bus.hear(PageOpened, self._begin), *(bus.hear(kind, self._end) for kind in _ENDS)]

    def end_all(self) -> None:
        for page in self._open.values():
            page.end()
        self._open.clear()

    def _begin(self, what: PageOpened, at: datetime) -> None:
        page = (what.session_id, what.page_id)
        known = self._frame_of((what.session_id, what.frame))
        place = None if known is None else known.place
        if known is None or place is None or page in self._open:
            return
        make_room(self._open)
        attributes = {**whose(known.about), "parley.platform": what.platform, SPAN_KIND: "CHAIN"}
        above = within(otel.NonRecordingSpan(place))
        self._open[page] = self._tracer.start_span(
            f"show {what.platform}", above, otel.SpanKind.PRODUCER, attributes, start_time=nanoseconds(at)
        )

    def _end(self, what: OfPage, at: datetime) -> None:
        span = self._open.pop((what.session_id, what.page_id), None)
        if span is None:
            return
        if isinstance(what, PageSettled):
            span.set_attribute("parley.delivered", what.delivered)
        if isinstance(what, PageFailed):
            span.set_status(otel.Status(otel.StatusCode.ERROR))
        span.end(nanoseconds(at))


class SpanIds(IdGenerator):
    """Gives the next trace and the next span a requested id, once."""

    def __init__(self) -> None:
        self.next_trace: int | None = None
        self.next_span: int | None = None
        self._chance = random.SystemRandom()

    def generate_trace_id(self) -> int:
        asked, self.next_trace = self.next_trace, None
        return asked or self._chance.getrandbits(128) or 1

    def generate_span_id(self) -> int:
        asked, self.next_span = self.next_span, None
        return asked or self._chance.getrandbits(64) or 1


def first_span(session: str, root: str) -> otel.SpanContext:
    """The position of a root frame's first span, on any node and at any time."""
    digest = blake2b(f"{session}\0{root}".encode(), digest_size=24).digest()
    trace, span = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big")
    return otel.SpanContext(trace or 1, span or 1, is_remote=True, trace_flags=otel.TraceFlags(otel.TraceFlags.SAMPLED))


def is_chosen(session: str, share: float) -> bool:
    """Whether a session is among the traced `share` of all: the same answer on every node, at every time."""
    digest = blake2b(session.encode(), digest_size=8, person=b"parley.share").digest()
    return int.from_bytes(digest, "big") < share * 2**64

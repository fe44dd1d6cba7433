"""The strip of a session: its facts as marks in time, each in the lane of an agent or of the people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from adapters.markdown.html_blocks import html_as_markdown
from runtime.core.ids import as_named
from runtime.core.json_text import write_json
from runtime.core.message import MessageType
from runtime.tape.facts import frames
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import MessageHeard, PageBegun, PageClosed, PageFinished, PageGrew, QuestionClosed
from runtime.tape.facts.registry import KINDS
from runtime.tape.facts.session import AgentCreated, AgentStopped, MessageQueued, ProgramBroken
from runtime.tape.facts.tasks import TaskOrdered, TaskOver, WordToOrderer, WordToTask
from runtime.tape.tape import Fact

MarkKind = Literal["heard", "said", "model", "call", "wait", "step", "trouble", "task", "agent", "word"]

PEOPLE = "people"
"""The lane of what people say."""

SESSION_LANE = "session"
"""The lane of what Parley itself says."""

MAX_TEXT = 2_000
"""The characters of a text that the strip shows; the fact has all of it."""

_WORDS = ("text", "result", "options", "chosen")
_ANSWER = "Answer"
"""The call by which a model answers a question of the runtime."""


class StripMark(Struct):
    """Something that happened from fact `first` to fact `last`; either is None where it lies outside of what was read.

    `key` is the same for both halves of a mark that two readings cut in two. `text` are words of people and models.
    """

    key: str
    kind: MarkKind
    lane: str
    first: int | None
    last: int | None
    at: datetime
    until: datetime | None = None
    name: str = ""
    text: str = ""
    ok: bool = True
    frame: str = ""
    result: str = ""
    """What a call came to."""
    options: tuple[str, ...] = ()
    chosen: str = ""
    """What people saw in the place of the options, once one was chosen."""

    def data(self, *, content: bool) -> dict[str, Any]:
        """It as JSON data; words only with `content`."""
        until = None if self.until is None else self.until.isoformat()
        found = asdict(self) | {"at": self.at.isoformat(), "until": until}
        for name in _WORDS:
            del found[name]
        if content:
            said = self.kind in ("heard", "said")
            text = html_as_markdown(self.text, growing=self.last is None) if said else self.text
            found |= {"text": text[:MAX_TEXT], "result": self.result[:MAX_TEXT]}
            found |= {"options": list(self.options), "chosen": self.chosen}
        return found


class Strip(Struct):
    """Facts in order, without a gap, as marks. `ordered`: the tasks that were ordered before and in them."""

    ordered: int = 0
    marks: dict[str, StripMark] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    """The messages that people wrote."""
    latest: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    """The last fact of each frame: a question to a model lies between it and the answer."""

    def note(self, fact: Fact) -> None:
        """Take in the next fact; one that cannot be read is passed over."""
        kind = KINDS.get(fact.kind)
        take = None if kind is None else _TAKES.get(kind)
        if kind is None or take is None:
            return
        try:
            content = kind.read(fact.data)
        except (LookupError, TypeError, ValueError):
            return
        take(self, fact, content)
        frame = content.frame_id()
        if frame is not None:
            self.latest[frame] = fact.seq, fact.at

    def begin(self, key: str, kind: MarkKind, fact: Fact, **more: Any) -> StripMark:
        mark = self.marks[key] = StripMark(key, kind, lane_of(fact), fact.seq, None, fact.at, **more)
        return mark

    def end(self, key: str, kind: MarkKind, fact: Fact) -> StripMark:
        """The mark of this key, which ends with this fact; it may have begun before what was read."""
        mark = self.marks.get(key)
        if mark is None:
            mark = self.marks[key] = StripMark(key, kind, lane_of(fact), None, None, fact.at)
        mark.last, mark.until = fact.seq, fact.at
        return mark

    def point(self, kind: MarkKind, fact: Fact, **more: Any) -> StripMark:
        """A mark of this fact alone."""
        mark = self.begin(f"{kind}:{fact.seq}", kind, fact, **more)
        mark.last, mark.until = fact.seq, fact.at
        return mark

    def answer(self, fact: Fact, name: str, text: str, frame: str) -> None:
        """A mark of what a model wrote, from the last fact of its frame before this one."""
        mark = self.point("model", fact, name=name, text=text, frame=frame)
        mark.first, mark.at = self.latest.get(frame, (mark.first, mark.at))

    def trouble(self, fact: Fact, name: str, text: str, frame: str = "") -> None:
        self.point("trouble", fact, name=name, text=text, ok=False, frame=frame)


def strip_of(facts: Iterable[Fact], *, ordered: int = 0) -> list[StripMark]:
    """The marks of these facts, in the order in which they begin. `ordered`: the tasks that were ordered before."""
    strip = Strip(ordered)
    for fact in facts:
        strip.note(fact)
    return sorted(strip.marks.values(), key=lambda mark: mark.first or mark.last or 0)


def lane_of(fact: Fact) -> str:
    """The lane of a fact: the number of the agent on whose tape it is."""
    return str(fact.tape.rpartition("/")[2])


def _heard(strip: Strip, fact: Fact, content: MessageHeard) -> None:
    strip.heard.add(content.message)
    mark = strip.point("heard", fact, name=content.name, text=content.text)
    mark.lane = PEOPLE


def _pressed(strip: Strip, fact: Fact, content: MessageQueued) -> None:
    """A press on a button; a typed answer was heard already."""
    said = content.message
    if said.type is MessageType.CHOICE and said.from_human and said.id not in strip.heard:
        mark = strip.point("heard", fact, name=said.sender_name or "", text=said.content)
        mark.lane = PEOPLE


def _grew(strip: Strip, _: Fact, content: PageGrew) -> None:
    mark = strip.marks.get(f"said:{content.page}")
    if mark is not None:
        mark.text = mark.text[: content.at] + content.text


def _finished(strip: Strip, fact: Fact, content: PageFinished | PageClosed) -> None:
    mark = strip.end(f"said:{content.page}", "said", fact)
    mark.text = content.text
    mark.ok = not isinstance(content, PageClosed)


def _asked(strip: Strip, _: Fact, content: frames.QuestionAsked) -> None:
    mark = strip.marks.get(f"said:{content.page}")
    if mark is not None:
        mark.options = tuple(content.options)


def _closed_question(strip: Strip, _: Fact, content: QuestionClosed) -> None:
    mark = strip.marks.get(f"said:{content.page}")
    if mark is not None:
        mark.chosen = content.chosen


def _started(strip: Strip, fact: Fact, content: frames.FrameStarted) -> None:
    mark = strip.begin(f"call:{content.frame}", "call", fact, name=content.playbook, frame=content.frame)
    mark.text = _short({**dict(enumerate(content.args)), **content.kwargs})


def _returned(strip: Strip, fact: Fact, content: frames.FrameReturned) -> None:
    mark = strip.end(f"call:{content.frame}", "call", fact)
    mark.frame, mark.result = content.frame, _short(content.value)
    if content.error is not None:
        mark.ok, mark.result = False, ": ".join(content.error)
        strip.trouble(fact, *content.error, content.frame)


def _result(strip: Strip, fact: Fact, content: frames.CallReturned) -> None:
    if content.error is not None:
        strip.trouble(fact, *content.error, content.frame)
    key = f"effect:{content.frame}:{content.pos}"
    if content.name == _ANSWER:
        strip.answer(fact, _ANSWER, _short(content.value), content.frame)
    elif key in strip.marks:
        mark = strip.end(key, "call", fact)
        mark.result, mark.ok = ": ".join(content.error or [_short(content.value)]), content.error is None


def _waits(strip: Strip, fact: Fact, content: frames.WaitBegun) -> None:
    key = f"wait:{content.frame}:{content.pos}"
    before = strip.marks.pop(key, None)
    if before is not None:  # the place of a wait is used again, the earlier one keeps its own name
        strip.marks[f"{key}:{before.first}"] = before
        before.key = f"{key}:{before.first}"
    strip.begin(key, "wait", fact, name=_source(content.source), frame=content.frame)


def _took(strip: Strip, fact: Fact, content: frames.WaitEnded) -> None:
    key = f"wait:{content.frame}:{content.pos}"
    mark = strip.marks.get(key)
    if mark is not None and mark.last is None:
        strip.end(key, "wait", fact)


def _step(strip: Strip, fact: Fact, content: frames.StepReached | frames.StepReturned) -> None:
    at = content.at if isinstance(content, frames.StepReached) else str(content.to)
    strip.point("step", fact, name=f"{at}:{content.op}", frame=content.frame)


def _agent(strip: Strip, fact: Fact, content: AgentCreated) -> None:
    mark = strip.point("agent", fact, name=content.klass)
    mark.lane = str(content.id)


def _stopped(strip: Strip, fact: Fact, content: AgentStopped) -> None:
    if not content.idle:
        strip.point("trouble", fact, name="stopped")  # by somebody, or because the program ended: no failure


def _ordered(strip: Strip, fact: Fact, content: TaskOrdered) -> None:
    strip.ordered += 1
    strip.begin(f"task:{strip.ordered}", "task", fact, name=f"{content.klass}.{content.playbook}")


def _over(strip: Strip, fact: Fact, content: TaskOver) -> None:
    strip.end(f"task:{content.number}", "task", fact).ok = content.status == "completed"


def _source(source: Mapping[str, Any] | None) -> str:
    """What is waited for."""
    if source is None:
        return "time"
    if "meeting" in source:
        return f"meeting {source['meeting']}"
    agents = source.get("agents")
    return " ".join(as_named(str(agent)) for agent in agents) if agents else "people"


def _short(value: Any) -> str:
    if value in (None, {}, []):
        return ""
    return value if isinstance(value, str) else write_json(value)[:MAX_TEXT]


_TAKES: Mapping[type[FactContent], Callable[[Strip, Fact, Any], object]] = {
    MessageHeard: _heard,
    MessageQueued: _pressed,
    PageBegun: lambda strip, fact, content: strip.begin(
        f"said:{fact.seq}", "said", fact, name=content.to, frame=content.frame
    ),
    PageGrew: _grew,
    QuestionClosed: _closed_question,
    PageFinished: _finished,
    PageClosed: _finished,
    frames.QuestionAsked: _asked,
    frames.FrameStarted: _started,
    frames.FrameReturned: _returned,
    frames.CallReturned: _result,
    frames.EffectIntended: lambda strip, fact, content: strip.begin(
        f"effect:{content.frame}:{content.pos}", "call", fact, name=content.name, frame=content.frame
    ),
    frames.WaitBegun: _waits,
    frames.WaitEnded: _took,
    frames.StepReached: _step,
    frames.StepReturned: _step,
    frames.StatementAccepted: lambda strip, fact, content: strip.answer(
        fact, "statement", content.source, content.frame
    ),
    frames.StatementRejected: lambda strip, fact, content: strip.trouble(
        fact, content.rule, f"{content.message}\n{content.source}".strip(), content.frame
    ),
    frames.StatementFailed: lambda strip, fact, content: strip.trouble(
        fact, content.error[0], content.error[1], content.frame
    ),
    frames.FailureUncaught: lambda strip, fact, content: strip.trouble(
        fact, content.error_type, f"Nobody caught it: {content.raised_at}"
    ),
    ProgramBroken: lambda strip, fact, content: strip.trouble(fact, "program", content.why),
    AgentCreated: _agent,
    AgentStopped: _stopped,
    TaskOrdered: _ordered,
    TaskOver: _over,
    WordToTask: lambda strip, fact, content: strip.point("word", fact, name=content.whom, text=content.text),
    WordToOrderer: lambda strip, fact, content: strip.point("word", fact, name=content.whom, text=content.text),
}

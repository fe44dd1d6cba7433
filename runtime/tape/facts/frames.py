"""Facts about frames, which are playbooks in execution: their turns, steps and statements; and about the calls that
they make: what these came to, what they wait for, and what they ask people.

A call is told by its frame, its position there, its name and its digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.tape.facts.content import CALL_SITE, ERROR, NOTHING, PARTICIPANTS, RAISED_AT, FactContent, fact, key
from runtime.tape.state.frames import CallSite, RaisedAt

Loops = Mapping[str, Mapping[str, Any] | None]
"""What changes of loops, by line; None for one that is over."""


@fact("uncaught", session=True)
class FailureUncaught(FactContent, frozen=True):
    """Something that an agent began has failed, by fact `seq`."""

    seq: int = key("seq")
    error_type: str = key("type")
    raised_at: RaisedAt = key("where", form=RAISED_AT)


@fact("reported", session=True)
class FailureReported(FactContent, frozen=True):
    """The failure of fact `seq` is in a report: its number, 0 if none could be made, and how many failures it has."""

    seq: int = key("seq")
    report: int = key("report")
    count: int = key("count")


@fact("start")
class FrameStarted(FactContent, frozen=True):
    """A playbook begins. `variables` are set by it, `fired` the playbooks that they trigger, `caller` is the call that
    it answers; `messages` are what it begins with; `begins`: it is one of its agent's beginnings."""

    frame: str = key("f")
    agent: AgentId = key("agent")
    playbook: str = key("pb")
    args: Sequence[Any] = key("args")
    kwargs: Mapping[str, Any] = key("kwargs")
    version: str = key("version")
    variables: Mapping[str, Any] = key("set", default=NOTHING, always=True)
    fired: Sequence[str] = key("fired", default=(), when=lambda fact: fact.caller is not None)
    caller: CallSite | None = key("up", default=None, form=CALL_SITE)
    begins: bool = key("begins", default=False)
    meeting: str | None = key("meeting", default=None, when=lambda fact: fact.caller is not None)
    messages: Sequence[str] = key("mids", default=())


@fact("ret")
class FrameReturned(FactContent, frozen=True):
    """A playbook returned a value, or failed with an `error`: type and text, `raised_at` the innermost playbook.

    `summary` is what it wrote of itself, `did` else the last of what was said; the caller's variables `kept` are set to
    the value; `artifacts` are named with their summaries.
    """

    frame: str = key("f")
    value: Any = key("val", default=None, when=lambda fact: fact.error is None)
    error: tuple[str, str] | None = key("exc", default=None, form=ERROR)
    summary: str | None = key("sum", default=None)
    did: str | None = key("did", default=None)
    kept: Sequence[str] = key("keep", default=())
    artifacts: Mapping[str, str] = key("art", default=NOTHING)
    raised_at: RaisedAt | None = key("where", default=None, form=RAISED_AT)


@fact("turn")
class TurnEnded(FactContent, frozen=True):
    """A turn is over. `waits` is what the next one waits for, None where it follows at once."""

    frame: str = key("f")
    heard: str | None = key("heard", default=None)
    said: str | None = key("said", default=None)
    gave: str | None = key("gave", default=None)
    waits: Mapping[str, Any] | None = key("waits", default=None, when=lambda fact: fact.said is not None)
    args: Sequence[Any] | None = key("args", default=None)
    kwargs: Mapping[str, Any] | None = key("kwargs", default=None)


@fact("step")
class StepReached(FactContent, frozen=True):
    """Control comes to an instruction. `notes` and `said` are what the one before it has for the model."""

    frame: str = key("f", first=True)
    at: str = key("at")
    op: str = key("op")
    loops: Loops = key("loops", default=NOTHING)
    heard: str | None = key("heard", default=None)
    notes: Sequence[str] = key("notes", default=(), first=True)
    said: Sequence[str] = key("said", default=(), first=True)


@fact("back")
class StepReturned(FactContent, frozen=True):
    """Control goes back to instruction number `to` of the trail."""

    frame: str = key("f", first=True)
    to: int = key("to")
    op: str = key("op")
    loops: Loops = key("loops", default=NOTHING)
    heard: str | None = key("heard", default=None)
    notes: Sequence[str] = key("notes", default=(), first=True)
    said: Sequence[str] = key("said", default=(), first=True)


@fact("compact")
class TranscriptCompacted(FactContent, frozen=True):
    """The first `turns` turns are told by a summary from now on."""

    frame: str = key("f")
    turns: int = key("turns")
    summary: str = key("summary")


@fact("park")
class FrameParked(FactContent, frozen=True):
    """A frame waits from now on."""

    frame: str = key("f")
    waits: Mapping[str, Any] | None = key("waits")


@fact("steer")
class FrameSteered(FactContent, frozen=True):
    """Messages came to a frame while it was working. `heard` is their text for a model."""

    frame: str = key("f")
    messages: Sequence[str] = key("mids")
    heard: str | None = key("heard", default=None)


@fact("described")
class DescriptionFilled(FactContent, frozen=True):
    """The description of a playbook with values in the place of its placeholders."""

    frame: str = key("f")
    text: str = key("text")


@fact("stmt")
class StatementAccepted(FactContent, frozen=True):
    """A statement of the reply was accepted; `remarks` are the comments before it."""

    frame: str = key("f")
    source: str = key("src")
    remarks: Sequence[str] = key("re", default=())


@fact("done")
class StatementDone(FactContent, frozen=True):
    """The last statement was executed; it leaves names, and source that those after it need."""

    frame: str = key("f")
    names: Mapping[str, Any] = key("loc", default=NOTHING, always=True)
    prelude: Sequence[str] = key("prelude", default=(), always=True)


@fact("relocal")
class LocalsAltered(FactContent, frozen=True):
    """Somebody gave names of a frame other values from outside."""

    frame: str = key("f")
    names: Mapping[str, Any] = key("set")


@fact("failed")
class StatementFailed(FactContent, frozen=True):
    """The last statement raised an error: type and text."""

    frame: str = key("f")
    error: tuple[str, str] = key("exc", form=ERROR)


@fact("rej")
class StatementRejected(FactContent, frozen=True):
    """A statement of the reply breaks a rule."""

    frame: str = key("f")
    rule: str = key("rule")
    message: str = key("message", default="", always=True)
    source: str = key("source", default="", always=True)


@fact("end")
class EndReached(FactContent, frozen=True):
    """A reply ends its turn: with what the playbook returns, or with what it waits for."""

    frame: str = key("f")
    how: Literal["return", "yield"] = key("how")
    value: Any = key("val", default=None, always=True)


@fact("res")
class CallReturned(FactContent, frozen=True):
    """A call came to a value, or to an `error`: type and text, `raised_at` a place other than that of the call.

    It `sets` variables, names artifacts with their summaries, and said `text` to `to`. A `hidden` call is the
    runtime's own.
    """

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    value: Any = key("val", default=None, when=lambda fact: fact.error is None)
    error: tuple[str, str] | None = key("exc", default=None, form=ERROR)
    artifacts: Mapping[str, str] = key("art", default=NOTHING)
    sets: Mapping[str, Any] = key("set", default=NOTHING)
    to: str | None = key("to", default=None)
    text: str | None = key("text", default=None, first=True)
    hidden: bool = key("hidden", default=False)
    raised_at: RaisedAt | None = key("where", default=None, form=RAISED_AT)


@fact("drop")
class CallDropped(FactContent, frozen=True):
    """A call was cancelled by the code that made it."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    error: tuple[str, str] | None = key("exc", default=None, form=ERROR)


@fact("set")
class VariableSet(FactContent, frozen=True):
    """A call sets a variable, and triggers playbooks by it, before it comes to its result."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    value: Any = key("val")
    fired: Sequence[str] = key("fired")


@fact("intent")
class EffectIntended(FactContent, frozen=True):
    """An outside effect is about to begin; `effect` tells it from all others."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    effect: str = key("key")


@fact("wait")
class WaitBegun(FactContent, frozen=True):
    """A frame waits for messages of a source, or for a time alone. `due` is in seconds since the epoch."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    source: Mapping[str, Any] | None = key("source")
    due: float | None = key("due")


@fact("took")
class WaitEnded(FactContent, frozen=True):
    """A wait has ended with messages of the queue.

    Of a call: with its value; `asides` were told with it, `cue` is the meeting whose host it asked to begin. Between
    two turns there is no name: `heard` is how a model is told, `kept_at` where the value is kept as a call of its own,
    and `notes` and `said` are what the instruction before it has for the model.
    """

    frame: str = key("f")
    pos: str = key("pos")
    name: str | None = key("name", default=None)
    digest: str | None = key("dig", default=None)
    messages: Sequence[str] = key("mids", default=(), always=True)
    heard: str | None = key("heard", default=None)
    kept_at: str | None = key("as", default=None)
    value: Any = key("val", default=None, when=lambda fact: fact.name is not None or fact.kept_at is not None)
    asides: bool | None = key("asides", default=None)
    cue: str | None = key("cue", default=None)
    notes: Sequence[str] = key("notes", default=())
    said: Sequence[str] = key("said", default=())


@fact("acks")
class AcksAwaited(FactContent, frozen=True):
    """A call waits until `who` have acknowledged a message: ids of agents and people. `page` is where people see it."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    due: float = key("due")
    message: str = key("message")
    who: Sequence[ParticipantId] = key("who", form=PARTICIPANTS)
    page: str | None = key("page", default=None, always=True)
    to: str | None = key("to", default=None)


@fact("acked")
class MessageAcknowledged(FactContent, frozen=True):
    """A participant of an extension has a message for whose acknowledgement a call waits, or never will."""

    message: str = key("message")
    who: ParticipantId = key("who")
    has_it: bool = key("has")


@fact("ask")
class QuestionAsked(FactContent, frozen=True):
    """A page asks people a question. `of` is whose answer counts; `each` are ids by name where several are asked."""

    frame: str = key("f")
    pos: str = key("pos")
    page: str = key("page")
    text: str = key("text")
    options: Sequence[str] = key("options")
    of: PersonId | None = key("of", default=None, always=True)
    each: Mapping[str, str] = key("each", default=NOTHING)


@fact("answered")
class QuestionAnswered(FactContent, frozen=True):
    """One of several people answered, or left: then there is no text."""

    frame: str = key("f")
    pos: str = key("pos")
    messages: Sequence[str] = key("mids")
    who: str = key("who")
    text: str | None = key("text")


@fact("reask")
class QuestionAskedAgain(FactContent, frozen=True):
    """A question is shown on another page."""

    frame: str = key("f")
    pos: str = key("pos")
    page: str = key("page")

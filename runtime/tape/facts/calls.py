"""Facts about the calls that frames make: what they came to, what they wait for, and what they ask people.

A call is told by its frame, its position there, its name and its digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.ids import ParticipantId, PersonId
from runtime.tape.facts.content import ERROR, NOTHING, PARTICIPANTS, RAISED_AT, Content, fact, key
from runtime.tape.state.frames import RaisedAt


@fact("res")
class CallReturned(Content):
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
class CallDropped(Content):
    """A call was cancelled by the code that made it."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    error: tuple[str, str] | None = key("exc", default=None, form=ERROR)


@fact("set")
class VariableSet(Content):
    """A call sets a variable, and triggers playbooks by it, before it comes to its result."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    value: Any = key("val")
    fired: Sequence[str] = key("fired")


@fact("intent")
class EffectIntended(Content):
    """An outside effect is about to begin; `effect` tells it from all others."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    effect: str = key("key")


@fact("wait")
class WaitBegun(Content):
    """A frame waits for messages of a source, or for a time alone. `due` is in seconds since the epoch."""

    frame: str = key("f")
    pos: str = key("pos")
    name: str = key("name")
    digest: str = key("dig")
    source: Mapping[str, Any] | None = key("source")
    due: float | None = key("due")


@fact("took")
class WaitEnded(Content):
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
class AcksAwaited(Content):
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
class MessageAcknowledged(Content):
    """A participant of an extension has a message for whose acknowledgement a call waits, or never will."""

    message: str = key("message")
    who: ParticipantId = key("who")
    has_it: bool = key("has")


@fact("ask")
class QuestionAsked(Content):
    """A page asks people a question. `of` is whose answer counts; `each` are ids by name where several are asked."""

    frame: str = key("f")
    pos: str = key("pos")
    page: str = key("page")
    text: str = key("text")
    options: Sequence[str] = key("options")
    of: PersonId | None = key("of", default=None, always=True)
    each: Mapping[str, str] = key("each", default=NOTHING)


@fact("answered")
class QuestionAnswered(Content):
    """One of several people answered, or left: then there is no text."""

    frame: str = key("f")
    pos: str = key("pos")
    messages: Sequence[str] = key("mids")
    who: str = key("who")
    text: str | None = key("text")


@fact("reask")
class QuestionAskedAgain(Content):
    """A question is shown on another page."""

    frame: str = key("f")
    pos: str = key("pos")
    page: str = key("page")

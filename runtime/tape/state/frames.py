"""Playbooks in execution as a session's state has them: their frames, calls and waits, and their last utterances for
the frame that continues after them. Data only; `fold` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.message import NO_MEETING, Message, MessageType
from runtime.core.prompt_forms import LineForm, foreign_line, foreign_lines, foreign_name

SHARED = "shared"
"""The plain name by which statements read the shared state of the meeting that they are executed in."""

MAX_TRAIL = 100
"""The number of instructions that a correction can go back."""

SUMMARY = "__"
"""The variable that tells a caller what happened in the playbook that it called last."""

MAX_UTTERANCES = 8
"""The number of last utterances that are told."""

MAX_UTTERANCE_CHARS = 120

MAX_SPEAKER_CHARS = 40

MAX_SUMMARY_CHARS = 1_500
"""The length of the account of a call for its caller."""

Talk = list[tuple[str, str]]
"""Utterances: who speaks, and the words."""

_WORDS = frozenset({MessageType.DIRECT, MessageType.MEETING_BROADCAST, MessageType.CHOICE})
"""Messages that are somebody's words."""


class CallKey(NamedTuple):
    """A host call of a session: the frame that makes it, and its position there. A tuple, since it is looked up after
    every call."""

    frame: str
    pos: str

    def __str__(self) -> str:
        """As snapshots have it; see `parse`."""
        return f"{self.frame}|{self.pos}"

    @classmethod
    def parse(cls, text: str) -> CallKey:
        """The inverse of `str`. A position may have the separator in it, a frame's id never does."""
        frame, _, pos = text.partition("|")
        return cls(frame, pos)


class RaisedAt(Struct, frozen=True):
    """The place where an exception was raised: the agent with its class, the playbook, and the step it had come to.

    `lines` are the places in Python code that led to it, such as `shop.pb:31 in Ship`, the innermost last.
    """

    agent: str
    playbook: str
    step: str | None = None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In one line, for the log."""
        place = f"{self.agent}: {self.step or self.playbook}"
        return f"{place}, {self.lines[-1]}" if self.lines else place


class CallRecord(Struct):
    """The outcome of a host call, kept with its frame. `error` is exception type and text, `raised_at` where it was
    raised, where that is not in the frame itself.

    `hidden` records belong to the runtime (a fired trigger's playbook); the frame does not get them.
    """

    name: str
    digest: str
    value: Any = None
    error: tuple[str, str] | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    hidden: bool = False
    text: str | None = None
    """What was said by it."""
    raised_at: RaisedAt | None = None


class StatementState(Struct):
    """A statement of the present turn that was accepted; `variables` are the agent's, as it sees them, and `SHARED`."""

    source: str
    variables: dict[str, Any]
    done: bool = False
    error: tuple[str, str] | None = None
    remarks: list[str] = field(default_factory=list)
    """The comments before it."""


class CallSite(Struct):
    """The host call that a frame answers: its caller's frame and position, and the call's name and digest."""

    frame: str
    pos: str
    name: str
    digest: str
    hidden: bool = False

    @property
    def delivers(self) -> bool:
        """Whether it hands what was said over to a playbook that shows it to a person."""
        return self.hidden and ":d" in self.pos


class TurnEnding(Struct):
    """The end of a turn: `Return` with a value, or `Yld` with a wait."""

    kind: Literal["return", "yield"]
    value: Any = None


class FrameState(Struct):
    """A playbook in execution.

    `records` hold this turn's results by position, `order` the order in which they are handed out. `base` are the
    agent's variables when the turn began. `transcript` is what the model was told and answered in earlier turns, `gave`
    what the calls of the last one gave.
    """

    id: str
    agent: AgentId
    playbook: str
    args: list[Any]
    kwargs: dict[str, Any]
    version: str
    caller: CallSite | None = None
    turn: int = 0
    base: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
    prelude: list[str] = field(default_factory=list)
    records: dict[str, CallRecord] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    statements: list[StatementState] = field(default_factory=list)
    step: str | None = None
    turn_steps: list[str] = field(default_factory=list)
    inbox: list[Message] = field(default_factory=list)
    transcript: list[dict[str, str]] = field(default_factory=list)
    gave: str = ""
    rejections: list[dict[str, Any]] = field(default_factory=list)
    ending: TurnEnding | None = None
    waits_for: dict[str, Any] | None = None
    meeting: str | None = None
    steered: list[str] = field(default_factory=list)
    """Messages of `inbox` that came while the frame was working."""
    description: str | None = None
    """The playbook's description with values in the place of its placeholders, where it has any."""
    unwaited: int = 0
    """Turns in a row that waited for nobody."""
    spoken: int = 0
    """What it, and what it called, has said to people and meetings, and asked, since anybody was waited for."""
    since: float = 0.0
    """When it began, in seconds since the epoch."""
    at: str | None = None
    """The line of the instruction that is executed, of a playbook whose steps the runtime walks."""
    at_seq: int = 0
    """The fact by which control came to it."""
    loops: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The loops that it is in, by line: the round (`n`), and the `items` of one over a list; of others the rounds since
    somebody was waited for (`idle`), and since anything changed (`same`)."""
    trail: list[tuple[str, dict[str, dict[str, Any]]]] = field(default_factory=list)
    """The latest instructions that were come to, each with the loops as they were before it."""
    heard: str = ""
    """What was heard last: the messages of the present exchange, as a model reads them."""
    notes: list[str] = field(default_factory=list)
    """What happened since then, for the model."""
    said: list[str] = field(default_factory=list)
    """What was said since then."""
    said_before: list[str] = field(default_factory=list)
    """What was said before that, since what was heard then."""
    fired: list[str] = field(default_factory=list)
    """Playbooks whose triggers began to hold by the variables that its call sets: they are executed before it."""
    talk: list[tuple[str, str]] = field(default_factory=list)
    """The speakers and words of what was said and heard last, in it and in what it called, see `keep_said`."""
    summary: str = ""
    """What it wrote in `$__`."""

    @property
    def exchange(self) -> dict[str, str] | None:
        """The present exchange of a walked playbook, as its transcript will have it; None where it is empty."""
        if not self.heard and not self.notes and not self.said:
            return None
        return {"heard": "\n".join(text for text in (self.heard, *self.notes) if text), "said": "\n\n".join(self.said)}


class WaitState(Struct):
    """A frame waits for messages or for a time. `due` is in seconds since the epoch; None waits for ever."""

    frame: str
    pos: str
    name: str
    digest: str
    source: dict[str, Any] | None
    due: float | None
    seq: int
    since: float = 0.0
    """When it began, in seconds since the epoch."""

    @property
    def lasts(self) -> bool:
        """Whether it was given any time."""
        return self.due is None or self.due > self.since


class IntentState(Struct):
    """An outside effect that was begun; `key` is the session and the number of the fact that says so."""

    name: str
    digest: str
    key: str


def takes(source: Mapping[str, Any], message: Message) -> bool:
    """Whether a wait for `source` takes `message`. Keys of a source: `any`, `human`, `agents` (ids), `meeting` (id).

    With `human` may come `person` (id) or, while nobody is known to be them, `declared` (a human of the program): then
    nobody else's words count, and `people` (ids) of a question that several are asked.
    A person's message also wakes whoever waits for agents or a meeting: an interrupt, to be decided on. A choice is
    for the question (`ask`, its page) alone; `of` is the one person whose words count. A reminder is for every wait
    but a question. Who waits for a meeting also hears what those in it say to them in private, and who waits `within`
    one (id), for whatever it is, that it has ended; a question hears of who was asked that they have left it. An
    invitation is for none: who is at work cannot come. Who waits for a `task` (its number) takes no message. `notices`
    is False where a quiet notice does not end the wait. What a person says to another one, or said before it was
    asked, answers no question. `type` takes messages of that type alone, and the end of the meeting. `retry`
    says that the frame waits only to be tried again.
    """
    if "task" in source or message.type == MessageType.MEETING_INVITATION or (message.aside and "ask" in source):
        return False
    if message.ends_meeting and message.meeting_id == source.get("within"):
        return True
    if "ask" in source and message.gone is not None and message.meeting_id == source.get("within"):
        return message.gone in (source.get("of"), *source.get("people", ()))
    if message.quiet and not source.get("notices", True):
        return False
    if message.type in (MessageType.REMINDER, MessageType.TRIGGER):
        return "ask" not in source
    if message.type == MessageType.CHOICE:
        asked = message.answers is not None and source.get("ask") == message.answers
        return asked and counts(source, str(message.sender_id), message.sender_class)
    if not _wanted(source, message):
        return False
    if source.get("any") or message.from_human:
        return True
    if "meeting" in source:
        where = message.within if message.type == MessageType.DIRECT else None
        return source["meeting"] in (message.meeting_id, where)
    return message.meeting_id is None and message.sender_id in source.get("agents", ())


def counts(source: Mapping[str, Any], person: str, declared: str | None) -> bool:
    """Whether what a person says, perhaps a declared one, counts for a wait that may be for certain people."""
    certain = source.get("person") or source.get("of")
    if certain is not None and certain != person:
        return False
    if source.get("declared") not in (None, declared):
        return False
    return source.get("people") is None or person in source["people"]


class AckState(Struct):
    """A frame's call waits until what it said is acknowledged: `awaited` by whom still (ids of agents and people).

    People acknowledge by the page, which was shown to them. `refused` are those who will never have it.
    """

    message: str
    awaited: list[ParticipantId]
    page: str | None = None
    acknowledged: list[ParticipantId] = field(default_factory=list)
    refused: list[ParticipantId] = field(default_factory=list)

    def settle(self, who: ParticipantId, *, has_it: bool) -> None:
        """`who` has the message, or never will."""
        if who in self.awaited:
            self.awaited.remove(who)
            (self.acknowledged if has_it else self.refused).append(who)


def settle_message(acks: Mapping[CallKey, AckState], message: str, who: ParticipantId, *, has_it: bool) -> None:
    """An agent has consumed a message, or it was taken away from the agent unread; an extension has it, or cannot."""
    for ack in acks.values():
        if ack.message == message:
            ack.settle(who, has_it=has_it)


def settle_page(acks: Mapping[CallKey, AckState], page: str, *, has_it: bool) -> None:
    """People see a page, or never will."""
    for ack in acks.values():
        if ack.page == page:
            for who in [who for who in ack.awaited if isinstance(who, PersonId)]:
                ack.settle(who, has_it=has_it)


def said_by(speaker: str, text: str) -> Talk:
    """An utterance; none for an empty text."""
    words = _shortened(text, MAX_UTTERANCE_CHARS)
    return [(_shortened(speaker, MAX_SPEAKER_CHARS), words)] if words else []


def keep_said(frame: FrameState, speaker: str, text: str, to: str | None = None) -> None:
    """Somebody said something in a frame, perhaps to another agent alone."""
    speaker = f"{speaker} to {to}" if to is not None and to.startswith("agent ") else speaker
    frame.talk = last_of([*frame.talk, *said_by(speaker, text)])


def keep_heard(frame: FrameState, messages: Iterable[Message]) -> None:
    """A frame has taken messages."""
    for message in messages:
        if message.type in _WORDS:
            keep_said(frame, speaker_of(message), message.content)


def speaker_of(message: Message) -> str:
    return message.sender_name or ("user" if message.from_human else message.sender_class)


def hand_on(frame: FrameState, above: FrameState | None, did: str | None) -> None:
    """Hand what happened in a frame that is no more to the one that called it: what was said there, when it is the same
    agent's, and for a model what it `did`."""
    if above is None:
        return
    if above.agent == frame.agent:
        above.talk = last_of([*above.talk, *frame.talk])
    if did and above.at is not None:
        above.notes.append(
            f"{LineForm.INSIDE.format(name=frame.playbook)} {_shortened(foreign_lines(did), MAX_SUMMARY_CHARS)})"
        )


def last_of(talk: Talk) -> Talk:
    """The retained utterances: those that are told, and one more as a sign that there were more."""
    return talk[-MAX_UTTERANCES - 1 :]


def told(talk: Talk) -> str:
    """The last utterances on one line; empty without any."""
    said = [f"{foreign_name(speaker)}: “{foreign_line(words)}”" for speaker, words in talk[-MAX_UTTERANCES:]]
    return " ".join(["…", *said] if len(talk) > MAX_UTTERANCES else said)


def past_of(talk: Talk) -> list[dict[str, str]]:
    """The utterances before a frame without a caller, which start its transcript."""
    return [{"heard": f"{LineForm.SAID_BEFORE} {told(talk)})", "said": ""}] if talk else []


def _wanted(source: Mapping[str, Any], message: Message) -> bool:
    """Whether a message is of the type that is waited for, and from somebody whose words count: a person who is asked,
    and for a meeting nobody who has left it or does not come."""
    if "type" in source and message.type != source["type"]:
        return False
    if "meeting" in source and message.within == NO_MEETING:
        return False
    return not message.from_human or counts(source, str(message.sender_id), message.sender_class)


def _shortened(text: str, max_chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"

"""What people do, made ready before a session takes it, with what was said in a place before a program was spoken to
there for the first message of its session; and who of them is which human of the program.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import nullcontext
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.core.files import FILE_URL
from runtime.core.ids import AgentId, MessageId, PersonId, is_human_word, parse_agent_id, parse_meeting_id
from runtime.core.json_text import plain_data
from runtime.core.message import HUMAN_CLASS, Attachment, Message, attachment_from
from runtime.core.quote import Quote, all_quotes
from runtime.execution.speech.pages import SessionPages
from runtime.language.syntax.humans import HumanSpec
from runtime.meetings.meeting import within
from runtime.sessions.features import SessionPart
from runtime.stores.inbox import REMARKS, InboxEntry, InboxEvent
from runtime.tape.facts.people import FileReceived, PeopleQuoted, PersonBound, PersonMet
from runtime.tape.journal import Journal
from runtime.tape.state.people import PersonState
from runtime.tape.state.session import SessionState

_OVERTAKEN = frozenset({"message", "edit", "choice"})
"""What a stop makes void when it came before it. Commands, deletions and reactions keep their place."""

OWN_QUOTED_CHARS: Final = 300
"""The length to which a message of ours is quoted."""


MAX_NAME_CHARS = 80
"""The length to which a name is kept. Chosen: longer than people's names are, and short in a line of text."""

_TURNING = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


class EarlierWords(Struct, frozen=True):
    """What was said before, oldest first, and the files of it that are to be read."""

    said: tuple[Quote, ...] = ()
    files: tuple[Attachment, ...] = ()


PastSource: TypeAlias = Callable[[InboxEvent], Awaitable[EarlierWords]]
"""What was said before an event in its place, by those who may be heard there. Raises nothing: where nobody can be
asked, nothing was said."""


class SessionArrivals(Struct, eq=False):
    """What people do in one session."""

    _journal: Journal
    _pages: SessionPages
    _past: PastSource | None
    _binding: HumanBinding
    _features: Sequence[SessionPart]

    async def prepare(self, event: InboxEvent) -> InboxEvent:
        """The event made ready by all who have to; it shows while its files are read. Raises StorageError."""
        event = await with_past(event, self._journal, self._past)
        reads = self._features and event.attachments
        with self._pages.presence.attending(event.place) if reads else nullcontext():
            for feature in self._features:
                event = await feature.prepare(event)
        return event

    def meet(self, event: InboxEvent) -> None:
        """Write down who did it, what came with it, and whose words came with it, so that they can be found."""
        quotes = all_quotes(event.quote, (*event.around, *event.past))
        people = sorted({quote.person for quote in quotes if quote.person} - set(self._journal.state.people))
        if people:
            self._journal.note(PeopleQuoted(tuple(people)))
        self._binding.meet(event)


async def with_past(event: InboxEvent, journal: Journal, source: PastSource | None) -> InboxEvent:
    """The event with what was said before it, if it begins its session. Whoever began it by a command wants it to know
    nothing.
    """
    begins = event.kind == "message" and event.place is None and not event.private
    if source is None or not begins or event.message_id is None or journal.state.people:
        return event
    words = await source(event)
    files = (plain_data(replace(file, quoted=True)) for file in words.files)
    return replace(event, past=words.said, attachments=(*event.attachments, *files))


class StopRequest(Struct, frozen=True):
    """Somebody wants everything to stop; `passed` are earlier messages that need no answer."""

    entry: InboxEntry
    passed: tuple[InboxEntry, ...] = ()

    @property
    def entries(self) -> tuple[InboxEntry, ...]:
        """All entries that are taken with it, in order."""
        return (*self.passed, self.entry)


class ShardBacklog:
    """Bounded by the shard's inbox, from which an entry is taken when it was processed."""

    def __init__(self) -> None:
        self._entries: list[InboxEntry] = []
        self._stops: list[StopRequest] = []
        self.on_stop: Callable[[], None] = lambda: None
        """Called when there is a stop to take."""
        self.wanted = WakeSignal()
        """Sent when somebody asks for an event."""
        self._changed = WakeSignal()
        self._held = False

    def __len__(self) -> int:
        """The number of events that can be received."""
        return len(self._stops) + (0 if self._held else len(self._entries))

    def hold(self) -> None:
        """Hand out only stops: other events stay in the inbox, for the next owner."""
        self._held = True

    def put(self, entry: InboxEntry) -> None:
        """The newest entry."""
        if entry.event.kind == "stop":
            passed = tuple(e for e in self._entries if e.event.kind in _OVERTAKEN)
            self._entries = [e for e in self._entries if e.event.kind not in _OVERTAKEN]
            self._stops.append(StopRequest(entry, passed))
            self.on_stop()
        else:
            self._entries.append(entry)
        self._changed.send()

    def put_back(self, entries: Sequence[InboxEntry]) -> None:
        """Put back entries that were taken and not processed, in front of all others."""
        later = [*(entry for stop in self._stops for entry in stop.entries), *self._entries]
        self._entries.clear()
        self._stops.clear()
        for entry in (*entries, *later):
            self.put(entry)

    def take(self) -> InboxEntry | None:
        """The oldest entry that is no stop; None when there is none."""
        return self._entries.pop(0) if self._entries and not self._held else None

    def take_stop(self) -> StopRequest | None:
        """The oldest stop; None when there is none."""
        return self._stops.pop(0) if self._stops else None

    async def receive(self) -> InboxEntry:
        """The oldest entry that is no stop; waits for it."""
        self.wanted.send()
        while self._held or not self._entries:
            await self._changed.wait()
        return self._entries.pop(0)


def message_of(event: InboxEvent, agent: AgentId | None, state: SessionState, **other: Any) -> Message:
    """The event as a message to `agent`, from whom `state` knows them to be; `other` are fields that differ."""
    known = state.person_of(event.person_id)
    fields: dict[str, Any] = {
        "content": event.text,
        "attachments": files_of(event),
        "quote": _known_quote(event, state),
        "around": event.around,
        "past": event.past,
        "aside": is_aside(event, state),
    }
    return Message(
        id=MessageId(f"in.{event.id}"),
        sender_id=event.author,
        sender_class=known.declared or HUMAN_CLASS if known else HUMAN_CLASS,
        created_at=event.sent_at,
        recipient_id=agent,
        from_human=True,
        sender_name=state.called(event.person_id) if known else event.person_name,
        platform_id=event.message_id,
        looking_at=event.looking_at or None,
        within=within(state, event.author, agent),
        **(fields | other),
    )


def _known_quote(event: InboxEvent, state: SessionState) -> Quote | None:
    """What the event answers: of a message of ours, which its reader knows, only the beginning."""
    quote = event.quote
    if quote is None or quote.message_id not in state.said or len(quote.text) <= OWN_QUOTED_CHARS:
        return quote
    return replace(quote, text=quote.text[: OWN_QUOTED_CHARS - 1] + "…")


def is_aside(event: InboxEvent, state: SessionState) -> bool:
    """Whether somebody speaks to another person: it begins with `@` and their name, and is no option of a question."""
    words = event.text.strip().casefold()
    if not words.startswith("@") or any(words == o.casefold() for q in state.questions.values() for o in q.options):
        return False
    others = (person for id_, person in state.people.items() if id_ != event.person_id)
    return any(re.match(rf"@{re.escape(name.casefold())}(?!\w)", words) for other in others for name in other.names())


def files_of(event: InboxEvent) -> tuple[Attachment, ...]:
    """The files of an event, without what was read of them."""
    return tuple(replace(attachment_from(file), parts=(), note="") for file in event.attachments)


def brings_others(event: InboxEvent, known: Sequence[str]) -> bool:
    """Whether an event has a file that is kept and is none of those `known`."""
    return any(file.url.startswith(FILE_URL) and file.url not in known for file in files_of(event))


class HumanBinding(Struct, eq=False):
    """Notes the people of one session as they take part, and binds each to one declared human at most.

    A human whose program says `person:` is only one of these. Else they are who shows their name, else, where the
    program declares one human in all, whoever takes part first. First come, and it stays so: everybody else is heard
    by the name they show. Whoever writes on two platforms is two people here.
    """

    _journal: Journal
    _humans: Sequence[HumanSpec]
    _classes: Collection[str]
    """Those of the agents, whose names tell nobody apart."""
    _clock: Clock
    _tell: Callable[[str, Address | None], object]
    """Shows people a sentence, in the session's own conversation or in a place."""

    def meet(self, event: InboxEvent) -> None:
        """Record the author of an event, if it has one, and the files that came with it."""
        if event.person_id:
            self._meet_author(event)
        for data in event.attachments:
            file = attachment_from(data)
            self._journal.note(
                FileReceived(file.name, file.media_type, file.url, file.size_bytes, file.parts, file.note)
            )
            for remark in data.get(REMARKS, ()):
                self._tell(remark, event.place)

    def _meet_author(self, event: InboxEvent) -> None:
        id_, name = event.author, plain_name(event.person_name) or event.person_id
        known = self._people.get(id_)
        spec = self._fitting(id_, name) if known is None or known.declared is None else None
        if known is None or (known.name, known.guest) != (name, event.by_guest):
            alike = spec is None and self._is_anothers(name)
            self._journal.note(PersonMet(id_, name, self._clock.now().timestamp(), alike, event.by_guest))
        if spec is not None:
            self._bind(id_, spec)

    def _is_anothers(self, name: str) -> bool:
        """Whether a name means somebody else: a human of the program, an agent, or whom programs mean by it."""
        taken = {"meeting", *(klass.casefold() for klass in self._classes)}
        words = name.casefold() in taken or is_human_word(name)
        numbered = parse_agent_id(name) is not None or parse_meeting_id(name) is not None
        return words or numbered or any(human.is_called(name) for human in self._humans)

    def claim(self, event: InboxEvent) -> tuple[str, dict[str, object]]:
        """The result of a person's claim to be a declared human: the key of the answer, and its values."""
        wanted = event.text.strip()
        spec = next((spec for spec in self._humans if spec.is_called(wanted)), None)
        if spec is None:
            known = ", ".join(spec.declared for spec in self._humans)
            return ("iam_unknown", {"name": wanted, "known": known}) if known else ("iam_nobody", {})
        holder, claims = self._holder(spec), event.author
        if holder is not None and holder != claims:
            return "iam_taken", {"name": spec.declared, "person": self._people[holder].name}
        if spec.people and claims not in spec.people:
            return "iam_reserved", {"name": spec.declared}
        if holder is None:
            self._bind(claims, spec)
        return "iam_bound", {"name": spec.declared, "person": self._people[claims].name}

    @property
    def _people(self) -> dict[PersonId, PersonState]:
        return self._journal.state.people

    def _holder(self, spec: HumanSpec) -> PersonId | None:
        return next((id_ for id_, person in self._people.items() if person.declared == spec.declared), None)

    def _fitting(self, person: str, name: str) -> HumanSpec | None:
        free = [spec for spec in self._humans if self._holder(spec) is None]
        named = next((spec for spec in free if person in spec.people), None)
        free = [spec for spec in free if not spec.people]
        named = named or next((spec for spec in free if spec.is_called(name)), None)
        return named or (free[0] if free and len(self._humans) == 1 else None)

    def _bind(self, person: PersonId, spec: HumanSpec) -> None:
        self._journal.note(PersonBound(person, spec.declared))


def plain_name(name: str) -> str:
    """The name that somebody shows as it is known here: on one line, of readable characters, not too long."""
    readable = "".join(" " if _is_control(character) else character for character in name)
    return " ".join(readable.split())[:MAX_NAME_CHARS].strip()


def _is_control(character: str) -> bool:
    """Control characters, and those that turn the direction of what follows them."""
    return unicodedata.category(character) == "Cc" or character in _TURNING

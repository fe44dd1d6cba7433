"""What people do, made ready before a session takes it, with what was said in a place before a program was spoken to
there for the first message of its session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from runtime.core.message import Attachment
from runtime.core.quote import Quote, all_quotes
from runtime.execution.speech.pages import SessionPages
from runtime.sessions.features import SessionPart
from runtime.sessions.inbound.binding import HumanBinding
from runtime.stores.inbox import InboxEvent
from runtime.tape.facts.people import PeopleQuoted
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class EarlierWords:
    """What was said before, oldest first, and the files of it that are to be read."""

    said: tuple[Quote, ...] = ()
    files: tuple[Attachment, ...] = ()


class PastSource(Protocol):
    """Knows what was said in the places of a platform."""

    async def before(self, event: InboxEvent, /) -> EarlierWords:
        """What was said before an event in its place, by those who may be heard there. Raises nothing: where nobody can
        be asked, nothing was said.
        """


class SessionArrivals:
    """What people do in one session."""

    def __init__(
        self,
        journal: Journal,
        pages: SessionPages,
        past: PastSource | None,
        binding: HumanBinding,
        features: Sequence[SessionPart],
    ) -> None:
        self._journal = journal
        self._pages = pages
        self._past = past
        self._binding = binding
        self._features = features

    async def prepare(self, event: InboxEvent) -> InboxEvent:
        """The event made ready by all who have to; it shows while its files are read. Raises StorageError."""
        event = await with_past(event, self._journal, self._past)
        reads = self._features and event.attachments
        with self._pages.presence.attending(event.place) if reads else nullcontext():
            for feature in self._features:
                event = await feature.prepare(event)
        return event

    def meet(self, event: InboxEvent) -> None:
        """Write down who did it, and what came with it."""
        note_quoted(event, self._journal)
        self._binding.meet(event)


async def with_past(event: InboxEvent, journal: Journal, source: PastSource | None) -> InboxEvent:
    """The event with what was said before it, if it begins its session. Whoever began it by a command wants it to know
    nothing.
    """
    begins = event.kind == "message" and event.place is None and not event.private
    if source is None or not begins or event.message_id is None or journal.state.people:
        return event
    words = await source.before(event)
    files = (asdict(replace(file, quoted=True)) for file in words.files)
    return replace(event, past=words.said, attachments=(*event.attachments, *files))


def note_quoted(event: InboxEvent, journal: Journal) -> None:
    """Write down whose words came with an event, so that they can be found."""
    quotes = all_quotes(event.quote, (*event.around, *event.past))
    people = sorted({quote.person for quote in quotes if quote.person} - set(journal.state.people))
    if people:
        journal.note(PeopleQuoted(tuple(people)))

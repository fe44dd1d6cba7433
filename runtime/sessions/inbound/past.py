"""What was said in a place before a program was spoken to there, for the first message of its session."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Protocol

from runtime.core.message import Attachment
from runtime.core.quote import Quote, all_quotes
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
        ...


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

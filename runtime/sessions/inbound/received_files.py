"""Files that come with what people do: fetched and read before a session takes the event, which waits in the inbox
until then. A crash in between repeats the work, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.message import Attachment, attachment_from
from runtime.execution.calls.describing import Describer
from runtime.execution.prompt.with_files import FileContents
from runtime.execution.speech.pages import Pages
from runtime.sessions.inbound.binding import REMARKS, Binding
from runtime.sessions.inbound.past import PastSource, note_quoted, with_past
from runtime.sessions.inbound.spoken_words import SpokenWords
from runtime.sessions.spoken_answers import SpokenAnswers
from runtime.stores.inbox import InboxEvent
from runtime.tape.journal import Journal
from runtime.voice.listener import Sound


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file as a session knows it, and what its sender is told about it. `seconds` is the length of a sound, by what
    its container says."""

    file: Attachment
    remarks: tuple[str, ...] = ()
    seconds: float | None = None


class FileIntake(FileContents, Protocol):
    """Fetches, keeps and reads files."""

    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        """Take the files of one event of a person, `once` its id. What cannot be taken is said in remarks. Raises
        StorageError."""
        ...


class ReceivedFiles:
    """The files of one session's events."""

    def __init__(  # noqa: PLR0913 - each is another part's
        self,
        session: SessionId,
        journal: Journal,
        past: PastSource | None,
        pages: Pages,
        intake: FileIntake | None,
        describer: Describer,
        binding: Binding,
        spoken_words: SpokenWords,
        spoken_answers: SpokenAnswers,
    ) -> None:
        self._session = session
        self._journal = journal
        self._past = past
        self._pages = pages
        self._intake = intake
        self._describer = describer
        self._binding = binding
        self._spoken_words = spoken_words
        self._spoken_answers = spoken_answers

    async def of(self, event: InboxEvent) -> InboxEvent:
        """The event with its files in our store, read, and with the words of its recordings. It shows while that takes.

        Raises StorageError; then the event is taken again.
        """
        await self._spoken_answers.learn(event)
        event = await with_past(event, self._journal, self._past)
        if self._intake is None or not event.attachments:
            return event
        with self._pages.presence.attending(event.place):
            return await self._taken(event, self._intake)

    async def _taken(self, event: InboxEvent, intake: FileIntake) -> InboxEvent:
        files = [attachment_from(file) for file in event.attachments]
        taken = await intake.take(event.address, files, event.id, person=event.person_id)
        payer, known = (self._session, event.address, event.person_id), []
        heard = await self._spoken_words.of(
            event, [Sound(one.file, file.media_type, one.seconds) for file, one in zip(files, taken, strict=True)]
        )
        for one in taken:
            before = self._binding.file_before(event, one.file.url)
            file = before or await self._describer.described(one.file, intake, payer)
            known.append({**asdict(file), REMARKS: () if before else one.remarks})
        return replace(heard, attachments=tuple(known))

    def note(self, event: InboxEvent) -> InboxEvent:
        """Write down who did what `of` returned, and what came with it; the event as what it is to agents."""
        note_quoted(event, self._journal)
        self._binding.meet(event)
        self._spoken_answers.note(event)
        return self._spoken_words.note(event)

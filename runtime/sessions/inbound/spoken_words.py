"""The words of recordings: put into an event before its session takes it, shown to people, and corrected by a reply.

A message is taken with its words, in one commit: a crash before it repeats the work, and nothing after it does. People
see the words under the recording, as a quotation. A reply to the quotation by who has spoken takes their place, as an
edit of the message does: an agent that has read the message is told what it said first, and what it says now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime.core.ids import SessionId
from runtime.core.message import SpokenMessage
from runtime.core.texts import Texts
from runtime.execution.speech.pages import Pages
from runtime.stores.inbox import InboxEvent
from runtime.tape.facts.people import VoiceTranscribed
from runtime.tape.journal import Journal
from runtime.voice.listener import Listener, Payer, Sound, Transcript, Unheard

SHOWN_CHARS: Final = 3_000
"""The length to which what was said is quoted; the program has all of it."""


class SpokenWords:
    """The words of the recordings in one session's events."""

    def __init__(
        self, session: SessionId, journal: Journal, pages: Pages, listener: Listener | None, texts: Texts
    ) -> None:
        """Without a `listener` recordings stay files, which people are told once."""
        self._session = session
        self._journal = journal
        self._pages = pages
        self._listener = listener
        self._texts = texts

    async def of(self, event: InboxEvent, files: Sequence[Sound]) -> InboxEvent:
        """The event with the words of those of its files that are recordings. Raises StorageError."""
        sounds = [(number, sound) for number, sound in enumerate(files) if sound.concerns and sound.file.parts == ()]
        sounds = [(number, sound) for number, sound in sounds if not sound.file.note]
        own = [(number, sound) for number, sound in sounds if not sound.file.quoted]
        sounds = own or sounds  # what somebody else said is not mixed with what the person says
        if not sounds or event.kind != "message":
            return event
        if self._listener is None:
            return replace(event, spoken=SpokenMessage("", beside=event.text, why=self._texts("voice.nobody_listens")))
        heard: list[Transcript | Unheard] = []
        before_s = 0.0
        for number, sound in sounds:
            payer = Payer(self._session, event.address, event.person_id)
            once = f"{event.id}/{number}"
            heard.append(await self._listener.words(replace(sound, before_s=before_s), payer, once))
            before_s += sound.seconds or 0.0
        said = [one for one in heard if isinstance(one, Transcript)]
        why = " ".join(dict.fromkeys(one.why for one in heard if isinstance(one, Unheard)))
        words = "\n\n".join(one.text for one in said)
        spoken = SpokenMessage(words, said[0].language if said else "", event.text, why)
        return replace(event, text=spoken.text(), spoken=spoken)

    def note(self, event: InboxEvent) -> InboxEvent:
        """Show the words of an event that is taken, and write them down; the event, as an edit where it corrects."""
        event = self._corrected(event)
        spoken = event.spoken
        if spoken is None:
            return event
        before = [voice.spoken for voice in self._journal.state.voices.heard.values()]
        if self._listener is None and any(one.why == spoken.why for one in before):
            return event
        known = any(one.words for one in before)
        quoted = None if event.private else event.message_id
        page = self._pages.notice(self._shown(spoken, first=not known), event.place, quoted)
        if page is not None and event.message_id is not None:
            self._journal.note(VoiceTranscribed(page, event.message_id, event.author, spoken))
        return event

    def _shown(self, spoken: SpokenMessage, *, first: bool) -> str:
        lines = spoken.words if len(spoken.words) <= SHOWN_CHARS else spoken.words[: SHOWN_CHARS - 1] + "…"
        quotation = "\n".join(f"> {line}".rstrip() for line in lines.splitlines())
        hint = self._texts("voice.correct") if first and spoken.words else ""
        return "\n\n".join(part for part in (quotation, spoken.why, hint) if part)

    def _corrected(self, event: InboxEvent) -> InboxEvent:
        """The event as an edit, if it replies to a quotation of its own author's words; an edit of what was written
        beside such words with the words.
        """
        for page, voice in self._journal.state.voices.heard.items():
            if voice.person != event.author:
                continue
            if event.kind == "edit" and event.message_id == voice.message:
                written = replace(voice.spoken, beside=event.text.strip())
                self._journal.note(VoiceTranscribed(page, voice.message, voice.person, written))
                return replace(event, text=written.text())
            if event.kind == "message" and event.text.strip() and event.quote and event.quote.message_id in voice.parts:
                written = replace(voice.spoken, words=event.text.strip(), why="")
                self._journal.note(VoiceTranscribed(page, voice.message, voice.person, written))
                if event.message_id is not None:
                    self._pages.signs.mark(event.message_id, "seen", event.place)
                return replace(event, kind="edit", message_id=voice.message, text=written.text(), quote=None)
        return event

"""Answers that are spoken beside their text: wanted by a fact with the text, made afterwards, shown as a page.

A crash before the voice note's page is on the tape makes it once more, which nobody has heard; after it the page is
shown as all pages are, once.
"""

from __future__ import annotations

from typing import Final

import anyio
from anyio.abc import TaskGroup

from runtime.core.background import OnDemand
from runtime.core.files import FILE_URL
from runtime.core.message import Attachment
from runtime.core.signals import Signal
from runtime.execution.calls.files import FileAccess
from runtime.execution.speech.pages import SPOKEN, Pages
from runtime.language.program import Program
from runtime.sessions.features import SessionPart
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.people import PageBegun, PageFinished, SpeechMade, SpeechWanted, VoiceSwitched
from runtime.tape.facts.registry import hears
from runtime.tape.journal import Journal
from runtime.tape.state.people import PageState, SpeechState
from runtime.voice.listener import Payer
from runtime.voice.readable import readable
from runtime.voice.speaker import VOICE_TYPE, VoiceSpeaker

MAX_WAITING: Final = 4
"""The answers that may wait to be spoken; what is said meanwhile is only read."""

END_LIMIT_S: Final = 20.0
"""How long a session that ends waits for its last words to be spoken."""

FILE_NAME: Final = "voice.ogg"

_OF_LISTENERS: Final = frozenset({"message", "choice", "start", "new"})
"""The kinds of events after which agents speak to who caused them."""


class SpokenAnswers(SessionPart):
    """The spoken answers of one session."""

    def __init__(
        self,
        record: SessionRecord,
        program: Program,
        journal: Journal,
        pages: Pages,
        speaker: VoiceSpeaker | None,
        files: FileAccess | None,
    ) -> None:
        self._record = record
        self._journal = journal
        self._pages = pages
        self._speaker = speaker
        self._files = files
        self._always = spoken_by(program)
        self._work = OnDemand(self._speak)
        self._spoken = Signal()
        self._learned: dict[str, bool] = {}

    def start(self, tasks: TaskGroup) -> None:
        """Speak what is wanted, in `tasks`."""
        self._work.start(tasks)
        self._work.wake()

    async def learn(self, event: InboxEvent) -> None:
        """Ask whether the author of an event wants answers spoken. Raises StorageUnavailable."""
        if self._speaker is None or not event.person_id or event.kind not in _OF_LISTENERS:
            return
        said = await self._speaker.wanted(event.person_id)
        self._learned[event.person_id] = self._always if said is None else said

    def note(self, event: InboxEvent) -> None:
        """Write down what was learned, where it is new."""
        on = self._learned.pop(event.person_id, None)
        if on is not None and on != (event.author in self._journal.state.voices.listeners):
            self._journal.note(VoiceSwitched(event.author, on))

    @hears(PageFinished)
    def noted(self, fact: PageFinished) -> None:
        if self._speaker is None or not self._journal.state.voices.listeners:
            return
        page = self._journal.state.pages.get(fact.page)
        if page is None or not self._is_for_ears(page) or len(self._journal.state.voices.speeches) >= MAX_WAITING:
            return
        agent, text = self._journal.state.agent(page.agent), readable(page.text, self._speaker.max_chars)
        if agent is not None and text:
            self._journal.note(SpeechWanted(page.id, agent.id, text, page.place))
            self._work.wake()

    def _is_for_ears(self, page: PageState) -> bool:
        """Whether it is said to somebody who wants it spoken, where nobody else would have to listen."""
        state = self._journal.state
        to_people = page.to in ("human", "user", "ask") or page.to.startswith("person ")
        person = page.to.removeprefix("person ") if page.to.startswith("person ") else state.person
        return to_people and person in state.voices.listeners and (state.private or self._always)

    async def all_posted(self) -> None:
        """Return when all was spoken and is shown, or has taken too long: then it is only read. Needs `start`."""
        if not self._journal.state.voices.speeches:
            return
        with anyio.move_on_after(END_LIMIT_S):
            while self._journal.state.voices.speeches:
                self._work.wake()
                await self._spoken.wait()
            await self._pages.all_shown()
        withdraw_speeches(self._journal)

    async def _speak(self) -> None:
        while speeches := self._journal.state.voices.speeches:
            await self._journal.commit()
            page, speech = next(iter(speeches.items()))
            await self._speak_one(page, speech)
            self._spoken.send()

    async def _speak_one(self, page: str, speech: SpeechState) -> None:
        state = self._journal.state
        data = None
        if self._speaker is not None and self._files is not None:
            payer = Payer(self._record.id, self._record.address, state.person)
            data = await self._speaker.spoken(speech.text, payer)
        if page not in state.voices.speeches:
            return
        if data is None or self._files is None:
            fails = state.voices.fails
            self._journal.note(SpeechMade(page))
            if not fails:
                self._pages.tell(self._pages.texts("voice.speech_failed"), speech.place)
            return
        id_ = await self._files.keep(data, VOICE_TYPE, self._record.address)
        if page not in state.voices.speeches:
            return
        file = Attachment(FILE_NAME, VOICE_TYPE, FILE_URL + id_, len(data))
        note = str(self._journal.note(PageBegun("", speech.agent, SPOKEN, file=file, place=speech.place)))
        self._journal.note(PageFinished(note, ""))
        self._journal.note(SpeechMade(page, note))
        self._pages.show(state.pages[note])


def withdraw_speeches(journal: Journal) -> None:
    """Speak nothing of what is still to be spoken."""
    for page in list(journal.state.voices.speeches):
        journal.note(SpeechMade(page))


def spoken_by(program: Program) -> bool:
    """Whether a program wants its answers spoken, to all who have not said otherwise."""
    return str(program.metadata.get("voice", "")).lower() in ("true", "on", "yes")

"""Voices in a process that serves conversations, and the command about them."""

from __future__ import annotations

from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from gateway.feature import EntrancePart, FeatureGround, ServingGround, TriedGround
from gateway.features.voice import facts
from gateway.features.voice import speech as speaking
from gateway.models.answers import BilledModel, BilledPerson
from gateway.outbound.pages import NodeFileAccess
from runtime.core.background import OnDemand, WakeSignal
from runtime.core.files import FILE_URL, FileAccess
from runtime.core.message import Attachment, SpokenMessage, attachment_from
from runtime.execution.speech.pages import SPOKEN
from runtime.llm.client import SPEAK, TRANSCRIBE
from runtime.llm.models import SERVICES
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts
from runtime.storage.redis.records import RedisCounters, RedisRecords
from runtime.stores.inbox import CLAIMED, SECONDS, InboxEvent
from runtime.tape.facts.people import PageBegun, PageFinished
from runtime.tape.facts.registry import hears
from runtime.tape.state.people import PageState

SHOWN_CHARS: Final = 3_000
"""The length to which what was said is quoted; the program has all of it."""

MAX_WAITING: Final = 4
"""The answers that may wait to be spoken; what is said meanwhile is only read."""

END_LIMIT_S: Final = 20.0
"""How long a session that ends waits for its last words to be spoken."""

FILE_NAME: Final = "voice.ogg"

_OF_LISTENERS: Final = frozenset({"message", "choice", "start", "new"})
"""The kinds of events after which agents speak to who caused them."""


class SessionVoices(SessionPart):
    """Without a `listener` recordings stay files, which people are told once; without a `speaker` answers are only
    read."""

    def __init__(
        self,
        parts: SessionParts,
        files: FileAccess,
        listener: speaking.ModelListener | None,
        speaker: speaking.ModelSpeaker | None,
    ) -> None:
        super().__init__(parts)
        self._files = files
        self._listener = listener
        self._speaker = speaker
        self._always = str(parts.program.metadata.get("voice", "")).lower() in ("true", "on", "yes")
        self._work = OnDemand(self._speak)
        self._spoken = WakeSignal()
        self._learned: dict[str, bool] = {}
        self._corrections: dict[str, tuple[facts.VoiceTranscribed, str | None]] = {}
        """By the ids of events, with the message that corrects, where that is one of its own."""
        self.listeners = (self.noted,)

    @property
    def _voices(self) -> facts.Voices:
        return self._journal.state.part(facts.Voices)

    def start(self, tasks: TaskGroup) -> None:
        self._work.start(tasks)
        self._work.wake()

    async def prepare(self, event: InboxEvent, /) -> InboxEvent:
        """The event with the words of its recordings, as an edit where it corrects such words."""
        if self._speaker is not None and event.person_id and event.kind in _OF_LISTENERS:
            said = await self._speaker.wanted(event.person_id)
            self._learned[event.person_id] = self._always if said is None else said
        return self._corrected(await self._with_words(event))

    def take(self, event: InboxEvent, /) -> None:
        """Write down what was learned of an event, and show its words."""
        on = self._learned.pop(event.person_id, None)
        if on is not None and on != (event.author in self._voices.listeners):
            self._journal.note(facts.VoiceSwitched(event.author, on))
        correction, by = self._corrections.pop(event.id, (None, None))
        if correction is not None:
            self._journal.note(correction)
        if by is not None:
            self._pages.signs.mark(by, "seen", event.place)
        if event.spoken is not None and self._journal.state.order is None:  # a task gets words that were shown before
            self._show(event, event.spoken)

    def undoing(self, after: int, /) -> None:
        """Speak nothing of what is still to be spoken."""
        for page in list(self._voices.speeches):
            self._journal.note(facts.SpeechMade(page))

    async def _with_words(self, event: InboxEvent) -> InboxEvent:
        sounds = self._sounds(event) if event.kind == "message" and event.spoken is None else []
        if not sounds:
            return event
        if self._listener is None:
            why = self._pages.texts("voice.nobody_listens")
            return replace(event, spoken=SpokenMessage("", beside=event.text, why=why))
        heard: list[speaking.VoiceTranscript | speaking.UnheardReply] = []
        payer, before_s = BilledPerson(self._record.id, event.address, event.person_id), 0.0
        for number, sound in sounds:
            once = f"{event.id}/{number}"
            heard.append(await self._listener.words(replace(sound, before_s=before_s), payer, once))
            before_s += sound.seconds or 0.0
        said = [one for one in heard if isinstance(one, speaking.VoiceTranscript)]
        why = " ".join(dict.fromkeys(one.why for one in heard if isinstance(one, speaking.UnheardReply)))
        words = "\n\n".join(one.text for one in said)
        spoken = SpokenMessage(words, said[0].language if said else "", event.text, why)
        return replace(event, text=spoken.text(), spoken=spoken)

    def _sounds(self, event: InboxEvent) -> list[tuple[int, speaking.ReceivedSound]]:
        """The recordings that came with an event, by their numbers among its files."""
        files = [
            (number, speaking.ReceivedSound(attachment_from(file), file[CLAIMED], file[SECONDS]))
            for number, file in enumerate(event.attachments)
            if CLAIMED in file
        ]
        sounds = [(n, sound) for n, sound in files if sound.concerns and sound.file.parts == () and not sound.file.note]
        own = [(number, sound) for number, sound in sounds if not sound.file.quoted]
        return own or sounds  # what somebody else said is not mixed with what the person says

    def _corrected(self, event: InboxEvent) -> InboxEvent:
        """The event as an edit, if it replies to a quotation of its own author's words; an edit of what was written
        beside such words with the words.
        """
        for page, voice in self._voices.heard.items():
            if voice.person != event.author:
                continue
            said = event.text.strip()
            if event.kind == "edit" and event.message_id == voice.message:
                written = replace(voice.spoken, beside=said)
                self._corrections[event.id] = facts.VoiceTranscribed(page, voice.message, voice.person, written), None
                return replace(event, text=written.text())
            if event.kind == "message" and said and event.quote and event.quote.message_id in voice.parts:
                written = replace(voice.spoken, words=said, why="")
                fact = facts.VoiceTranscribed(page, voice.message, voice.person, written)
                self._corrections[event.id] = fact, event.message_id
                return replace(event, kind="edit", message_id=voice.message, text=written.text(), quote=None)
        return event

    def _show(self, event: InboxEvent, spoken: SpokenMessage) -> None:
        before = [voice.spoken for voice in self._voices.heard.values()]
        if self._listener is None and any(one.why == spoken.why for one in before):
            return
        quoted = None if event.private else event.message_id
        shown = self._shown(spoken, first=not any(one.words for one in before))
        page = self._pages.tell(shown, event.place, quoted)
        if page is not None and event.message_id is not None:
            self._journal.note(facts.VoiceTranscribed(page, event.message_id, event.author, spoken))

    def _shown(self, spoken: SpokenMessage, *, first: bool) -> str:
        lines = spoken.words if len(spoken.words) <= SHOWN_CHARS else spoken.words[: SHOWN_CHARS - 1] + "…"
        quotation = "\n".join(f"> {line}".rstrip() for line in lines.splitlines())
        hint = self._pages.texts("voice.correct") if first and spoken.words else ""
        return "\n\n".join(part for part in (quotation, spoken.why, hint) if part)

    @hears(PageFinished)
    def noted(self, fact: PageFinished) -> None:
        if self._speaker is None or not self._voices.listeners:
            return
        page = self._journal.state.pages.get(fact.page)
        if page is None or not self._is_for_ears(page) or len(self._voices.speeches) >= MAX_WAITING:
            return
        agent, text = self._journal.state.agent(page.agent), speaking.readable(page.text, self._speaker.max_chars)
        if agent is not None and text:
            self._journal.note(facts.SpeechWanted(page.id, agent.id, text, page.place))
            self._work.wake()

    def _is_for_ears(self, page: PageState) -> bool:
        """Whether it is said to somebody who wants it spoken, where nobody else would have to listen."""
        state = self._journal.state
        to_people = page.to in ("human", "user", "ask") or page.to.startswith("person ")
        person = page.to.removeprefix("person ") if page.to.startswith("person ") else state.person
        return to_people and person in self._voices.listeners and (state.private or self._always)

    async def all_posted(self) -> None:
        """Return when all was spoken and is shown, or has taken too long: then it is only read. Needs `start`."""
        if not self._voices.speeches:
            return
        with anyio.move_on_after(END_LIMIT_S):
            while self._voices.speeches:
                self._work.wake()
                await self._spoken.wait()
            await self._pages.all_shown()
        self.undoing(0)

    async def _speak(self) -> None:
        while speeches := self._voices.speeches:
            await self._journal.commit()
            page, speech = next(iter(speeches.items()))
            await self._speak_one(page, speech)
            self._spoken.send()

    async def _speak_one(self, page: str, speech: facts.SpeechState) -> None:
        state = self._journal.state
        data = None
        if self._speaker is not None:
            payer = BilledPerson(self._record.id, self._record.address, state.person)
            data = await self._speaker.spoken(speech.text, payer)
        if page not in self._voices.speeches:
            return
        if data is None:
            fails = self._voices.fails
            self._journal.note(facts.SpeechMade(page))
            if not fails:
                self._pages.tell(self._pages.texts("voice.speech_failed"), speech.place)
            return
        id_ = await self._files.keep(data, speaking.VOICE_TYPE, self._record.address)
        if page not in self._voices.speeches:
            return
        file = Attachment(FILE_NAME, speaking.VOICE_TYPE, FILE_URL + id_, len(data))
        note = str(self._journal.note(PageBegun("", speech.agent, SPOKEN, file=file, place=speech.place)))
        self._journal.note(PageFinished(note, ""))
        self._journal.note(facts.SpeechMade(page, note))
        self._pages.show(state.pages[note])


def voices_part(
    files: FileAccess, listener: speaking.ModelListener | None = None, speaker: speaking.ModelSpeaker | None = None
) -> NodePart:
    part = partial(SessionVoices, files=files, listener=listener)
    return InSessions(partial(part, speaker=speaker), partial(part, speaker=None))


def entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    speaks = SERVICES[SPEAK] in ground.settings.models
    return EntrancePart(
        {"voice": speaking.VoiceCommand(RedisRecords(ground.connection, speaking.VOICE_TABLE), speaks=speaks).answer}
    )


def tried(ground: TriedGround) -> NodePart | None:
    return None if ground.files is None else voices_part(NodeFileAccess({}, ground.files))


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    """The voices of this node's conversations, with who puts recordings into words and who speaks, where models do."""
    models, own, tell, listener, speaker = serving.models, ground.settings.voice, ground.bus.publish, None, None
    if models is not None and (ear := models.service(TRANSCRIBE)) is not None:
        listener = speaking.ModelListener(
            BilledModel(ear, serving.limits.allowance, tell, ground.clock),
            *(serving.files, RedisCounters(ground.connection), own),
            lambda platform: serving.texts.get(platform, ground.texts),
        )
    if models is not None and (mouth := models.service(SPEAK)) is not None:
        model = BilledModel(mouth, serving.limits.allowance, tell, ground.clock)
        speaker = speaking.ModelSpeaker(model, RedisRecords(ground.connection, speaking.VOICE_TABLE), own.spoken_chars)
    return voices_part(serving.files, listener, speaker)

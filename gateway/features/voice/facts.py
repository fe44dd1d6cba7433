"""Facts about voices: what somebody said in a recording, who wants answers spoken, and what is to be spoken."""

from __future__ import annotations

from typing import ClassVar, Self

from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import SpokenMessage
from runtime.tape.facts.content import ADDRESS, FactContent, StoredForm, fact, key
from runtime.tape.facts.people import PartSent
from runtime.tape.facts.registry import rule
from runtime.tape.state.session import SessionState, StatePart, state_part

MAX_VOICES = 50
"""Spoken messages of one conversation that can be corrected, the latest ones."""

_SPOKEN = StoredForm(
    lambda spoken: [spoken.words, spoken.language, spoken.beside, spoken.why], lambda data: SpokenMessage(*data)
)


@fact("transcribed", session=True)
class VoiceTranscribed(FactContent, frozen=True):
    """A message was spoken, or its words were corrected. `message` is the platform's id of it, `page` what shows its
    words to people.
    """

    page: str = key("page")
    message: str = key("message")
    person: PersonId = key("person")
    spoken: SpokenMessage = key("spoken", form=_SPOKEN)


@fact("voice", session=True)
class VoiceSwitched(FactContent, frozen=True):
    """A person wants answers spoken from now on, or no longer."""

    person: PersonId = key("person")
    on: bool = key("on", default=False, always=True)


@fact("speech", session=True)
class SpeechWanted(FactContent, frozen=True):
    """A page is to be spoken as well. `text` is what of it can be read aloud."""

    page: str = key("page")
    agent: AgentId = key("agent")
    text: str = key("text")
    place: Address | None = key("place", default=None, form=ADDRESS)


@fact("spoken", session=True)
class SpeechMade(FactContent, frozen=True):
    """A page was spoken: its voice note is `note`, a page of its own. Without one it failed."""

    page: str = key("page")
    note: str = key("note", default="", always=True)


class VoiceState(Struct):
    """A message that was spoken, by the platform's id, and the platform's ids of the quotation of its words."""

    message: str
    person: PersonId
    spoken: SpokenMessage
    parts: list[str] = field(default_factory=list)


class SpeechState(Struct):
    """A page that is to be spoken: what of it can be read aloud, who says it, and where."""

    agent: AgentId
    text: str
    place: Address | None = None


@state_part
class Voices(StatePart):
    """Words that people said, by the pages that quote it; who wants answers spoken; and what is to be spoken, by pages.

    `fails`: the last speech failed, which people were told.
    """

    name: ClassVar[str] = "voices"

    heard: dict[str, VoiceState] = field(default_factory=dict)
    listeners: list[PersonId] = field(default_factory=list)
    speeches: dict[str, SpeechState] = field(default_factory=dict)
    fails: bool = False

    def owes(self, _state: SessionState, /) -> bool:
        return bool(self.speeches)

    def branched(self, _why: str, /) -> Self:
        """What is to be spoken is left to the other session."""
        return replace(self, speeches={})


@rule(VoiceTranscribed)
def _transcribed(state: SessionState, _: int, fact: VoiceTranscribed) -> None:
    heard = state.part(Voices).heard
    known = heard.get(fact.page)  # it is corrected: what quotes it stays
    heard[fact.page] = VoiceState(fact.message, fact.person, fact.spoken, known.parts if known is not None else [])
    while len(heard) > MAX_VOICES:
        del heard[next(iter(heard))]


@rule(PartSent)
def _sent(state: SessionState, _: int, fact: PartSent) -> None:
    voices = state.parts.get(Voices.name)
    if isinstance(voices, Voices) and fact.page in voices.heard:
        voices.heard[fact.page].parts.append(fact.platform_id)


@rule(VoiceSwitched)
def _switched(state: SessionState, _: int, fact: VoiceSwitched) -> None:
    voices = state.part(Voices)
    voices.listeners = [person for person in voices.listeners if person != fact.person]
    if fact.on:
        voices.listeners.append(fact.person)


@rule(SpeechWanted)
def _wanted(state: SessionState, _: int, fact: SpeechWanted) -> None:
    state.part(Voices).speeches[fact.page] = SpeechState(fact.agent, fact.text, fact.place)


@rule(SpeechMade)
def _made(state: SessionState, _: int, fact: SpeechMade) -> None:
    voices = state.part(Voices)
    voices.speeches.pop(fact.page, None)
    voices.fails = not fact.note

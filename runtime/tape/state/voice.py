"""Voices, as a session's state has them. Data only; `fold` writes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import SpokenMessage

MAX_VOICES = 50
"""Spoken messages of one conversation that can be corrected, the latest ones."""


@dataclass(slots=True)
class VoiceState:
    """A message that was spoken, by the platform's id, and the platform's ids of the quotation of its words."""

    message: str
    person: PersonId
    spoken: SpokenMessage
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SpeechState:
    """A page that is to be spoken: what of it can be read aloud, who says it, and where."""

    agent: AgentId
    text: str
    place: Address | None = None


@dataclass(slots=True)
class Voices:
    """Words that people said, by the pages that quote it; who wants answers spoken; and what is to be spoken, by pages.

    `fails`: the last speech failed, which people were told.
    """

    heard: dict[str, VoiceState] = field(default_factory=dict)
    listeners: list[PersonId] = field(default_factory=list)
    speeches: dict[str, SpeechState] = field(default_factory=dict)
    fails: bool = False

"""The port to who puts recordings into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.message import Attachment


@dataclass(frozen=True, slots=True)
class VoiceLimits:
    """Limits in seconds on listening, of one message and of one conversation in a day; 0 is no limit of the day."""

    seconds: int = 900
    seconds_per_day: int = 7_200


@dataclass(frozen=True, slots=True)
class Payer:
    """The person whose limits count, and who is told that a model was asked."""

    session: SessionId
    address: Address
    person: str | None


@dataclass(frozen=True, slots=True)
class Sound:
    """A recording that came with a message, which Parley keeps. `claimed` is what its platform says of its type,
    `seconds` its length by its container, None where that does not say; `before_s` are those of the same message."""

    file: Attachment
    claimed: str
    seconds: float | None
    before_s: float = 0.0

    @property
    def concerns(self) -> bool:
        """Whether it is a sound, or was said to be one."""
        return self.file.media_type.startswith("audio/") or (
            self.claimed.startswith("audio/") and self.file.media_type.startswith("video/")
        )


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of a recording, and their language as the provider names it, "" where it does not."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Unheard:
    """The sentence for who sent a recording that has no words for us."""

    why: str


class Listener(Protocol):
    """Puts recordings into words."""

    async def words(self, sound: Sound, payer: Payer, once: str, /) -> Transcript | Unheard:
        """The words of a recording; `once` is its own, so that it is counted once. Raises StorageError and nothing
        else."""
        ...

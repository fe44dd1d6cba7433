"""The port to who speaks answers."""

from __future__ import annotations

from typing import Protocol

from runtime.voice.listener import Payer

VOICE_TYPE = "audio/ogg"
"""The type of every spoken answer: Ogg with Opus, which is what all platforms take as a voice note."""


class VoiceSpeaker(Protocol):
    """Speaks texts."""

    @property
    def max_chars(self) -> int:
        """How many characters of an answer are spoken."""
        ...

    async def wanted(self, person: str, /) -> bool | None:
        """Whether a person wants answers spoken; None where they have not said. Raises StorageUnavailable."""
        ...

    async def spoken(self, text: str, payer: Payer, /) -> bytes | None:
        """The text as a voice note; None where that failed or is not allowed now."""
        ...

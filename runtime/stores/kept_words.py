"""The port for what was said in conversations, kept for a while where the platform cannot be asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.core.address import Address
from runtime.core.message import Attachment
from runtime.core.quote import Quote


@dataclass(frozen=True, slots=True)
class KeptWords:
    """What somebody said in a conversation, and the files of it."""

    said: Quote
    files: tuple[Attachment, ...] = ()


class KeptWordsStore(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def keep(self, to: Address, words: KeptWords, /, *, keep_s: float, at_most: int) -> None:
        """Keep what was said for so long, unless it is there. Beyond `at_most` the earliest of the conversation go."""
        ...

    async def change(self, to: Address, words: KeptWords, /) -> None:
        """Keep what was said as it is now, for as long and with the time as before; nothing where it is not there."""
        ...

    async def remove(self, to: Address, message: str, /) -> None:
        """Forget a message, if it is there."""
        ...

    async def before(self, to: Address, message: str, /) -> Sequence[KeptWords]:
        """What was said before a message, oldest first; all that is there where the message is not."""
        ...

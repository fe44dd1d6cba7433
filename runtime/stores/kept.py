"""The ports for what is kept for a while: what was said in conversations, where the platform cannot be asked for it,
and what models were sent and replied, for owners who ask why something was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.core.message import Attachment
from runtime.core.quote import Quote

KEPT_S: Final = 7 * 86_400
"""How long a call is kept."""


class CallBounds(NamedTuple):
    """The most calls of a shard, and their bytes, compressed; the oldest go first."""

    calls: int
    size_bytes: int


MOST: Final = CallBounds(100, 1024 * 1024)
MOST_FAILED: Final = CallBounds(20, 128 * 1024)
"""Of those that failed, which push no others out."""


class PromptMessage(Struct, frozen=True):
    """One message of a prompt; `pictures` are told by type and size alone."""

    role: str
    content: str
    pictures: tuple[str, ...] = ()


class ModelCall(Struct, frozen=True):
    """One call of a model.

    `asked_seq` is the last fact of the session when the model was asked, `heard_seq` when its last word had come; `at`
    is the time of its end, UTC. `whole` is False for a reply that was left before its end. `cost_usd` is None where
    nobody knows the price. `error` says why it broke off, where it did.
    """

    session: SessionId
    asked_seq: int
    heard_seq: int
    at: datetime
    frame: str
    agent: str
    klass: str
    playbook: str
    step: str | None
    model: str
    purpose: str
    prompt: tuple[PromptMessage, ...]
    reply: str
    whole: bool
    seconds: float
    first_text_s: float | None = None
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    estimated: bool = False
    error: str = ""


class KeptCalls(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def keep(self, call: ModelCall, /) -> None:
        """Keep a call of a session that there is; it is gone when the session is deleted."""

    async def spend(self, session: SessionId, amounts: Mapping[str, float], /) -> None:
        """Add to what a session has used, by measure; the sums last as long as the session."""

    async def between(self, session: SessionId, after: int, until: int, /) -> Sequence[ModelCall]:
        """The kept calls of a session whose model was at work after fact `after`, and asked before fact `until`; those
        that no key opens are missing."""


class KeptWords(Struct, frozen=True):
    """What somebody said in a conversation, and the files of it."""

    said: Quote
    files: tuple[Attachment, ...] = ()


class KeptWordsStore(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def keep(self, to: Address, words: KeptWords, /, *, keep_s: float, at_most: int) -> None:
        """Keep what was said for so long, unless it is there. Beyond `at_most` the earliest of the conversation go."""

    async def change(self, to: Address, words: KeptWords, /) -> None:
        """Keep what was said as it is now, for as long and with the time as before; nothing where it is not there."""

    async def remove(self, to: Address, message: str, /) -> None:
        """Forget a message, if it is there."""

    async def before(self, to: Address, message: str, /) -> Sequence[KeptWords]:
        """What was said before a message, oldest first; all that is there where the message is not."""

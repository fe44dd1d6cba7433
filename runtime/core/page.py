"""A page: one utterance, as whoever speaks has it shown, and as platforms show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment, Choice


class PageSpec(Struct, frozen=True):
    """A page to be shown: one utterance of one speaker in one conversation.

    `parts` are the platform's message ids that are already known, by part number: long text is several messages.
    `reply_to` is the platform's id of the message it answers. `people` are those who may be mentioned: person ids by
    name. `choices` are offered under the finished text; `file` is posted with it. `leased` pages are shown only while
    the lease of the conversation's shard is surely ours; that is the conversation `home`, if it is not `address`.
    `stands` is what people may see of it already: it stays until the page is longer, where it may become that again.
    `alone` is the id of the one person who is to see it, where the platform can do that; "" for everybody there.
    """

    id: str
    address: Address
    speaker: Speaker
    parts: Mapping[int, str] = field(default_factory=dict)
    reply_to: str | None = None
    people: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    file: Attachment | None = None
    leased: bool = True
    home: Address | None = None
    stands: str = ""
    alone: str = ""

    @property
    def conversation(self) -> str | None:
        """The key of the conversation whose session speaks; None for texts without a session."""
        return (self.home or self.address).key if self.leased else None


class PageRecord(Protocol):
    """Keeps what became visible; by default, nothing. Each call returns when it is durable; its errors end the page."""

    async def opening(self, part: int, text: str, /) -> None:
        """Before part `part` is sent for the first time, with the text it is sent with."""
        return

    async def grows(self, text: str, /) -> None:
        """Record that this much of an unfinished page is about to be shown."""
        return

    async def sent(self, part: int, platform_id: str, /) -> None:
        """The platform has part `part` under this id."""
        return

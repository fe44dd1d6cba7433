"""What was said in a place before, read back from its platform: only by those who may be heard there."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

import anyio

from adapters.adapter import Adapter, Inbound
from adapters.history import CanReadBack
from gateway.access.admission import Access
from gateway.access.roles import Role
from gateway.inbound.sanitizing import tidied
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.sessions.inbound.past import EarlierWords
from runtime.stores.inbox import InboxEvent

WITHIN_S: Final = 5.0
"""The time that a platform has to say what was said before; the answer does not wait longer."""

_ANSWERED_CHARS: Final = 100
"""The length to which an earlier message tells what it answered, which is likely there itself."""

_SOUNDS: Final = ("audio/", "video/")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """The number of earlier messages that a program is told, their characters and their age; no messages is none. At
    most so many of their files are read."""

    messages: int = 50
    chars: int = 20_000
    hours: float = 168.0
    files: int = 5


class AskedPlatform(Protocol):
    """A platform that people come by."""

    @property
    def adapter(self) -> Adapter: ...

    @property
    def access(self) -> Access: ...


class EarlierMessages:
    """Implements `runtime.sessions.inbound.past.PastSource`."""

    def __init__(self, platforms: Mapping[str, AskedPlatform], limits: ContextLimits) -> None:
        self._platforms = platforms
        self._limits = limits

    async def before(self, event: InboxEvent, /) -> EarlierWords:
        """See `PastSource`."""
        platform, at_most = self._platforms.get(event.address.platform), self._limits.messages
        if platform is None or at_most == 0:
            return EarlierWords()
        adapter = platform.adapter
        if not isinstance(adapter, CanReadBack):
            return EarlierWords()
        try:
            with anyio.fail_after(WITHIN_S):
                found = await adapter.earlier(event.address, event.message_id or "", at_most=at_most)
                return await self._heard(event, found, platform.access)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the past, what is said now is answered
            _log.warning("What was said before cannot be read", extra={"error": repr(error)})
            return EarlierWords()

    async def _heard(self, event: InboxEvent, found: Iterable[Inbound], access: Access) -> EarlierWords:
        since = event.sent_at - timedelta(hours=self._limits.hours)
        said = [one for one in found if one.sent_at >= since and await _may_be_heard(one, access)]
        kept: list[Inbound] = []
        left = self._limits.chars
        for one in map(tidied, reversed(said)):
            left -= len(one.text) + sum(len(quote.text) for quote in one.around)
            if left < 0:
                break
            kept.insert(0, one)
        return EarlierWords(tuple(map(_quoted, kept)), self._files(kept))

    def _files(self, said: Sequence[Inbound]) -> tuple[Attachment, ...]:
        """The latest files, but for recordings: they would be taken for what the person says."""
        files = [file for one in said for file in one.attachments if not file.media_type.startswith(_SOUNDS)]
        return tuple(files[max(0, len(files) - self._limits.files) :])


async def _may_be_heard(said: Inbound, access: Access) -> bool:
    if not said.person_id:
        return True
    role = await access.role(said)
    return role is not None and role > Role.BLOCKED


def _quoted(said: Inbound) -> Quote:
    answered = () if said.quote is None else (replace(said.quote, text=said.quote.text[:_ANSWERED_CHARS]),)
    return Quote(
        said.message_id or "",
        said.person_name,
        said.text,
        "said" if said.person_id else "bot",
        tuple(file.name for file in said.attachments if not file.quoted),
        (*answered, *said.around),
        said.sent_at,
        said.person_id,
    )

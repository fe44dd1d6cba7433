"""What was said in a place before, asked of its platform or kept by us: only by those who may be heard there. And what
was said in threads that belong to no session yet: after a restart somebody may write below a question before its
session has found the question's message again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

import anyio
from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Adapter, CanReadBack, Inbound
from gateway.access.admission import PlatformAccess
from gateway.access.people import Role
from gateway.inbound.sanitizing import says_something, shortened, tidied
from gateway.settings.operation import ContextSettings
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.core.fairness import oldest_of_largest
from runtime.core.ids import SessionId
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.sessions.inbound.arrivals import EarlierWords
from runtime.stores.inbox import InboxEvent
from runtime.stores.kept import KeptWords, KeptWordsStore
from runtime.stores.sessions import HeldPlace, PlaceStore

_WITHIN_S: Final = 5.0
"""The time that a platform has to say what was said before; the answer does not wait longer."""

_ASKED_TIMES: Final = 2
"""How often as many messages a platform is asked for as are told: some are of people who may not be heard."""

_ANSWERED_CHARS: Final = 100
"""The length to which an earlier message tells what it answered, which is likely there itself."""

_SOUNDS: Final = ("audio/", "video/")

MAX_KEPT: Final = 200
"""Messages that are kept; beyond them the oldest of who wrote most is forgotten. A restart forgets them all."""

Take = Callable[[Inbound], Awaitable[None]]

_log = logging.getLogger(__name__)


class _AskedPlatform(Protocol):
    """A platform that people come by."""

    @property
    def adapter(self) -> Adapter: ...

    @property
    def access(self) -> PlatformAccess: ...


class EarlierMessages(Struct, frozen=True):
    """What a platform tells of earlier messages; `before` is the `PastSource` sessions ask."""

    platforms: Mapping[str, _AskedPlatform]
    limits: ContextSettings
    kept: KeptWordsStore
    clock: Clock

    async def keep(self, event: Inbound, /) -> None:
        """Keep what somebody says in a group whose platform does not tell it again. Raises StorageUnavailable."""
        platform, limits = self.platforms[event.address.platform], self.limits
        unkept = event.private or event.command is not None or event.message_id is None
        if unkept or isinstance(platform.adapter, CanReadBack):
            return
        if event.act == "deletion":
            await self.kept.remove(event.address, event.message_id or "")
            return
        left_s = limits.keep_hours * 3_600 - (self.clock.now() - event.sent_at).total_seconds()
        if limits.messages == 0 or left_s <= 0 or not await _may_be_heard(event, platform.access):
            return
        words = await _words_to_keep(event, platform.access)
        if event.act == "message" and says_something(event):
            await self.kept.keep(event.address, words, keep_s=left_s, at_most=limits.messages + 1)
        elif event.act == "edit":
            await self.kept.change(event.address, words)

    async def before(self, event: InboxEvent, /) -> EarlierWords:
        platform = self.platforms.get(event.address.platform)
        if platform is None or self.limits.messages == 0:
            return EarlierWords()
        try:
            with anyio.fail_after(_WITHIN_S):
                return self._within_limits(event, await self._said(event, platform))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the past, what is said now is answered
            _log.warning("What was said before cannot be read", extra={"error": repr(error)})
            return EarlierWords()

    async def _said(self, event: InboxEvent, platform: _AskedPlatform) -> list[KeptWords]:
        """What was said before an event by those who may be heard, oldest first."""
        to, before, adapter, access = event.address, event.message_id or "", platform.adapter, platform.access
        if isinstance(adapter, CanReadBack):
            told = await adapter.earlier(to, before, at_most=_ASKED_TIMES * self.limits.messages)
            heard = [one for one in told if await _may_be_heard(one, access)]
            latest = heard[max(0, len(heard) - self.limits.messages) :]
            if latest and to.thread is not None and heard[0] is told[0]:  # with which the thread began
                latest[0] = heard[0]
            return [_words(await _without_unheard(tidied(one), access)) for one in latest]
        if self.limits.keep_hours == 0:
            return []
        kept = (await self.kept.before(to, before))[-self.limits.messages :]
        return [words for words in kept if await _may_be_heard(_as_event(to, words.said), access)]

    def _within_limits(self, event: InboxEvent, said: Sequence[KeptWords]) -> EarlierWords:
        since = event.sent_at - timedelta(hours=self.limits.hours)
        kept: list[KeptWords] = []
        left = self.limits.chars
        for one in reversed(said):
            left -= len(one.said.text) + sum(len(quote.text) for quote in one.said.inside)
            if left < 0:
                break
            if one.said.said_at is None or one.said.said_at >= since:
                kept.insert(0, one)
        return EarlierWords(tuple(one.said for one in kept), self._files(kept))

    def _files(self, said: Sequence[KeptWords]) -> tuple[Attachment, ...]:
        """The latest files, but for recordings: they would be taken for what the person says."""
        files = [file for one in said for file in one.files if not file.media_type.startswith(_SOUNDS)]
        return tuple(files[max(0, len(files) - self.limits.files) :])


async def _may_be_heard(said: Inbound, access: PlatformAccess) -> bool:
    if not said.person_id:
        return True
    role = await access.role(said)
    return role is not None and role > Role.BLOCKED


async def _words_to_keep(event: Inbound, access: PlatformAccess) -> KeptWords:
    """What somebody said, without the files of what it answers."""
    own = tuple(file for file in event.attachments if not file.quoted)
    return _words(await _without_unheard(replace(event, text=shortened(event.text), attachments=own), access))


async def _without_unheard(event: Inbound, access: PlatformAccess) -> Inbound:
    """The event without what it answers, where that one's author may not be heard."""
    quote = event.quote
    heard = quote is None or await _may_be_heard(_as_event(event.address, quote), access)
    return event if heard else replace(event, quote=None)


def _as_event(to: Address, said: Quote) -> Inbound:
    """The event as which it came, as far as it decides who is heard."""
    at = said.said_at or datetime.min.replace(tzinfo=UTC)
    return Inbound(to, "", said.person, said.author, said.text, at, private=False, addressed=False)


def _words(said: Inbound) -> KeptWords:
    short = None if said.quote is None else replace(said.quote, text=said.quote.text[:_ANSWERED_CHARS], inside=())
    answered = () if short is None else (short,)
    quote = Quote(
        said.message_id or "",
        said.person_name,
        said.text,
        "said" if said.person_id else "bot",
        tuple(file.name for file in said.attachments if not file.quoted),
        (*answered, *said.around),
        said.sent_at,
        said.person_id,
    )
    return KeptWords(quote, said.attachments)


class HeardPlaces:
    """The places of sessions, and the messages that this process has overheard: none is stored or passed on unless its
    thread becomes a place. Implements `runtime.stores.sessions.PlaceStore`."""

    def __init__(self, store: PlaceStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[Inbound, Take]] = OrderedDict()

    def keep(self, event: Inbound, take: Take) -> None:
        """Keep a message in a thread; `take` is called with it when the thread is held."""
        if event.act != "message" or event.address.thread is None:
            return
        self._kept[event.event_id] = event, take
        if len(self._kept) > MAX_KEPT:
            place = oldest_of_largest([event.person_id for event, _ in self._kept.values()])
            del self._kept[list(self._kept)[place]]

    async def repeat(self, place: Address) -> None:
        """Take the messages of a place that is held now. Raises StorageUnavailable; the rest stays kept."""
        waiting = [id_ for id_, (event, _) in self._kept.items() if event.address == place]
        said = [self._kept.pop(id_) for id_ in waiting]
        while said:
            event, take = said[0]
            try:
                await take(event)
            except StorageUnavailable:
                self._kept |= {one.event_id: (one, again) for one, again in said}
                raise
            said.pop(0)

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        await self._store.put(place, held)
        await self.repeat(place)

    async def get(self, place: Address, /) -> HeldPlace | None:
        return await self._store.get(place)

    async def release(self, place: Address, session: SessionId, /) -> None:
        await self._store.release(place, session)

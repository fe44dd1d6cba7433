"""Messages of schedules, before they are said: whoever made one must still be a member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from adapters.records import Records
from gateway.access.admission import Access
from gateway.inbound.routing import Routes
from runtime.core.address import Address
from runtime.core.ids import ScheduleId
from runtime.core.texts import Texts
from runtime.stores.inbox import NOTICE, InboxEvent


class Entered(Protocol):
    """A platform that is switched on."""

    @property
    def access(self) -> Access:
        """Who may talk there."""
        ...


class ScheduledMessages:
    """Admits them for all platforms. `platforms` are those that are on, `chosen` the programs that people chose."""

    def __init__(
        self, platforms: Mapping[str, Entered], chosen: Records, routes: Routes, texts: Mapping[str, Texts]
    ) -> None:
        self._platforms = platforms
        self._chosen = chosen
        self._routes = routes
        self._texts = texts

    async def attend(self, message: InboxEvent) -> InboxEvent:
        """See `runtime.sessions.schedules.schedules.Attend`."""
        if not await self._may(message):
            over = self._texts[message.address.platform]("schedules.over", name=message.person_name)
            return replace(message, kind=NOTICE, text=over)
        return replace(message, program=await self._serving(message.address, message.program))

    async def _may(self, message: InboxEvent) -> bool:
        """Whether somebody may make schedules still. Those of programs are nobody's, and of platforms that are off
        nobody is asked."""
        platform = self._platforms.get(message.address.platform)
        if platform is None or isinstance(message.author, ScheduleId):
            return True
        return await platform.access.is_member(message.person_id, message.address.conversation)

    async def _serving(self, conversation: Address, before: str) -> str:
        """The program with which a session begins there now: the one that people chose, else as before."""
        chosen = await self._chosen.get(conversation.key)
        return chosen if chosen is not None and chosen in self._routes.choosable else before

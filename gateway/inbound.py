"""What people do, on its way in: admitted, understood as a command or a message, and kept before it is acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from adapters.adapter import Adapter, Inbound
from gateway.access import Access, Verdict
from gateway.commands import COMMANDS, help_text
from gateway.roles import Role
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import InboxFull
from runtime.core.texts import Texts
from runtime.sessions.inbox import Inbox, InboxEvent

Say = Callable[[Address, str], Awaitable[None]]
"""Tells a conversation something that belongs to no session."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """What the routers of all platforms share. `message_chars` is the longest message that is taken."""

    inbox: Inbox
    say: Say
    bus: Bus
    texts: Texts
    message_chars: int


class InboundRouter:
    """Takes what one adapter brings. An event is in the inbox, or answered, before the next one is asked for."""

    def __init__(self, adapter: Adapter, access: Access, entrance: Entrance) -> None:
        self._adapter = adapter
        self._access = access
        self._inbox = entrance.inbox
        self._say = entrance.say
        self._bus = entrance.bus
        self._texts = entrance.texts
        self._message_chars = entrance.message_chars

    async def run(self) -> None:
        """Take events for ever. Raises AuthFailed when the platform refuses our token."""
        async with self._adapter.connect() as events:
            self._bus.publish("adapter.connected", platform=self._adapter.name)
            async for event in events:
                await self.take(event)

    async def take(self, event: Inbound) -> None:
        """Admit one event and keep it, or answer why not."""
        verdict = await self._access.judge(event)
        if verdict is Verdict.ADMIT:
            await self._admit(event)
        elif verdict is Verdict.PAIRED:
            self._bus.publish("access.paired", platform=self._adapter.name, participant_id=event.person_id)
            await self._say(event.address, self._texts("access.paired"))
        elif verdict is Verdict.REFUSE:
            self._bus.publish("access.refused", platform=self._adapter.name, participant_id=event.person_id)
            await self._say(event.address, self._texts("access.refused"))

    async def _admit(self, event: Inbound) -> None:
        if event.command == "help":
            await self._say(event.address, help_text(self._texts, Role.MEMBER))
        elif event.command is not None and event.command not in COMMANDS:
            await self._say(event.address, self._texts("commands.unknown", command=event.command))
        elif len(event.text) > self._message_chars:
            length, limit = len(event.text), self._message_chars
            await self._say(event.address, self._texts("inbound.too_long", length=length, limit=limit))
        elif event.text.strip() or event.attachments or event.command:
            await self._keep(event)

    async def _keep(self, event: Inbound) -> None:
        kept = InboxEvent(
            id=event.event_id,
            address=event.address,
            person_id=event.person_id,
            person_name=event.person_name,
            text=event.text,
            sent_at=event.sent_at,
            kind=event.command or event.act,
            attachments=tuple(asdict(attachment) for attachment in event.attachments),
            message_id=event.message_id,
            quote=event.quote,
            choice=event.choice,
            private=event.private,
        )
        try:
            await self._inbox.add(kept)
        except InboxFull:
            await self._say(event.address, self._texts("inbound.full"))

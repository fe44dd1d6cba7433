"""What people do, on its way in: admitted, understood as a command or a message, and kept before it is acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from adapters.adapter import Adapter, Inbound
from gateway.access import Access, Verdict
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import InboxFull
from runtime.sessions.inbox import Inbox, InboxEvent

COMMANDS = {
    "start": "begin a conversation",
    "help": "what can be done here",
    "new": "end this conversation and begin another",
    "stop": "interrupt what is going on",
    "status": "what is going on",
}
"""Commands in the chat, with what they do."""

REFUSED = "This is a private bot. Ask its owner for access."
PAIRED = "Welcome! You may talk with me from now on. Say hello to begin."
FULL = "There is too much going on right now; this message was not taken. Please send it again in a while."
TOO_LONG = "This message is too long: {length} characters, at most {limit} can be taken. Please send it in parts."
UNKNOWN_COMMAND = "I do not know /{command}. /help says what can be done here."

Say = Callable[[Address, str], Awaitable[None]]
"""Tells a conversation something that belongs to no session."""


class InboundRouter:
    """Takes what one adapter brings. An event is in the inbox, or answered, before the next one is asked for."""

    def __init__(
        self, adapter: Adapter, access: Access, inbox: Inbox, say: Say, bus: Bus, *, message_chars: int
    ) -> None:
        self._adapter = adapter
        self._access = access
        self._inbox = inbox
        self._say = say
        self._bus = bus
        self._message_chars = message_chars

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
            await self._say(event.address, PAIRED)
        elif verdict is Verdict.REFUSE:
            self._bus.publish("access.refused", platform=self._adapter.name, participant_id=event.person_id)
            await self._say(event.address, REFUSED)

    async def _admit(self, event: Inbound) -> None:
        if event.command == "help":
            await self._say(event.address, help_text())
        elif event.command is not None and event.command not in COMMANDS:
            await self._say(event.address, UNKNOWN_COMMAND.format(command=event.command))
        elif len(event.text) > self._message_chars:
            await self._say(event.address, TOO_LONG.format(length=len(event.text), limit=self._message_chars))
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
            await self._say(event.address, FULL)


def help_text() -> str:
    """The commands, one a line."""
    lines = ["Write, and the agents of this conversation answer.", ""]
    return "\n".join([*lines, *(f"/{name}: {what}" for name, what in COMMANDS.items())])

"""An event of a platform as an inbox keeps it."""

from __future__ import annotations

from dataclasses import asdict

from adapters.adapter import Inbound
from gateway.inbound.commands import COMMANDS
from runtime.stores.inbox import InboxEvent


def kind_of(event: Inbound) -> str:
    """The kind of the event for a session."""
    command = COMMANDS.get(event.command or "")
    return command.kind if command is not None else event.command or event.act


def inbox_event(event: Inbound, kind: str, text: str, program: str, *, rated: bool) -> InboxEvent:
    """The event with this kind and text, for this program. Unless `rated`, a reaction is no rating."""
    return InboxEvent(
        id=event.event_id,
        address=event.address,
        person_id=event.person_id,
        person_name=event.person_name,
        text=text,
        sent_at=event.sent_at,
        kind=kind,
        attachments=tuple(asdict(attachment) for attachment in event.attachments),
        message_id=event.message_id,
        quote=event.quote,
        around=event.around,
        choice=event.choice or (event.rating if rated else None),
        private=event.private,
        program=program,
        looking_at=event.looking_at,
    )

"""People's events as messages to agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from runtime.core.files import FILE_URL
from runtime.core.ids import AgentId, MessageId
from runtime.core.message import HUMAN_CLASS, Attachment, Message, attachment_from
from runtime.core.quote import Quote
from runtime.meetings.meeting import within
from runtime.stores.inbox import InboxEvent
from runtime.tape.state.session import SessionState

OWN_QUOTED_CHARS: Final = 300
"""The length to which a message of ours is quoted."""


def message_of(event: InboxEvent, agent: AgentId | None, state: SessionState, **other: Any) -> Message:
    """The event as a message to `agent`, from whom `state` knows them to be; `other` are fields that differ."""
    known = state.person_of(event.person_id)
    fields: dict[str, Any] = {
        "content": event.text,
        "attachments": files_of(event),
        "quote": _known_quote(event, state),
        "around": event.around,
        "past": event.past,
        "aside": is_aside(event, state),
    }
    return Message(
        id=MessageId(f"in.{event.id}"),
        sender_id=event.author,
        sender_class=known.declared or HUMAN_CLASS if known else HUMAN_CLASS,
        created_at=event.sent_at,
        recipient_id=agent,
        from_human=True,
        sender_name=state.called(event.person_id) if known else event.person_name,
        platform_id=event.message_id,
        looking_at=event.looking_at or None,
        within=within(state, event.author, agent),
        **(fields | other),
    )


def _known_quote(event: InboxEvent, state: SessionState) -> Quote | None:
    """What the event answers: of a message of ours, which its reader knows, only the beginning."""
    quote = event.quote
    if quote is None or quote.message_id not in state.said or len(quote.text) <= OWN_QUOTED_CHARS:
        return quote
    return replace(quote, text=quote.text[: OWN_QUOTED_CHARS - 1] + "…")


def is_aside(event: InboxEvent, state: SessionState) -> bool:
    """Whether somebody speaks to another person: it begins with `@` and their name, and is no option of a question."""
    words = event.text.strip().casefold()
    if not words.startswith("@") or any(words == o.casefold() for q in state.questions.values() for o in q.options):
        return False
    others = (person for id_, person in state.people.items() if id_ != event.person_id)
    return any(re.match(rf"@{re.escape(name.casefold())}(?!\w)", words) for other in others for name in other.names())


def files_of(event: InboxEvent) -> tuple[Attachment, ...]:
    """The files of an event, without what was read of them."""
    return tuple(replace(attachment_from(file), parts=(), note="") for file in event.attachments)


def brings_others(event: InboxEvent, known: Sequence[str]) -> bool:
    """Whether an event has a file that is kept and is none of those `known`."""
    return any(file.url.startswith(FILE_URL) and file.url not in known for file in files_of(event))

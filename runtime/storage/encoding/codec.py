"""The stored form of events, addresses, facts and archived sessions: JSON, the same in every store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runtime.core.address import Address, address_data
from runtime.core.errors import ArchiveUnavailable
from runtime.core.ids import SessionId, TapeId
from runtime.core.json_text import compact_json
from runtime.core.plain_text import whole_characters
from runtime.core.quote import quote_from_data, quote_to_data, quotes_from_data, quotes_to_data
from runtime.storage.encoding.sealing import ContentSealing, archive_binding
from runtime.stores.archive import session_from, session_lines
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import HeldPlace
from runtime.tape.tape import Fact

UNREADABLE_AT = Address("parley", "unreadable")
"""The place of unreadable events."""

UNREADABLE_KIND = "unreadable"
"""The kind of unreadable events."""

_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_LONG_AGO = datetime.fromtimestamp(0, UTC)


def to_json(value: object) -> str:
    """Compact JSON; equal data gives equal text. Half a character, as platforms cut texts, becomes U+FFFD."""
    return whole_characters(_SORTED(value))


def address_to_json(address: Address) -> str:
    return to_json([address.platform, address.conversation, address.thread])


def address_from_json(text: str) -> Address:
    return Address(*json.loads(text))


def held_to_json(held: HeldPlace) -> str:
    return to_json({"home": address_data(held.home), "session": held.session, "meeting": held.meeting})


def held_from_json(text: str) -> HeldPlace | None:
    """What a place is there for; None for unreadable data, which makes it an ordinary conversation."""
    try:
        data = json.loads(text)
        return HeldPlace(Address(*data["home"]), SessionId(data["session"]), data["meeting"])
    except (ValueError, LookupError, TypeError):
        return None


def event_to_json(event: InboxEvent) -> str:
    data: dict[str, Any] = {
        "id": event.id,
        "address": [event.address.platform, event.address.conversation, event.address.thread],
        "person": event.person_id,
        "name": event.person_name,
        "text": event.text,
        "at": event.sent_at.isoformat(),
        "kind": event.kind,
        "files": [dict(file) for file in event.attachments],
        "mid": event.message_id,
        "quote": None if event.quote is None else quote_to_data(event.quote),
        "around": quotes_to_data(event.around),
        "choice": event.choice,
        "private": event.private,
        "program": event.program,
    }
    if event.by_owner:
        data["owner"] = True
    if event.by_guest:
        data["guest"] = True
    if event.place is not None:
        data["place"] = address_data(event.place)
    if event.looking_at:
        data["view"] = event.looking_at
    return to_json(data)


def event_from_json(text: str) -> InboxEvent:
    data = json.loads(text)
    return InboxEvent(
        id=data["id"],
        address=Address(*data["address"]),
        person_id=data["person"],
        person_name=data["name"],
        text=data["text"],
        sent_at=datetime.fromisoformat(data["at"]),
        kind=data["kind"],
        attachments=tuple(data["files"]),
        message_id=data.get("mid"),
        quote=quote_from_data(data["quote"]) if data.get("quote") else None,
        around=quotes_from_data(data.get("around")),
        choice=data.get("choice"),
        private=data.get("private", True),
        program=data.get("program", ""),
        by_owner=data.get("owner", False),
        by_guest=data.get("guest", False),
        place=Address(*data["place"]) if data.get("place") else None,
        looking_at=data.get("view", ""),
    )


def event_from_entry(entry_id: str, fields: Mapping[str, str]) -> InboxEvent:
    """The event of an entry.

    An unreadable entry becomes an event that no session takes, with the entry's text. It ends among the dead letters,
    and later events can be read.
    """
    text = fields.get("e", "")
    try:
        return event_from_json(text)
    except (ValueError, LookupError, TypeError, AttributeError):
        return InboxEvent(entry_id, UNREADABLE_AT, "", "", text, _LONG_AGO, kind=UNREADABLE_KIND)


def fact_fields(fact: Fact) -> tuple[str, str, str]:
    """A fact's kind, time and data; its tape and number follow from its place."""
    return fact.kind, fact.at.isoformat(), compact_json(fact.data)


def fact_from_fields(tape: TapeId, seq: int, fields: tuple[str, str, str]) -> Fact:
    kind, at, data = fields
    content: Mapping[str, Any] = json.loads(data)
    return Fact(tape=tape, seq=seq, kind=kind, at=datetime.fromisoformat(at), data=content)


def session_to_archive(whole: WholeSession, sealing: ContentSealing) -> bytes:
    """A session in the archive's form: the lines of its file, compressed, and sealed where its conversation is."""
    lines = zlib.compress("".join(session_lines(whole)).encode())
    return sealing.of(whole.record.address.key).seal_bytes(archive_binding(whole.record.id), lines)


def session_from_archive(session: SessionId, content: bytes, sealing: ContentSealing) -> WholeSession:
    """The session from that form. Raises ContentLocked, or ArchiveUnavailable when the content cannot be read."""
    packed = sealing.open_bytes(archive_binding(session), bytes(content))
    try:
        return session_from([json.loads(line) for line in zlib.decompress(packed).decode().splitlines()])
    except (zlib.error, ValueError, KeyError, TypeError, IndexError) as error:
        raise ArchiveUnavailable(f"What the archive has of session {session} cannot be read: {error!r}.") from error

"""The stored form of events: plain, or with their content sealed; ids, times, kinds and senders stay readable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtime.core.errors import ContentLocked
from runtime.storage.encoding.codec import UNREADABLE_KIND, event_from_entry, event_to_json, to_json
from runtime.storage.encoding.sealing import PLAIN, AssociatedData, Sealing, conversation_home, key_of
from runtime.stores.inbox import LOCKED, InboxEvent

_CONTENT = ("name", "text", "files", "quote", "around", "choice")
"""The sealed parts of an event, by their JSON names."""

_ENTRY = "entry"

_NOTHING: Mapping[str, Any] = {"name": "", "text": "", "files": [], "quote": None, "around": [], "choice": None}


class EventForm:
    """Writes and reads events as `sealing` has it."""

    def __init__(self, sealing: Sealing) -> None:
        self._sealing = sealing

    def write(self, event: InboxEvent) -> str:
        """An event as JSON. One that could not be opened is written unchanged."""
        if event.kind == LOCKED:
            return str(event.attachments[0][_ENTRY])
        written, sealing = event_to_json(event), self._sealing.of(event.address.key)
        if sealing is PLAIN:
            return written
        data = json.loads(written)
        content = {name: data.pop(name) for name in _CONTENT}
        return to_json({**data, "sealed": sealing.seal(_binding(event), to_json(content))})

    def read(self, entry_id: str, fields: Mapping[str, str]) -> InboxEvent:
        """The event of an entry; of the kind LOCKED if it cannot be decrypted; see `event_from_entry`."""
        text = fields.get("e", "")
        if '"sealed":' not in text:
            return event_from_entry(entry_id, fields)
        try:
            data = json.loads(text)
            sealed = data.pop("sealed")
        except (ValueError, LookupError, TypeError, AttributeError):
            return event_from_entry(entry_id, fields)
        hollow = event_from_entry(entry_id, {"e": to_json({**data, **_NOTHING})})
        try:
            content = json.loads(self._sealing.open(_binding(hollow), str(sealed)))
        except ContentLocked as error:
            return replace(hollow, kind=LOCKED, text=str(error), attachments=({_ENTRY: text},))
        return event_from_entry(entry_id, {"e": to_json({**data, **content})})

    def key_of(self, text: str) -> str:
        """The id of the key of an event; "" for an unsealed one."""
        try:
            return key_of(str(json.loads(text)["sealed"]))
        except (ValueError, LookupError, TypeError):
            return ""

    def anew(self, entry_id: str, fields: Mapping[str, str]) -> Mapping[str, str]:
        """The fields of an entry that differ in the current form, in that form."""
        event = self.read(entry_id, fields)
        if event.kind in (LOCKED, UNREADABLE_KIND):
            return {}
        anew = {"e": self.write(event)}
        if fields.get("reason"):
            anew["reason"] = self.write_reason(event, self.read_reason(event, fields["reason"]))
        return {name: text for name, text in anew.items() if text != fields[name]}

    def write_reason(self, event: InboxEvent, reason: str) -> str:
        """The reason why an event was set aside, which may quote it."""
        sealing = self._sealing if event.kind == LOCKED else self._sealing.of(event.address.key)
        return sealing.seal(_reason_binding(event), reason)

    def read_reason(self, event: InboxEvent, written: str) -> str:
        """The reason, or the reason why it cannot be read."""
        try:
            return self._sealing.open(_reason_binding(event), written)
        except ContentLocked as error:
            return str(error)


def _binding(event: InboxEvent) -> AssociatedData:
    about = ("event", event.id, event.kind, event.person_id, event.sent_at.isoformat())
    return AssociatedData(conversation_home(event.address.key), about)


def _reason_binding(event: InboxEvent) -> AssociatedData:
    return AssociatedData(conversation_home(event.address.key), ("reason", event.id))

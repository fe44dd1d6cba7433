"""The stored form of messages in rooms: plain, or with their content sealed.

Scripts read and change them, so what these need stays readable: ids, who wrote it, whom it answers, times, marks.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from runtime.core.errors import ContentLocked
from runtime.core.message import Attachment, Choice
from runtime.core.quote import Quote
from runtime.core.room import Reaction, RoomChange, RoomMessage, RoomPost
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import PLAIN, Sealing, key_of, message_binding
from runtime.tape.facts.content import ATTACHMENT

_LOCKED_TEXT = "🔒"
"""The replacement for a text that cannot be decrypted."""


class RoomForm:
    """Writes and reads messages as `sealing` has it."""

    def __init__(self, sealing: Sealing, platform: str) -> None:
        """`platform` is the first part of the keys of the rooms' conversations."""
        self._sealing = sealing
        self._platform = platform

    def post(self, room: str, post: RoomPost) -> str:
        """A new message, JSON."""
        text, sealed_text = self.text(room, post.id, post.text)
        data = {
            "id": post.id,
            "author_id": post.author_id,
            "author_name": post.author_name,
            "author_kind": post.author_kind,
            "text": text,
            "sent_at": post.sent_at.isoformat(),
            "final": post.final,
            "thread": post.thread,
            "sealed_text": sealed_text or None,
            "quote": self._quote(room, post.id, post.quote),
            "files": self._part(room, post.id, "files", _files(post.files) or None),
            "to": post.to or None,
            "meeting": self._part(room, post.id, "meeting", [post.meeting] if post.meeting else None),
        }
        optional = ("sealed_text", "quote", "files", "to", "meeting")
        return to_json({name: value for name, value in data.items() if value is not None or name not in optional})

    def text(self, room: str, message: str, text: str) -> tuple[str, str]:
        """A text in plain and in sealed form, one of which is empty."""
        sealing = self._writing(room)
        return (text, "") if sealing is PLAIN else ("", sealing.seal(message_binding(room, message, "text"), text))

    def change(self, room: str, message: str, change: RoomChange) -> str:
        """The change to a message, as JSON."""
        data: dict[str, Any] = {"final": change.final, "edited": change.edited, "deleted": change.deleted}
        if change.text is not None:
            text, sealed_text = self.text(room, message, change.text)
            data |= {"text": text, "sealed_text": sealed_text or None}
        if change.files is not None:
            data["files"] = self._part(room, message, "files", _files(change.files))
        if change.choices is not None:
            choices = [[each.id, each.label] for each in change.choices]
            data["choices"] = self._part(room, message, "choices", choices)
        return to_json({name: value for name, value in data.items() if value is not None})

    def message(self, room: str, kept: str) -> RoomMessage:
        """A message from any version of Parley; Lua writes empty lists as objects."""
        data = json.loads(kept)
        quote, reactions = data.pop("quote", None), dict(data.pop("reactions", None) or {})
        sealed, id_ = data.pop("sealed_text", ""), data["id"]
        return RoomMessage(
            **{
                **data,
                "text": self._text(room, id_, sealed) if sealed else data["text"],
                "sent_at": datetime.fromisoformat(data["sent_at"]),
                "quote": Quote(quote[0], *self._read(room, id_, "quote", quote[1:], ("", _LOCKED_TEXT)))
                if quote
                else None,
                "files": tuple(map(ATTACHMENT.read, self._read(room, id_, "files", data.get("files"), ()))),
                "choices": tuple(Choice(*each) for each in self._read(room, id_, "choices", data.get("choices"), ())),
                "meeting": "".join(self._read(room, id_, "meeting", data.get("meeting"), ())),
                "reactions": {who: Reaction(*reaction) for who, reaction in reactions.items()},
            }
        )

    def key_of(self, kept: str) -> str:
        """The id of the key of a message's text; "" for an unsealed one."""
        return key_of(json.loads(kept).get("sealed_text") or "")

    def anew(self, room: str, kept: str) -> str:
        """A stored message in its current form; unchanged if it cannot be decrypted."""
        data = json.loads(kept)
        id_ = data["id"]
        try:
            written = (data["text"], data.get("sealed_text") or "")
            text = self._open(room, id_, "text", written[1]) if written[1] else written[0]
            if text and self.text(room, id_, text) != written:
                data["text"], data["sealed_text"] = self.text(room, id_, text)
            if data.get("quote"):
                author_and_text = self._open_part(room, id_, "quote", [*data["quote"][1:]])
                data["quote"] = self._quote(room, id_, Quote(data["quote"][0], *author_and_text))
            for part in ("files", "choices", "meeting"):
                if data.get(part):
                    data[part] = self._part(room, id_, part, self._open_part(room, id_, part, data[part]))
        except ContentLocked:
            return kept
        return kept if json.loads(kept) == data else to_json(data)

    def _writing(self, room: str) -> Sealing:
        return self._sealing.of(f"{self._platform}:{room}")

    def _part(self, room: str, message: str, part: str, value: Any) -> Any:
        sealing = self._writing(room)
        if not value or sealing is PLAIN:
            return value
        return sealing.seal(message_binding(room, message, part), to_json(value))

    def _quote(self, room: str, message: str, quote: Quote | None) -> list[str] | None:
        if quote is None:
            return None
        sealing = self._writing(room)
        if sealing is PLAIN:
            return [quote.message_id, quote.author, quote.text]
        return [quote.message_id, self._part(room, message, "quote", [quote.author, quote.text])]

    def _read(self, room: str, message: str, part: str, kept: Any, otherwise: Any) -> Any:
        try:
            return self._open_part(room, message, part, kept or ())
        except ContentLocked:
            return otherwise

    def _open_part(self, room: str, message: str, part: str, kept: Any) -> Any:
        """The unsealed part. Raises ContentLocked."""
        sealed = kept[0] if part == "quote" and len(kept) == 1 else kept
        return json.loads(self._open(room, message, part, sealed)) if isinstance(sealed, str) else kept

    def _open(self, room: str, message: str, part: str, written: str) -> str:
        return self._sealing.open(message_binding(room, message, part), written)

    def _text(self, room: str, message: str, sealed: str) -> str:
        try:
            return self._open(room, message, "text", sealed)
        except ContentLocked:
            return _LOCKED_TEXT


def _files(files: tuple[Attachment, ...]) -> list[list[Any]]:
    return [ATTACHMENT.write(file) for file in files]

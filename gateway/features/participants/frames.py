"""The frames on a participant's WebSocket: JSON objects, each with its `type`.

See docs/connecting/remote-participants.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from runtime.channels.mailbox import MailboxEntry
from runtime.core.json_text import read_json
from runtime.sessions.inbound.participants import SeatAct

VERSION = 1

CLOSE_PROTOCOL = 4400
"""The WebSocket's close code for frames that cannot be understood."""

CLOSE_REPLACED = 4409
"""The close code for a connection that a newer one of the same name replaces."""

CLOSE_LATER = 1013
"""The act cannot be taken now: connect again after a pause (RFC 6455's registry, "Try Again Later")."""

MAX_FRAME_BYTES = 256 * 1024
"""A longer frame ends the connection."""

MAX_ID_CHARS = 100

_ENTRY = re.compile(r"\d{1,20}-\d{1,20}")


class BadSeatFrame(Exception):
    """A frame that cannot be understood; the text gives its sender the reason."""


class Hello(Struct, frozen=True):
    """The first frame. `after` is the last acknowledged entry, as far as the participant knows."""

    version: int
    after: str | None = None


class Acknowledged(Struct, frozen=True):
    entry: str


Frame = Hello | Acknowledged | SeatAct


def read_frame(text: str) -> Frame:
    """The decoded frame of a participant. Raises BadFrame."""
    if len(text.encode()) > MAX_FRAME_BYTES:
        raise BadSeatFrame(f"a frame has at most {MAX_FRAME_BYTES} bytes")
    try:
        data = read_json(text)
    except ValueError as error:
        raise BadSeatFrame("a frame is a JSON object") from error
    if not isinstance(data, dict):
        raise BadSeatFrame("a frame is a JSON object")
    match data.get("type"):
        case "hello":
            return _hello(data)
        case "ack":
            return Acknowledged(_entry(data, "entry"))
        case "say":
            return SeatAct(
                _text(data, "seat"), "say", _id(data), to=_text(data, "to"), text=_text(data, "text", whole=True)
            )
        case "answer":
            return SeatAct(_text(data, "seat"), "answer", _id(data), meeting=_text(data, "meeting"), text=_answer(data))
        case "leave":
            return SeatAct(_text(data, "seat"), "leave", _id(data), meeting=_text(data, "meeting"))
        case "share":
            return _share(data)
    raise BadSeatFrame(f"there is no type {data.get('type')!r}; there are hello, ack, say, answer, leave and share")


def _share(data: Mapping[str, Any]) -> SeatAct:
    expected = data.get("expected")
    if "value" not in data or isinstance(expected, bool) or not isinstance(expected, int | None):
        raise BadSeatFrame("share needs value, and if it has expected, a number of a version")
    value = json.dumps(data["value"], ensure_ascii=False)
    seat, number, meeting, name = _text(data, "seat"), _id(data), _text(data, "meeting"), _text(data, "name")
    return SeatAct(seat, "share", number, meeting=meeting, text=value, name=name, expected=expected)


def _hello(data: Mapping[str, Any]) -> Hello:
    if data.get("version") != VERSION:
        raise BadSeatFrame(f"version {data.get('version')!r} is not spoken here; {VERSION} is")
    return Hello(VERSION, _entry(data, "after") if data.get("after") is not None else None)


def _text(data: Mapping[str, Any], key: str, *, whole: bool = False) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadSeatFrame(f"{data['type']} needs {key}, a text")
    return value if whole else value.strip()[:MAX_FRAME_BYTES]


def _id(data: Mapping[str, Any]) -> str:
    value = _text(data, "id")
    if len(value) > MAX_ID_CHARS:
        raise BadSeatFrame(f"an id has at most {MAX_ID_CHARS} characters")
    return value


def _entry(data: Mapping[str, Any], key: str) -> str:
    value = _text(data, key)
    if not _ENTRY.fullmatch(value):
        raise BadSeatFrame(f"{value[:50]!r} is not the entry of a message")
    return value


def _answer(data: Mapping[str, Any]) -> str:
    value = _text(data, "answer")
    if value != "JOINED" and not value.startswith("REJECTED"):
        raise BadSeatFrame("an answer is JOINED, or REJECTED with a reason")
    return value


def welcome(participant: str, window: int) -> str:
    """The connection is open. At most `window` messages are sent before the first of them is acknowledged."""
    return _frame("welcome", version=VERSION, participant=participant, window=window)


def message(mail: MailboxEntry) -> str:
    return _frame("message", **{**mail.letter.content, "entry": mail.entry_id, "seat": mail.letter.seat.id})


def taken(number: str) -> str:
    """The participant's act is stored and will be done."""
    return _frame("taken", id=number)


def refused(number: str, reason: str) -> str:
    return _frame("refused", id=number, reason=reason)


def bye(reason: str) -> str:
    """The last frame before the gateway closes the connection."""
    return _frame("bye", reason=reason)


def _frame(type_: str, /, **data: Any) -> str:
    return json.dumps({"type": type_, **data}, ensure_ascii=False)

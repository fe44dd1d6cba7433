"""The language between the page and the gateway: JSON text frames over one WebSocket, `/ws`; `t` is the frame's type.

The page says:

    join    room, version?          show me this room; I have seen everything up to `version` (absent: nothing)
    say     id, room, text, thread? a message; `id` is a UUID that the page made, and the same when it is sent again
    older   room, before            the messages before `seq` `before`
    typing  room, thread?           I am writing; repeated every 3 s at most
    open    name                    make a room of this name, or find the one there is
    ping                            are you there

The gateway says:

    welcome you {id, name}, rooms [room…], max_text    first of all
    joined  room, reset, messages [message…], more, people [person…]
            With `reset` the page forgets what it has of the room. Else `messages` is exactly what changed since
            `version`, and every message that grows right now. `more`: there are older messages.
    older   room, messages, more
    message room, message           it is new, or it is different from what it was
    grow    room, id, add, cut?, done?
            take `cut` UTF-16 units from the end of its text, append `add`; with `done` {version} it is finished
    taken   id                      the message is safe: the page may forget its copy
    refused id, code, text          the message was not taken. `too_long`, `invalid`, `conflict`: never will be;
                                    `busy`, `slow_down`: the same message again in a few seconds
    people  room, people            who looks at the room
    typing  room, thread, by, name, kind               for about 5 s, or until `by` says something
    rooms   rooms                   the list has changed
    room    room                    something happened in a room that this page does not show
    opened  room                    the answer to `open`
    error   text                    what was asked for cannot be done, and what to do
    pong

A message is {id, seq, version, by, name, kind (person | agent | notice), text, at, live, thread}; `live`: its text
still grows. A room is {id, seq}; `seq` is its newest message's. Frames of one connection are in order, and `joined` is
one cut through a room: what comes behind it applies to it. So nothing is lost and nothing shown twice. The connection
is closed with 1013 when the page reads too slowly or the store is away (come back in a moment), and with 1008 when
it sends too much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runtime.core.room import RoomMessage

MAX_TEXT = 100_000
"""The longest text of a message, in code points."""

MAX_ROOM_NAME = 40
"""The longest name of a room, in code points."""

RefusalCode = Literal["too_long", "invalid", "conflict", "busy", "slow_down"]

_MESSAGE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_THREAD_ID = re.compile(r"[\w.:~/@-]{1,200}")


class BadFrame(ValueError):
    """The page sent what it must not; the text says what."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who sits before a page. `id` begins with `web:` and stays the same in the same browser."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RoomHead:
    """A room in the list, with the place of its newest message."""

    id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Join:
    room: str
    version: int | None


@dataclass(frozen=True, slots=True)
class Say:
    id: str
    room: str
    thread: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Older:
    room: str
    before: int


@dataclass(frozen=True, slots=True)
class Typing:
    room: str
    thread: str | None


@dataclass(frozen=True, slots=True)
class Open:
    name: str


@dataclass(frozen=True, slots=True)
class Ping:
    pass


Request = Join | Say | Older | Typing | Open | Ping


def room_id(name: str) -> str:
    """A room's id: its name in small letters, digits and hyphens. Empty when nothing of the name is left."""
    kept = "".join(char if char.isalnum() else "-" for char in name.lower()[:MAX_ROOM_NAME])
    return re.sub("-+", "-", kept).strip("-")


def read_request(raw: str) -> Request:
    """A frame from the page. Raises BadFrame; text is not measured here, so that its sender can be told by id."""
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise BadFrame(f"a frame is not JSON: {error}") from error
    except RecursionError as error:
        raise BadFrame("a frame is nested too deeply") from error
    if not isinstance(data, dict):
        raise BadFrame("a frame must be a JSON object")
    reader = _READERS.get(str(data.get("t")))
    if reader is None:
        raise BadFrame(f"unknown frame type {str(data.get('t'))[:40]!r}")
    return reader(data)


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise BadFrame(f"{key!r} must be a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadFrame(f"{key!r} holds half a character") from error
    return value


def _number(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise BadFrame(f"{key!r} must be a whole number from 0")
    return value


def _room(data: Mapping[str, Any]) -> str:
    room = _text(data, "room")
    if not room or room_id(room) != room:
        raise BadFrame("'room' is not the id of a room")
    return room


def _thread(data: Mapping[str, Any]) -> str | None:
    if data.get("thread") is None:
        return None
    thread = _text(data, "thread")
    if not _THREAD_ID.fullmatch(thread):
        raise BadFrame("'thread' is not the id of a message")
    return thread


def _read_join(data: Mapping[str, Any]) -> Join:
    return Join(_room(data), None if data.get("version") is None else _number(data, "version"))


def _read_say(data: Mapping[str, Any]) -> Say:
    message = _text(data, "id")
    if not _MESSAGE_ID.fullmatch(message):
        raise BadFrame("'id' must be a UUID in small letters")
    return Say(message, _room(data), _thread(data), _text(data, "text"))


def _read_older(data: Mapping[str, Any]) -> Older:
    return Older(_room(data), _number(data, "before"))


def _read_typing(data: Mapping[str, Any]) -> Typing:
    return Typing(_room(data), _thread(data))


def _read_open(data: Mapping[str, Any]) -> Open:
    return Open(_text(data, "name"))


def _read_ping(_: Mapping[str, Any]) -> Ping:
    return Ping()


_READERS: dict[str, Callable[[Mapping[str, Any]], Request]] = {
    "join": _read_join,
    "say": _read_say,
    "older": _read_older,
    "typing": _read_typing,
    "open": _read_open,
    "ping": _read_ping,
}


def command_of(text: str) -> tuple[str | None, str]:
    """A message as command and argument: `/new now` is ("new", "now"); (None, text) when it is not a command."""
    match = re.fullmatch(r"/([a-zA-Z][\w-]{0,31})(?:\s+(.*))?", text.strip(), re.DOTALL)
    return (match[1].lower(), match[2] or "") if match else (None, text)


def _frame(t: str, **fields: Any) -> str:
    return json.dumps({"t": t, **fields}, ensure_ascii=False, separators=(",", ":"))


def _message(message: RoomMessage, live: bool) -> dict[str, Any]:
    return {
        "id": message.id,
        "seq": message.seq,
        "version": message.version,
        "by": message.author_id,
        "name": message.author_name,
        "kind": message.author_kind,
        "text": message.text,
        "at": message.sent_at.isoformat(),
        "live": live,
        "thread": message.thread,
    }


def _people(people: Iterable[Person]) -> list[dict[str, str]]:
    return [{"id": person.id, "name": person.name} for person in people]


def _rooms(rooms: Iterable[RoomHead]) -> list[dict[str, Any]]:
    return [{"id": room.id, "seq": room.seq} for room in rooms]


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as a room shows it now."""

    message: RoomMessage
    live: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A room at one moment, for a page that knew nothing of it (`reset`) or everything up to a version."""

    messages: tuple[Shown, ...]
    reset: bool
    more: bool


def welcome(person: Person, rooms: Iterable[RoomHead]) -> str:
    return _frame("welcome", you={"id": person.id, "name": person.name}, rooms=_rooms(rooms), max_text=MAX_TEXT)


def joined(room: str, cut: Cut, people: Iterable[Person]) -> str:
    messages = [_message(shown.message, shown.live) for shown in cut.messages]
    return _frame("joined", room=room, reset=cut.reset, messages=messages, more=cut.more, people=_people(people))


def older(room: str, cut: Cut) -> str:
    messages = [_message(shown.message, shown.live) for shown in cut.messages]
    return _frame("older", room=room, messages=messages, more=cut.more)


def message(room: str, shown: Shown) -> str:
    return _frame("message", room=room, message=_message(shown.message, shown.live))


def grow(room: str, message_id: str, before: str, after: str, *, done_version: int | None = None) -> str:
    """The change from one text to the next, as what differs at their ends."""
    same = len(before) if after.startswith(before) else _common_length(before, after)
    fields: dict[str, Any] = {"add": after[same:]}
    if same < len(before):
        fields["cut"] = len(before[same:].encode("utf-16-le")) // 2
    if done_version is not None:
        fields["done"] = {"version": done_version}
    return _frame("grow", room=room, id=message_id, **fields)


def _common_length(one: str, other: str) -> int:
    """How long the beginning is that two texts share; by halving, because comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def taken(message_id: str) -> str:
    return _frame("taken", id=message_id)


def refused(message_id: str, code: RefusalCode, text: str) -> str:
    return _frame("refused", id=message_id, code=code, text=text)


def people(room: str, present: Iterable[Person]) -> str:
    return _frame("people", room=room, people=_people(present))


def typing(room: str, thread: str | None, by: str, name: str, kind: Literal["person", "agent"]) -> str:
    return _frame("typing", room=room, thread=thread, by=by, name=name, kind=kind)


def rooms(heads: Iterable[RoomHead]) -> str:
    return _frame("rooms", rooms=_rooms(heads))


def activity(head: RoomHead) -> str:
    return _frame("room", room={"id": head.id, "seq": head.seq})


def opened(room: str) -> str:
    return _frame("opened", room=room)


def error(text: str) -> str:
    return _frame("error", text=text)


def pong() -> str:
    return _frame("pong")

"""A page's decoded frames: data in the expected form and nothing else. See codec.py for the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

MAX_ROOM_NAME = 40
MAX_WORDS = 200
MAX_FILES = 10
_MESSAGE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_ANY_ID = re.compile(r"[\w.:~/@+-]{1,200}")
_FILE_ID = re.compile(r"[0-9a-f]{64}")


class BadFrame(ValueError):
    """The page sent an invalid frame; the text says why."""


class Join(Struct, frozen=True):
    room: str
    version: int | None


class SayInRoom(Struct, frozen=True):
    id: str
    room: str
    thread: str | None
    text: str
    reply_to: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    """Ids of files posted before, with their names."""


class Change(Struct, frozen=True):
    id: str
    room: str
    text: str


class TakeBack(Struct, frozen=True):
    id: str
    room: str


class React(Struct, frozen=True):
    id: str
    room: str
    mark: str


class Press(Struct, frozen=True):
    id: str
    room: str
    choice: str


class StopAgents(Struct, frozen=True):
    room: str
    thread: str | None


class Older(Struct, frozen=True):
    room: str
    before: int


class SearchRoom(Struct, frozen=True):
    """`room` is empty for all that the person sees."""

    room: str
    words: str


class Typing(Struct, frozen=True):
    room: str
    thread: str | None


class Open(Struct, frozen=True):
    name: str


class PrivateRequest(Struct, frozen=True):
    name: str


class DirectRequest(Struct, frozen=True):
    """`person` by id, or `agent` by name; the other is empty."""

    person: str
    agent: str


class MembersRequest(Struct, frozen=True):
    room: str


class InviteRequest(Struct, frozen=True):
    room: str
    person: str


class LeaveRoom(Struct, frozen=True):
    room: str


class RetitleRequest(Struct, frozen=True):
    room: str
    title: str


class ArchiveRoom(Struct, frozen=True):
    room: str
    archived: bool


class ListPeople(Struct, frozen=True):
    pass


class Ping(Struct, frozen=True):
    pass


Act = SayInRoom | Change | TakeBack | React | Press | StopAgents
"""A request that becomes an Inbound."""
Gather = (
    PrivateRequest
    | DirectRequest
    | MembersRequest
    | InviteRequest
    | LeaveRoom
    | RetitleRequest
    | ArchiveRoom
    | ListPeople
)
Request = Join | Older | SearchRoom | Typing | Open | Ping | Act | Gather


def room_id(name: str) -> str:
    """A room's id: its name in lower case, with digits and hyphens. Empty if no such characters are left."""
    kept = "".join(char if char.isalnum() else "-" for char in name.lower()[:MAX_ROOM_NAME])
    return re.sub("-+", "-", kept).strip("-")


def read_request(raw: str) -> Request:
    """A frame from the page. Raises BadFrame; a long text is refused later, with its message's id."""
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
        raise BadFrame(f"{key!r} contains half a character") from error
    return value


def _number(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise BadFrame(f"{key!r} must be a whole number from 0")
    return value


def _room(data: Mapping[str, Any]) -> str:
    room = _text(data, "room")
    if not room or room_id(room) != room:
        raise BadFrame(
            f"There is no room {room[:MAX_ROOM_NAME]!r}. The address of a room has small letters, digits and hyphens."
        )
    return room


def _thread(data: Mapping[str, Any]) -> str | None:
    return None if data.get("thread") is None else _id(data, "thread")


def _id(data: Mapping[str, Any], key: str = "id") -> str:
    value = _text(data, key)
    if not _ANY_ID.fullmatch(value):
        raise BadFrame(f"{key!r} is not the id of a message")
    return value


def _read_say(data: Mapping[str, Any]) -> SayInRoom:
    message = _text(data, "id")
    if not _MESSAGE_ID.fullmatch(message):
        raise BadFrame("'id' must be a UUID in small letters")
    reply_to = None if data.get("reply_to") is None else _id(data, "reply_to")
    return SayInRoom(message, _room(data), _thread(data), _text(data, "text"), reply_to, _files(data))


def _files(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    files = data.get("files") or []
    if not isinstance(files, list) or len(files) > MAX_FILES or not all(isinstance(file, dict) for file in files):
        raise BadFrame(f"'files' must be at most {MAX_FILES} objects")
    read = tuple((_text(file, "id"), _text(file, "name")) for file in files)
    if not all(_FILE_ID.fullmatch(id_) for id_, _ in read):
        raise BadFrame("the 'id' of a file is what posting it answered")
    return read


def _read_search(data: Mapping[str, Any]) -> SearchRoom:
    words = _text(data, "words")
    if len(words) > MAX_WORDS:
        raise BadFrame(f"'words' has at most {MAX_WORDS} characters")
    return SearchRoom(_room(data) if data.get("room") else "", words)


def _read_direct(data: Mapping[str, Any]) -> DirectRequest:
    agent = "" if data.get("agent") is None else _text(data, "agent")
    return DirectRequest("" if agent else _text(data, "person"), agent)


def _read_archive(data: Mapping[str, Any]) -> ArchiveRoom:
    if not isinstance(data.get("archived"), bool):
        raise BadFrame("'archived' must be true or false")
    return ArchiveRoom(_room(data), data["archived"])


_READERS: dict[str, Callable[[Mapping[str, Any]], Request]] = {
    "join": lambda data: Join(_room(data), None if data.get("version") is None else _number(data, "version")),
    "say": _read_say,
    "change": lambda data: Change(_id(data), _room(data), _text(data, "text")),
    "take_back": lambda data: TakeBack(_id(data), _room(data)),
    "react": lambda data: React(_id(data), _room(data), _text(data, "mark")),
    "press": lambda data: Press(_id(data), _room(data), _text(data, "choice")),
    "stop": lambda data: StopAgents(_room(data), _thread(data)),
    "older": lambda data: Older(_room(data), _number(data, "before")),
    "search": _read_search,
    "typing": lambda data: Typing(_room(data), _thread(data)),
    "open": lambda data: Open(_text(data, "name")),
    "private": lambda data: PrivateRequest(_text(data, "name")),
    "direct": _read_direct,
    "members": lambda data: MembersRequest(_room(data)),
    "invite": lambda data: InviteRequest(_room(data), _text(data, "person")),
    "leave": lambda data: LeaveRoom(_room(data)),
    "title": lambda data: RetitleRequest(_room(data), _text(data, "title")),
    "archive": _read_archive,
    "people": lambda _: ListPeople(),
    "ping": lambda _: Ping(),
}


def command_of(text: str) -> tuple[str | None, str]:
    """A message as command and argument: `/new now` is ("new", "now"); (None, text) when it is not a command."""
    match = re.fullmatch(r"/([a-zA-Z][\w-]{0,31})(?:\s+(.*))?", text.strip(), re.DOTALL)
    return (match[1].lower(), match[2] or "") if match else (None, text)

"""The language between the page and the gateway: JSON text frames over one WebSocket, `/ws`; `t` is the frame's type.

The page says:

    join    room, version?          show me this room; I have seen everything up to `version` (absent: nothing)
    say     id, room, text, thread?, reply_to?, files? [{id, name}…]
            a message; `id` is a UUID that the page made, and the same when it is sent again; files were posted before
    change  id, room, text          my message says this now
    take_back id, room              my message is withdrawn
    react   id, room, mark          I put this mark on a message, one of `marks`, or take mine away ("")
    press   id, room, choice        I choose one of the choices under a message, by its id
    stop    room, thread?           the agents are to stop what they are doing
    older   room, before            the messages before `seq` `before`
    search  room, words             messages with all these words; `room` "" for all rooms
    typing  room, thread?           I am writing; repeated every 3 s at most
    open    name                    make a room of this name, or find the one there is
    private name                    make a room that only the invited see
    direct  person | agent          the room of me and one other, by a person's id or an agent's name
    members room                    who is in it
    invite  room, person            a person, by id, sees a private room from now on
    leave   room                    I do not see a private room any more, or take an open one off my list
    title   room, title             the room is called this
    archive room, archived          the room is over, or is not
    people                          to whom I can write
    ping                            are you there

The gateway says:

    welcome you {id, name}, rooms [room…], max_text, max_file_bytes, max_files, voice_s, marks [mark…],
            commands [{name, about}…]
            first of all; without `max_file_bytes` no files are taken, without `voice_s` (seconds) no voice notes
    joined  room, reset, messages [message…], more, people [person…], present, hues
            With `reset` the page forgets what it has of the room. Else `messages` is exactly what changed since
            `version`, and every message that grows right now. `more`: there are older messages. `hues`: numbers by key.
    hues    room, hues              somebody new has one
    older   room, messages, more
    found   room, words, messages, meant, more, whole
            the newest ones that have the words, newest first, each with its `room`; where none has, those with words
            that are `meant`; `more`: there are others; not `whole`: older messages were not read
    message room, message           it is new, or it is different from what it was
    grow    room, id, add, cut?, done?
            take `cut` UTF-16 units from the end of its text, append `add`; with `done` {version} it is finished
    taken   id                      the message is safe: the page may forget its copy
    refused id, code, text          the message was not taken. `too_long`, `invalid`, `conflict`: never will be;
                                    `busy`, `slow_down`: the same message again in a few seconds
    alone   room, thread, text      an answer that only this person sees, and that nobody keeps
    people  room, people, present   who looks at the room: the first hundred by name, and how many in all
    typing  room, thread, by, name, kind, doing?, ended?
            for about 5 s, or until `by` says something, or until the same comes with `ended`
    online  people [id…]            with whom the person has direct rooms, and who has this chat open, in any room
    activity rooms [room…]          rooms with new messages that this page does not show; some may be new themselves
    opened  room                    the answer to `open`, `private` and `direct`
    room    room {id, seq, …}       it is new to this person, or its title or state is
    gone    room                    the person does not see it any more
    members room, kind, may, people [{id, name, here?}…]
            `may`: the person can rename and archive it
    directory people [person…], agents [name…]
    error   text                    what was asked for cannot be done, and what to do
    pong

A message is {id, seq, version, by, name, kind (person | agent | notice), text, at, live, thread, quote? {id, name,
text}, files? [{id, name, type, size, alt?}…], choices? [{id, label}…], reactions? [{mark, by [person…]}…], edited?,
deleted?, to?, meeting?, written?}; `live`: its text still grows; `written`: what its author wrote, where `text` has
Markdown in the place of HTML; `deleted`: nothing is left of it; `to`: it is said to the person of this name, and others
read it too; `meeting`: what the meeting is about in which it is said. `[@Name](person:<id>)` in a text mentions
somebody. A room is {id, seq, title?, kind? (private | direct), archived?, with?}; `seq` is its newest message's, `with`
the id of the other person of a direct one. Frames of one connection are in order, and `joined` is one cut through a
room: what comes behind it applies to it. So nothing is lost and nothing shown twice. The connection is closed with 1013
when the page reads too slowly or the store is away (come back in a moment), with 1008 when it sends too much, and with
4429 when too many pages are open: the reason says it in words for people. `people` and `activity` come at most four
times a second, and more rarely when very many pages are open.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from adapters.markdown.html_blocks import html_as_markdown
from adapters.web.charters import RoomCharter
from adapters.web.requests import MAX_FILES
from runtime.core.files import FILE_URL
from runtime.core.json_text import compact_json
from runtime.core.room import RoomMessage

MARKS = ("👍", "❤️", "😂", "🎉", "🤔", "👎")
"""The reactions that people can give to a message."""
RefusalCode = Literal["too_long", "invalid", "conflict", "busy", "slow_down"]


class WebVisitor(Struct, frozen=True):
    """The person at a page. `id` starts with `web:` and stays the same in the same browser."""

    id: str
    name: str


class Presence(Struct, frozen=True):
    """The people who look at a room: some of them by name, and their number."""

    people: Sequence[WebVisitor]
    count: int


class RoomHead(Struct, frozen=True):
    """A room in the list, with the place of its newest message, and its charter where it has one."""

    id: str
    seq: int
    charter: RoomCharter | None = None


def frame(t: str, **fields: Any) -> str:
    return compact_json({"t": t, **fields})


def _message(message: RoomMessage, live: bool) -> dict[str, Any]:
    text = message.text if live else html_as_markdown(message.text)
    extras = {
        "quote": _quote(message),
        "files": _files(message),
        "choices": [{"id": choice.id, "label": choice.label} for choice in message.choices],
        "reactions": _reactions(message),
        "edited": message.edited,
        "deleted": message.deleted,
        "to": message.to,
        "meeting": message.meeting,
        "written": message.text if text != message.text and message.author_kind == "person" else "",
    }
    return {
        "id": message.id,
        "seq": message.seq,
        "version": message.version,
        "by": message.author_id,
        "name": message.author_name,
        "kind": message.author_kind,
        "text": text,
        "at": message.sent_at.isoformat(),
        "live": live,
        "thread": message.thread,
        **{name: value for name, value in extras.items() if value},
    }


def _quote(message: RoomMessage) -> dict[str, str] | None:
    quote = message.quote
    return None if quote is None else {"id": quote.message_id, "name": quote.author, "text": quote.text}


def _files(message: RoomMessage) -> list[dict[str, Any]]:
    return [
        {
            "id": file.url.removeprefix(FILE_URL),
            "name": file.name,
            "type": file.media_type,
            "size": file.size_bytes,
            **({"alt": file.note} if file.note else {}),
        }
        for file in message.files
    ]


def _reactions(message: RoomMessage) -> list[dict[str, Any]]:
    by_mark: dict[str, list[dict[str, str]]] = {}
    for who, reaction in message.reactions.items():
        by_mark.setdefault(reaction.mark, []).append({"id": who, "name": reaction.name})
    return [{"mark": mark, "by": by} for mark, by in sorted(by_mark.items())]


def _people(people: Iterable[WebVisitor]) -> list[dict[str, str]]:
    return [{"id": person.id, "name": person.name} for person in people]


def _rooms(rooms: Iterable[RoomHead], person_id: str = "") -> list[dict[str, Any]]:
    return [_room(room, person_id) for room in rooms]


def _room(room: RoomHead, person_id: str) -> dict[str, Any]:
    charter = room.charter or RoomCharter()
    kind = "" if charter.kind == "open" else charter.kind
    other = next((id_ for id_ in charter.people if id_ != person_id), "") if kind == "direct" else ""
    extras = {"title": charter.title_for(person_id), "kind": kind, "archived": charter.archived, "with": other}
    return {"id": room.id, "seq": room.seq} | {name: value for name, value in extras.items() if value}


class ShownMessage(Struct, frozen=True):
    message: RoomMessage
    live: bool


class RoomCut(Struct, frozen=True):
    """A room at one moment, for a page without earlier state (`reset`) or with everything up to a version."""

    messages: tuple[ShownMessage, ...]
    reset: bool
    more: bool


def welcome(
    person: WebVisitor, rooms: Iterable[RoomHead], limits: Mapping[str, int], *, commands: Mapping[str, str]
) -> str:
    """`limits` are `max_text`, `max_file_bytes` and `voice_s`."""
    return frame(
        "welcome",
        you={"id": person.id, "name": person.name},
        rooms=_rooms(rooms, person.id),
        max_files=MAX_FILES,
        **limits,
        marks=MARKS,
        commands=[{"name": name, "about": about} for name, about in commands.items()],
    )


def joined(room: str, cut: RoomCut, who: Presence, hues: Mapping[str, int]) -> str:
    messages = [_message(shown.message, shown.live) for shown in cut.messages]
    here = {"people": _people(who.people), "present": who.count, "hues": hues}
    return frame("joined", room=room, reset=cut.reset, messages=messages, more=cut.more, **here)


def hues(room: str, given: Mapping[str, int]) -> str:
    return frame("hues", room=room, hues=given)


def older(room: str, cut: RoomCut) -> str:
    messages = [_message(shown.message, shown.live) for shown in cut.messages]
    return frame("older", room=room, messages=messages, more=cut.more)


def found(
    room: str, words: str, found: Iterable[tuple[str, ShownMessage]], meant: Sequence[str], *, more: bool, whole: bool
) -> str:
    messages = [{**_message(shown.message, shown.live), "room": where} for where, shown in found]
    return frame("found", room=room, words=words, messages=messages, meant=meant, more=more, whole=whole)


def message(room: str, shown: ShownMessage) -> str:
    return frame("message", room=room, message=_message(shown.message, shown.live))


def grow(room: str, message_id: str, before: str, after: str, *, done_version: int | None = None) -> str:
    """The change from one text to the next: the part after their common beginning."""
    same = common_length(before, after)
    fields: dict[str, Any] = {"add": after[same:]}
    if same < len(before):
        fields["cut"] = len(before[same:].encode("utf-16-le")) // 2
    if done_version is not None:
        fields["done"] = {"version": done_version}
    return frame("grow", room=room, id=message_id, **fields)


def common_length(one: str, other: str) -> int:
    """The length of the common beginning of two texts, found by halving because comparing slices is fast."""
    if other.startswith(one):
        return len(one)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def refused(message_id: str, code: RefusalCode, text: str) -> str:
    return frame("refused", id=message_id, code=code, text=text)


def alone(room: str, thread: str | None, text: str) -> str:
    return frame("alone", room=room, thread=thread, text=text)


def people(room: str, who: Presence) -> str:
    return frame("people", room=room, people=_people(who.people), present=who.count)


def online(ids: Iterable[str]) -> str:
    return frame("online", people=list(ids))


def typing(
    room: str,
    thread: str | None,
    who: WebVisitor,
    kind: Literal["person", "agent"],
    *,
    doing: str | None = None,
    ended: bool = False,
) -> str:
    more = {key: value for key, value in (("doing", doing), ("ended", ended)) if value}
    return frame("typing", room=room, thread=thread, by=who.id, name=who.name, kind=kind, **more)


def activity(heads: Iterable[RoomHead]) -> str:
    return frame("activity", rooms=_rooms(heads))


def room(head: RoomHead, person_id: str) -> str:
    return frame("room", room=_room(head, person_id))


def members(
    room: str, charter: RoomCharter, everybody: Iterable[WebVisitor], here: Container[str], *, may: bool
) -> str:
    listed = [{"id": one.id, "name": one.name, **({"here": True} if one.id in here else {})} for one in everybody]
    return frame("members", room=room, kind=charter.kind, may=may, people=listed)


def directory(everybody: Iterable[WebVisitor], agents: Iterable[str]) -> str:
    return frame("directory", people=_people(everybody), agents=list(agents))


def absent(room: str) -> str:
    """A frame for a room that does not exist: the page goes to one that it knows."""
    return frame("absent", room=room, text=f"There is no room {room!r}. Open it first.")


def error(text: str) -> str:
    return frame("error", text=text)

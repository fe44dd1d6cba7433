"""Content of messages that is no text and no file, as one line of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from adapters.telegram.codec.addresses import Json

UNSEEN: Final = "which bots cannot see"


def wordless_of(message: Json) -> str:
    """The line for what a message has beside text and files; "" for none."""
    return next((line(message[kind]) for kind, line in _LINES.items() if kind in message), "")


def _venue(venue: Json) -> str:
    return f"[venue {venue['title']}, {venue['address']}, {_point(venue['location'])}]"


def _location(location: Json) -> str:
    return f"[{'live ' if 'live_period' in location else ''}location {_point(location)}]"


def _point(location: Json) -> str:
    return f"{location['latitude']}, {location['longitude']}"


def _contact(contact: Json) -> str:
    name = " ".join(filter(None, (contact.get("first_name"), contact.get("last_name"))))
    return f"[contact {name}, {contact['phone_number']}]"


def _poll(poll: Json) -> str:
    options = ", ".join(f"{option['text']} ({option.get('voter_count', 0)})" for option in poll["options"])
    return f"[poll “{poll['question']}”: {options}]"


def _checklist(checklist: Json) -> str:
    done = ("completion_date", "completed_by_user", "completed_by_chat")
    tasks = (f"{'☑' if any(map(task.get, done)) else '☐'} {task['text']}" for task in checklist["tasks"])
    return f"[checklist “{checklist['title']}”: {', '.join(tasks)}]"


def _story(story: Json) -> str:
    chat = story.get("chat", {})
    name = chat.get("title") or " ".join(filter(None, (chat.get("first_name"), chat.get("last_name"))))
    return f"[story{f' of {name}' if name else ''}, {UNSEEN}]"


_LINES: Final[Mapping[str, Callable[[Json], str]]] = {
    "venue": _venue,
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "dice": lambda dice: f"[{dice['emoji']} {dice['value']}]",
    "checklist": _checklist,
    "story": _story,
    "paid_media": lambda paid: f"[paid media for {paid['star_count']} stars, {UNSEEN}]",
    "game": lambda game: f"[game “{game['title']}”]",
    "invoice": lambda invoice: f"[invoice “{invoice['title']}”]",
    "giveaway": lambda _: "[giveaway]",
    "giveaway_winners": lambda _: "[winners of a giveaway]",
    "sticker": lambda sticker: f"[sticker {sticker.get('emoji') or ''}".rstrip() + "]",
}
"""By the message's field. A venue has its location as a field too."""

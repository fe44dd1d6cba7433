"""Slack's events, and the messages of its history, in our words. Pure: no I/O, no library of Slack's.

Messages are heard by the `message` events alone. An `app_mention` tells of the same message once more, and may lack its
files (hermes-agent#77141).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from adapters.adapter import Act, Inbound
from adapters.decoding import GONE, UNREAD, rating_of_one
from adapters.slack.codec.addresses import PLATFORM, SlackBot, SlackPerson, mentioned_in, plain_text
from adapters.slack.codec.brought import files_of, quotes_of, said_in, shown_by, tables_of, unread_kind, wordless_of
from runtime.core.address import Address
from runtime.core.message import Attachment, Rating

SLACKBOT = "USLACKBOT"
FILE_URL = f"{PLATFORM}-file:"
_FROM_PEOPLE = frozenset({None, "file_share", "thread_broadcast", "me_message"})
_REACTIONS = frozenset({"reaction_added", "reaction_removed"})
_COMMAND = re.compile(r"[/!]([a-z]+)(?:\s+|$)", re.IGNORECASE)

_Json: TypeAlias = Mapping[str, Any]


class SlackHappening(Struct, frozen=True):
    """Something a person did to a message, in Slack's terms. `at` is when, `ts` which message.

    `thread` is None outside of threads. Of a reaction it is not told: `thread_told` is False. `brings` is the message
    with all that belongs to it. `named_late`: an edit has named us, which the message did not before.
    """

    act: Act
    channel: str
    user: str
    ts: str
    at: str
    text: str = ""
    thread: str | None = None
    thread_told: bool = True
    starter: str | None = None
    user_team: str | None = None
    direct: bool = False
    files: tuple[_Json, ...] = ()
    brings: _Json = field(default_factory=dict)
    rating: Rating | None = None
    named_late: bool = False

    @property
    def people(self) -> list[str]:
        return [self.user, *mentioned_in(self.text)]


def is_said(event: _Json) -> bool:
    """Whether somebody wrote a message, and did not change one."""
    return event.get("type") == "message" and event.get("subtype") in _FROM_PEOPLE


def happening_in(event: _Json, bot: SlackBot) -> SlackHappening | None:
    """A person's event, or None. Raises KeyError, TypeError or AttributeError for other forms."""
    kind, subtype = event.get("type"), event.get("subtype")
    if kind in _REACTIONS:
        found = _reaction(event)
    elif kind != "message":
        return None
    elif subtype == "message_changed":
        found = _change(event, bot)
    elif subtype == "message_deleted":
        found = _deletion(event)
    else:
        found = _message(event) if is_said(event) else None
    return None if found is None or found.user in (bot.user_id, SLACKBOT) else found


def _message(event: _Json) -> SlackHappening | None:
    if "bot_id" in event or not any(event.get(part) for part in ("text", "files", "attachments", "blocks")):
        return None
    return _said("message", event, event)


def _said(act: Act, message: _Json, event: _Json) -> SlackHappening:
    channel, thread = event["channel"], message.get("thread_ts")
    direct = channel.startswith("D") or event.get("channel_type") == "im"
    return SlackHappening(
        act=act,
        channel=channel,
        user=message["user"],
        ts=message["ts"],
        at=event["ts"],
        text=message.get("text") or "",
        # The root of a thread has its own time stamp there; in direct messages it stands outside of the thread.
        thread=None if direct and thread == message["ts"] else thread,
        starter=message.get("parent_user_id"),
        user_team=message.get("user_team") or message.get("team"),
        direct=direct,
        files=tuple(message.get("files") or ()),
        brings=message,
    )


def _change(event: _Json, bot: SlackBot) -> SlackHappening | None:
    """A change of the text or the files. Other changes, such as previews of links, have no author."""
    message, before = event["message"], event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":
        return _deletion({**event, "deleted_ts": message["ts"]})
    if "bot_id" in message or _own(message) == _own(before):
        return None
    edit = _said("edit", message, event)
    named = bot.user_id in mentioned_in(before.get("text") or "")
    return replace(edit, named_late="text" in before and mentions(edit, bot) and not named)


def _own(message: _Json) -> tuple[Any, list[Any]]:
    """What its author has put into a message: its text and its files."""
    return message.get("text"), [file.get("id") for file in message.get("files") or ()]


def _deletion(event: _Json) -> SlackHappening | None:
    before = event.get("previous_message") or {}
    if "bot_id" in before or "user" not in before:
        return None
    return _said("deletion", {**before, "ts": event["deleted_ts"], "files": (), "attachments": (), "blocks": ()}, event)


def _reaction(event: _Json) -> SlackHappening | None:
    item = event["item"]
    if item.get("type") != "message":
        return None
    return SlackHappening(
        act="reaction",
        channel=item["channel"],
        user=event["user"],
        ts=item["ts"],
        at=event["event_ts"],
        text=f":{event['reaction']}:" if event["type"] == "reaction_added" else "",
        rating=rating_of_one(event["reaction"], there=event["type"] == "reaction_added"),
        thread_told=False,
        direct=item["channel"].startswith("D"),
    )


def mentions(happening: SlackHappening, bot: SlackBot) -> bool:
    return bot.user_id in mentioned_in(happening.text)


def address_of(happening: SlackHappening, bot: SlackBot) -> Address:
    """Channel and thread. A mention outside of threads begins one: its own."""
    thread = happening.thread
    if thread is None and not happening.direct and mentions(happening, bot):
        thread = happening.ts
    return Address(PLATFORM, f"{bot.team_id}:{happening.channel}", thread)


def inbound_of(
    happening: SlackHappening,
    event_id: str,
    bot: SlackBot,
    people: Mapping[str, SlackPerson],
    commands: Collection[str],
    *,
    addressed: bool,
) -> Inbound:
    """A person's event. `people` has those of `SlackHappening.people`. Raises ValueError for an invalid time."""
    names = {user: person.name for user, person in people.items()}
    reacted = happening.act == "reaction"
    text = happening.text if reacted else plain_text(happening.text, bot.user_id, names)
    command = _COMMAND.match(text) if addressed and happening.act == "message" else None
    if command is not None and command[1].casefold() not in commands:
        command = None
    if command is not None:
        text = text[command.end() :].strip()
    shown = shown_by(bot, names)
    beside = (tables_of(happening.brings, shown), wordless_of(happening.brings))
    around = quotes_of(happening.brings, bot, shown)
    shared = (replace(file, quoted=True) for file in attached_files(tuple(files_of(happening.brings)), bot.team_id))
    who = people.get(happening.user)
    team = happening.user_team or (who.team if who is not None else None)
    attachments = (*attached_files(happening.files, bot.team_id), *shared)
    whole = "\n".join(part for part in (text, *beside) if part)
    if happening.act == "message" and not (happening.text or whole or attachments or around):
        whole = UNREAD
    return Inbound(
        address=address_of(happening, bot),
        event_id=event_id,
        person_id=f"{PLATFORM}:{bot.team_id}:{happening.user}",
        person_name=names.get(happening.user, happening.user),
        text="" if happening.act == "deletion" else whole,
        sent_at=datetime.fromtimestamp(float(happening.at), UTC),
        private=happening.direct,
        addressed=addressed,
        command=command[1].casefold() if command is not None else None,
        attachments=attachments,
        act=happening.act,
        message_id=happening.ts,
        around=around,
        space=bot.team_id,
        language=who.language if who is not None else None,
        outsider=not bot.knows(team),
        rating=happening.rating,
    )


def attached_files(files: Iterable[_Json], team: str) -> Iterator[Attachment]:
    """The files of a message. One from another organisation's channel has only an id."""
    for file in files:
        if file.get("mode") != "tombstone" and not unread_kind(file):
            yield Attachment(
                name=file.get("name") or "file.bin",
                media_type=file.get("mimetype") or "application/octet-stream",
                url=f"{FILE_URL}{team}:{file['id']}",
                size_bytes=file.get("size"),
            )


def is_told(message: _Json) -> bool:
    """Whether a message says something: a person's, a bot's, that there was a huddle, or that a message is gone."""
    told = message.get("bot_id") or message.get("room") or _is_gone(message)
    return bool(told) or is_said({**message, "type": "message"})


def _is_gone(message: _Json) -> bool:
    """Whether a message stands for one that was deleted: of a thread that began with it."""
    return message.get("subtype") == "tombstone"


def people_in(message: _Json) -> list[str]:
    author = [] if message.get("bot_id") or not message.get("user") else [str(message["user"])]
    return [*author, *mentioned_in(message.get("text") or "")]


def earlier_of(message: _Json, to: Address, bot: SlackBot, people: Mapping[str, SlackPerson]) -> Inbound:
    shown = shown_by(bot, {user: person.name for user, person in people.items()})
    is_bot = bool(message.get("bot_id") or message.get("user") == SLACKBOT)
    user = str(message.get("user", ""))
    who = None if is_bot else people.get(user)
    text = "\n".join(filter(None, (said_in(message, shown, of_bot=is_bot), wordless_of(message))))
    text = GONE if _is_gone(message) else text
    name = message.get("username") or (message.get("bot_profile") or {}).get("name") or "bot"
    team = message.get("user_team") or message.get("team") or (who.team if who is not None else None)
    files = (*(message.get("files") or ()), *files_of(message))
    return Inbound(
        address=to,
        event_id="",
        person_id="" if is_bot else f"{PLATFORM}:{bot.team_id}:{user}",
        person_name=str(name) if is_bot else who.name if who is not None else user,
        text=text,
        sent_at=datetime.fromtimestamp(float(message["ts"]), UTC),
        private=False,
        addressed=False,
        attachments=tuple(attached_files(files, bot.team_id)),
        message_id=str(message["ts"]),
        around=quotes_of(message, bot, shown),
        space=bot.team_id,
        outsider=not is_bot and not bot.knows(team),
    )

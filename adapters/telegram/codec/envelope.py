"""The message that an update is about, and our knowledge of its chat as an input of decoding."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from adapters.adapter import NOT_UNDERSTOOD
from adapters.telegram.codec.addresses import Json, topic_of


class Names(Protocol):
    """People's names by their lower-case user names."""

    def get(self, username: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class UpdateEnvelope:
    """The message that an update is about: its chat, topic and number.

    `is_new`: it has just been posted. `sender` is the user name, in lower case, and the name of the person who wrote
    it. `alone`: who wrote one that only we see, and its number among such; it has no other.
    """

    chat_id: int
    topic: int | None
    number: int
    is_new: bool = False
    sender: tuple[str, str] | None = None
    alone: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class KnownChat:
    """Our knowledge of an update's chat.

    `home` is the chat's first id; None if that is the update's own. `speaks`: we speak in its topic. `post` is the
    topic and the agent's bot of the message with the reaction or the button, if it is ours. `unheard_since`: the
    message was not for us so far, if it was said since then. `people` are names by
    lower-case user name.
    """

    now: datetime
    people: Names
    home: int | None = None
    speaks: bool = False
    post: tuple[int | None, int | None] | None = None
    unheard_since: datetime | None = None


def envelope_of(update: Json) -> UpdateEnvelope | None:
    """The message that an update is about; None for an update about no message, or of an unexpected form."""
    try:
        kind = next((kind for kind in ("message", "edited_message", "message_reaction") if kind in update), None)
        message: Any = update[kind] if kind is not None else update.get("callback_query", {}).get("message")
        if message is None:
            return None
        sender: tuple[str, str] | None = None
        if kind in ("message", "edited_message") and is_from_person(message) and message["from"].get("username"):
            sender = message["from"]["username"].casefold(), name_of(message["from"])
        number, alone = int(message["message_id"]), None
        if kind == "message" and "ephemeral_message_id" in message:
            alone = int(message["from"]["id"]), int(message["ephemeral_message_id"])
        is_new = kind == "message" and alone is None
        return UpdateEnvelope(int(message["chat"]["id"]), topic_of(message), number, is_new, sender, alone)
    except NOT_UNDERSTOOD:
        return None


def name_of(person: Json) -> str:
    return " ".join(filter(None, (person.get("first_name"), person.get("last_name"))))


def is_from_person(message: Json) -> bool:
    """Whether a person who can be named wrote the message."""
    sender = message.get("from")
    return sender is not None and not sender["is_bot"] and "sender_chat" not in message


def sender_of(message: Json) -> Json | None:
    """Who wrote a message: a person, or the chat for which an administrator or a channel's writer speaks without a name
    of their own. None for a bot, and for what a channel posts into the group beside it.
    """
    if is_from_person(message):
        return dict(message["from"])
    if "sender_chat" not in message or message.get("is_automatic_forward"):
        return None
    chat = message["sender_chat"]
    return {"id": chat["id"], "first_name": chat.get("title", "")}


def bystander_of(message: Json) -> Json | None:
    """Who wrote a message of a group that nobody is asked by, without an id: another bot, which Telegram tells where
    bots may hear each other, or the channel that posts into the group. None for what a person wrote.
    """
    if message["chat"]["type"] == "private" or sender_of(message) is not None:
        return None
    if "sender_chat" in message:
        return {"first_name": message["sender_chat"].get("title", "")}
    return {"first_name": name_of(message["from"])} if message.get("from") else None

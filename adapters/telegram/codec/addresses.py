"""The bot's identity, addresses and message ids in Telegram's terms, and the message that an update is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from adapters.adapter import NOT_UNDERSTOOD
from runtime.core.address import Address

PLATFORM: Final = "telegram"
GENERAL_TOPIC: Final = 1
"""The thread id of a forum's first topic, which messages there do not carry and sends must not name."""
FIRST_SUPERGROUP: Final = -(10**12)
"""The upper end of the ids of supergroups and channels. Only they give a message one number for all bots."""
Json: TypeAlias = Mapping[str, Any]


class TelegramBot(Struct, frozen=True):
    """One of our bots. `agent` is whom it speaks for, if anybody; `hears_all`: in groups it sees every message."""

    id: int
    username: str
    name: str
    agent: str | None = None
    hears_all: bool = True


@dataclass(frozen=True)
class OurBots:
    """All our bots, the main one first."""

    all: tuple[TelegramBot, ...]

    @property
    def several(self) -> bool:
        return len(self.all) > 1

    @cached_property
    def by_id(self) -> Mapping[int, TelegramBot]:
        return {bot.id: bot for bot in self.all}

    @cached_property
    def by_username(self) -> Mapping[str, TelegramBot]:
        return {bot.username.casefold(): bot for bot in self.all}


def address_of(chat_id: int, thread_id: int | None, private_with: int | None = None) -> Address:
    """The conversation of a chat or of a topic in it.

    A private chat with an agent's bot (its id) is a separate conversation, because Telegram gives it the same number as
    the person's chats with all other bots.
    """
    conversation = str(chat_id) if private_with is None else f"{chat_id}@{private_with}"
    return Address(PLATFORM, conversation, None if thread_id is None else str(thread_id))


def topic_of(message: Json) -> int | None:
    """The topic of a message. A reply in an ordinary group has a thread id too, but no topic."""
    thread_id = message.get("message_thread_id") if message.get("is_topic_message") else None
    return None if thread_id in (None, GENERAL_TOPIC) else int(thread_id)


def chat_id_of(address: Address) -> int:
    return int(address.conversation.partition("@")[0])


def private_bot_of(address: Address) -> int | None:
    """The agent's bot of a private chat; None for every other conversation."""
    bot_id = address.conversation.partition("@")[2]
    return int(bot_id) if bot_id else None


def thread_id_of(address: Address) -> int | None:
    return None if address.thread is None else int(address.thread)


def is_private(address: Address) -> bool:
    """Whether the chat is private: Telegram numbers people above zero and groups below."""
    return chat_id_of(address) > 0


class MessageId(Struct, frozen=True):
    """A message's number, and the agent's bot that owns the message or alone knows it by this number."""

    number: int
    bot_id: int | None = None

    @classmethod
    def read(cls, text: str) -> MessageId:
        bot_id, slash, number = text.rpartition("/")
        return cls(int(number), int(bot_id) if slash else None)

    def __str__(self) -> str:
        return str(self.number) if self.bot_id is None else f"{self.bot_id}/{self.number}"


class Names(Protocol):
    def get(self, username: str, /) -> str | None: ...


class UpdateEnvelope(Struct, frozen=True):
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


class KnownChat(Struct, frozen=True):
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

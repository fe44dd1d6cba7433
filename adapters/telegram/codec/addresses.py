"""The bot's identity, addresses and message ids in Telegram's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from runtime.core.address import Address

PLATFORM: Final = "telegram"
GENERAL_TOPIC: Final = 1
"""The thread id of a forum's first topic, which messages there do not carry and sends must not name."""
FIRST_SUPERGROUP: Final = -(10**12)
"""The upper end of the ids of supergroups and channels. Only they give a message one number for all bots."""
Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TelegramBot:
    """One of our bots. `username` is without the @; `agent` is whom it speaks for, None for the main bot.

    `hears_all` says that privacy mode is off: in groups it sees every message.
    """

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


@dataclass(frozen=True, slots=True)
class MessageId:
    """A message's number, and the agent's bot that owns the message or alone knows it by this number."""

    number: int
    bot_id: int | None = None

    @classmethod
    def read(cls, text: str) -> MessageId:
        """The inverse of `str`."""
        bot_id, slash, number = text.rpartition("/")
        return cls(int(number), int(bot_id) if slash else None)

    def __str__(self) -> str:
        return str(self.number) if self.bot_id is None else f"{self.bot_id}/{self.number}"

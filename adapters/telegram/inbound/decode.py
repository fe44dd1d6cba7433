"""Telegram's updates in our words. Pure: no I/O, no library of Telegram's."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from adapters.adapter import Inbound
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import (
    FIRST_SUPERGROUP,
    PLATFORM,
    BotIdentity,
    Json,
    MessageId,
    OurBots,
    address_of,
    topic_of,
)
from adapters.telegram.codec.attachments import attachments_of
from adapters.telegram.codec.entities import Said, said
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.message import Attachment, Quote

MAX_QUOTE = 1000
"""Characters of the message that is answered."""

CUSTOM_EMOJI = "\N{WHITE MEDIUM STAR}"
"""What stands for a mark that is a picture of Telegram's and no character."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the updates that one bot, `seen_by`, was sent. In topics where we speak all is addressed to us where
    `hears_topics`."""

    seen_by: BotIdentity
    us: OurBots
    memory: ChatState
    clock: Clock
    hears_topics: bool = True

    def read(self, updates: Sequence[Json]) -> Inbound | None:
        """A person's event, or None for updates of bots, service messages and commands for another bot.

        Several updates are one album. Raises KeyError, TypeError, ValueError or AttributeError for data that does not
        look like an update.
        """
        first, last = updates[0], updates[-1]
        if "message" in first:
            heard = self._message(first, first["message"])
            if heard is None or first is last:
                return heard
            rest = [one for update in updates[1:] for one in attachments_of(update["message"], self._known_by)]
            return replace(heard, event_id=self._event_id(last), attachments=(*heard.attachments, *rest))
        if "edited_message" in first:
            heard = self._message(first, first["edited_message"])
            return None if heard is None else replace(heard, act="edit", command=None)
        if "callback_query" in first:
            return self._press(first, first["callback_query"])
        if "message_reaction" in first:
            return self._reaction(first, first["message_reaction"])
        return None

    def _message(self, update: Json, message: Json) -> Inbound | None:
        if not _is_from_person(message):
            return None
        text = message.get("text", message.get("caption"))
        attachments = tuple(attachments_of(message, self._known_by))
        if text is None and not attachments:
            return None
        sender = message["from"]
        if sender.get("username"):
            self.memory.people.keep(sender["username"].casefold(), name_of(sender))
        entities = message.get("entities", message.get("caption_entities", ()))
        if "forward_origin" in message:  # whoever passes a command on does not give it
            entities = [entity for entity in entities if entity["type"] != "bot_command"]
        read = said(text or "", entities, self.us, self.memory.people)
        if read.for_another_bot:
            return None
        return self._heard(update, message, read, attachments)

    def _heard(self, update: Json, message: Json, read: Said, attachments: tuple[Attachment, ...]) -> Inbound:
        chat, sender = message["chat"], message["from"]
        private = chat["type"] == "private"
        quoted = self._answered_bot(message)
        lives = self.hears_topics and self.memory.lives_in(chat["id"], topic_of(message))
        return Inbound(
            address=self._address(chat, topic_of(message)),
            event_id=self._event_id(update),
            person_id=f"{PLATFORM}:{sender['id']}",
            person_name=name_of(sender),
            text=self._to_agents(read, quoted, private=private),
            sent_at=datetime.fromtimestamp(message["date"], UTC),
            private=private,
            addressed=private or bool(read.to) or quoted is not None or lives,
            command=read.command,
            attachments=attachments,
            message_id=str(self._message_id(chat["id"], message["message_id"])),
            quote=self._quote(message, quoted),
            language=sender.get("language_code"),
        )

    def _press(self, update: Json, query: Json) -> Inbound | None:
        """A button that was pressed, under a message of ours that Telegram still knows."""
        message, sender = query.get("message"), query["from"]
        if message is None or "data" not in query:
            return None
        keyboard = message.get("reply_markup", {}).get("inline_keyboard", ())
        labels = {button.get("callback_data"): button["text"] for row in keyboard for button in row}
        known = self.memory.places.get((message["chat"]["id"], message["message_id"]))
        topic = topic_of(message) or (known[0] if known else None)
        return Inbound(
            address=self._address(message["chat"], topic),
            event_id=self._event_id(update),
            person_id=f"{PLATFORM}:{sender['id']}",
            person_name=name_of(sender),
            text=str(labels.get(query["data"], query["data"])),
            sent_at=self.clock.now(),  # Telegram does not say when it was pressed
            private=message["chat"]["type"] == "private",
            addressed=True,
            act="choice",
            message_id=str(MessageId(message["message_id"], self._known_by)),
            language=sender.get("language_code"),
            choice=query["data"],
        )

    def _reaction(self, update: Json, reaction: Json) -> Inbound | None:
        """A reaction to a message, or its removal. Telegram does not say in which topic, nor whose message it is."""
        sender, chat = reaction.get("user"), reaction["chat"]
        if sender is None or sender["is_bot"]:
            return None
        place = self.memory.places.get((chat["id"], reaction["message_id"]))
        private = chat["type"] == "private"
        number = self._message_id(chat["id"], reaction["message_id"])
        return Inbound(
            address=self._address(chat, place[0] if place else None),
            event_id=self._event_id(update),
            person_id=f"{PLATFORM}:{sender['id']}",
            person_name=name_of(sender),
            text="".join(mark.get("emoji", CUSTOM_EMOJI) for mark in reaction["new_reaction"]),
            sent_at=datetime.fromtimestamp(reaction["date"], UTC),
            private=private,
            addressed=private or place is not None,
            act="reaction",
            message_id=str(replace(number, bot_id=place[1]) if place else number),
            language=sender.get("language_code"),
        )

    @property
    def _known_by(self) -> int | None:
        """The mark of an id that is valid for this bot only; None for the main bot."""
        return self.seen_by.id if self.seen_by.agent is not None else None

    def _address(self, chat: Json, topic: int | None) -> Address:
        private_with = self._known_by if chat["type"] == "private" else None
        return address_of(self.memory.home(chat["id"]), topic, private_with)

    def _message_id(self, chat_id: int, number: int) -> MessageId:
        """Only supergroups number a message alike for all bots."""
        return MessageId(number, None if chat_id <= FIRST_SUPERGROUP else self._known_by)

    def _event_id(self, update: Json) -> str:
        """An id that is the same when the update is delivered again, and in groups the same from each of our bots."""
        kind = next((kind for kind in ("message", "edited_message", "message_reaction") if kind in update), None)
        own = f"{self.seen_by.id}:{update['update_id']}"
        if kind is None or not self.us.several or update[kind]["chat"]["id"] > 0:
            return own
        content: Any = update[kind]
        chat_id, number = content["chat"]["id"], content["message_id"]
        who = content.get("from", content.get("user", {})).get("id")
        when = content.get("edit_date", content["date"])
        if chat_id > FIRST_SUPERGROUP:  # every bot has numbers of its own here
            what = str((content.get("text", content.get("caption")), content.get("new_reaction")))
            number = zlib.crc32(what.encode(errors="replace"))
        return f"{kind}:{chat_id}:{number}:{who}:{when}"

    def _answered_bot(self, message: Json) -> BotIdentity | None:
        """The bot that the message replies to. In a topic everything replies to the message that opened the topic."""
        replied = message.get("reply_to_message", {})
        if "forum_topic_created" in replied:
            return None
        return self.us.by_id.get(replied.get("from", {}).get("id"))

    def _to_agents(self, read: Said, quoted: BotIdentity | None, *, private: bool) -> str:
        """The text, which begins with the names of the agents whose bots were spoken to."""
        to = read.to or ((quoted,) if quoted is not None else ())
        if private:
            to = (self.seen_by,)
        names = [f"@{bot.agent}" for bot in to if bot.agent is not None]
        return read.text if read.command is not None else " ".join([*names, read.text]).strip()

    def _quote(self, message: Json, quoted: BotIdentity | None) -> Quote | None:
        """The quoted part of the message: the chosen piece, else the whole."""
        replied = message.get("reply_to_message", message.get("external_reply"))
        if replied is None or "forum_topic_created" in replied:
            return None
        chosen = message.get("quote", {}).get("text")
        text = chosen or replied.get("text", replied.get("caption", ""))
        author = replied.get("from") or replied.get("origin", {}).get("sender_user") or {}
        number = self._message_id(message["chat"]["id"], replied.get("message_id", 0))
        if quoted is not None:
            number = replace(number, bot_id=quoted.id if quoted.agent is not None else None)
        return Quote(str(number), name_of(author), text[:MAX_QUOTE])


def name_of(person: Json) -> str:
    return " ".join(filter(None, (person.get("first_name"), person.get("last_name"))))


def _is_from_person(message: Json) -> bool:
    """`sender_chat` is set for a channel and for a group's administrators who hide: nobody that can be named."""
    sender = message.get("from")
    return sender is not None and not sender["is_bot"] and "sender_chat" not in message


def migration_of(update: Json) -> tuple[int, int] | None:
    """The old and the new chat id where a group has become a supergroup; both chats are told."""
    message = update.get("message")
    if not isinstance(message, dict):
        return None
    if "migrate_to_chat_id" in message:
        return int(message["chat"]["id"]), int(message["migrate_to_chat_id"])
    if "migrate_from_chat_id" in message:
        return int(message["migrate_from_chat_id"]), int(message["chat"]["id"])
    return None


def closed_topic_of(update: Json) -> tuple[int, int | None] | None:
    """A chat and a topic that was closed for the bot; without a topic, the whole chat."""
    message, member = update.get("message"), update.get("my_chat_member")
    if isinstance(message, dict) and "forum_topic_closed" in message:
        return int(message["chat"]["id"]), topic_of(message)
    if isinstance(member, dict) and member["new_chat_member"]["status"] in ("left", "kicked"):
        return int(member["chat"]["id"]), None
    return None


def place_of(update: Json) -> tuple[int, int | None] | None:
    """The chat and the topic that an update is about."""
    for kind in ("message", "edited_message", "message_reaction"):
        if kind in update:
            return int(update[kind]["chat"]["id"]), topic_of(update[kind])
    message = update.get("callback_query", {}).get("message")
    return None if message is None else (int(message["chat"]["id"]), topic_of(message))

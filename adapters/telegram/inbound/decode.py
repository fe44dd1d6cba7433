"""Telegram's updates in our words. Pure: no I/O, no memory, no library of Telegram's."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.decoding import UNREAD, files_answered, rating_of_all
from adapters.telegram.codec.addresses import (
    FIRST_SUPERGROUP,
    PLATFORM,
    Json,
    KnownChat,
    MessageId,
    OurBots,
    TelegramBot,
    address_of,
    bystander_of,
    name_of,
    sender_of,
    topic_of,
)
from adapters.telegram.codec.attachments import attachments_of
from adapters.telegram.codec.brought import SaidText, answered_by, formatted, forwarded_in, quoted_in, said
from adapters.telegram.codec.wordless import is_service, rich_text_of, wordless_of
from runtime.core.address import Address
from runtime.core.message import Attachment
from runtime.core.quote import Quote

CUSTOM_EMOJI = "\N{WHITE MEDIUM STAR}"
"""The character for a mark that is a picture of Telegram's."""


class TelegramReceiver(Struct, frozen=True):
    """The bot that received an update, among ours. With `hears_topics` all where we speak is addressed to us."""

    bot: TelegramBot
    us: OurBots
    hears_topics: bool = True

    @property
    def mark(self) -> int | None:
        """The mark of an id that only this bot understands; None for the main bot."""
        return self.bot.id if self.bot.agent is not None else None


class ButtonPress(Struct, frozen=True):
    """A press of a button, which waits for an answer. Without an item Telegram no longer knows the message."""

    query_id: str
    item: Inbound | None


class Moved(Struct, frozen=True):
    """A group has become a supergroup. Telegram tells both chats."""

    old: int
    new: int


class TopicClosed(Struct, frozen=True):
    chat_id: int
    topic: int | None


class Membership(Struct, frozen=True):
    """The bot was added to a chat or got other permissions there; without `present` it was removed."""

    chat_id: int
    present: bool


class Ignored(Struct, frozen=True):
    """An update without news for us, and the reason. `detail` says what could not be read."""

    reason: Literal["another kind", "no person", "no content", "for another bot", "not understood"]
    detail: str = ""


Decoded: TypeAlias = Inbound | ButtonPress | Moved | TopicClosed | Membership | Ignored


def decode(updates: Sequence[Json], receiver: TelegramReceiver, known: KnownChat) -> Decoded:
    """The event of an update, or of the updates of one album. Raises nothing."""
    try:
        return _Reading(receiver, known).decoded(updates)
    except NOT_UNDERSTOOD as error:
        return Ignored("not understood", repr(error))


class _Reading(Struct, frozen=True):
    receiver: TelegramReceiver
    known: KnownChat

    def decoded(self, updates: Sequence[Json]) -> Decoded:
        first, last = updates[0], updates[-1]
        if "message" in first:
            album = [update["message"] for update in updates]
            return self._service(album[0]) or self._message(last, album)
        if "edited_message" in first:
            if "location" in first["edited_message"]:
                return Ignored("another kind")  # a person walks, and says nothing
            heard = self._message(first, [first["edited_message"]])
            if not isinstance(heard, Inbound) or self._is_named_late(first["edited_message"], heard):
                return heard
            return replace(heard, act="edit", command=None)
        if "callback_query" in first:
            return ButtonPress(str(first["callback_query"]["id"]), self._press(first, first["callback_query"]))
        if "message_reaction" in first:
            return self._reaction(first, first["message_reaction"])
        if "stopped_message_generation" in first:
            return self._stopped(first, first["stopped_message_generation"])
        if "my_chat_member" in first:
            member = first["my_chat_member"]
            return Membership(int(member["chat"]["id"]), member["new_chat_member"]["status"] not in ("left", "kicked"))
        return Ignored("another kind")

    def _is_named_late(self, message: Json, heard: Inbound) -> bool:
        """Whether an edit has made a message of a group one for us."""
        since = self.known.unheard_since
        said_at = datetime.fromtimestamp(message["date"], UTC)
        return heard.addressed and not heard.private and since is not None and said_at >= since

    def _service(self, message: Json) -> Moved | TopicClosed | None:
        if "migrate_to_chat_id" in message:
            return Moved(int(message["chat"]["id"]), int(message["migrate_to_chat_id"]))
        if "migrate_from_chat_id" in message:
            return Moved(int(message["migrate_from_chat_id"]), int(message["chat"]["id"]))
        if "forum_topic_closed" in message:
            return TopicClosed(int(message["chat"]["id"]), topic_of(message))
        return None

    def _message(self, update: Json, album: Sequence[Json]) -> Inbound | Ignored:
        """The message that came in an update, or in several: an album's files come one by one, each with a caption."""
        sender = sender_of(album[0]) or bystander_of(album[0])
        if sender is None or (album[0].get("from") or {}).get("id") in self.receiver.us.by_id:
            return Ignored("no person")
        reads = [self._read(message) for message in album]
        if any(read.for_another_bot for read in reads):
            return Ignored("for another bot")
        texts = [_joined(read.text, wordless_of(message)) for read, message in zip(reads, album, strict=True)]
        attachments = [file for message in album for file in attachments_of(message, self.receiver.mark)]
        command = next((read.command for read in reads if read.command is not None), None)
        if not any(texts) and not attachments and command is None and not any(read.to for read in reads):
            if is_service(album[0]):
                return Ignored("no content")
            texts = [UNREAD]
        to = tuple(dict.fromkeys(bot for read in reads for bot in read.to))
        return self._heard(update, album, sender, SaidText(_joined(*texts, between="\n\n"), command, to), attachments)

    def _read(self, message: Json) -> SaidText:
        text = message.get("text", message.get("caption")) or rich_text_of(message)
        entities = message.get("entities", message.get("caption_entities", ()))
        if "forward_origin" in message or sender_of(message) is None:  # nobody is asked by it, and it has no command
            return SaidText(formatted(text, entities))
        return said(text, entities, self.receiver.us, self.known.people)

    def _heard(
        self, update: Json, album: Sequence[Json], sender: Json, read: SaidText, attachments: Sequence[Attachment]
    ) -> Inbound:
        message = album[0]
        chat = message["chat"]
        private = chat["type"] == "private"
        quoted = self._answered_bot(message)
        topic = topic_of(message)
        lives = self.receiver.hears_topics and self.known.speaks and topic is not None
        for_us = private or bool(read.to) or quoted is not None or lives
        answered = attachments_of(answered_by(message) or {}, self.receiver.mark)
        passed_on = forwarded_in(message, read.text)
        read = read if passed_on is None else replace(read, text="")
        return replace(
            self._inbound(update, chat, topic, sender),
            text=self._to_agents(read, quoted, private=private),
            sent_at=datetime.fromtimestamp(message.get("edit_date") or message["date"], UTC),
            addressed=for_us and "id" in sender,
            command=read.command,
            attachments=(*attachments, *files_answered(answered, ours=quoted is not None)),
            message_id=str(self._message_id(chat["id"], message["message_id"])),
            quote=self._quote(message, quoted),
            around=() if passed_on is None else (passed_on,),
        )

    def _inbound(self, update: Json, chat: Json, topic: int | None, sender: Json) -> Inbound:
        """What is common to all that people do: who did it, where, and now where Telegram does not say when."""
        return Inbound(
            address=self._address(chat, topic),
            event_id=self._event_id(update),
            person_id=f"{PLATFORM}:{sender['id']}" if "id" in sender else "",
            person_name=name_of(sender),
            text="",
            sent_at=self.known.now,
            private=chat["type"] == "private",
            addressed=True,
            language=sender.get("language_code"),
        )

    def _press(self, update: Json, query: Json) -> Inbound | None:
        """A press of a button below a message of ours; None if Telegram no longer knows the message."""
        message, sender = query.get("message"), query["from"]
        if message is None or "data" not in query:
            return None
        keyboard = message.get("reply_markup", {}).get("inline_keyboard", ())
        labels = {button.get("callback_data"): button["text"] for row in keyboard for button in row}
        topic = topic_of(message) or (self.known.post[0] if self.known.post else None)
        return replace(
            self._inbound(update, message["chat"], topic, sender),
            text=str(labels.get(query["data"], query["data"])),
            act="choice",
            message_id=str(MessageId(message["message_id"], self.receiver.mark)),
            choice=query["data"],
        )

    def _stopped(self, update: Json, stopped: Json) -> Inbound:
        """A press of the button below a draft, which are in private chats alone: the chat is the person."""
        chat = stopped["chat"]
        topic = topic_of({**stopped, "is_topic_message": True})
        return replace(self._inbound(update, {**chat, "type": "private"}, topic, chat), command="stop")

    def _reaction(self, update: Json, reaction: Json) -> Inbound | Ignored:
        """A reaction to a message, or its removal. Telegram does not say in which topic, nor whose message it is."""
        sender, chat = reaction.get("user"), reaction["chat"]
        if sender is None or sender["is_bot"]:
            return Ignored("no person")
        post = self.known.post
        number = self._message_id(chat["id"], reaction["message_id"])
        heard = self._inbound(update, chat, post[0] if post else None, sender)
        return replace(
            heard,
            text="".join(mark.get("emoji", CUSTOM_EMOJI) for mark in reaction["new_reaction"]),
            sent_at=datetime.fromtimestamp(reaction["date"], UTC),
            addressed=heard.private or post is not None,
            act="reaction",
            rating=rating_of_all(mark.get("emoji", "") for mark in reaction["new_reaction"]),
            message_id=str(replace(number, bot_id=post[1]) if post else number),
        )

    def _address(self, chat: Json, topic: int | None) -> Address:
        private_with = self.receiver.mark if chat["type"] == "private" else None
        return address_of(chat["id"] if self.known.home is None else self.known.home, topic, private_with)

    def _message_id(self, chat_id: int, number: int) -> MessageId:
        """The id of a message. Only supergroups give it one number for all bots."""
        return MessageId(number, None if chat_id <= FIRST_SUPERGROUP else self.receiver.mark)

    def _event_id(self, update: Json) -> str:
        """An id that is the same when the update is delivered again; in groups, the same from each of our bots."""
        kind = next((kind for kind in ("message", "edited_message", "message_reaction") if kind in update), None)
        own = f"{self.receiver.bot.id}:{update['update_id']}"
        if kind is None or not self.receiver.us.several or update[kind]["chat"]["id"] > 0:
            return own
        content: Any = update[kind]
        chat_id, number = content["chat"]["id"], content["message_id"]
        who = content.get("from", content.get("user", {})).get("id")
        when = content.get("edit_date", content["date"])
        if chat_id > FIRST_SUPERGROUP:  # every bot has numbers of its own here
            what = str((content.get("text", content.get("caption")), content.get("new_reaction")))
            number = zlib.crc32(what.encode(errors="replace"))
        return f"{kind}:{chat_id}:{number}:{who}:{when}"

    def _answered_bot(self, message: Json) -> TelegramBot | None:
        """The bot that the message replies to. In a topic everything replies to the message that opened the topic."""
        replied = message.get("reply_to_message", {})
        if "forum_topic_created" in replied:
            return None
        return self.receiver.us.by_id.get(replied.get("from", {}).get("id"))

    def _to_agents(self, read: SaidText, quoted: TelegramBot | None, *, private: bool) -> str:
        """The text, preceded by the names of the agents whose bots were addressed."""
        to = read.to or ((quoted,) if quoted is not None else ())
        if private:
            to = (self.receiver.bot,)
        names = [f"@{bot.agent}" for bot in to if bot.agent is not None]
        return read.text if read.command is not None else " ".join([*names, read.text]).strip()

    def _quote(self, message: Json, quoted: TelegramBot | None) -> Quote | None:
        """What the message answers, under the id by which we know it."""
        chat, answered = message["chat"], answered_by(message) or {}
        is_here = answered.get("chat", chat).get("id") == chat["id"]
        number = self._message_id(chat["id"], answered.get("message_id", 0) if is_here else 0)
        if quoted is not None:
            number = replace(number, bot_id=quoted.id if quoted.agent is not None else None)
        return quoted_in(message, str(number))


def _joined(*texts: str, between: str = "\n") -> str:
    return between.join(text for text in texts if text)

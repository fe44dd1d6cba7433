"""Chats and the bot's messages in them, with the platform's rules for writing there."""

import itertools
from collections.abc import Mapping
from itertools import count
from typing import Any

from msgspec import Struct, field
from telegram.constants import ReactionEmoji

from runtime.core.clock import Clock
from tests.fakes.telegram.content import MAX_CAPTION, Upload, buttons_of, rich_of, text_of, upload_of
from tests.fakes.telegram.limits import FloodBucket, FloodLimits
from tests.fakes.telegram.refusal import Refusal, too_many_requests

MAX_TOPIC_NAME = 128
GENERAL_TOPIC = 1
_NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)


Bot = Mapping[str, Any]


class Posted(Struct):
    """A message of a bot's. `history` is every text it had, the newest last; `rich` says that it is a rich message."""

    message_id: int
    chat_id: int
    text: str
    entities: list[dict[str, Any]]
    thread: int | None = None
    history: list[str] = field(default_factory=list)
    by: int = 0
    buttons: list[list[dict[str, str]]] = field(default_factory=list)
    reply_to: int | None = None
    rich: bool = False
    file: str | None = None


class Draft(Struct, frozen=True):
    """A draft that a bot showed."""

    chat_id: int
    draft_id: int
    text: str
    rich: bool = False
    can_stop: bool = False


ADMINISTRATORS_RIGHTS = (
    "can_be_edited",
    "is_anonymous",
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
)
"""The fields that every ChatMemberAdministrator has."""


class Chats:
    """Where bots may write. `limits` None means no flood control, `knows_rich` False a server older than rich messages,
    `mislays` a server that shows another text than it was sent. `topic_names` are the topics that bots opened,
    `keeps_topics` forums in which they may not, `private_with_topics` private chats in which they may."""

    def __init__(self, clock: Clock, limits: FloodLimits | None) -> None:
        self.message_ids = itertools.count(1)
        self.typing: list[int] = []
        self.drafts: list[Draft] = []
        self.files: list[Upload] = []
        self.reactions: dict[tuple[int, int], str] = {}
        self.knows_rich = True
        self.mislays = False
        self.knows_alone: str | None = "ephemeral_message_parameters"
        """The parameter by which the server takes messages for one person: of Bot API 10.3; `receiver_user_id` of 10.2;
        None before."""
        self.administered: set[int] = set()
        """Groups in which the bots are administrators."""
        self.asked_alone: set[tuple[int, int, int]] = set()
        """The commands that only the bot saw: the group, who gave it, and its number."""
        self.ephemeral_ids = count(1)
        self.alone: list[tuple[int, int, str]] = []
        """Who was shown what alone, in which group."""
        self.topic_names: dict[tuple[int, int], str] = {}
        self.keeps_topics: set[int] = set()
        self.private_with_topics: set[int] = set()
        self._clock = clock
        self._bots: dict[int, Bot] = {}
        self._said: dict[tuple[int, int], int | None] = {}
        self._topics: set[tuple[int, int]] = set()
        self._closed: set[tuple[int, int]] = set()
        self._outside: set[tuple[int, int]] = set()
        self._known: dict[int, dict[str, Any]] = {}
        self._posted: dict[tuple[int, int], Posted] = {}
        self._blocked: set[int] = set()
        self._moved: dict[int, int] = {}
        self.relax(limits)

    def relax(self, limits: FloodLimits | None) -> None:
        """Other limits from now on, with full buckets."""
        self._limits = limits
        self._buckets: dict[tuple[int, int], FloodBucket] = {}
        self._total: dict[int, FloodBucket] = {}

    def enlist(self, bot: Bot) -> None:
        """A bot that may write wherever it is not kept out."""
        self._bots[bot["id"]] = bot

    def keep_out(self, bot: int, chat_id: int) -> None:
        """The bot is no member of this chat."""
        self._outside.add((bot, chat_id))

    def is_in(self, bot: int, chat_id: int) -> bool:
        return (bot, chat_id) not in self._outside

    def open_topic(self, chat_id: int, topic: int) -> None:
        """A topic in a forum, or in a private chat."""
        self.info(chat_id)
        if chat_id < 0:
            self._known[chat_id]["is_forum"] = True
        self._topics.add((chat_id, topic))

    def close_topic(self, chat_id: int, topic: int) -> None:
        """Only administrators with a right to topics write there from now on."""
        self._closed.add((chat_id, topic))

    def delete_topic(self, chat_id: int, topic: int) -> None:
        self._topics.discard((chat_id, topic))

    def heard(self, chat_id: int, message_id: int, thread: int | None) -> None:
        """A person's message."""
        self._said[chat_id, message_id] = thread

    def open(self, chat_id: int, *, forum: bool = False) -> None:
        """A chat the bot may write to: positive numbers are people, negative ones groups."""
        if chat_id > 0:
            self._known[chat_id] = {"id": chat_id, "type": "private", "first_name": "Ada"}
            return
        kind = "supergroup" if chat_id < -(10**12) else "group"
        self._known[chat_id] = {"id": chat_id, "type": kind, "title": "Group"} | ({"is_forum": True} if forum else {})

    def block(self, chat_id: int) -> None:
        self._blocked.add(chat_id)

    def migrate(self, chat_id: int, new_chat_id: int) -> None:
        self.open(new_chat_id)
        self._moved[chat_id] = new_chat_id

    def info(self, chat_id: int) -> dict[str, Any]:
        if chat_id not in self._known:
            self.open(chat_id)
        return self._known[chat_id]

    def visible(self, chat_id: int) -> list[Posted]:
        return [posted for (chat, _), posted in self._posted.items() if chat == chat_id]

    @property
    def date(self) -> int:
        """The time, as the Bot API writes it."""
        return int(self._clock.now().timestamp())

    def remove(self, chat_id: int, message_id: int) -> None:
        del self._posted[chat_id, message_id]

    def message_data(self, posted: Posted) -> dict[str, Any]:
        """A message of the bot's as the Bot API shows it."""
        data: dict[str, Any] = {
            "message_id": posted.message_id,
            "from": self._bots[posted.by],
            "chat": self._known[posted.chat_id],
            "date": self.date,
        }
        if posted.rich:
            data["rich_message"] = {"blocks": [{"type": "paragraph", "text": posted.text}]}
        elif posted.file is not None:
            data |= {"document": {"file_id": posted.file, "file_unique_id": posted.file}, "caption": posted.text}
        else:
            data |= {"text": posted.text[1:] if self.mislays else posted.text, "entities": posted.entities}
        if posted.buttons:
            data["reply_markup"] = {"inline_keyboard": posted.buttons}
        if posted.thread is not None:
            data |= {"message_thread_id": posted.thread, "is_topic_message": True}
        return data

    def find(self, chat_id: int, message_id: int) -> Posted | None:
        return self._posted.get((chat_id, message_id))

    def send(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        chat_id = self._admit(params, bot, counted=True)
        text, entities = text_of(params)
        receiver = self._receiver(params)
        if receiver is not None:
            return self._send_alone(params, chat_id, receiver, text, bot)
        return self._post(params, bot, Posted(next(self.message_ids), chat_id, text, entities))

    def _receiver(self, params: Mapping[str, Any]) -> int | None:
        """The only person who shall see a message, as this server is told: a parameter that it does not know is passed
        over."""
        if self.knows_alone == "ephemeral_message_parameters":
            given = params.get(self.knows_alone)
            return None if given is None else int(given["receiver_user_id"])
        return params.get("receiver_user_id") if self.knows_alone else None

    def _send_alone(
        self, params: Mapping[str, Any], chat_id: int, receiver: int, text: str, bot: Bot
    ) -> dict[str, Any]:
        """An ephemeral message, which only an administrator may send unasked, and others as the answer to one (Bot API
        10.2); how the server words its refusal is not documented."""
        asked = (params.get("reply_parameters") or {}).get("ephemeral_message_id")
        answers = (chat_id, receiver, asked) in self.asked_alone
        if chat_id > 0 or not (answers or chat_id in self.administered):
            raise Refusal(400, "Bad Request: not enough rights to send ephemeral messages to the chat")
        self.alone.append((chat_id, receiver, text))
        number, person = len(self.alone), {"id": receiver, "is_bot": False, "first_name": "Ada"}
        about = {"ephemeral_message_id": number, "receiver_user": person, "message_id": 0, "date": self.date}
        return {**about, "from": bot, "chat": self._known[chat_id], "text": text}

    def send_rich(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        if not self.knows_rich:
            raise Refusal(404, "Not Found")
        chat_id = self._admit(params, bot, counted=True)
        return self._post(params, bot, Posted(next(self.message_ids), chat_id, rich_of(params), [], rich=True))

    def send_file(self, kind: str, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        chat_id = self._admit(params, bot, counted=True)
        upload = upload_of(params, kind)
        caption, entities = text_of(params, key="caption", limit=MAX_CAPTION)
        self.files.append(upload)
        return self._post(params, bot, Posted(next(self.message_ids), chat_id, caption, entities, file=upload.name))

    def _post(self, params: Mapping[str, Any], bot: Bot, posted: Posted) -> dict[str, Any]:
        thread = params.get("message_thread_id")
        if thread is not None and (posted.chat_id, thread) not in self._topics:
            raise Refusal(400, "Bad Request: message thread not found")
        if (posted.chat_id, thread) in self._closed:
            raise Refusal(400, "Bad Request: TOPIC_CLOSED")
        posted.thread, posted.by, posted.buttons = thread, bot["id"], buttons_of(params)
        posted.history.append(posted.text)
        posted.reply_to = self._replied(posted.chat_id, params.get("reply_parameters"))
        self._posted[posted.chat_id, posted.message_id] = posted
        return self.message_data(posted)

    def _replied(self, chat_id: int, parameters: Mapping[str, Any] | None) -> int | None:
        if parameters is None:
            return None
        place = (chat_id, parameters["message_id"])
        if place in self._said or place in self._posted:
            return place[1]
        if not parameters.get("allow_sending_without_reply"):
            raise Refusal(400, "Bad Request: message to be replied not found")
        return None

    def edit(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        posted = self._own(params, bot)
        rich = self.knows_rich and "rich_message" in params
        text, entities = (rich_of(params), []) if rich else text_of(params)
        buttons = buttons_of(params)
        if (text, entities, rich, buttons) == (posted.text, posted.entities, posted.rich, posted.buttons):
            raise Refusal(400, _NOT_MODIFIED)
        posted.text, posted.entities, posted.rich, posted.buttons = text, entities, rich, buttons
        posted.history.append(text)
        return self.message_data(posted) | {"edit_date": self.date}

    def edit_buttons(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        posted = self._own(params, bot)
        buttons = buttons_of(params)
        if buttons == posted.buttons:
            raise Refusal(400, _NOT_MODIFIED)
        posted.buttons = buttons
        return self.message_data(posted) | {"edit_date": self.date}

    def _own(self, params: Mapping[str, Any], bot: Bot) -> Posted:
        """The message to edit; those of others cannot be edited."""
        chat_id = self._admit(params, bot, counted=True)
        posted = self.find(chat_id, params.get("message_id", 0))
        if posted is None:
            raise Refusal(400, "Bad Request: message to edit not found")
        if posted.by != bot["id"]:
            raise Refusal(400, "Bad Request: message can't be edited")
        return posted

    def draft(self, params: Mapping[str, Any], bot: Bot) -> bool:
        chat_id = self._admit(params, bot, counted=True)
        if chat_id < 0 or not params.get("draft_id"):
            raise Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        text, _ = text_of(params)
        self.drafts.append(Draft(chat_id, params["draft_id"], text, can_stop=_is_true(params, "can_stop")))
        return True

    def draft_rich(self, params: Mapping[str, Any], bot: Bot) -> bool:
        """sendRichMessageDraft: in private chats; the only place for a thinking block."""
        if not self.knows_rich:
            raise Refusal(404, "Not Found")
        chat_id = self._admit(params, bot, counted=True)
        if chat_id < 0 or not params.get("draft_id"):
            raise Refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        text, can_stop = rich_of(params, draft=True), _is_true(params, "can_stop")
        self.drafts.append(Draft(chat_id, params["draft_id"], text, rich=True, can_stop=can_stop))
        return True

    def react(self, params: Mapping[str, Any], bot: Bot) -> bool:
        chat_id = self._admit(params, bot, counted=False)
        place = (chat_id, params.get("message_id", 0))
        if place not in self._said and place not in self._posted:
            raise Refusal(400, "Bad Request: message to react not found")
        marks = [mark.get("emoji") for mark in params.get("reaction", [])]
        if len(marks) > 1 or any(mark not in set(ReactionEmoji) for mark in marks):
            raise Refusal(400, "Bad Request: REACTION_INVALID")
        self.reactions[place] = "".join(marks)
        return True

    def show_typing(self, params: Mapping[str, Any], bot: Bot) -> bool:
        self.typing.append(self._admit(params, bot, counted=False))
        return True

    def delete(self, params: Mapping[str, Any], bot: Bot) -> bool:
        chat_id = self._admit(params, bot, counted=False)
        if self.find(chat_id, params.get("message_id", 0)) is None:
            raise Refusal(400, "Bad Request: message to delete not found")
        self.remove(chat_id, params["message_id"])
        return True

    def make_topic(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        """createForumTopic: in forums where the bot may manage topics, and in private chats that have them."""
        chat_id = self._admit(params, bot, counted=True)
        name = params.get("name", "")
        if not 1 <= len(name) <= MAX_TOPIC_NAME:
            raise Refusal(400, "Bad Request: invalid topic name specified")
        if not self._known[chat_id].get("is_forum") and chat_id not in self.private_with_topics:
            raise Refusal(400, "Bad Request: the chat is not a forum")
        if chat_id in self.keeps_topics:
            raise Refusal(400, "Bad Request: not enough rights to create a topic")
        topic = next(number for number in self.message_ids if number != GENERAL_TOPIC)
        self._topics.add((chat_id, topic))
        self.topic_names[chat_id, topic] = name
        return {"message_thread_id": topic, "name": name, "icon_color": 0x6FB9F0}

    def member(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        chat_id = self._admit(params, bot, counted=False)
        user = self._bots[params["user_id"]]
        if not self.is_in(params["user_id"], chat_id):
            return {"status": "left", "user": user}
        if chat_id not in self.administered:
            return {"status": "member", "user": user}
        return {"status": "administrator", "user": user} | dict.fromkeys(ADMINISTRATORS_RIGHTS, False)

    def _admit(self, params: Mapping[str, Any], bot: Bot, *, counted: bool) -> int:
        """The chat of a call, when the bot may write there now. Sends and edits are counted for the chat as well."""
        chat_id = params.get("chat_id")
        if not isinstance(chat_id, int) or chat_id not in self._known:
            raise Refusal(400, "Bad Request: chat not found")
        if chat_id in self._moved:
            description = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refusal(400, description, migrate_to_chat_id=self._moved[chat_id])
        if chat_id in self._blocked:
            kicked = "bot was blocked by the user" if chat_id > 0 else "bot was kicked from the group chat"
            raise Refusal(403, f"Forbidden: {kicked}")
        if not self.is_in(bot["id"], chat_id):
            raise Refusal(403, "Forbidden: bot is not a member of the supergroup chat")
        self._check_flood(bot["id"], chat_id, counted=counted)
        return chat_id

    def _check_flood(self, bot: int, chat_id: int, *, counted: bool) -> None:
        if self._limits is None:
            return
        now_s = self._clock.monotonic()
        retry_after_s = None
        if counted:
            limit = self._limits.private if chat_id > 0 else self._limits.group
            retry_after_s = self._buckets.setdefault((bot, chat_id), FloodBucket(limit)).take(now_s)
        if retry_after_s is None:
            retry_after_s = self._total.setdefault(bot, FloodBucket(self._limits.total)).take(now_s)
        if retry_after_s is not None:
            raise too_many_requests(retry_after_s)


def _is_true(params: Mapping[str, Any], name: str) -> bool:
    return params.get(name) in (True, "true", "True")

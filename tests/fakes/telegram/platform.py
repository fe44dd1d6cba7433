"""Telegram as a bot sees it, in memory: people who write, updates, faults, and what is visible.

The HTTP side is `server.py` beside it. Tests hold a `TelegramPlatform`, act on it as people do, and look at it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import anyio
from msgspec import Struct, field

from runtime.core.clock import Clock, SystemClock
from tests.fakes.telegram.chats import Chats, Posted
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.markup import units
from tests.fakes.telegram.refusal import Refusal
from tests.fakes.telegram.updates import UpdateQueue

TOKEN = "123456:TEST-token_of_the_fake_server_0000000"
BOT_ID = 123456
USERNAME = "ParleyBot"
PERSON = 42
GROUP = -1001000000001
MAX_DOWNLOAD = 20 * 1000 * 1000

FaultKind = Literal["bad_gateway", "drop", "flood", "garbage", "hang", "refuse"]
_RECOGNISED = (("bot_command", re.compile(r"(?<!\S)/\w+(?:@\w+)?")), ("mention", re.compile(r"(?<!\w)@\w{3,}")))


class Fault(Struct):
    """A fault of the next `times` calls of `method`; `applied` says whether they take effect all the same.

    bad_gateway: HTTP 502 · drop: the connection breaks within the answer · hang: no answer until the client gives up ·
    flood: 429 with `retry_after` · garbage: a result of the wrong shape · refuse: `code` and `description`.
    """

    method: str
    kind: FaultKind
    times: int = 1
    applied: bool = False
    retry_after: int = 3
    code: int = 400
    description: str = "Bad Request: refused by the test"


class Call(Struct, frozen=True):
    """A call that was answered; status 0 where it got no answer on purpose. `at_s` is the clock's monotonic time."""

    method: str
    params: Mapping[str, Any]
    at_s: float
    status: int


class Bot(Struct, eq=False):
    """A bot's side. In groups one that does not hear all (privacy mode) is told of what is for it only."""

    data: dict[str, Any]
    updates: UpdateQueue
    hears_all: bool = True
    commands: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    commands_in_groups: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def id(self) -> int:
        return int(self.data["id"])


class TelegramPlatform:
    """One bot's Telegram, or several bots'. `limits` None means no flood control."""

    def __init__(self, *, token: str = TOKEN, limits: FloodLimits | None = None, clock: Clock | None = None) -> None:
        self.token = token
        self.calls: list[Call] = []
        self.updates = UpdateQueue(self.noticed)
        self.closing = anyio.Event()
        self.answered: list[str] = []
        self.unknown: set[str] = set()
        """Methods that this server does not know."""
        self.files: dict[str, bytes] = {}
        self._clock: Clock = clock or SystemClock()
        self.chats = Chats(self._clock, limits)
        self.main = Bot({"id": BOT_ID, "is_bot": True, "first_name": "Parley", "username": USERNAME}, self.updates)
        self.bot = self.main.data
        self.chats.enlist(self.bot)
        self._others: dict[str, Bot] = {}
        self._faults: list[Fault] = []
        self._changed = anyio.Event()
        self._presses = 0
        self.chats.open(PERSON)
        self.chats.open(GROUP)

    @property
    def commands(self) -> list[dict[str, str]]:
        """The main bot's commands, for people of every language."""
        return self.main.commands.get("", [])

    @property
    def bots(self) -> list[Bot]:
        return [self.main, *self._others.values()]

    def add_bot(self, token: str, username: str, name: str, *, hears_all: bool = False) -> Bot:
        """One more bot, with updates of its own."""
        data = {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": name, "username": username}
        self._others[token] = Bot(data, UpdateQueue(self.noticed), hears_all)
        self.chats.enlist(data)
        return self._others[token]

    def bot_of(self, token: str) -> Bot | None:
        return self.main if token == self.token else self._others.get(token)

    def say(self, text: str | None, *, chat: int = PERSON, person: int = PERSON, **more: Any) -> int:
        """A person writes; returns the update id. Commands and mentions in the text are marked as the platform does.

        `reply_to`: id of a message of a bot's; `thread`: a forum topic; `name`: first and last name, `username`; `to`:
        another bot, in a private chat with it; further keys go into the message as they are (`photo=[…]`).
        """
        to = more.pop("to", None)
        return self._tell({"message": self._message(text, chat, person, more)}, to)

    def command_alone(self, text: str, *, chat: int, person: int = PERSON) -> int:
        """A person gives a command of the menu that only the bot sees (Bot API 10.2); returns its number among such."""
        number = next(self.chats.ephemeral_ids)
        message = self._message(text, chat, person, {"message_id": 0, "ephemeral_message_id": number})
        self.chats.asked_alone.add((chat, person, number))
        self._tell({"message": message}, None)
        return number

    def rewrite(self, text: str, *, chat: int = PERSON, person: int = PERSON, **more: Any) -> int:
        """A person edits a message of their own."""
        return self._tell(
            {"edited_message": self._message(text, chat, person, more) | {"edit_date": self.chats.date}}, None
        )

    def press(self, data: str, *, chat: int = PERSON, person: int = PERSON) -> int:
        """A person presses a button under the newest message that has it."""
        self._presses += 1
        query: dict[str, Any] = {
            "id": str(self._presses),
            "from": _person(person, "Ada Lovelace"),
            "chat_instance": str(chat),
            "data": data,
        }
        shown = [m for m in self.chats.visible(chat) if data in [b["callback_data"] for row in m.buttons for b in row]]
        bot = self.main
        if shown:
            query["message"] = self.chats.message_data(shown[-1])
            bot = next(one for one in self.bots if one.id == shown[-1].by)
        return bot.updates.put({"callback_query": query})

    def stop_draft(self, *, chat: int = PERSON, **more: Any) -> int:
        """A person presses the button below the draft that they see (Bot API 10.3). `more`: `message_thread_id`."""
        draft = [draft for draft in self.chats.drafts if draft.chat_id == chat][-1]
        assert draft.can_stop, "there is no button"
        stopped = {"chat": self.chats.info(chat), "draft_id": draft.draft_id, **more}
        return self._tell({"stopped_message_generation": stopped}, None)

    def mark(self, emoji: str, *, chat: int = PERSON, message: int = 0, person: int = PERSON) -> int:
        """A person puts a mark on a message; an empty one takes it away."""
        content = {
            "chat": self.chats.info(chat),
            "message_id": message,
            "user": _person(person, "Ada Lovelace"),
            "date": self.chats.date,
            "old_reaction": [],
            "new_reaction": [{"type": "emoji", "emoji": emoji}] if emoji else [],
        }
        return self.updates.put({"message_reaction": content})

    def send_file(self, data: bytes, *, name: str = "notes.txt", media_type: str = "text/plain", **more: Any) -> int:
        """A person sends a document."""
        file_id = f"file{len(self.files)}"
        self.files[file_id] = data
        document = {"file_id": file_id, "file_unique_id": file_id, "file_name": name, "mime_type": media_type}
        return self.say(None, document=document | {"file_size": len(data)}, **more)

    def throw_out(self, chat: int, bot: Bot) -> None:
        """A bot is taken out of a group, and told."""
        self.chats.keep_out(bot.id, chat)
        gone = {"status": "kicked", "user": bot.data, "until_date": 0}
        member = {
            "chat": self.chats.info(chat),
            "from": _person(PERSON, "Ada"),
            "date": self.chats.date,
            "new_chat_member": gone,
        }
        bot.updates.put({"my_chat_member": member})

    def message_of(self, update_id: int) -> int:
        """The number of the message that an update brought."""
        return self.updates.message_of(update_id)

    def again(self, update_id: int) -> None:
        """Deliver an update once more, even where it was acknowledged."""
        self.updates.again(update_id)

    def block(self, chat: int) -> None:
        """The person blocks the bot, or the group throws it out."""
        self.chats.block(chat)

    def delete(self, chat: int, message: int) -> None:
        """Somebody deletes a message of the bot's."""
        self.chats.remove(chat, message)

    def migrate(self, chat: int, new_chat: int, *, announced: bool = False) -> None:
        """A group becomes a supergroup; where `announced`, a service message says so."""
        self.chats.migrate(chat, new_chat)
        if announced:
            self.say(None, chat=chat, migrate_to_chat_id=new_chat)

    def fail(self, method: str, kind: FaultKind, **more: Any) -> None:
        """Order a fault; the further fields of Fault are the keys."""
        self._faults.append(Fault(method, kind, **more))

    def messages(self, chat: int) -> list[Posted]:
        """What of the bot's is visible in a chat, in order."""
        return self.chats.visible(chat)

    def calls_of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once it holds; it is looked at again after every call that arrives or is answered."""
        while not condition():
            await self._changed.wait()

    def close(self) -> None:
        """Let go of everybody who waits."""
        self.closing.set()
        for bot in self.bots:
            bot.updates.wake()

    def noticed(self) -> None:
        """Something happened: whoever waits in `until` looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    def take_fault(self, method: str) -> Fault | None:
        """The fault that was ordered for this call, which it uses up."""
        found = next((fault for fault in self._faults if fault.method == method), None)
        if found is not None:
            found.times -= 1
            if not found.times:
                self._faults.remove(found)
        return found

    def record(self, method: str, params: Mapping[str, Any], status: int) -> None:
        self.calls.append(Call(method, params, self._clock.monotonic(), status))
        self.noticed()

    async def answer(self, method: str, params: Mapping[str, Any], bot: Bot) -> Any:
        """The result of a call. Raises Refusal."""
        if method in self.unknown:
            raise Refusal(404, "Not Found")
        if method == "getUpdates":
            return await bot.updates.fetch(params)
        in_chats: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Any]] = {
            "sendMessage": self.chats.send,
            "sendRichMessage": self.chats.send_rich,
            "sendMessageDraft": self.chats.draft,
            "sendRichMessageDraft": self.chats.draft_rich,
            "editMessageText": self.chats.edit,
            "editMessageReplyMarkup": self.chats.edit_buttons,
            "setMessageReaction": self.chats.react,
            "sendChatAction": self.chats.show_typing,
            "deleteMessage": self.chats.delete,
            "getChatMember": self.chats.member,
            "createForumTopic": self.chats.make_topic,
        }
        if method in in_chats:
            return in_chats[method](params, bot.data)
        kind = re.fullmatch(r"send(Document|Photo|Video|Audio|Voice)", method)
        if kind is not None:
            return self.chats.send_file(kind[1].lower(), params, bot.data)
        known: dict[str, Callable[[Mapping[str, Any], Bot], Any]] = {
            "getMe": lambda _, bot: bot.data | {"can_join_groups": True, "can_read_all_group_messages": bot.hears_all},
            "setMyCommands": self._set_commands,
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": self._webhook_info,
            "answerCallbackQuery": self._answer_press,
            "getFile": self._file,
        }
        if method not in known:
            raise Refusal(404, "Not Found")
        return known[method](params, bot)

    def _set_commands(self, params: Mapping[str, Any], bot: Bot) -> bool:
        for command in params["commands"]:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]) or not 1 <= len(command["description"]) <= 256:
                raise Refusal(400, "Bad Request: BOT_COMMAND_INVALID")
        language = params.get("language_code", "")
        if language and not re.fullmatch(r"[a-z]{2}", language):
            raise Refusal(400, "Bad Request: invalid language code specified")
        scope = params.get("scope", {"type": "default"})["type"]
        if scope == "default":
            bot.commands[language] = params["commands"]
        else:
            bot.commands_in_groups[language] = params["commands"]
        return True

    def _set_webhook(self, params: Mapping[str, Any], bot: Bot) -> bool:
        secret = params.get("secret_token", "")
        if not re.fullmatch(r"[\w-]{0,256}", secret, re.ASCII):
            raise Refusal(400, "Bad Request: secret token contains unallowed characters")
        bot.updates.send_to(params["url"], secret, params.get("allowed_updates", ()))
        return True

    def _delete_webhook(self, params: Mapping[str, Any], bot: Bot) -> bool:
        bot.updates.send_to("", "", ())
        return True

    def _webhook_info(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        waiting = len(bot.updates.pending)
        error = {"last_error_message": bot.updates.last_error} if bot.updates.last_error else {}
        return {
            "url": bot.updates.webhook_url,
            "has_custom_certificate": False,
            "pending_update_count": waiting,
        } | error

    def _answer_press(self, params: Mapping[str, Any], bot: Bot) -> bool:
        if not params["callback_query_id"].isdigit():
            raise Refusal(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        self.answered.append(params["callback_query_id"])
        return True

    def _file(self, params: Mapping[str, Any], bot: Bot) -> dict[str, Any]:
        data = self.files.get(params["file_id"])
        if data is None:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(data) > MAX_DOWNLOAD:
            raise Refusal(400, "Bad Request: file is too big")
        file_id = params["file_id"]
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": len(data), "file_path": f"files/{file_id}"}

    def _tell(self, content: Mapping[str, Any], to: Bot | None) -> int:
        """Every bot that sees it; the id of the main bot's update, or else of the only one there is."""
        (message,) = content.values()
        chat_id = message["chat"]["id"]
        if to is not None or chat_id > 0:
            return (to or self.main).updates.put(content)
        told = [
            bot.updates.put(content) for bot in self.bots if self.chats.is_in(bot.id, chat_id) and _sees(bot, message)
        ]
        return told[0] if told else 0

    def _message(self, text: str | None, chat: int, person: int, more: Mapping[str, Any]) -> dict[str, Any]:
        extra = dict(more)
        data: dict[str, Any] = {
            "message_id": next(self.chats.message_ids),
            "from": _person(person, extra.pop("name", "Ada Lovelace"), extra.pop("username", None)),
            "chat": self.chats.info(chat),
            "date": self.chats.date,
        }
        if text is not None:
            data |= {"text": text, "entities": _recognised(text)}
        data["message_id"] = extra.pop("message_id", data["message_id"])
        self.chats.heard(chat, data["message_id"], extra.get("thread"))
        if (thread := extra.pop("thread", None)) is not None:
            data |= {"message_thread_id": thread, "is_topic_message": True}
        if (reply_to := extra.pop("reply_to", None)) is not None:
            replied = self.chats.find(chat, int(reply_to))
            if replied is None:
                raise LookupError(f"the bot has no message {reply_to} in chat {chat}")
            data["reply_to_message"] = self.chats.message_data(replied)
        return data | extra


def _sees(bot: Bot, message: Mapping[str, Any]) -> bool:
    """What privacy mode lets through: commands, mentions, replies, service messages."""
    text = message.get("text")
    replied = message.get("reply_to_message", {}).get("from", {}).get("id") == bot.id
    named = text is not None and (text.startswith("/") or f"@{bot.data['username']}".casefold() in text.casefold())
    return bot.hears_all or text is None or replied or named


def _person(person: int, name: str, username: str | None = None) -> dict[str, Any]:
    first, _, last = name.partition(" ")
    data = {"id": person, "is_bot": False, "first_name": first}
    return data | ({"last_name": last} if last else {}) | ({"username": username} if username else {})


def _recognised(text: str) -> list[dict[str, Any]]:
    """Commands and mentions, which the platform marks by itself."""
    found = [(match, kind) for kind, pattern in _RECOGNISED for match in pattern.finditer(text)]
    return [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for match, kind in sorted(found, key=lambda pair: pair[0].start())
    ]

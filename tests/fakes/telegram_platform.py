"""Telegram as a bot sees it, in memory: people who write, updates, faults, and what is visible.

The HTTP side is `telegram_server`. Tests hold a `TelegramPlatform`, do with it what people do, and look at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import anyio

from runtime.core.clock import Clock, SystemClock
from tests.fakes.telegram_chats import EPOCH, Chats, Posted
from tests.fakes.telegram_limits import FloodLimits
from tests.fakes.telegram_markup import units
from tests.fakes.telegram_refusal import Refusal
from tests.fakes.telegram_updates import UpdateQueue

TOKEN = "123456:TEST-token_of_the_fake_server_0000000"
BOT_ID = 123456
USERNAME = "ParleyBot"
PERSON = 42
GROUP = -1001000000001

FaultKind = Literal["bad_gateway", "drop", "flood", "garbage", "hang", "refuse"]
_RECOGNISED = (("bot_command", re.compile(r"(?<!\S)/\w+(?:@\w+)?")), ("mention", re.compile(r"(?<!\w)@\w{3,}")))


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` calls of `method`; `applied` says whether they take effect all the same.

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


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was answered; status 0 where it got no answer on purpose. `at_s` is the clock's monotonic time."""

    method: str
    params: Mapping[str, Any]
    at_s: float
    status: int


class TelegramPlatform:
    """One bot's Telegram. `limits` None means no flood control."""

    def __init__(self, *, token: str = TOKEN, limits: FloodLimits | None = None, clock: Clock | None = None) -> None:
        self.token = token
        self.bot = {"id": BOT_ID, "is_bot": True, "first_name": "Parley", "username": USERNAME}
        self.commands: list[dict[str, str]] = []
        self.calls: list[Call] = []
        self.updates = UpdateQueue(self.noticed)
        self.closing = anyio.Event()
        self._clock: Clock = clock or SystemClock()
        self.chats = Chats(self.bot, self._clock, limits)
        self._faults: list[Fault] = []
        self._changed = anyio.Event()
        self.chats.open(PERSON)
        self.chats.open(GROUP)

    def say(self, text: str | None, *, chat: int = PERSON, person: int = PERSON, **more: Any) -> int:
        """A person writes; returns the update id. Commands and mentions in the text are marked as the platform does.

        `reply_to`: id of a message of the bot's; `thread`: a forum topic; `name`: first and last name; further keys
        go into the message as they are (`photo=[…]`, `entities=[…]`).
        """
        return self.updates.put({"message": self._message(text, chat, person, more)})

    def rewrite(self, text: str, *, chat: int = PERSON, person: int = PERSON, **more: Any) -> int:
        """A person edits a message of their own."""
        return self.updates.put({"edited_message": self._message(text, chat, person, more) | {"edit_date": EPOCH}})

    def press(self, data: str, *, chat: int = PERSON, person: int = PERSON) -> int:
        """A person presses a button under a message."""
        query = {"id": "1", "from": _person(person, "Ada Lovelace"), "chat_instance": str(chat), "data": data}
        return self.updates.put({"callback_query": query})

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
        self.updates.wake()

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

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a call. Raises Refusal."""
        if method == "getUpdates":
            return await self.updates.fetch(params)
        known: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "getMe": lambda _: self.bot | {"can_join_groups": True, "supports_inline_queries": False},
            "sendMessage": self.chats.send,
            "editMessageText": self.chats.edit,
            "sendChatAction": self.chats.show_typing,
            "deleteMessage": self.chats.delete,
            "setMyCommands": self._set_commands,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": self._webhook_info,
            "answerCallbackQuery": lambda _: True,
        }
        if method not in known:
            raise Refusal(404, "Not Found")
        return known[method](params)

    def _set_commands(self, params: Mapping[str, Any]) -> bool:
        for command in params["commands"]:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]) or not command["description"]:
                raise Refusal(400, "Bad Request: BOT_COMMAND_INVALID")
        self.commands = params["commands"]
        return True

    def _delete_webhook(self, params: Mapping[str, Any]) -> bool:
        self.updates.webhook_url = ""
        return True

    def _webhook_info(self, params: Mapping[str, Any]) -> dict[str, Any]:
        waiting = len(self.updates.pending)
        return {"url": self.updates.webhook_url, "has_custom_certificate": False, "pending_update_count": waiting}

    def _message(self, text: str | None, chat: int, person: int, more: Mapping[str, Any]) -> dict[str, Any]:
        extra = dict(more)
        data: dict[str, Any] = {
            "message_id": next(self.chats.message_ids),
            "from": _person(person, extra.pop("name", "Ada Lovelace")),
            "chat": self.chats.info(chat),
            "date": EPOCH,
        }
        if text is not None:
            data |= {"text": text, "entities": _recognised(text)}
        if (thread := extra.pop("thread", None)) is not None:
            data |= {"message_thread_id": thread, "is_topic_message": True}
        if (reply_to := extra.pop("reply_to", None)) is not None:
            replied = self.chats.find(chat, int(reply_to))
            if replied is None:
                raise LookupError(f"the bot has no message {reply_to} in chat {chat}")
            data["reply_to_message"] = self.chats.message_data(replied)
        return data | extra


def _person(person: int, name: str) -> dict[str, Any]:
    first, _, last = name.partition(" ")
    return {"id": person, "is_bot": False, "first_name": first} | ({"last_name": last} if last else {})


def _recognised(text: str) -> list[dict[str, Any]]:
    """Commands and mentions, which the platform marks by itself."""
    found = [(match, kind) for kind, pattern in _RECOGNISED for match in pattern.finditer(text)]
    return [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for match, kind in sorted(found, key=lambda pair: pair[0].start())
    ]

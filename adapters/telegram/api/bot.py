"""The Bot API over python-telegram-bot: calls with a time limit, failures in our words, no token in any log."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

import anyio
import httpx
from msgspec import Struct
from telegram import Bot, InputFile
from telegram.error import TelegramError
from telegram.request import HTTPXRequest, RequestData

from adapters.adapter import FileData
from adapters.platform_clock import PlatformClock, asked_pause_s
from adapters.telegram.api.failures import FloodWait, translated
from adapters.telegram.codec.addresses import TelegramBot
from adapters.telegram.codec.attachments import kind_of
from adapters.telegram.codec.markup import RenderedText
from adapters.telegram.options import TelegramOptions
from runtime.core.errors import AuthFailed, NotDelivered, OutcomeUncertain
from runtime.core.message import Choice

OFFICIAL_SERVER: Final = "https://api.telegram.org/bot"
UPDATE_TYPES: Final = (
    *("message", "edited_message", "callback_query", "message_reaction", "my_chat_member"),
    "stopped_message_generation",
)
"""The requested kinds of updates. Telegram sends reactions only if named; older servers pass over what is new."""
_STOPPABLE: Final = {"can_stop": True, "keep_on_stop": True}
"""A button below a draft that stops its author (Bot API 10.3); the draft stays until a message takes its place."""
SLOWEST_UPLOAD_BYTES_PER_S: Final = 100_000
"""The slowest line for which a file's time limit is enough."""
UNTOLD_PAUSE_S: Final = 5.0
UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)
_TOKEN: Final = re.compile(r"[^\s/?#]+")
_TOKEN_IN_URL: Final = re.compile(r"/bot[^\s/?#]+")
_NO_PREVIEW: Final = {"is_disabled": True}
_Read = TypeVar("_Read")


def _hide_token(record: logging.LogRecord) -> bool:
    """Hide the token. httpx logs the address of every request, and Telegram's addresses contain it."""
    if isinstance(record.args, tuple):
        record.args = tuple(_TOKEN_IN_URL.sub("/bot…", str(a)) if "/bot" in str(a) else a for a in record.args)
    return True


logging.getLogger("httpx").addFilter(_hide_token)


class TelegramTransport(HTTPXRequest):
    """The library's transport, except that a 429 raises an error of ours."""

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        code, payload = await super().do_request(url, method, request_data, *args, **kwargs)
        if code == 429:
            raise FloodWait(_retry_after_s(payload))
        return code, payload


class Parameters:
    """The parameters of a call, in place of the library's RequestData, which cannot be made from outside."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}

    @property
    def contains_files(self) -> bool:
        return bool(self.multipart_data)

    @property
    def json_parameters(self) -> dict[str, str]:
        """Everything but files: texts unchanged, other values as JSON."""
        plain = {name: value for name, value in self._values.items() if not isinstance(value, InputFile)}
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items()}

    @property
    def multipart_data(self) -> dict[str, Any]:
        return {name: value.field_tuple for name, value in self._values.items() if isinstance(value, InputFile)}


class TelegramTarget(Struct, frozen=True):
    """Where a message goes, and the number that it answers; `alone_to` is that of one which only we see."""

    chat_id: int
    thread_id: int | None = None
    reply_to: int | None = None
    alone_to: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        reply = {"message_id": self.reply_to, "allow_sending_without_reply": True} if self.reply_to else None
        if self.alone_to is not None:
            reply = {"ephemeral_message_id": self.alone_to}
        return {"chat_id": self.chat_id, "message_thread_id": self.thread_id, "reply_parameters": reply}


class TelegramApi:
    """The calls that Parley needs. Errors: AuthFailed only from `me` and `updates`.

    Polling has its own connection, so a waiting poll never delays a message. Answers with a message are passed on as
    the server wrote them, because the library refuses a posted message over a single unknown detail.
    """

    def __init__(self, token: str, options: TelegramOptions, clock: PlatformClock) -> None:
        if not _TOKEN.fullmatch(token):
            raise AuthFailed("The Telegram token does not look like one (digits, a colon, letters); @BotFather has it")
        self._call_timeout_s = options.call_timeout_s
        self._poll_timeout_s = options.poll_timeout_s
        self._calls = _transport(64, options.call_timeout_s, clock)
        self._polls = _transport(2, options.call_timeout_s, clock)
        server = options.base_url or OFFICIAL_SERVER
        self.bot = self._bot = Bot(
            token,
            base_url=server,
            base_file_url=f"{server.removesuffix('/bot')}/file/bot",
            request=self._calls,
            get_updates_request=self._polls,
        )

    async def open_polling(self) -> None:
        await self._polls.initialize()

    async def close_polling(self) -> None:
        await self._polls.shutdown()

    async def close(self) -> None:
        await self._polls.shutdown()
        await self._calls.shutdown()

    async def me(self, agent: str | None = None) -> TelegramBot:
        with self._call("getMe", at_setup=True):
            user = await self._bot.get_me()
            hears_all = user.can_read_all_group_messages is not False
            return TelegramBot(user.id, user.username or "", user.full_name, agent, hears_all)

    async def set_webhook(self, url: str, secret: str) -> None:
        """Have updates sent to this address, including those that are waiting."""
        with self._call("setWebhook"):
            await self._bot.set_webhook(
                url, secret_token=secret, allowed_updates=UPDATE_TYPES, drop_pending_updates=False
            )

    async def remove_webhook(self) -> None:
        """Remove the webhook, since updates cannot be fetched beside it. Updates that were not fetched stay."""
        with self._call("deleteWebhook"):
            await self._bot.delete_webhook(drop_pending_updates=False)

    async def webhook(self) -> tuple[str, str]:
        """The address to which updates are sent ("" for none), and the last error there."""
        with self._call("getWebhookInfo"):
            info = await self._bot.get_webhook_info()
            return info.url, info.last_error_message or ""

    async def membership(self, chat_id: int, user_id: int) -> str:
        """A person's membership in a chat: creator, administrator, member, restricted, left or kicked."""
        with self._call("getChatMember"):
            return str((await self._bot.get_chat_member(chat_id, user_id)).status)

    async def open_topic(self, chat_id: int, name: str) -> int:
        """The number of a new topic in a forum, or in a private chat that has topics. Also raises UnknownMethod."""
        topic = {"chat_id": chat_id, "name": name}
        return await self._made("createForumTopic", topic, lambda answer: int(answer["message_thread_id"]))

    async def offer_commands(
        self, commands: Mapping[str, str], language: str | None = None, alone: Collection[str] | None = None
    ) -> None:
        """Show the commands in the menu, by language; in groups those of `alone` are such as only the bot sees."""
        shown: list[dict[str, Any]] = [{"command": name, "description": text} for name, text in commands.items()]
        menu: dict[str, Any] = {"commands": shown, "language_code": language}
        if alone is not None:
            marked = [one | ({"is_ephemeral": True} if one["command"] in alone else {}) for one in shown]
            menu |= {"commands": marked, "scope": {"type": "all_group_chats"}}
        await self._made("setMyCommands", menu, bool)

    async def updates(self, offset: int | None) -> list[Mapping[str, Any]]:
        """Wait for updates, unread: one bad one would cost all. Acknowledges those before `offset`. Also PollTaken."""
        query = {"timeout": round(self._poll_timeout_s), "allowed_updates": UPDATE_TYPES, "offset": offset}
        wait_s = self._poll_timeout_s + self._call_timeout_s
        with self._call("getUpdates", at_setup=True, timeout_s=wait_s):
            answer = await self._ask(self._polls, "getUpdates", query, read_timeout=wait_s)
            if not isinstance(answer, list) or not all("update_id" in update for update in answer):
                raise TypeError("getUpdates did not answer a list of updates")
            return answer

    async def send(self, target: TelegramTarget, page: RenderedText) -> Mapping[str, Any]:
        return await self._made("sendMessage", target.parameters | _text(page), _message)

    async def send_rich(self, target: TelegramTarget, html: str) -> Mapping[str, Any]:
        """Post a rich message; returns it as posted. Also raises UnknownMethod."""
        return await self._made("sendRichMessage", target.parameters | {"rich_message": _rich(html)}, _message)

    async def edit(self, chat_id: int, message: int, page: RenderedText) -> Mapping[str, Any]:
        """Edit a text; returns the message as it is now. Also raises NotModified and MessageGone."""
        return await self._made("editMessageText", {"chat_id": chat_id, "message_id": message, **_text(page)}, _message)

    async def edit_rich(self, chat_id: int, message: int, html: str) -> Mapping[str, Any]:
        """As `edit`. A server that does not know rich messages reports a missing text."""
        rich = {"chat_id": chat_id, "message_id": message, "rich_message": _rich(html)}
        return await self._made("editMessageText", rich, _message)

    async def upload(self, target: TelegramTarget, file: FileData, caption: RenderedText) -> Mapping[str, Any]:
        kind = kind_of(file)
        text = {"caption": caption.text, "caption_entities": _entities(caption)} if caption.text else {}
        content = InputFile(file.data, filename=file.name, attach=False)
        needed_s = self._call_timeout_s + len(file.data) / SLOWEST_UPLOAD_BYTES_PER_S
        data = target.parameters | text | {kind.lower(): content}
        return await self._made(f"send{kind}", data, _message, needed_s)

    async def draft(self, chat_id: int, thread_id: int | None, draft_id: int, page: RenderedText) -> None:
        text = {"text": page.text, "entities": _entities(page)}
        place = {"chat_id": chat_id, "message_thread_id": thread_id, "draft_id": draft_id}
        await self._made("sendMessageDraft", place | text | _STOPPABLE, bool)

    async def draft_rich(self, chat_id: int, thread_id: int | None, draft_id: int, html: str) -> None:
        """Show a rich draft, in which `<tg-thinking>` is allowed. Also raises UnknownMethod."""
        place = {"chat_id": chat_id, "message_thread_id": thread_id, "draft_id": draft_id, "rich_message": _rich(html)}
        await self._made("sendRichMessageDraft", place | _STOPPABLE, bool)

    async def send_alone(self, target: TelegramTarget, person: int, page: RenderedText) -> Mapping[str, Any]:
        """Post a text that one person of a group sees. The message has an `ephemeral_message_id` if that is so.

        Bot API 10.2 has `receiver_user_id`; 10.3 has put `ephemeral_message_parameters` in its place.
        """
        alone = {"receiver_user_id": person, "ephemeral_message_parameters": {"receiver_user_id": person}}
        return await self._made("sendMessage", target.parameters | _text(page) | alone, dict)

    async def offer(self, chat_id: int, message: int, rows: Sequence[Sequence[Choice]]) -> None:
        """Show buttons below a message; no rows remove them. Also raises NotModified and MessageGone."""
        keyboard = [[{"text": choice.label, "callback_data": choice.id} for choice in row] for row in rows]
        data = {"chat_id": chat_id, "message_id": message, "reply_markup": {"inline_keyboard": keyboard}}
        await self._made("editMessageReplyMarkup", data, bool)

    async def answer_press(self, query_id: str) -> None:
        with self._call("answerCallbackQuery"):
            await self._bot.answer_callback_query(query_id)

    async def react(self, chat_id: int, message: int, emoji: str | None) -> None:
        with self._call("setMessageReaction"):
            await self._bot.set_message_reaction(chat_id, message, reaction=[emoji] if emoji else [])

    async def delete(self, chat_id: int, message: int) -> None:
        with self._call("deleteMessage"):
            await self._bot.delete_message(chat_id, message)

    async def typing(self, chat_id: int, thread_id: int | None) -> None:
        with self._call("sendChatAction"):
            await self._bot.send_chat_action(chat_id, "typing", message_thread_id=thread_id)

    async def download(self, file_id: str, max_bytes: int) -> bytes:
        """The content of a file. Raises NotDelivered when it is too long or not available."""
        with self._call("getFile"):
            file = await self._bot.get_file(file_id)
            if (file.file_size or 0) > max_bytes or not file.file_path:
                raise NotDelivered(f"Telegram: getFile: the file has {file.file_size} bytes; at most {max_bytes}")
        with self._call("download", timeout_s=self._call_timeout_s + max_bytes / SLOWEST_UPLOAD_BYTES_PER_S):
            data = await self._calls.retrieve(file.file_path)
        if len(data) > max_bytes:
            raise NotDelivered(f"Telegram: download: the file has {len(data)} bytes; at most {max_bytes}")
        return data

    async def _made(
        self, method: str, data: Mapping[str, Any], read: Callable[[Any], _Read], timeout_s: float | None = None
    ) -> _Read:
        with self._call(method, timeout_s=timeout_s):
            return read(await self._ask(self._calls, method, data, write_timeout=timeout_s or self._call_timeout_s))

    async def _ask(self, transport: TelegramTransport, method: str, data: Mapping[str, Any], **timeouts: float) -> Any:
        given = cast("RequestData", Parameters(data))
        return await transport.post(f"{self._bot.base_url}/{method}", given, **timeouts)

    @contextmanager
    def _call(self, method: str, *, at_setup: bool = False, timeout_s: float | None = None) -> Iterator[None]:
        """One call, with its time limit and with its failure as one of our errors."""
        limit_s = timeout_s or self._call_timeout_s
        try:
            with anyio.fail_after(limit_s):
                yield
        except TimeoutError as error:
            raise OutcomeUncertain(f"Telegram did not answer {method} within {limit_s:g} s") from error
        except TelegramError as error:
            raise translated(error, method, at_setup=at_setup) from error
        except UNREADABLE as error:
            raise OutcomeUncertain(f"Telegram's answer to {method} cannot be read: {error}") from error


def _rich(html: str) -> dict[str, Any]:
    """A rich message in which nothing is detected, so a user name written by an agent is no mention."""
    return {"html": html, "skip_entity_detection": True}


def _message(answer: Any) -> Mapping[str, Any]:
    """A message as the server wrote it. Raises LookupError, TypeError or ValueError for what is none."""
    int(answer["message_id"])
    return dict(answer)


def _text(page: RenderedText) -> dict[str, Any]:
    return {"text": page.text, "entities": _entities(page), "link_preview_options": _NO_PREVIEW}


def _entities(page: RenderedText) -> list[dict[str, Any]]:
    return [
        {"type": e.kind, "offset": e.offset, "length": e.length}
        | ({"url": e.url} if e.url else {})
        | ({"language": e.language} if e.language else {})
        | ({"user": {"id": e.person, "is_bot": False, "first_name": "-"}} if e.person else {})
        for e in page.entities
    ]


def _transport(connections: int, timeout_s: float, clock: PlatformClock) -> TelegramTransport:
    async def answered(response: httpx.Response) -> None:
        clock.hear(response.headers.get("date"))

    return TelegramTransport(
        connection_pool_size=connections,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        connect_timeout=timeout_s,
        pool_timeout=timeout_s,
        httpx_kwargs={"event_hooks": {"response": [answered]}},
    )


def _retry_after_s(payload: bytes) -> float:
    try:
        return asked_pause_s(json.loads(payload)["parameters"]["retry_after"], UNTOLD_PAUSE_S)
    except UNREADABLE:
        return UNTOLD_PAUSE_S

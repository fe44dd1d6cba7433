"""The Bot API over python-telegram-bot: each call with a time limit, each failure in our words. Never waits or retries.

What its failures mean: python-telegram-bot 22, `telegram.error`; texts of refusals: as the Bot API server writes them.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anyio
import httpx
from telegram import Bot, BotCommand, LinkPreviewOptions, MessageEntity
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    TelegramError,
)
from telegram.request import HTTPXRequest, RequestData
from telegram.request._requestparameter import RequestParameter

from adapters.telegram.codec import BotIdentity
from adapters.telegram.markup import Rendered
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)

OFFICIAL_SERVER: Final = "https://api.telegram.org/bot"
UNREACHABLE_PAUSE_S: Final = 1.0
"""After how long a call is worth repeating that could not even be sent."""
UNTOLD_PAUSE_S: Final = 5.0
"""The pause where flood control does not say how long."""

_GONE: Final = ("message to edit not found", "message can't be edited", "message_id_invalid")
_BAD_MARKUP: Final = ("can't parse entities", "entity", "entities")
_TOKEN: Final = re.compile(r"[^\s/?#]+")
_TOKEN_IN_URL: Final = re.compile(r"/bot[^\s/?#]+")
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)
"""What the library raises where an answer is not what it expects."""


def _hide_token(record: logging.LogRecord) -> bool:
    """httpx logs the address of every request, and Telegram's addresses contain the token."""
    if isinstance(record.args, tuple):
        record.args = tuple(_TOKEN_IN_URL.sub("/bot…", str(a)) if "/bot" in str(a) else a for a in record.args)
    return True


logging.getLogger("httpx").addFilter(_hide_token)


class ChatMoved(NotDelivered):
    """The group has become a supergroup: send to the new id from now on."""

    def __init__(self, text: str, *, new_chat_id: int) -> None:
        super().__init__(text)
        self.new_chat_id = new_chat_id


class NotModified(AdapterError):
    """The message shows exactly this already."""


class PollTaken(AdapterError):
    """Somebody else fetches this bot's updates: another process with the token, or a webhook."""


class _FloodWait(TelegramError):
    """HTTP 429, before the library makes a RetryAfter of it, whose making warns on every use."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"flood control, {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


class _Transport(HTTPXRequest):
    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        code, payload = await super().do_request(url, method, request_data, *args, **kwargs)
        if code == 429:
            raise _FloodWait(_retry_after_s(payload))
        return code, payload


class BotApi:
    """The calls that are needed. Errors: AuthFailed only from `me` and `updates`.

    Polling has its own connection, so that a waiting poll is never in the way of a message.
    """

    def __init__(self, token: str, *, base_url: str | None, call_timeout_s: float, poll_timeout_s: float) -> None:
        if not _TOKEN.fullmatch(token):
            raise AuthFailed("The Telegram token does not look like one (digits, a colon, letters); @BotFather has it")
        self._call_timeout_s = call_timeout_s
        self._poll_timeout_s = poll_timeout_s
        self._calls = _transport(64, call_timeout_s)
        self._polls = _transport(2, call_timeout_s)
        self._bot = Bot(
            token, base_url=base_url or OFFICIAL_SERVER, request=self._calls, get_updates_request=self._polls
        )

    async def open_polling(self) -> None:
        await self._polls.initialize()

    async def close_polling(self) -> None:
        await self._polls.shutdown()

    async def close(self) -> None:
        await self._polls.shutdown()
        await self._calls.shutdown()

    async def me(self) -> BotIdentity:
        with self._call("getMe", at_setup=True):
            user = await self._bot.get_me()
            return BotIdentity(user.id, user.username or "", user.full_name)

    async def remove_webhook(self) -> None:
        """While there is a webhook, updates cannot be fetched. What has not been fetched stays."""
        with self._call("deleteWebhook"):
            await self._bot.delete_webhook(drop_pending_updates=False)

    async def offer_commands(self, commands: Mapping[str, str]) -> None:
        with self._call("setMyCommands"):
            await self._bot.set_my_commands([BotCommand(name, text) for name, text in commands.items()])

    async def updates(self, offset: int | None) -> list[dict[str, Any]]:
        """Wait for new messages and return them; acknowledges every update before `offset`. Also raises PollTaken.

        They come as the server wrote them: `Bot.get_updates` refuses a whole batch for one update that it cannot read.
        """
        query: dict[str, object] = {"timeout": round(self._poll_timeout_s), "allowed_updates": ["message"]}
        if offset is not None:
            query["offset"] = offset
        parameters = RequestData([RequestParameter.from_input(key, value) for key, value in query.items()])
        url = f"{self._bot.base_url}/getUpdates"
        wait_s = self._poll_timeout_s + self._call_timeout_s
        with self._call("getUpdates", at_setup=True, timeout_s=wait_s):
            answer = await self._polls.post(url, parameters, read_timeout=wait_s)
            if not isinstance(answer, list) or not all("update_id" in update for update in answer):
                raise TypeError("getUpdates did not answer a list of updates")
            return answer

    async def send(self, chat_id: int, page: Rendered, thread_id: int | None) -> str:
        with self._call("sendMessage"):
            message = await self._bot.send_message(
                chat_id,
                page.text,
                entities=_entities(page),
                message_thread_id=thread_id,
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            )
            return str(message.message_id)

    async def edit(self, chat_id: int, message: str, page: Rendered) -> None:
        """Also raises NotModified, and MessageGone where there is nothing to edit."""
        with self._call("editMessageText"):
            await self._bot.edit_message_text(
                page.text,
                chat_id=chat_id,
                message_id=int(message),
                entities=_entities(page),
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            )

    async def typing(self, chat_id: int, thread_id: int | None) -> None:
        with self._call("sendChatAction"):
            await self._bot.send_chat_action(chat_id, "typing", message_thread_id=thread_id)

    @contextmanager
    def _call(self, method: str, *, at_setup: bool = False, timeout_s: float | None = None) -> Iterator[None]:
        """One call: its time limit, and its failure as one of our errors."""
        limit_s = timeout_s or self._call_timeout_s
        try:
            with anyio.fail_after(limit_s):
                yield
        except TimeoutError as error:
            raise OutcomeUncertain(f"Telegram did not answer {method} within {limit_s:g} s") from error
        except TelegramError as error:
            raise _translated(error, method, at_setup=at_setup) from error
        except _UNREADABLE as error:
            raise OutcomeUncertain(f"Telegram's answer to {method} cannot be read: {error}") from error


def _transport(connections: int, timeout_s: float) -> HTTPXRequest:
    return _Transport(
        connection_pool_size=connections,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        connect_timeout=timeout_s,
        pool_timeout=timeout_s,
    )


def _retry_after_s(payload: bytes) -> float:
    try:
        return float(json.loads(payload)["parameters"]["retry_after"])
    except _UNREADABLE:
        return UNTOLD_PAUSE_S


def _entities(page: Rendered) -> list[MessageEntity]:
    return [MessageEntity(e.kind, e.offset, e.length, url=e.url, language=e.language) for e in page.entities]


def _translated(error: TelegramError, method: str, *, at_setup: bool) -> AdapterError:
    """What went wrong, in our words. A BadRequest is a NetworkError to the library, so it is looked at first."""
    text = f"Telegram: {method}: {error.message}"
    match error:
        case _FloodWait():
            return RateLimited(text, retry_after_s=error.retry_after_s)
        case ChatMigrated():
            return ChatMoved(text, new_chat_id=error.new_chat_id)
        case InvalidToken() if at_setup:
            return AuthFailed(f"{text}. Telegram refuses the bot's token; get a valid one from @BotFather")
        case Conflict():
            return PollTaken(f"{text}. Run one gateway for one token, or give this one a token of its own")
        case BadRequest():
            return _refusal(text)
        case InvalidToken() | Forbidden():
            return NotDelivered(text)
        case NetworkError() if isinstance(error.__cause__, _NOT_SENT):
            return RateLimited(f"{text}. It could not be reached", retry_after_s=UNREACHABLE_PAUSE_S)
        case _:
            return OutcomeUncertain(text)


def _refusal(text: str) -> AdapterError:
    said = text.casefold()
    if "message is not modified" in said:
        return NotModified(text)
    if any(sign in said for sign in _GONE):
        return MessageGone(text)
    if any(sign in said for sign in _BAD_MARKUP):
        return BadMarkup(text)
    return NotDelivered(text)

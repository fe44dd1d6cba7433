"""Telegram's failures, translated to errors of the port.

What the library's errors mean: python-telegram-bot 22, `telegram.error`; texts of refusals: as the Bot API server
writes them.
"""

from __future__ import annotations

from typing import Final

import httpx
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError

from adapters.platform_clock import UNREACHABLE_PAUSE_S
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)

_GONE: Final = (
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
    "message to react not found",
    "message to delete not found",
)
_BAD_MARKUP: Final = ("can't parse entities", "entity", "entities")
_NO_TOPIC: Final = ("message thread not found", "topic_deleted", "topic_closed")
_NOT_WELCOME: Final = ("chat not found", "not enough rights", "chat_write_forbidden", "can't initiate conversation")
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class ChatMoved(NotDelivered):
    """The group has become a supergroup: send to the new id from now on."""

    def __init__(self, text: str, *, new_chat_id: int) -> None:
        super().__init__(text)
        self.new_chat_id = new_chat_id


class NotWelcome(NotDelivered):
    """This bot may not write in this chat: it is not a member, was thrown out or blocked, or lacks the right."""


class NoTopic(NotDelivered):
    """The topic is closed or gone."""


class UnknownMethod(NotDelivered):
    """This server does not know the method: it is older than the method, or not Telegram's."""


class NotModified(AdapterError):
    """The message already shows exactly this."""


class PollTaken(AdapterError):
    """Another process or a webhook fetches this bot's updates."""


class FloodWait(TelegramError):
    """HTTP 429, raised before the library creates its RetryAfter, which warns on every use."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"flood control, {retry_after_s:g} s")
        self.retry_after_s = retry_after_s


def translated(error: TelegramError, method: str, *, at_setup: bool) -> AdapterError:
    """The error of the port. A BadRequest is a NetworkError to the library, so it is looked at first."""
    text = f"Telegram: {method}: {error.message}"
    match error:
        case FloodWait():
            return RateLimited(text, retry_after_s=error.retry_after_s)
        case ChatMigrated():
            return ChatMoved(text, new_chat_id=error.new_chat_id)
        case InvalidToken():
            return _unknown(text, error, at_setup=at_setup)
        case Conflict():
            return PollTaken(f"{text}. Run one gateway for one token, or give this one a different token")
        case BadRequest():
            return _refusal(text)
        case Forbidden():
            return NotWelcome(text)
        case NetworkError() if isinstance(error.__cause__, _NOT_SENT):
            return RateLimited(f"{text}. It could not be reached", retry_after_s=UNREACHABLE_PAUSE_S)
        case _:
            return OutcomeUncertain(text)


def _unknown(text: str, error: InvalidToken, *, at_setup: bool) -> AdapterError:
    """HTTP 401 and 404 are one error to the library, and 404 is also the answer to a method that is not known."""
    if at_setup:
        return AuthFailed(f"{text}. Telegram refuses the bot's token; get a valid one from @BotFather")
    return UnknownMethod(text) if "not found" in error.message.casefold() else NotDelivered(text)


def _refusal(text: str) -> AdapterError:
    said = text.casefold()
    if "message is not modified" in said:
        return NotModified(text)
    for signs, kind in (
        (_GONE, MessageGone),
        (_NO_TOPIC, NoTopic),
        (_NOT_WELCOME, NotWelcome),
        (_BAD_MARKUP, BadMarkup),
    ):
        if any(sign in said for sign in signs):
            return kind(text)
    return NotDelivered(text)

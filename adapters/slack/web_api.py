"""Slack's Web API over slack_sdk: each call with a time limit, each failure in our words. Never waits or retries.

What its failures mean: docs.slack.dev, the errors of each method; slack_sdk 3.47, `slack_sdk.errors`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import aiohttp
import anyio
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.codec import BotIdentity, Face
from adapters.slack.limits import MAX_FALLBACK_BYTES
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)

OFFICIAL_SERVER: Final = "https://slack.com/api/"
UNREACHABLE_PAUSE_S: Final = 1.0
"""After how long a call is worth repeating that could not even be sent."""
UNTOLD_PAUSE_S: Final = 5.0
"""The pause where a 429 does not say how long."""
NONCE_EVENT: Final = "parley_message"
"""The type of the metadata in which a message carries its nonce."""
PAGE_SIZE: Final = 200
"""Messages fetched at once (docs.slack.dev recommends at most 200)."""
MOST_PAGES: Final = 5

_REFUSED_TOKEN: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
    | {"org_login_required", "app_uninstalled"}
)
_GONE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
_BAD_MARKUP: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "no_text", "markdown_text_conflict"})
_UNCLEAR: Final = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", None})
"""Slack says of fatal_error that a part may have been done before it."""
_HINTS: Final[Mapping[str, str]] = {
    "not_in_channel": "Invite the bot to the channel: /invite @its-name",
    "channel_not_found": "The bot cannot see the channel; if it is a private one, invite the bot",
    "is_archived": "The channel is archived",
    "restricted_action": "The workspace's administrators do not let the bot post here",
    "thread_not_found": "The thread was deleted",
    "missing_scope": "Add the scope to the app and install it to the workspace again",
}
_UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError, SlackClientError)
"""What the library raises where an answer is not what it expects."""


class MissingScope(NotDelivered):
    """The token is not allowed this. `needed` is the scope as Slack names it."""

    def __init__(self, text: str, *, needed: str) -> None:
        super().__init__(text)
        self.needed = needed


class WebApi:
    """The calls that are needed. Errors: AuthFailed only from `me` and `socket_url`."""

    def __init__(self, bot_token: str, app_token: str, *, base_url: str | None, call_timeout_s: float) -> None:
        if not bot_token.startswith("xoxb-"):
            raise AuthFailed("The Slack bot token does not look like one: it begins with xoxb- (OAuth & Permissions)")
        if not app_token.startswith("xapp-"):
            raise AuthFailed("The Slack app token does not look like one: it begins with xapp- (Basic Information)")
        self._app_token = app_token
        self._call_timeout_s = call_timeout_s
        # Its own retries would post again after an answer that was lost.
        self._client = AsyncWebClient(
            bot_token, base_url=base_url or OFFICIAL_SERVER, retry_handlers=[], logger=_quiet_logger()
        )

    async def close(self) -> None:
        if self._client.session is not None:
            await self._client.session.close()

    async def me(self) -> BotIdentity:
        """Who the token is, in which workspace, and what it is allowed (header X-OAuth-Scopes)."""
        with self._call("auth.test", at_setup=True):
            answer = await self._open().auth_test()
            scopes = str(_header(answer, "x-oauth-scopes") or "")
            return BotIdentity(
                team_id=_told(answer, "team_id"),
                team=_told(answer, "team"),
                user_id=_told(answer, "user_id"),
                bot_id=_told(answer, "bot_id"),
                name=_told(answer, "user"),
                scopes=frozenset(scope.strip() for scope in scopes.split(",") if scope.strip()),
            )

    async def socket_url(self) -> str:
        """An address for one connection, good for a short while."""
        with self._call("apps.connections.open", at_setup=True):
            answer = await self._open().apps_connections_open(app_token=self._app_token)
            return _told(answer, "url")

    async def send(self, channel: str, thread: str | None, page: str, face: Face | None, nonce: str) -> str:
        """Also raises MissingScope."""
        with self._call("chat.postMessage"):
            answer = await self._open().chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=_fallback(page),
                blocks=_blocks(page),
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
                username=face.username if face is not None else None,
                icon_emoji=face.icon_emoji if face is not None else None,
                metadata={"event_type": NONCE_EVENT, "event_payload": {"nonce": nonce}},
            )
            return _told(answer, "ts")

    async def edit(self, channel: str, message: str, page: str) -> None:
        """Raises MessageGone where there is nothing to edit. Left to itself, chat.update would find names to ping."""
        with self._call("chat.update"):
            await self._open().chat_update(
                channel=channel, ts=message, text=_fallback(page), blocks=_blocks(page), parse="none", link_names=False
            )

    async def find(self, channel: str, thread: str | None, nonce: str, since_s: float) -> str | None:
        """The message with this nonce, if it was posted after `since_s` (seconds since 1970)."""
        async for message in self._messages(channel, thread, since_s):
            metadata = message.get("metadata") or {}
            if metadata.get("event_type") == NONCE_EVENT and metadata["event_payload"].get("nonce") == nonce:
                return str(message["ts"])
        return None

    async def takes_part(self, channel: str, thread: str, bot: BotIdentity) -> bool:
        """Whether the bot spoke in the thread, or was mentioned there."""
        async for message in self._messages(channel, thread, None):
            if bot.bot_id == message.get("bot_id") or bot.user_id == message.get("user"):
                return True
            if f"<@{bot.user_id}>" in message.get("text", ""):
                return True
        return False

    async def person_name(self, user: str) -> str:
        with self._call("users.info"):
            known = (await self._open().users_info(user=user))["user"]
            profile = known.get("profile", {})
            return str(profile.get("display_name") or profile.get("real_name") or known["name"])

    async def set_status(self, channel: str, thread: str, status: str, face: Face | None) -> None:
        """Show what is going on under a thread; an empty status takes it away. Also raises MissingScope."""
        with self._call("assistant.threads.setStatus"):
            await self._open().assistant_threads_setStatus(
                channel_id=channel,
                thread_ts=thread,
                status=status,
                username=face.username if face is not None else None,
                icon_emoji=face.icon_emoji if face is not None else None,
            )

    async def _messages(self, channel: str, thread: str | None, since_s: float | None) -> AsyncIterator[dict[str, Any]]:
        """The messages of a thread, or of the channel outside of threads: at most MOST_PAGES pages of them."""
        oldest = None if since_s is None else f"{since_s:.6f}"
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            messages, cursor = await self._page(channel, thread, oldest, cursor)
            for message in messages:
                yield message
            if not cursor:
                return

    async def _page(
        self, channel: str, thread: str | None, oldest: str | None, cursor: str | None
    ) -> tuple[Sequence[dict[str, Any]], str | None]:
        asked: dict[str, Any] = {"limit": PAGE_SIZE, "oldest": oldest, "cursor": cursor, "include_all_metadata": True}
        with self._call("conversations.history" if thread is None else "conversations.replies"):
            if thread is None:
                answer = await self._open().conversations_history(channel=channel, **asked)
            else:
                answer = await self._open().conversations_replies(channel=channel, ts=thread, **asked)
            return answer["messages"], (answer.get("response_metadata") or {}).get("next_cursor")

    def _open(self) -> AsyncWebClient:
        """The client with connections that stay open; they can only be made inside a running loop."""
        if self._client.session is None:
            self._client.session = aiohttp.ClientSession()
        return self._client

    @contextmanager
    def _call(self, method: str, *, at_setup: bool = False) -> Iterator[None]:
        """One call: its time limit, and its failure as one of our errors."""
        try:
            with anyio.fail_after(self._call_timeout_s):
                yield
        except TimeoutError as error:
            raise OutcomeUncertain(f"Slack did not answer {method} within {self._call_timeout_s:g} s") from error
        except SlackApiError as error:
            raise _translated(error, method, at_setup=at_setup) from error
        except aiohttp.ClientConnectorError as error:
            text = f"Slack: {method}: {error}. It could not be reached"
            raise RateLimited(text, retry_after_s=UNREACHABLE_PAUSE_S) from error
        except (aiohttp.ClientError, OSError) as error:
            raise OutcomeUncertain(f"Slack: {method}: the connection broke: {error!r}") from error
        except _UNREADABLE as error:
            raise OutcomeUncertain(f"Slack's answer to {method} cannot be read: {error!r}") from error


def _quiet_logger() -> logging.Logger:
    """The library compares `logger.level`, which a child of a silent logger does not inherit, with DEBUG."""
    logger = logging.getLogger("adapters.slack.sdk")
    logger.setLevel(logging.WARNING)
    return logger


def _blocks(page: str) -> list[dict[str, Any]]:
    """The message as one section: without the word "edited" under it, whole, and with no names made links."""
    return [{"type": "section", "expand": True, "text": {"type": "mrkdwn", "text": page, "verbatim": True}}]


def _fallback(page: str) -> str:
    """What notifications show: the beginning, within what chat.update takes."""
    return page.encode()[: MAX_FALLBACK_BYTES // 8].decode(errors="ignore")


def _told(answer: AsyncSlackResponse, key: str) -> str:
    """A text that an answer must have; the library gives None for what is not there."""
    value = answer[key]
    if not isinstance(value, str):
        raise TypeError(f"there is no {key}")
    return value


def _header(answer: Any, name: str) -> str | None:
    headers: Mapping[str, str] = getattr(answer, "headers", None) or {}
    return next((value for key, value in headers.items() if key.casefold() == name), None)


def _translated(error: SlackApiError, method: str, *, at_setup: bool) -> AdapterError:
    """What went wrong, in our words. An answer that is not JSON has no error code."""
    answer = error.response
    told: Mapping[str, Any] = {}
    if isinstance(answer, AsyncSlackResponse) and isinstance(answer.data, dict):
        told = answer.data
    code = told.get("error")
    status = getattr(answer, "status_code", getattr(answer, "status", 0))
    text = f"Slack: {method}: {code or f'HTTP {status}'}"
    if code in ("ratelimited", "rate_limited") or status == 429:
        return RateLimited(text, retry_after_s=_retry_after_s(_header(answer, "retry-after")))
    if code in _REFUSED_TOKEN and at_setup:
        return AuthFailed(f"{text}. Slack refuses the token; the app's settings at api.slack.com/apps have a valid one")
    if code in _UNCLEAR:
        return OutcomeUncertain(text)
    return _refusal(str(code), text, told)


def _refusal(code: str, text: str, told: Mapping[str, Any]) -> AdapterError:
    if code in _GONE:
        return MessageGone(text)
    if code in _BAD_MARKUP:
        return BadMarkup(text)
    hint = f"{text}. {_HINTS[code]}" if code in _HINTS else text
    if code == "missing_scope":
        needed = str(told.get("needed", ""))
        return MissingScope(f"{hint}: {needed}", needed=needed)
    return NotDelivered(hint)


def _retry_after_s(header: str | None) -> float:
    try:
        return float(header or UNTOLD_PAUSE_S)
    except ValueError:
        return UNTOLD_PAUSE_S

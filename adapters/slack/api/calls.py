"""Calls of Slack's Web API over slack_sdk, and those of the app itself: each with a time limit, each failure in our
words. Never waits or retries.

What its failures mean: docs.slack.dev, the errors of each method; slack_sdk 3.47, `slack_sdk.errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urljoin

import aiohttp
import anyio
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.platform_clock import UNREACHABLE_PAUSE_S, PlatformClock, asked_pause_s
from adapters.recent import RecentValues
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
    StreamOver,
)

OFFICIAL_SERVER: Final = "https://slack.com/api/"
MOST_WORKSPACES: Final = 1000
"""The number of workspaces remembered without asking the store."""
UNTOLD_PAUSE_S: Final = 5.0
_REFUSED_TOKEN: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
    | {"org_login_required", "app_uninstalled"}
)
_GONE: Final = ("message_not_found", "cant_update_message", "edit_window_closed")
_BAD_MARKUP: Final = ("invalid_blocks", "invalid_blocks_format", "no_text", "markdown_text_conflict")
_STREAM_OVER: Final = frozenset(
    {"message_not_in_streaming_state", "msg_too_long", "unknown_method", "channel_type_not_supported"}
    | {"missing_recipient_user_id", "missing_recipient_team_id", "invalid_chunks", "user_not_in_channel"}
)
_UNCLEAR: Final = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", None})
"""The call may have been carried out, in part as well; None has no code. Slack says so of fatal_error."""
_HINTS: Final[Mapping[str, str]] = {
    "not_in_channel": "Invite the bot to the channel: /invite @its-name",
    "channel_not_found": "The bot cannot see the channel; if it is a private one, invite the bot",
    "is_archived": "The channel is archived",
    "restricted_action": "The workspace's administrators do not allow the bot to post here",
    "thread_not_found": "The thread was deleted",
    "missing_scope": "Add the scope to the app and install it to the workspace again",
}
_UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError, SlackClientError)


class MissingScope(NotDelivered):
    """The token lacks a permission. `needed` is the scope in Slack's words."""

    def __init__(self, text: str, *, needed: str) -> None:
        super().__init__(text)
        self.needed = needed


class StillStreaming(NotDelivered):
    """The message is an open stream, and can be edited once the stream is closed."""


class SlackTransport:
    """The connections to Slack, which all workspaces share."""

    def __init__(self, base_url: str | None, call_timeout_s: float, clock: PlatformClock) -> None:
        self.clock = clock
        self._scopes = RecentValues[str, frozenset[str]](MOST_WORKSPACES)
        self.base_url = base_url or OFFICIAL_SERVER
        self.call_timeout_s = call_timeout_s
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """Connections that stay open, created inside a running loop."""
        if self._session is None:
            tracing = aiohttp.TraceConfig()
            tracing.on_request_end.append(self._answered)
            self._session = aiohttp.ClientSession(trace_configs=[tracing])
        return self._session

    async def _answered(
        self, _session: aiohttp.ClientSession, _context: SimpleNamespace, ended: aiohttp.TraceRequestEndParams
    ) -> None:
        self.clock.hear(ended.response.headers.get("Date"))
        if (told := ended.response.headers.get("X-OAuth-Scopes")) is not None:
            scopes = frozenset(scope.strip() for scope in told.split(",") if scope.strip())
            self._scopes.keep(ended.headers.get("Authorization", "").removeprefix("Bearer "), scopes)

    def scopes(self, token: str) -> frozenset[str]:
        """What a token may do, by the last answer that it had; empty where Slack does not say."""
        return self._scopes.get(token) or frozenset()

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


class SlackCalls:
    """The calls of one token. `on_refused` hears of a refused token; the call is then worth one more try."""

    def __init__(
        self, transport: SlackTransport, token: str | None, on_refused: Callable[[], None] | None = None
    ) -> None:
        self.transport = transport
        self.token = token
        self._on_refused = on_refused
        # The library's own retries would post again after an answer that was lost.
        self._client = AsyncWebClient(token, base_url=transport.base_url, retry_handlers=[], logger=quiet_logger("sdk"))

    @property
    def client(self) -> AsyncWebClient:
        self._client.session = self.transport.session()
        return self._client

    @contextmanager
    def call(self, method: str, *, at_setup: bool = False, streaming: bool = False) -> Iterator[None]:
        """One call, its time limit, its failure as one of ours: AuthFailed `at_setup`, StreamOver if `streaming`."""
        try:
            with anyio.fail_after(self.transport.call_timeout_s):
                yield
        except TimeoutError as error:
            text = f"Slack did not answer {method} within {self.transport.call_timeout_s:g} s"
            raise OutcomeUncertain(text) from error
        except SlackApiError as error:
            raise self._translated(error, method, at_setup=at_setup, streaming=streaming) from error
        except aiohttp.ClientConnectorError as error:
            text = f"Slack: {method}: {error}. It could not be reached"
            raise RateLimited(text, retry_after_s=UNREACHABLE_PAUSE_S) from error
        except (aiohttp.ClientError, OSError) as error:
            raise OutcomeUncertain(f"Slack: {method}: the connection broke: {error!r}") from error
        except _UNREADABLE as error:
            raise OutcomeUncertain(f"Slack's answer to {method} cannot be read: {error!r}") from error

    def _translated(self, error: SlackApiError, method: str, *, at_setup: bool, streaming: bool) -> AdapterError:
        """A failure in our words. An answer that is not JSON has no error code."""
        answer = error.response
        told: Mapping[str, Any] = {}
        if isinstance(answer, AsyncSlackResponse) and isinstance(answer.data, dict):
            told = answer.data
        code = told.get("error")
        status = getattr(answer, "status_code", getattr(answer, "status", 0))
        text = f"Slack: {method}: {code or f'HTTP {status}'}"
        if code in ("ratelimited", "rate_limited") or status == 429:
            return RateLimited(text, retry_after_s=asked_pause_s(header_of(answer, "retry-after"), UNTOLD_PAUSE_S))
        if code in _REFUSED_TOKEN and at_setup:
            advice = "Slack refuses the token; the app's settings at api.slack.com/apps have a valid one"
            return AuthFailed(f"{text}. {advice}")
        if code in _REFUSED_TOKEN and self._on_refused is not None:
            self._on_refused()
            return RateLimited(f"{text}. The installation is looked up again", retry_after_s=UNREACHABLE_PAUSE_S)
        if code in _UNCLEAR:
            return OutcomeUncertain(text)
        if streaming and code in _STREAM_OVER:
            return StreamOver(text)
        return _refusal(str(code), text, told)


def told(answer: AsyncSlackResponse, key: str) -> str:
    """A text that an answer must have; the library gives None for a missing one."""
    value = answer[key]
    if not isinstance(value, str):
        raise TypeError(f"there is no {key}")
    return value


def header_of(answer: Any, name: str) -> str | None:
    headers: Mapping[str, str] = getattr(answer, "headers", None) or {}
    return next((value for key, value in headers.items() if key.casefold() == name), None)


def quiet_logger(name: str) -> logging.Logger:
    """A library's, whose notes quote requests. The SDK compares `level`, which no child inherits, with DEBUG."""
    logger = logging.getLogger(f"adapters.slack.{name}")
    logger.setLevel(logging.WARNING)
    return logger


_KINDS: Final[Mapping[str, type[AdapterError]]] = {
    **dict.fromkeys(_GONE, MessageGone),
    **dict.fromkeys(_BAD_MARKUP, BadMarkup),
    "streaming_state_conflict": StillStreaming,
}


def _refusal(code: str, text: str, told: Mapping[str, Any]) -> AdapterError:
    hint = f"{text}. {_HINTS[code]}" if code in _HINTS else text
    if code == "missing_scope":
        needed = str(told.get("needed", ""))
        return MissingScope(f"{hint}: {needed}", needed=needed)
    return _KINDS.get(code, NotDelivered)(hint)


class AppApi:
    """The calls of the app. `app_token` is needed for Socket Mode only."""

    def __init__(self, transport: SlackTransport, app_token: str | None) -> None:
        if app_token is not None and not app_token.startswith("xapp-"):
            raise AuthFailed("The Slack app token does not look like one: it begins with xapp- (Basic Information)")
        self._calls = SlackCalls(transport, None)
        self._app_token = app_token

    async def socket_url(self) -> str:
        """An address for one connection, good for a short while. Raises AuthFailed for a refused token."""
        with self._calls.call("apps.connections.open", at_setup=True):
            answer = await self._calls.client.apps_connections_open(app_token=self._app_token or "")
            return told(answer, "url")

    @property
    def install_url(self) -> str:
        """The address where a person lets the app into a workspace."""
        return urljoin(self._calls.transport.base_url, "/oauth/v2/authorize")

    async def installation(self, client_id: str, client_secret: str, code: str) -> Mapping[str, Any]:
        with self._calls.call("oauth.v2.access"):
            # The library's own method for it uses what its HTTP library is about to take away.
            given = {"client_id": client_id, "client_secret": client_secret, "code": code}
            answer = await self._calls.client.api_call("oauth.v2.access", data=given)
            told(answer, "access_token")
            return dict(answer.data) if isinstance(answer.data, dict) else {}

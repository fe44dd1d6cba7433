"""discord.py's HTTP client with pacing of ours: one attempt a call, no sleeping, any server.

discord.py repeats calls after 5xx and sleeps on 429 and before it, within the call (`discord.http.HTTPClient.request`,
`discord.webhook.async_.AsyncWebhookAdapter.request`, 2.7). Both hide from the scheduler what it must know, and a
repeated webhook call posts twice. Here a call fails at once and says why; the caller decides. A call that is sure to be
refused is not made, as far as Discord's headers tell (its documentation, Rate Limits): each method of a route is
counted by itself, for each channel, server or webhook. The bucket's name in the headers is of no use: posting and
editing share one and are counted apart (discord-api-docs issue 8073).

Failures of calls in our words. Meaning of failures: discord.py 2.7, `discord.errors`; codes: JSON Error Codes.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import discord
from discord import Forbidden, HTTPException, NotFound
from discord.errors import DiscordServerError
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route, json_or_text
from discord.utils import MISSING

from adapters.adapter import FileData
from adapters.capabilities import Budget
from adapters.discord.limits import within
from adapters.platform_clock import UNREACHABLE_PAUSE_S, PlatformClock, asked_pause_s
from adapters.retrying import MayFail
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered, OutcomeUncertain, RateLimited

UNTOLD_PAUSE_S: Final = 60.0
"""The pause after a 429 without a time: it comes from the guard in front of Discord, not from Discord."""
OLD_EDITS: Final = 30046
"""JSON error code: too many edits of messages older than an hour. It comes as a 429, but waiting does not help."""
_PIECE_BYTES: Final = 64 * 1024

MAX_KEPT: Final = 1000
"""The number of remembered waits; beyond it, expired ones are dropped."""


class Buckets:
    """The calls that must wait, and for how long. `route` and `major` are a call's pattern and its subject."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed_until_s: dict[tuple[str, str], float] = {}
        self._all_closed_until_s = 0.0
        self._sizes: dict[str, tuple[int, float]] = {}

    def wait_s(self, route: str, major: str) -> float:
        closed = max(self._closed_until_s.get((route, major), 0.0), self._all_closed_until_s)
        return max(0.0, closed - self._clock.monotonic())

    def size(self, route: str) -> Budget | None:
        """A bucket within the route's limit; None before Discord has told the limit."""
        known = self._sizes.get(route)
        return None if known is None else within(*known)

    def learn(self, route: str, major: str, headers: Mapping[str, str]) -> None:
        try:
            limit, left = int(headers["X-RateLimit-Limit"]), int(headers["X-RateLimit-Remaining"])
            resets_in_s = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        if left == limit - 1:  # the first call of a window: it has its whole length before it
            self._sizes[route] = (limit, max(1.0, math.ceil(resets_in_s)))
        if left == 0:
            self.close(route, major, resets_in_s)

    def close(self, route: str, major: str, seconds: float) -> None:
        if len(self._closed_until_s) >= MAX_KEPT:
            now_s = self._clock.monotonic()
            self._closed_until_s = {key: at_s for key, at_s in self._closed_until_s.items() if at_s > now_s}
        self._closed_until_s[route, major] = self._clock.monotonic() + seconds

    def close_all(self, seconds: float) -> None:
        self._all_closed_until_s = self._clock.monotonic() + seconds


class DiscordRest(HTTPClient):
    """Calls with the token, or without it where the address holds a secret of its own (webhooks, interactions).

    `base_url` replaces `Route.BASE` in this client only; the gateway's address is then asked of that server as well.
    Raises discord.py's errors, aiohttp's, and TimeoutError.
    """

    def __init__(self, *, base_url: str | None, clock: PlatformClock, call_timeout_s: float) -> None:
        super().__init__(MISSING)
        self._base_url = base_url
        self._timeout = aiohttp.ClientTimeout(total=call_timeout_s)
        self._waits = Buckets(clock)
        self._calls: aiohttp.ClientSession | None = None
        self._clock = clock

    async def request(self, route: Route, *, file: FileData | None = None, **kwargs: Any) -> Any:
        """The JSON or text of the answer. `json`, `params` and our `file` are sent, discord.py's `files` are not."""
        wait_s = self._waits.wait_s(route.key, route.major_parameters)
        if wait_s > 0:
            raise discord.RateLimited(wait_s)
        url = route.url if self._base_url is None else self._base_url + route.url.removeprefix(Route.BASE)
        headers = {"User-Agent": self.user_agent}
        if self.token is not None and route.webhook_token is None:
            headers["Authorization"] = f"Bot {self.token}"
        arguments = {name: kwargs[name] for name in ("json", "params") if kwargs.get(name) is not None}
        if file is not None:
            arguments["data"] = _multipart(arguments.pop("json"), file)
        async with self._session().request(route.method, url, headers=headers, **arguments) as response:
            data = await json_or_text(response)
        self._clock.hear(response.headers.get("Date"))
        self._waits.learn(route.key, route.major_parameters, response.headers)
        if response.status >= 300:
            raise self._error(route, response, data)
        return data

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        official = str(DiscordWebSocket.DEFAULT_GATEWAY)
        if self._base_url is not None and url.startswith(official):
            answer = await self.request(Route("GET", "/gateway"))
            url = f"{answer['url']}/{url.removeprefix(official)}"
        return await super().ws_connect(url, compress=compress)

    async def download(self, url: str, max_bytes: int) -> bytes | None:
        """The content of an address at Discord; None when it is longer. Raises discord.py's errors as `request`."""
        async with self._session().get(url, allow_redirects=False) as response:
            if response.status >= 300:
                raise self._error(Route("GET", "/attachments"), response, await json_or_text(response))
            data = bytearray()
            async for piece in response.content.iter_chunked(_PIECE_BYTES):
                data += piece
                if len(data) > max_bytes:
                    return None
            return bytes(data)

    def size(self, route: str) -> Budget | None:
        """The bucket of a route, "METHOD /path", learned from Discord's answers."""
        return self._waits.size(route)

    async def close(self) -> None:
        await super().close()
        if self._calls is not None:
            await self._calls.close()

    def _session(self) -> aiohttp.ClientSession:
        if self._calls is None:
            self._calls = aiohttp.ClientSession(timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar())
        return self._calls

    def _error(self, route: Route, response: aiohttp.ClientResponse, data: Any) -> Exception:
        told = data if isinstance(data, dict) else {}
        match response.status:
            case 429 if told.get("code") != OLD_EDITS:
                return self._flood(route, response, told)
            case 403:
                return Forbidden(response, data)
            case 404:
                return NotFound(response, data)
            case status if status >= 500:
                return DiscordServerError(response, data)
            case _:
                return HTTPException(response, data)

    def _flood(self, route: Route, response: aiohttp.ClientResponse, told: dict[str, Any]) -> discord.RateLimited:
        pause_s = asked_pause_s(told.get("retry_after", response.headers.get("Retry-After")), UNTOLD_PAUSE_S)
        if told.get("global") or not told:
            self._waits.close_all(pause_s)
        else:
            self._waits.close(route.key, route.major_parameters, pause_s)
        return discord.RateLimited(pause_s)


def _multipart(body: Any, file: FileData) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    form.add_field("files[0]", file.data, filename=file.name, content_type=file.media_type)
    return form


NO_ANSWER: Final = "Discord does not answer"
FILE_HOSTS: Final = frozenset(
    {"cdn.discordapp.com", "media.discordapp.net", "images-ext-1.discordapp.net", "images-ext-2.discordapp.net"}
)
"""Discord's hosts for files; the last two are where it keeps copies of pictures from elsewhere."""
_GONE: Final = frozenset({10008, 50083})
"""Unknown message; or an archived thread, which a new message would reopen."""
_NOTHING_THERE: Final = frozenset({403, 404, 410})
_WHY: Final[Mapping[int, str]] = {
    10003: "The channel or thread is gone",
    10062: "The command or press is over: Discord waits 3 seconds for the first answer",
    20028: "The channel is in slow mode",
    40005: "The file is larger than this server takes",
    50001: "The bot cannot see this channel: give it View Channel there",
    50007: "This person takes no direct messages from the bot",
    50013: "The bot lacks a permission in this channel; docs/chats/discord.md lists them",
    50024: "This kind of channel does not have that",
    160005: "The thread is locked",
    160006: "The server has as many threads as it may have",
    200000: "The server's moderation blocked the text",
}
_Read = TypeVar("_Read")
_log = logging.getLogger(__name__)
_UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)


class NoVoiceHere(NotDelivered):
    """The bot may send no voice messages in this channel."""


class HookGone(NotDelivered):
    """The webhook was deleted: make another."""


class PlaceGone(NotDelivered):
    """The channel or thread does not exist, or not yet."""


class TooOld(MessageGone):
    """The message is too old for more edits, but still exists."""


class FileGone(NotDelivered):
    """No file exists at this address (any more)."""


class UnreadableAnswer(OutcomeUncertain):
    """Discord answered, but not in a form that is understood."""


class AlreadyDone(NotDelivered):
    """The call had already been made: the thread is open, or the interaction acknowledged."""


_KINDS: Final[Mapping[int, type[AdapterError]]] = {
    10003: PlaceGone,
    10015: HookGone,
    40060: AlreadyDone,
    160004: AlreadyDone,
    OLD_EDITS: TooOld,
    50173: NoVoiceHere,
    **dict.fromkeys(_GONE, MessageGone),
}


class DiscordCalls:
    """One bot's calls, one attempt each. Never waits or repeats."""

    def __init__(self, token: str | None, *, base_url: str | None, clock: PlatformClock, call_timeout_s: float) -> None:
        self._base_url = base_url
        self._call_timeout_s = call_timeout_s
        self.rest = DiscordRest(base_url=base_url, clock=clock, call_timeout_s=call_timeout_s)
        self.rest.token = token

    async def close(self) -> None:
        await self.rest.close()

    async def ask(self, what: str, route: Route, **sent: Any) -> Any:
        """The answer, as JSON data; errors call the request `what`. Raises as `told`."""
        return await self.read(what, route, lambda answer: answer, **sent)

    async def read(self, what: str, route: Route, read: Callable[[Any], _Read], **sent: Any) -> _Read:
        """The answer, as JSON data, read: `UnreadableAnswer` where that is not possible. Raises as `told`."""
        with self.told(what):
            return read(await self.rest.request(route, **sent))

    async def download(self, url: str, *, max_bytes: int) -> bytes:
        """A file; its address is asked for anew after about a day. Raises NotDelivered: gone, too long, elsewhere."""
        try:
            return await self._fetched(url, max_bytes)
        except FileGone as gone:
            fresh = await self._refreshed(url)
            if fresh in (None, url):
                raise
            _log.debug("A file's address has expired", extra={"error": str(gone)})
        return await self._fetched(str(fresh), max_bytes)

    async def _fetched(self, url: str, max_bytes: int) -> bytes:
        if not self._is_discords(url):
            raise NotDelivered(f"{url} is not the address of a file on Discord")
        with self.told("fetching a file", gone=FileGone):
            data = await self.rest.download(url, max_bytes)
        if data is None:
            raise NotDelivered(f"The file is longer than {max_bytes} bytes")
        return data

    async def _refreshed(self, url: str) -> str | None:
        """The file's current address (Refresh Attachment URLs); None if Discord gives none."""
        with MayFail(_log.info, "The new address of a file is not available"):
            route, asked = Route("POST", "/attachments/refresh-urls"), {"attachment_urls": [url]}
            what = "asking for a file's new address"
            fresh = await self.read(what, route, lambda told: str(told["refreshed_urls"][0]["refreshed"]), json=asked)
            return fresh if self._is_discords(fresh) else None
        return None

    def _is_discords(self, url: str) -> bool:
        address = urlsplit(url)
        if self._base_url is not None and address.netloc == urlsplit(self._base_url).netloc:
            return True
        return address.scheme == "https" and address.netloc in FILE_HOSTS

    @contextmanager
    def told(self, what: str, *, at_setup: bool = False, gone: type[NotDelivered] = NotDelivered) -> Iterator[None]:
        """Translate failures within; AuthFailed only `at_setup`, `gone` where nothing exists there."""
        try:
            yield
        except discord.RateLimited as error:
            raise RateLimited(f"Discord: {what}: too many calls", retry_after_s=error.retry_after) from error
        except discord.HTTPException as error:
            translated = _translated(error, what, at_setup=at_setup)
            if error.status in _NOTHING_THERE:
                translated = gone(str(translated)) if type(translated) is NotDelivered else translated
            raise translated from error
        except aiohttp.ClientConnectorError as error:
            text = f"Discord could not be reached for {what}: {error}"
            raise RateLimited(text, retry_after_s=UNREACHABLE_PAUSE_S) from error
        except TimeoutError as error:
            raise OutcomeUncertain(f"Discord: {what}: no answer within {self._call_timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError, *_UNREADABLE) as error:
            kind = UnreadableAnswer if isinstance(error, _UNREADABLE) else OutcomeUncertain
            raise kind(f"Discord: {what}: no answer that can be read: {error!r}") from error


def _translated(error: discord.HTTPException, what: str, *, at_setup: bool) -> AdapterError:
    text = f"Discord: {what}: {error.status} {error.text or error.response.reason} (code {error.code})"
    if error.code in _WHY:
        text = f"{text}. {_WHY[error.code]}"
    if error.status == 401 and at_setup:
        return AuthFailed(
            f"{text}. Discord refuses the bot's token; take a new one from the Developer Portal: Bot, Reset Token"
        )
    if error.status >= 500:
        return OutcomeUncertain(text)
    return _KINDS.get(error.code, NotDelivered)(text)

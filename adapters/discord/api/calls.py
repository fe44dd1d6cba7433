"""Failures of calls in our words. Meaning of failures: discord.py 2.7, `discord.errors`; codes: JSON Error Codes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import discord
from discord.http import Route

from adapters.adapter import FileData
from adapters.discord.api.rest import OLD_EDITS, DiscordRest
from adapters.platform_clock import PlatformClock
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered, OutcomeUncertain, RateLimited

NO_ANSWER: Final = "Discord does not answer"
UNREACHABLE_PAUSE_S: Final = 1.0
"""The pause before the repetition of a call that could not even be sent."""
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
"""The exceptions of an unexpected answer."""


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

    async def ask(
        self,
        what: str,
        route: Route,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        file: FileData | None = None,
    ) -> Any:
        """The answer, as JSON data; errors call the request `what`. Raises as `told`."""
        return await self.read(what, route, lambda answer: answer, json=json, params=params, file=file)

    async def read(self, what: str, route: Route, read: Callable[[Any], _Read], **sent: Any) -> _Read:
        """The answer, as JSON data, read: `UnreadableAnswer` where that is not possible. Raises as `told`."""
        with self.told(what):
            return read(await self.rest.request(route, **sent))

    async def download(self, url: str, *, max_bytes: int) -> bytes:
        """A file that a person sent. Raises NotDelivered when it is gone, too long, or not on Discord.

        An address is valid for about a day; for a refused one Discord is asked for the current address.
        """
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
        try:
            with self.told("asking for a file's new address"):
                route = Route("POST", "/attachments/refresh-urls")
                told: Any = await self.rest.request(route, json={"attachment_urls": [url]})
                fresh = str(told["refreshed_urls"][0]["refreshed"])
        except AdapterError as error:
            _log.info("The new address of a file is not available", extra={"error": str(error)})
            return None
        return fresh if self._is_discords(fresh) else None

    def _is_discords(self, url: str) -> bool:
        address = urlsplit(url)
        if self._base_url is not None and address.netloc == urlsplit(self._base_url).netloc:
            return True
        return address.scheme == "https" and address.netloc in FILE_HOSTS

    @contextmanager
    def told(self, what: str, *, at_setup: bool = False, gone: type[NotDelivered] = NotDelivered) -> Iterator[None]:
        """Translates failures within; AuthFailed only `at_setup`, `gone` where nothing exists there. The time limit is
        the connection's.
        """
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

"""Telegram: long polling in, messages and edits out."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from adapters.telegram.bot_api import BotApi, ChatMoved, NotModified, PollTaken
from adapters.telegram.codec import (
    COMMANDS,
    PLATFORM,
    BotIdentity,
    chat_id_of,
    inbound_of,
    is_private,
    migration_of,
    page_of,
    thread_id_of,
)
from adapters.telegram.limits import CAPABILITIES
from adapters.telegram.markup import Rendered
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, BadMarkup, NotDelivered, OutcomeUncertain, RateLimited

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
SHORTEST_POLL_S: Final = 0.3
"""A poll that brings nothing takes at least this long."""

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class TelegramOptions:
    """How to talk to Telegram.

    `base_url` is a Bot API server's address up to and including `/bot`; None is Telegram's own. `show_names` says where
    an agent's name stands above its text. A poll waits at most `poll_timeout_s` for a message.
    """

    base_url: str | None = None
    show_names: Literal["groups", "always", "never"] = "groups"
    call_timeout_s: float = 10.0
    poll_timeout_s: float = 25.0


class TelegramAdapter:
    """One bot. Sending needs no connection of `connect`; `aclose` ends both, once nothing is on its way any more."""

    def __init__(self, token: str, *, clock: Clock, options: TelegramOptions | None = None) -> None:
        self._options = options or TelegramOptions()
        self._token = token
        self._clock = clock
        self._api = self._new_api()
        self._moved: dict[int, int] = {}

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says: an update is acknowledged when the consumer asks for the one after its batch's last."""
        await self._api.open_polling()
        try:
            bot = await self._until_answered(self._api.me)
            await self._prepare("A webhook may be in the way of polling", self._api.remove_webhook)
            await self._prepare("Telegram does not show the commands", lambda: self._api.offer_commands(COMMANDS))
            inbound = self._inbound(bot)
            try:
                yield inbound
            finally:
                await inbound.aclose()
        finally:
            await self._api.close_polling()

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        chat_id = self._chat_id(to)
        size = CAPABILITIES.private_budget if is_private(to) else CAPABILITIES.group_budget
        return f"{PLATFORM}:{chat_id}", size

    async def check(self) -> str:
        api = self._new_api()
        try:
            bot = await api.me()
        except (OutcomeUncertain, RateLimited) as error:
            raise NotDelivered(f"{error}. Whether the token is good cannot be told") from error
        finally:
            await api.close()
        return f"Telegram knows this bot as @{bot.username} ({bot.name})"

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """As the port says. Whatever formatting is refused is sent without it."""
        thread_id = thread_id_of(to)

        async def post(page: Rendered) -> str:
            return await self._following(to, lambda chat_id: self._api.send(chat_id, page, thread_id))

        return await _plain_if_refused(self._page(to, text, speaker), post)

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """As the port says. A message that shows the text already counts as changed."""

        async def change(page: Rendered) -> None:
            try:
                await self._following(to, lambda chat_id: self._api.edit(chat_id, message, page))
            except NotModified:
                return

        await _plain_if_refused(self._page(to, text, speaker), change)

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show "typing" for five seconds. Raises as `send`."""
        await self._following(to, lambda chat_id: self._api.typing(chat_id, thread_id_of(to)))

    async def aclose(self) -> None:
        """Close the connections. Nothing can be sent after that."""
        await self._api.close()

    def _new_api(self) -> BotApi:
        options = self._options
        return BotApi(
            self._token,
            base_url=options.base_url,
            call_timeout_s=options.call_timeout_s,
            poll_timeout_s=options.poll_timeout_s,
        )

    def _page(self, to: Address, text: str, speaker: Speaker) -> Rendered:
        shown = self._options.show_names
        named = shown == "always" or (shown == "groups" and not is_private(to))
        return page_of(text, speaker, named=named)

    def _chat_id(self, to: Address) -> int:
        chat_id = chat_id_of(to)
        return self._moved.get(chat_id, chat_id)

    async def _following(self, to: Address, call: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        """The call, and once more where the group has become a supergroup: its old id is refused for good."""
        try:
            return await call(self._chat_id(to))
        except ChatMoved as moved:
            self._moved[chat_id_of(to)] = moved.new_chat_id
            return await call(moved.new_chat_id)

    async def _prepare(self, otherwise: str, call: Callable[[], Awaitable[None]]) -> None:
        """Something that polling can do without, where a server does not know it."""
        try:
            await call()
        except AdapterError as error:
            _log.warning(otherwise, extra={"error": str(error)})

    async def _inbound(self, bot: BotIdentity) -> AsyncGenerator[Inbound, None]:
        """An offset acknowledges all before it, and is only sent once every item before it was asked past."""
        offset: int | None = None
        while True:
            known, asked_at = offset, self._clock.monotonic()
            for update in await self._until_answered(lambda: self._api.updates(known)):  # noqa: B023 - awaited at once
                item = self._read(update, bot)
                if item is not None:
                    yield item
                offset = max(offset or 0, int(update["update_id"]) + 1)
            if offset == known:  # a server that does not hold polls is not asked without pause
                await self._clock.sleep_until(asked_at + SHORTEST_POLL_S)

    def _read(self, update: Mapping[str, Any], bot: BotIdentity) -> Inbound | None:
        try:
            moved = migration_of(update)
            if moved is not None:
                self._moved[moved[0]] = moved[1]
            return inbound_of(update, bot)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _log.warning("An update of Telegram's is not understood and is passed over", extra={"error": repr(error)})
            return None

    async def _until_answered(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """The call, again and again with growing pauses until Telegram answers. Raises AuthFailed only."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await call()
            except AuthFailed:
                raise
            except AdapterError as error:
                wait_s = max(pause_s, error.retry_after_s) if isinstance(error, RateLimited) else pause_s
                level = logging.ERROR if isinstance(error, PollTaken) else logging.WARNING
                _log.log(level, "Telegram cannot be polled", extra={"error": str(error), "retry_in_s": wait_s})
            await self._clock.sleep_until(self._clock.monotonic() + wait_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


async def _plain_if_refused(page: Rendered, show: Callable[[Rendered], Awaitable[_Answer]]) -> _Answer:
    """Show the page, or without its formatting where Telegram refuses that. A refusal has changed nothing."""
    try:
        return await show(page)
    except BadMarkup:
        if not page.entities:
            raise
    return await show(Rendered(page.text))

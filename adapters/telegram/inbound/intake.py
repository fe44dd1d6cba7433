"""The intake of updates for all bots, by polls or by webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import NOT_UNDERSTOOD, HttpAnswer, HttpRequest, Inbound
from adapters.telegram.bots import OurBot
from adapters.telegram.codec.addresses import Json
from adapters.telegram.inbound.decode import Reader, closed_topic_of, migration_of, place_of
from adapters.telegram.inbound.feed import Feed
from adapters.telegram.inbound.polling import poll
from adapters.telegram.outbound.message_ids import MessageIds
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, StorageUnavailable

HOOKS: Final = "/hooks/telegram"
SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"
MAX_WAIT_S: Final = 20.0
"""A request that is not taken by then is refused, and Telegram sends it again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Webhook:
    """The address to which Telegram sends one bot's updates. The secret is derived from the token, so that every node
    knows it.
    """

    url: str
    secret: str

    @classmethod
    def of(cls, url: str, token: str, bot_id: int | None) -> Webhook:
        """`url` is the main bot's; an agent's bot has its id behind it."""
        secret = hmac.digest(token.encode(), b"parley webhook", hashlib.sha256).hex()
        return cls(url if bot_id is None else f"{url.rstrip('/')}/{bot_id}", secret)

    @property
    def path(self) -> str:
        """The path after `/hooks/telegram`, as `HttpRequest.path` has it."""
        return "/" + urlsplit(self.url).path.partition(HOOKS)[2].strip("/")

    def sent(self, request: HttpRequest) -> bool:
        """Whether the request knows the secret."""
        return hmac.compare_digest(request.headers.get(SECRET_HEADER, "").encode(), self.secret.encode())


class Intake:
    """One connection: from the moment that somebody consumes `feed` until `tasks` is cancelled."""

    def __init__(self, feed: Feed, clock: Clock, tasks: TaskGroup, numbers: MessageIds) -> None:
        self.feed = feed
        self._clock = clock
        self._tasks = tasks
        self._numbers = numbers

    async def poll(self, bot: OurBot, reader: Reader) -> None:
        """Ask for one bot's updates. A refused token of the main bot ends the connection, and so does storage that is
        gone; a refused token of another bot ends that bot."""
        await bot.api.open_polling()
        try:
            await poll(bot.api, self._clock, partial(self.take, bot, reader))
        except AuthFailed as error:
            if bot.agent is None:
                await self.feed.fail(error)
            _log.error("A bot of Telegram's is refused", extra={"agent": bot.agent, "error": str(error)})
        except StorageUnavailable as error:
            await self.feed.fail(error)
        finally:
            with anyio.CancelScope(shield=True):
                await bot.api.close_polling()

    async def receive(self, bot: OurBot, reader: Reader, request: HttpRequest) -> HttpAnswer:
        """Take the update that a request brings. What cannot be read is no reason to send it again."""
        try:
            update = json.loads(request.body)
            int(update["update_id"])
        except NOT_UNDERSTOOD:
            return HttpAnswer(400)
        with anyio.move_on_after(MAX_WAIT_S):
            if await self.take(bot, reader, [update]):
                return HttpAnswer(200)
        return HttpAnswer(503)

    async def take(self, bot: OurBot, reader: Reader, updates: Sequence[Json]) -> bool:
        """Return True once what the updates bring is durable, or is nothing to us."""
        item = await self._read(bot, reader, updates)
        if item is None:
            return True
        seen = reader.memory.seen
        if reader.us.several:
            if item.event_id in seen:
                return True
            seen.keep(item.event_id, None)
        kept = await self.feed.give(item)
        if not kept:
            seen.forget(item.event_id)
        return kept

    async def _read(self, bot: OurBot, reader: Reader, updates: Sequence[Json]) -> Inbound | None:
        try:
            for update in updates:
                await self._note(bot, reader, update)
            return reader.read(updates)
        except NOT_UNDERSTOOD as error:
            _log.warning("An update of Telegram's is not understood and is ignored", extra={"error": repr(error)})
            return None

    async def _note(self, bot: OurBot, reader: Reader, update: Json) -> None:
        """Remember what an update tells of chats, and let the button go that waits for an answer."""
        memory = reader.memory
        if (moved := migration_of(update)) is not None:
            await memory.note_moved(*moved)
        if (closed := closed_topic_of(update)) is not None and bot.agent is None:
            await memory.forget_topics(*closed)
        if "my_chat_member" in update:
            bot.absent_from.discard(memory.home(update["my_chat_member"]["chat"]["id"]))
        if (place := place_of(update)) is not None:
            await memory.look_up(*place)
        if "message" in update:
            self._numbers.heard(int(update["message"]["chat"]["id"]), int(update["message"]["message_id"]), bot.id)
        if "callback_query" in update:
            self._tasks.start_soon(self._answered, bot, str(update["callback_query"]["id"]))

    async def _answered(self, bot: OurBot, query_id: str) -> None:
        try:
            await bot.api.answer_press(query_id)
        except AdapterError as error:
            _log.info("A button keeps turning", extra={"error": str(error)})

"""The intake of updates for all bots, by polls or by webhook, and the feed to their consumer, with a receipt."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from adapters.adapter import NOT_UNDERSTOOD, HttpAnswer, HttpRequest, Inbound
from adapters.retrying import MayFail, PlatformPatience
from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.api.failures import PollTaken
from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import Json, UpdateEnvelope, envelope_of
from adapters.telegram.codec.attachments import MAX_ALBUM, AlbumId, album_of, albums, growing_album
from adapters.telegram.inbound.decode import (
    ButtonPress,
    Ignored,
    Membership,
    Moved,
    TelegramReceiver,
    TopicClosed,
    decode,
)
from adapters.telegram.outbound.message_ids import MessageIds
from adapters.telegram.outbound.sender import TelegramAlone
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, StorageUnavailable

SHORTEST_POLL_S: Final = 0.3
ALBUM_S: Final = 0.6
"""The time that the next file of an album may take."""
Take = Callable[[Sequence[Json]], Awaitable[bool]]
"""Takes an update, or an album's updates, and returns True once their content is stored."""


class _Album(Struct, eq=False):
    bot_id: int | None
    id: AlbumId
    updates: dict[int, Json]
    grows: bool = True
    taken: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)


class OpenAlbums:
    """The albums of one connection that are not stored yet. What follows an album in its chat waits for it."""

    def __init__(self, clock: Clock, tasks: TaskGroup) -> None:
        self._clock = clock
        self._tasks = tasks
        self._under_way: list[_Album] = []

    async def take(self, bot_id: int | None, id_: AlbumId, update: Json, take: Take) -> bool:
        """Return True once the whole album is stored with this update in it."""
        number, album = int(update["update_id"]), self._growing(bot_id, id_)
        if album is None:
            album = _Album(bot_id, id_, {number: update})
            self._under_way.append(album)
            self._tasks.start_soon(self._gather, album, take)
        else:
            album.updates[number] = update
        await album.done.wait()
        return album.taken

    async def settled(self, bot_id: int | None, chat_id: int) -> None:
        """Return when the albums that one bot has received in a chat so far are stored, or not to be stored."""
        for album in [one for one in self._under_way if (one.bot_id, one.id[0]) == (bot_id, chat_id)]:
            await album.done.wait()

    def _growing(self, bot_id: int | None, id_: AlbumId) -> _Album | None:
        found = (one for one in self._under_way if one.grows and (one.bot_id, one.id) == (bot_id, id_))
        return next(found, None)

    async def _gather(self, album: _Album, take: Take) -> None:
        try:
            known = 0
            while known < len(album.updates) < MAX_ALBUM:
                known = len(album.updates)
                await self._clock.sleep_until(self._clock.monotonic() + ALBUM_S)
            album.grows = False
            album.taken = await take([update for _, update in sorted(album.updates.items())])
        finally:
            self._under_way.remove(album)
            album.done.set()


async def poll(api: TelegramApi, clock: Clock, take: Take) -> None:
    """Take updates in order until one is not taken. Raises AuthFailed when the token is refused.

    An offset acknowledges all updates before it and is sent only once each was taken. A poll may end between two
    files of an album: the rest of it is waited for once.
    """
    offset: int | None = None
    awaited: int | None = None
    while True:
        known, asked_at = offset, clock.monotonic()
        bundles = albums(await patience(clock).until_answered(partial(api.updates, known)))
        album = growing_album(bundles)
        grows = album is not None and album != awaited
        for bundle in bundles[:-1] if grows else bundles:
            if not await take(bundle):
                return
            offset = max(offset or 0, int(bundle[-1]["update_id"]) + 1)
        if grows:  # it is not acknowledged, so it is told again with the rest
            offset = awaited = album
            await clock.sleep_until(clock.monotonic() + ALBUM_S)
            continue
        if offset == known:  # a server that does not hold polls is not asked without pause
            await clock.sleep_until(asked_at + SHORTEST_POLL_S)


def patience(clock: Clock) -> PlatformPatience:
    return PlatformPatience(clock, "Telegram cannot be asked", first_s=0.5, longest_s=10.0, urgent=PollTaken)


HOOKS: Final = "/hooks/telegram"
SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"
MAX_WAIT_S: Final = 20.0
"""The time limit for taking a request, after which it is refused and Telegram sends it again."""
_log = logging.getLogger(__name__)


class _Given(Struct, eq=False):
    item: Inbound
    done: anyio.Event = field(default_factory=anyio.Event)
    kept: bool = False


class UpdateFeed:
    """One consumer and any number of givers. An item waits with its giver, so nothing accumulates here."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[_Given | Exception](0)
        self._waiting: set[_Given] = set()
        self._over = False

    async def give(self, item: Inbound) -> bool:
        """Return True once the consumer asked for the next item: this one is durable. False when it went away."""
        given = _Given(item)
        if self._over:
            return False
        self._waiting.add(given)
        try:
            await self._send.send(given)
            await given.done.wait()
        except anyio.BrokenResourceError:
            return False
        finally:
            self._waiting.discard(given)
        return given.kept

    async def fail(self, error: Exception) -> None:
        """End the feed: the consumer gets the error in place of an item."""
        with suppress(anyio.BrokenResourceError):  # it went away by itself
            await self._send.send(error)

    async def items(self) -> AsyncGenerator[Inbound, None]:
        """The consumer's end, to be iterated once and closed."""
        try:
            async for given in self._receive:
                if isinstance(given, Exception):
                    raise given
                yield given.item
                given.kept = True
                given.done.set()
        finally:
            self._over = True
            self._receive.close()
            for given in self._waiting:
                given.done.set()

    def close(self) -> None:
        self._send.close()
        self._receive.close()


class TelegramWebhook(Struct, frozen=True):
    """Where Telegram sends one bot's updates. Each node derives the secret from the token."""

    url: str
    secret: str

    @classmethod
    def of(cls, url: str, token: str, bot_id: int | None) -> TelegramWebhook:
        """The webhook of a bot. `url` is the main bot's; an agent's bot appends its id."""
        secret = hmac.digest(token.encode(), b"parley webhook", hashlib.sha256).hex()
        return cls(url if bot_id is None else f"{url.rstrip('/')}/{bot_id}", secret)

    @property
    def path(self) -> str:
        """The path after `/hooks/telegram`, as `HttpRequest.path` has it."""
        return "/" + urlsplit(self.url).path.partition(HOOKS)[2].strip("/")

    def sent(self, request: HttpRequest) -> bool:
        return hmac.compare_digest(request.headers.get(SECRET_HEADER, "").encode(), self.secret.encode())


class TelegramIntake(Struct, frozen=True):
    """One connection, from the start of consuming `feed` until `tasks` is cancelled."""

    feed: UpdateFeed
    clock: Clock
    tasks: TaskGroup
    albums: OpenAlbums
    numbers: MessageIds
    memory: ChatState
    alone: TelegramAlone

    async def poll(self, bot: OurBot, receiver: TelegramReceiver) -> None:
        """Fetch one bot's updates. A refused token ends that bot; the main one's, or no storage, the connection."""
        await bot.api.open_polling()
        try:
            await poll(bot.api, self.clock, partial(self.take, bot, receiver))
        except AuthFailed as error:
            if bot.agent is None:
                await self.feed.fail(error)
            _log.error("A bot of Telegram's is refused", extra={"agent": bot.agent, "error": str(error)})
        except StorageUnavailable as error:
            await self.feed.fail(error)
        finally:
            with anyio.CancelScope(shield=True):
                await bot.api.close_polling()

    async def receive(self, bot: OurBot, receiver: TelegramReceiver, request: HttpRequest) -> HttpAnswer:
        """Take the update in a request: 400 for what is none, 503 in place of a time-out, and it comes again."""
        try:
            update = json.loads(request.body)
            int(update["update_id"])
            album = album_of(update)
        except NOT_UNDERSTOOD:
            return HttpAnswer(400)
        with anyio.move_on_after(MAX_WAIT_S):
            if await self._received(bot, receiver, update, album):
                return HttpAnswer(200)
        return HttpAnswer(503)

    async def _received(self, bot: OurBot, receiver: TelegramReceiver, update: Json, album: AlbumId | None) -> bool:
        if album is not None:
            return await self.albums.take(bot.id, album, update, partial(self._taken_album, bot, receiver))
        envelope = envelope_of(update)
        if envelope is not None:
            await self.albums.settled(bot.id, envelope.chat_id)
        return await self.take(bot, receiver, [update])

    async def _taken_album(self, bot: OurBot, receiver: TelegramReceiver, updates: Sequence[Json]) -> bool:
        with MayFail(_log.warning, "An album is not stored, and will come again", (StorageUnavailable,)):
            return await self.take(bot, receiver, updates)
        return False

    async def take(self, bot: OurBot, receiver: TelegramReceiver, updates: Sequence[Json]) -> bool:
        """Return True once the content of the updates is stored, or if they have none for us."""
        envelopes = [envelope for envelope in map(envelope_of, updates) if envelope is not None]
        for envelope in envelopes:
            self._note(envelope, bot)
        match decode(updates, receiver, await self.memory.known(envelopes)):
            case Inbound() as item:
                for envelope in envelopes if item.addressed else ():
                    self.memory.addressed.keep((envelope.chat_id, envelope.number), None)
                return await self._given(receiver, item)
            case ButtonPress(query_id, pressed):
                self.tasks.start_soon(self._answered, bot, query_id)
                return pressed is None or await self._given(receiver, pressed)
            case Moved(old, new):
                await self.memory.note_moved(old, new)
            case TopicClosed(chat_id, topic) if bot.agent is None:
                await self.memory.forget_topics(chat_id, topic)
            case Membership(chat_id, present):
                bot.absent_from.discard(self.memory.home(chat_id))
                if not present and bot.agent is None:
                    await self.memory.forget_topics(chat_id)
            case Ignored("not understood", detail):
                _log.warning("An update of Telegram's is not understood and is ignored", extra={"error": detail})
        return True

    def _note(self, envelope: UpdateEnvelope, bot: OurBot) -> None:
        if envelope.alone is not None:
            self.alone.heard(self.memory.home(envelope.chat_id), *envelope.alone)
        if envelope.is_new:
            self.numbers.heard(envelope.chat_id, envelope.number, bot.id)

    async def _given(self, receiver: TelegramReceiver, item: Inbound) -> bool:
        """Pass an item on. In a group, the first of our bots that delivers it does."""
        seen = self.memory.seen
        if receiver.us.several:
            if item.event_id in seen:
                return True
            seen.keep(item.event_id, None)
        kept = await self.feed.give(item)
        if not kept:
            seen.forget(item.event_id)
        return kept

    async def _answered(self, bot: OurBot, query_id: str) -> None:
        with MayFail(_log.info, "A button keeps turning"):
            await bot.api.answer_press(query_id)

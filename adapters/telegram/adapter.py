"""Telegram: polls or a webhook in, messages, edits, drafts, buttons, marks and files out, by one bot or several."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import anyio
from msgspec.structs import replace

from adapters.adapter import FileData, HttpAnswer, HttpRequest, Inbound
from adapters.capabilities import Budget
from adapters.platform_clock import PlatformClock
from adapters.records import Records
from adapters.retrying import MayFail
from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.api.failures import NotModified, NotWelcome
from adapters.telegram.bots import Bots, OurBot, agent_bot_id
from adapters.telegram.chat_state import ChatState
from adapters.telegram.check import found
from adapters.telegram.codec.addresses import (
    FIRST_SUPERGROUP,
    PLATFORM,
    MessageId,
    OurBots,
    TelegramBot,
    address_of,
    chat_id_of,
    is_private,
    thread_id_of,
)
from adapters.telegram.codec.attachments import FileRef
from adapters.telegram.codec.markup import RenderedPage
from adapters.telegram.inbound.decode import TelegramReceiver
from adapters.telegram.inbound.intake import OpenAlbums, TelegramIntake, TelegramWebhook, UpdateFeed, patience
from adapters.telegram.limits import CAPABILITIES, MARKS, MAX_DOWNLOAD_BYTES, MAX_TOPIC_NAME
from adapters.telegram.options import TelegramOptions
from adapters.telegram.outbound.message_ids import MessageIds
from adapters.telegram.outbound.sender import TelegramAlone, TelegramDrafts, TelegramSender
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, MessageGone, NotDelivered
from runtime.core.message import Choice, Mark

SHORT_LABEL: Final = 16
"""The longest label of buttons that stand side by side, three in a row."""
LANGUAGE_LETTERS: Final = 2
"""The length of the language codes for which commands are described (Bot API, setMyCommands)."""
_log = logging.getLogger(__name__)


class TelegramAdapter:
    """One main bot, and one for each of some agents. Sending needs no `connect`; `aclose` ends both."""

    name = PLATFORM
    capabilities = CAPABILITIES

    def __init__(self, token: str, *, clock: Clock, records: Records, options: TelegramOptions | None = None) -> None:
        self._options = options or TelegramOptions()
        self.clock = self._clock = clock = PlatformClock(clock)
        self._tokens = {None: token} | {agent_bot_id(own): own for own in self._options.agents.values()}
        self._roster = self._new_roster()
        self._memory = ChatState(records, clock)
        self._numbers = MessageIds(clock)
        self._sender = TelegramSender(self._memory, self._numbers, self._options.rich)
        self._alone = TelegramAlone(self._sender)
        self._drafts = TelegramDrafts(clock, wanted=self._options.drafts, rich=self._options.rich != "never")
        self._intake: TelegramIntake | None = None
        self._handed_over = False
        self._receivers: dict[OurBot, TelegramReceiver] = {}

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says: an update is acknowledged, or its request answered, when the next one is requested."""
        await self._memory.load()
        self._receivers = await self._identified()
        if not self._handed_over:
            self._handed_over = True
            await self._options.hands_over(self._roster.main.api.bot)
        feed = UpdateFeed()
        async with beside() as tasks:
            albums = OpenAlbums(self._clock, tasks)
            self._intake = TelegramIntake(feed, self._clock, tasks, albums, self._numbers, self._memory, self._alone)
            items = feed.items()
            for bot, receiver in self._receivers.items():
                await self._listen(self._intake, bot, receiver)
            try:
                yield items
            finally:
                self._intake = None
                tasks.cancel_scope.cancel()
                await _closed(items, feed)

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        """As the port says: 200 once it is stored, 403 without the secret, 503 while nobody listens."""
        for bot, receiver in self._receivers.items():
            hook = self._webhook(bot)
            if hook is not None and request.path.rstrip("/") == hook.path.rstrip("/"):
                if request.method != "POST" or not hook.sent(request):
                    return HttpAnswer(403)
                return await self._intake.receive(bot, receiver, request) if self._intake else HttpAnswer(503)
        return HttpAnswer(503 if self._options.webhook_url and not self._receivers else 404)

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """One bucket for each chat, whatever the topic, because a forum's conversations may be on several nodes."""
        if is_private(to):
            return f"{PLATFORM}:{to.conversation}", CAPABILITIES.private_budget
        size = CAPABILITIES.group_budget
        shared = replace(size, shared=True) if to.thread is not None else size
        return f"{PLATFORM}:{self._memory.current(chat_id_of(to))}", shared

    async def check(self) -> str:
        roster, own = self._new_roster(), self._options
        try:
            lines = [await found(bot, self._webhook(bot), own.chats, own.keep_hours) for bot in roster]
        finally:
            for bot in roster:
                await bot.api.close()
        return "; ".join(lines)

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """As the port says. Refused formatting is left out."""

        async def post(bot: OurBot) -> str:
            page = self._page(bot, to, text, speaker)
            return await self._sender.post(bot, to, page, nonce=nonce, final=final, reply_to=reply_to)

        message = await self._by_whom_it_can(to, speaker, post)
        self._drafts.said(to)
        return message

    def granted(self, share: float, /) -> None:
        """As the port says. While other nodes post as well, lost messages are not searched for."""
        self._numbers.granted(share)

    def searches(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        return self._sender.is_lost(self._roster.speaking(to, speaker), to, nonce)

    async def recover(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> str | None:
        """As the port says. Only a message of the bot itself can be changed, and none known to be another."""
        bot = self._roster.speaking(to, speaker)
        return await self._sender.find(bot, to, nonce, self._page(bot, to, text, speaker))

    def left_copy(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        return self._sender.left_copy(self._roster.speaking(to, speaker), to, nonce)

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """As the port says. A message is changed by the bot that posted it."""
        which = MessageId.read(message)
        bot = self._roster.owner(which.bot_id)
        await self._sender.change(bot, to, which.number, self._page(bot, to, text, speaker), final=final)

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        which = MessageId.read(message)
        api = self._roster.owner(which.bot_id).api
        with suppress(MessageGone):
            await self._sender.at_current(to, lambda chat_id: api.delete(chat_id, which.number))

    def previews(self, to: Address, /) -> bool:
        """As the port says: in private chats, if drafts are switched on and the server knows them."""
        return self._drafts.available(to)

    async def preview(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> None:
        bot = self._roster.speaking(to, speaker)
        page = self._page(bot, to, text, speaker)
        await self._drafts.show(bot, to, page, nonce=nonce, rich=self._sender.rich(page))

    async def private_with(self, to: Address, person_id: str, /) -> Address | None:
        """The chat of the main bot with a person, who may have to begin it; None for a chat that speaks itself."""
        number = int(person_id.partition(":")[2])
        return address_of(number, None) if number > 0 else None

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """As the port says: in groups, where the bot is an administrator and the server has such messages."""
        bot = self._roster.speaking(to, GATEWAY)
        return await self._alone.tell(bot, to, person_id, self._page(bot, to, text, GATEWAY).rendered())

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        if not choices:  # buttons go with an edit that names none, and what was chosen is in the text
            await self.edit(to, message, text, speaker=speaker, nonce=nonce, final=True)
            return
        which = MessageId.read(message)
        api = self._roster.owner(which.bot_id).api
        with suppress(NotModified):
            await self._sender.at_current(to, lambda chat_id: api.offer(chat_id, which.number, _rows(choices)))

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        which = MessageId.read(message)
        api = self._roster.owner(which.bot_id, to).api
        emoji = MARKS[mark] if mark is not None else None
        await self._sender.at_current(to, lambda chat_id: api.react(chat_id, which.number, emoji))

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """As the port says. A text that is too long for a caption is posted before the file."""
        page = self._page(self._roster.speaking(to, speaker), to, text, speaker)
        if not page.fits_caption():
            await self.send(to, text, speaker=speaker, nonce=nonce, final=True, reply_to=reply_to)
            return await self.upload(to, file, "", speaker=speaker, nonce=nonce)

        async def post(bot: OurBot) -> str:
            caption = self._page(bot, to, text, speaker).rendered()
            return await self._sender.upload(bot, to, file, caption, reply_to=reply_to)

        return await self._by_whom_it_can(to, speaker, post)

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        try:
            ref = FileRef.read(url)
        except ValueError as error:
            raise NotDelivered(str(error)) from error
        api = self._roster.owner(ref.bot_id).api
        limit = min(max_bytes, MAX_DOWNLOAD_BYTES) if self._options.base_url is None else max_bytes
        return await api.download(ref.file_id, limit)

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """Open a topic of the forum or private chat, by the bot whose chat it is. Telegram knows no nonce for it."""
        bot, name = self._roster.owner(None, to), title[:MAX_TOPIC_NAME]
        with MayFail(_log.info, "Telegram opens no topic here", (NotDelivered,)):
            topic = await self._sender.at_current(to, lambda chat_id: bot.api.open_topic(chat_id, name))
            return replace(to, thread=str(topic))
        return None

    async def link(self, to: Address, /) -> str | None:
        """The address of a supergroup's topic, which its members can open."""
        chat_id = self._memory.current(chat_id_of(to))
        if to.thread is None or chat_id > FIRST_SUPERGROUP:
            return None
        return f"https://t.me/c/{FIRST_SUPERGROUP - chat_id}/{to.thread}"

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show "typing" for five seconds, or what the speaker does where there are drafts. Raises as `send`."""
        bot = self._roster.speaking(to, speaker)
        if await self._drafts.think(bot, to, speaker, doing):
            return
        api = bot.api
        await self._sender.at_current(to, lambda chat_id: api.typing(chat_id, thread_id_of(to)))

    async def aclose(self) -> None:
        for bot in self._roster:
            await bot.api.close()

    def _new_roster(self) -> Bots:
        agents = {
            name: OurBot(self._new_api(token), agent_bot_id(token), name)
            for name, token in self._options.agents.items()
        }
        return Bots(OurBot(self._new_api(self._tokens[None])), agents)

    def _new_api(self, token: str) -> TelegramApi:
        return TelegramApi(token, self._options, self._clock)

    def _webhook(self, bot: OurBot) -> TelegramWebhook | None:
        url = self._options.webhook_url
        return None if url is None else TelegramWebhook.of(url, self._tokens[bot.id], bot.id)

    async def _identified(self) -> dict[OurBot, TelegramReceiver]:
        """The bots by identity. Raises AuthFailed for the main one; an agent's that is refused is left out."""
        known: dict[OurBot, TelegramBot] = {}
        for bot in self._roster:
            try:
                known[bot] = await patience(self._clock).until_answered(partial(bot.api.me, bot.agent))
            except AuthFailed as error:
                if bot.agent is None:
                    raise
                _log.error("A bot of Telegram's is refused", extra={"agent": bot.agent, "error": str(error)})
                self._roster.drop(bot)
        us = OurBots(tuple(known.values()))
        hears_topics = self._options.listen == "sessions"
        return {bot: TelegramReceiver(identity, us, hears_topics) for bot, identity in known.items()}

    async def _listen(self, intake: TelegramIntake, bot: OurBot, receiver: TelegramReceiver) -> None:
        """Start receiving the bot's updates, by requests or by polls, and show its commands."""
        hook = self._webhook(bot)
        if hook is not None:
            await patience(self._clock).until_answered(lambda: bot.api.set_webhook(hook.url, hook.secret))
        else:
            with MayFail(_log.warning, "A webhook may be in the way of polling"):
                await bot.api.remove_webhook()
        with MayFail(_log.warning, "Telegram does not show the commands"):
            await self._offer_commands(bot)
        if hook is None:
            intake.tasks.start_soon(intake.poll, bot, receiver)

    async def _offer_commands(self, bot: OurBot) -> None:
        codes = {language: language.partition("-")[0] for language in self._options.translations}
        spoken = {code: language for language, code in codes.items() if len(code) == LANGUAGE_LETTERS}
        menus = {None: self._options.commands} | {code: self._options.translations[spoken[code]] for code in spoken}
        for code, commands in menus.items():
            await bot.api.offer_commands(commands, code)
            if self._options.alone:
                await bot.api.offer_commands(commands, code, self._options.alone)

    def _page(self, bot: OurBot, to: Address, text: str, speaker: Speaker) -> RenderedPage:
        shown = self._options.show_names
        named = shown == "always" or (shown == "groups" and not (is_private(to) and speaker.leads))
        return RenderedPage.of(text, speaker, named=named and bot.agent is None)

    async def _by_whom_it_can(self, to: Address, speaker: Speaker, post: Callable[[OurBot], Awaitable[str]]) -> str:
        """Post by the speaker's bot, or by the main one where that may not write in a group."""
        bot = self._roster.speaking(to, speaker)
        try:
            return await post(bot)
        except NotWelcome as error:
            if bot.agent is None or is_private(to):
                raise
            _log.info("An agent's bot may not write here", extra={"agent": bot.agent, "error": str(error)})
        bot.absent_from.add(chat_id_of(to))
        return await post(self._roster.main)


def _rows(choices: Sequence[Choice]) -> list[Sequence[Choice]]:
    width = 3 if all(len(choice.label) <= SHORT_LABEL for choice in choices) else 1
    return [choices[at : at + width] for at in range(0, len(choices), width)]


async def _closed(items: AsyncGenerator[Inbound, None], feed: UpdateFeed) -> None:
    with anyio.CancelScope(shield=True):
        await items.aclose()
    feed.close()

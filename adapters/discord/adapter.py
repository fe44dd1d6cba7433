"""Discord: the gateway in; messages, edits, files, choices and marks out."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Literal

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from adapters.adapter import Admits, FileData, HandsOver, Inbound, everybody_may, to_nobody
from adapters.capabilities import Budget
from adapters.discord.api.bot import DiscordApi, invitation, missing
from adapters.discord.api.calls import NO_ANSWER, DiscordCalls
from adapters.discord.api.webhooks import InteractionApi
from adapters.discord.codec.addresses import PLATFORM, DiscordBot, address_of, channel_id_of, is_private, number_of
from adapters.discord.codec.interactions import offered
from adapters.discord.inbound.intake import BotParts, DiscordIntake, earlier_in
from adapters.discord.inbound.listener import INTENT_HELP
from adapters.discord.inbound.menu import InteractionMenu, InteractionReceipts
from adapters.discord.inbound.shard import ShardSession
from adapters.discord.limits import CAPABILITIES, MARKS
from adapters.discord.outbound.sender import DiscordSender, DiscordText
from adapters.discord.outbound.webhooks import UnconfirmedPosts
from adapters.platform_clock import PlatformClock
from adapters.recent import SingleMarks
from adapters.records import Records
from adapters.retrying import MayFail, PlatformPatience
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, NotDelivered, OutcomeUncertain, RateLimited
from runtime.core.message import Choice, Mark
from runtime.core.texts import Texts, english

_log = logging.getLogger(__name__)

MAX_TOLD: Final = 5


class DiscordOptions(Struct, frozen=True):
    """The options of the Discord adapter.

    `base_url` is a server's address up to and including `/api/v10`; None is Discord's own. `show_names` says how an
    agent's name is shown in servers: webhooks speak under it, and where they may not, or with `headings`, it stands
    above the text; `avatar_url` is where their pictures are, Parley puts the agent's name for `{name}`. `mention` says
    where an answer stands to what is addressed to us in a channel: in a thread that begins with it, or below it.
    `commands` stand in Discord's menu with their descriptions, `programs` are what a person may choose from for a
    session, and `texts` is how we say things. `admits` is asked before a thread is opened. `hands_over` gets each of
    discord.py's clients. `shards` None opens as many
    connections as Discord recommends. At most `buffer_size` events wait for the consumer; what is more is read from
    history later.
    """

    base_url: str | None = None
    show_names: Literal["webhooks", "headings", "never"] = "webhooks"
    avatar_url: str | None = None
    mention: Literal["thread", "reply"] = "thread"
    commands: Mapping[str, str] = field(default_factory=dict)
    programs: Sequence[str] = ()
    texts: Texts = field(default_factory=english)
    admits: Admits = everybody_may
    hands_over: HandsOver = to_nobody
    shards: int | None = None
    call_timeout_s: float = 10.0
    buffer_size: int = 1000


class DiscordAdapter(DiscordSender):
    """One bot. Sending needs no connection of `connect`; `aclose` ends both, once nothing is on its way any more.

    The gateway knows no acknowledgement: what it has delivered it forgets. So the last message taken of each
    conversation is marked durably (`marks`), and whenever a new session begins the messages after the marks are read
    from history before anything else (`catch_up.py` says what cannot be read). A resumed session is replayed by
    Discord. Commands from the menu are not in any history: their receipt says that they are safe, and without one a
    person sees that they failed. `posts` keeps what webhooks were about to say, so that nothing is said twice.
    """

    name = PLATFORM
    capabilities = CAPABILITIES

    def __init__(
        self, token: str, *, clock: Clock, marks: Records, posts: Records, options: DiscordOptions | None = None
    ) -> None:
        self._options = options or DiscordOptions()
        self._token = token
        self.clock = clock = PlatformClock(clock)
        self._marks = marks
        own, unconfirmed = self._options, UnconfirmedPosts(posts, clock)
        unnamed = own.texts("sessions.unnamed")
        super().__init__(self._new_calls(), unconfirmed, clock, own.show_names, own.avatar_url, unnamed)
        self._marks_there = SingleMarks(MARKS)
        self._menu_api = InteractionApi(self._calls)
        self._receipts = InteractionReceipts(self._menu_api, clock)

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Inbound]]:
        """As the port says. The iterator raises AuthFailed when the gateway refuses the bot, or an intent."""
        us, _ = await PlatformPatience(self.clock, NO_ANSWER).until_answered(self._api.identity)
        us = replace(us, commands=frozenset(self._options.commands))
        await self._offer_commands(us)
        intake = self._intake()
        async with beside() as tasks:
            tasks.start_soon(intake.run)
            items = intake.items(us)
            try:
                await intake.listener.settled.wait()
                yield items
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await items.aclose()

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        return await earlier_in(self._api, to, before, at_most)

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """The bucket of a channel, thread or private conversation; `draws` is more precise."""
        return f"{PLATFORM}:{channel_id_of(to)}", CAPABILITIES.group_budget

    async def check(self) -> str:
        """As the port says; also names the rights that are missing in a server."""
        calls = self._new_calls()
        try:
            return await _health(DiscordApi(calls))
        finally:
            await calls.close()

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """As the port says. A webhook cannot reply: what it answers is a line with a link above its text."""
        return await self.post(DiscordText(to, text, speaker, nonce, reply_to), final=final)

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """As the port says. A growing message that is too old for edits is deleted, and is then MessageGone."""
        await self.change(to, message, text, speaker, final=final)

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        """As the port says: buttons, or menus where there are more than 25 choices."""
        await self.change(to, message, text, speaker, final=True, choices=choices)

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        if len(file.data) > CAPABILITIES.max_file_bytes:
            size = f"{len(file.data)} bytes, Discord takes {CAPABILITIES.max_file_bytes}"
            raise NotDelivered(f"The file {file.name} is too large: {size}")
        return await self.post(DiscordText(to, text, speaker, nonce, reply_to, file), final=True)

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        """As the port says. Only Discord's own addresses are asked."""
        return await self._calls.download(url, max_bytes=max_bytes)

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        """As the port says. The message that starts a thread is in the thread's channel."""
        number = number_of(message)
        channel_id = to.conversation if number == to.thread else channel_id_of(to)
        react = partial(self._api.react, channel_id, number)
        await self._marks_there.put(number, mark, partial(react, there=True), partial(react, there=False))

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """As the port says: a thread of the channel, a post of the forum."""
        return await self._threads.begin(to, title, nonce)

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Tell it in private: in channels, Discord shows one person alone only replies to interactions."""
        alone = await self.private_with(to, person_id)
        await self.post(DiscordText(alone, text, GATEWAY, uuid.uuid4().hex), final=True)

    async def private_with(self, to: Address, person_id: str, /) -> Address:
        channel = await self._api.private_channel(person_id.partition(":")[2])
        return address_of(channel, private=True)

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """Answer a command from the menu in the place of its receipt; in private conversations nobody reads along."""
        return not is_private(to) and await self._receipts.answer(to, person_id, text)

    async def link(self, to: Address, /) -> str | None:
        return await self._threads.link(to)

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        """Show "typing" for ten seconds, under the bot's own name. Raises as `send`."""
        await self._threads.within(to, lambda: self._api.typing(channel_id_of(to)))

    async def aclose(self) -> None:
        await self._calls.close()

    def _new_calls(self) -> DiscordCalls:
        own = self._options
        return DiscordCalls(self._token, base_url=own.base_url, clock=self.clock, call_timeout_s=own.call_timeout_s)

    def _intake(self) -> DiscordIntake:
        own = self._options
        session = ShardSession(
            self._token, own.base_url, own.call_timeout_s, own.buffer_size, own.shards, own.hands_over
        )
        menu = InteractionMenu(self._api, self._menu_api, self._receipts, own.programs, own.texts, own.admits)
        ours = BotParts(self._api, menu, self._threads, self._hooks.known_as, opens_threads=own.mention == "thread")
        return DiscordIntake(ours, session, self.clock, self._marks)

    async def _offer_commands(self, us: DiscordBot) -> None:
        own = self._options
        with MayFail(_log.warning, "Discord does not show the commands"):
            await self._api.offer_commands(us.application_id, offered(own.commands, own.programs, own.texts))


async def _health(api: DiscordApi) -> str:
    """One line for a person. Raises AuthFailed if something essential is missing."""
    try:
        us, reads = await api.identity()
        servers = await api.servers()
    except (OutcomeUncertain, RateLimited) as error:
        raise NotDelivered(f"{error}. So Parley cannot tell whether the token is valid") from error
    if not reads:
        raise AuthFailed(INTENT_HELP)
    lacking = [text for server in servers if (text := _lacking(*server, essential=False))]
    crippled = [text for server in servers if (text := _lacking(*server, essential=True))]
    link = invitation(us.application_id).link
    if crippled:
        told = "; ".join(crippled[:MAX_TOLD])
        raise AuthFailed(f"{told}. In the server's settings, Roles, give them to {us.name}, or open {link} again")
    where = f"in {len(servers)} server{'s' * (len(servers) != 1)}"
    notes = f". {'; '.join(lacking[:MAX_TOLD])}; docs/chats/discord.md says what each is for" if lacking else ""
    return f"Discord knows this bot as {us.name}, {where}{notes}. To add it to a server: {link}"


def _lacking(server: str, permissions: int, *, essential: bool) -> str:
    names = [right.name for right in missing(permissions) if right.essential or not essential]
    return f"In {server} the bot lacks {', '.join(names)}" if names else ""

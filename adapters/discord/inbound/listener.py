"""The gateway: all connections of a bot, whose events go into one bounded buffer."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import discord
from msgspec import Struct, field

from adapters.discord.api.bot import THREAD_BITS, DiscordApi
from adapters.discord.api.calls import NO_ANSWER
from adapters.discord.inbound.decode import MessagePlace
from adapters.discord.inbound.shard import BETWEEN_SESSIONS_S, Shard, ShardEvent, ShardSession, Starts
from adapters.platform_clock import PlatformClock
from adapters.retrying import PlatformPatience
from runtime.core.errors import AuthFailed

INTENT_HELP: Final = (
    "Discord hides messages from this bot. In the Developer Portal open the application, Bot, Privileged "
    "Gateway Intents, and switch on Message Content Intent"
)
LOST: Final = ShardEvent("LOST", {})
"""Events were dropped because the buffer was full."""
_TOO_FEW: Final = 4011
_REFUSED: Final = {
    4004: "Discord refuses the bot's token; take a new one from the Developer Portal: Bot, Reset Token",
    _TOO_FEW: 'The bot is in too many servers for so few connections: set discord.shards to "auto" or a larger number',
    4013: "Discord does not know a requested intent",
    4014: INTENT_HELP,
}
_OPENING: Final = (discord.ChannelType.text, discord.ChannelType.news)
"""Kinds of channels in which a thread can begin with a message."""
_log = logging.getLogger(__name__)


class LastSaid(Struct, frozen=True):
    """A channel or thread of a server, and the id of the last message in it."""

    guild: str
    channel: str
    message: str


class DiscordListener(Struct, eq=False):
    """Events in the order of their arrival. `heard` is called with each at once, and must not wait."""

    session: ShardSession
    api: DiscordApi
    clock: PlatformClock
    heard: Callable[[ShardEvent], None]
    _buffer: deque[ShardEvent] = field(default_factory=deque)
    _failure: AuthFailed | None = None
    _filled: anyio.Event = field(default_factory=anyio.Event)
    _lost: bool = False
    _shards: list[Shard] = field(default_factory=list)
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set once Discord sends events or has refused us."""

    async def run(self) -> None:
        """Listen until cancelled, or until Discord refuses the bot: then `next` raises that."""
        while self._failure is None:
            try:
                await self._listen(*await PlatformPatience(self.clock, NO_ANSWER).until_answered(self.api.sharding))
            except AuthFailed as error:
                self._fail(error)

    async def next(self) -> ShardEvent:
        """The next event. Raises AuthFailed. LOST stands for events that were dropped, up to this moment."""
        while not self._buffer:
            if self._failure is not None:
                raise self._failure
            if self._lost:
                self._lost = False
                return LOST
            await self._filled.wait()
        return self._buffer.popleft()

    def talked_in(self, guild_id: str | None) -> list[LastSaid]:
        """The channels and threads of a server, or of all, with messages."""
        return [
            LastSaid(str(guild.id), str(channel.id), str(channel.last_message_id))
            for shard in self._shards
            for guild in shard.guilds
            if guild_id is None or guild.id == int(guild_id)
            for channel in _talked_in(guild)
            if channel.last_message_id is not None
        ]

    def place(self, event: Mapping[str, Any], message_id: str) -> MessagePlace | None:
        """The place of a message in a server, as far as discord.py knows; None for an unknown channel."""
        number = int(event["guild_id"])
        guild = next((guild for shard in self._shards for guild in shard.guilds if guild.id == number), None)
        channel = guild.get_channel_or_thread(int(event["channel_id"])) if guild is not None else None
        if guild is None or channel is None:
            return None

        def name_of(number: str) -> str | None:
            known = guild.get_role(int(number)) or guild.get_channel_or_thread(int(number))
            return known.name if known is not None else None

        role = str(guild.self_role.id) if guild.self_role is not None else None
        if not isinstance(channel, discord.Thread):
            below = guild.get_thread(int(message_id))
            begun = below is not None and _is_ours(below)
            return MessagePlace(role=role, name_of=name_of, opens=_may_open_threads(channel, guild), begun=begun)
        return MessagePlace(parent=str(channel.parent_id), ours=_is_ours(channel), role=role, name_of=name_of)

    async def _listen(self, wanted: int, at_once: int) -> None:
        """Return when Discord wants more connections than there are. Raises AuthFailed when it refuses the bot."""
        count, starts = self.session.shards or wanted, Starts(self.clock, at_once)
        self._shards = [Shard(self.session, self.clock, starts, self._take, number, count) for number in range(count)]
        refusals: list[int] = []
        async with anyio.create_task_group() as tasks:

            async def run(shard: Shard) -> None:
                refusals.append(await _refusal(shard))
                tasks.cancel_scope.cancel()

            for shard in self._shards:
                tasks.start_soon(run, shard)
        if refusals and not (refusals[0] == _TOO_FEW and self.session.shards is None):
            raise AuthFailed(_REFUSED.get(refusals[0], f"Discord refuses the connection with code {refusals[0]}"))
        self.settled.set()  # it has answered
        _log.warning("Discord wants more connections for this bot")
        await self.clock.sleep_until(self.clock.monotonic() + BETWEEN_SESSIONS_S)

    def _take(self, heard: ShardEvent) -> None:
        self.settled.set()
        if self._lost:
            return
        if len(self._buffer) >= self.session.buffer_size:
            _log.warning("Discord sends more than fits; the rest is read from history later")
            self._lost = True
            return
        self._buffer.append(heard)
        self.heard(heard)
        self._wake()

    def _fail(self, failure: AuthFailed) -> None:
        self._failure = failure
        self.settled.set()
        self._wake()

    def _wake(self) -> None:
        self._filled.set()
        self._filled = anyio.Event()


def _talked_in(guild: discord.Guild) -> list[discord.TextChannel | discord.VoiceChannel | discord.Thread]:
    return [*guild.text_channels, *guild.voice_channels, *guild.threads]


async def _refusal(shard: Shard) -> int:
    """Listen; returns the code with which Discord ends the connection for good."""
    try:
        await shard.run()
    except discord.LoginFailure:
        return 4004
    except discord.PrivilegedIntentsRequired:
        return 4014
    except discord.ConnectionClosed as error:
        return int(error.code)


def _is_ours(thread: discord.Thread) -> bool:
    return thread.me is not None or thread.owner_id == thread.guild.me.id


def _may_open_threads(channel: Any, guild: discord.Guild) -> bool:
    if channel.type not in _OPENING:
        return False
    granted = channel.permissions_for(guild.me)
    return bool(granted.administrator or granted.value & THREAD_BITS == THREAD_BITS)

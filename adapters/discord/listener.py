"""The gateway: discord.py's connection, supervised, and what it hears in a bounded buffer.

discord.py keeps the session alive and resumes it; what Discord replays then comes through the same way. Whatever else
ends it - a time-out at the start, an error in discord.py's reading of an event - is followed by a new session.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio
import discord

from adapters.discord.codec import Place
from adapters.discord.rest import Rest
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed

BETWEEN_SESSIONS_S: Final = 5.0
"""Discord takes one new session in five seconds from most bots (Gateway, Rate Limiting, max_concurrency)."""
LONGEST_PAUSE_S: Final = 120.0
"""Discord takes 1000 new sessions a day, then it takes the token away (Gateway, Session Start Limit)."""
HEALTHY_AFTER_S: Final = 600.0
"""A session that lasted so long did not break by something that breaks the next one as well."""
RESUME_FOR_S: Final = 60.0
"""So long it is tried to resume a session; discord.py would go on with pauses of many minutes."""

CLOSE_WITHIN_S: Final = 5.0
"""So long we wait for Discord to agree that a connection ends."""

INTENT_HELP: Final = (
    "Discord does not let this bot read messages. In the Developer Portal open the application, Bot, Privileged "
    "Gateway Intents, and switch on Message Content Intent"
)
_WANTED: Final = frozenset({"READY", "GUILD_CREATE", "MESSAGE_CREATE", "INTERACTION_CREATE"})
_REFUSED: Final = {
    4004: "Discord refuses the bot's token; take a new one from the Developer Portal: Bot, Reset Token",
    4011: "The bot is in so many servers that Discord wants several connections, which this version does not open",
    4013: "Discord does not know an intent that is asked for",
    4014: INTENT_HELP,
}
"""Close codes after which trying again is of no use (Gateway Close Event Codes)."""

_log = logging.getLogger(__name__)

Heard: TypeAlias = tuple[str, Mapping[str, Any]]
"""An event's name and its data, as Discord wrote them."""


@dataclass(frozen=True, slots=True)
class LastSaid:
    """A channel or thread of a server, and the id of the last message in it."""

    guild: str
    channel: str
    message: str


@dataclass(frozen=True, slots=True)
class Session:
    """What a connection is made with."""

    token: str
    base_url: str | None
    call_timeout_s: float
    buffer_size: int


class Listener:
    """Events in the order of their arrival. `heard` is called at once with each, and may not wait."""

    def __init__(self, session: Session, clock: Clock, heard: Callable[[Heard], None]) -> None:
        self._session = session
        self._clock = clock
        self._heard = heard
        self._buffer: deque[Heard] = deque()
        self._failure: AuthFailed | None = None
        self._filled = anyio.Event()
        self._lost = False
        self._client: _Client | None = None
        self._pause_s = BETWEEN_SESSIONS_S
        self._ready_at_s: float | None = None

    async def run(self) -> None:
        """Listen until cancelled, or until Discord refuses the bot: then `next` raises that."""
        while self._failure is None:
            try:
                await self._listen()
            except discord.LoginFailure:
                self._fail(AuthFailed(_REFUSED[4004]))
            except discord.PrivilegedIntentsRequired:
                self._fail(AuthFailed(INTENT_HELP))
            except discord.ConnectionClosed as error:
                if error.code in _REFUSED:
                    self._fail(AuthFailed(_REFUSED[error.code]))
                else:
                    self._broken(error)
            except Exception as error:  # noqa: BLE001 - an event that discord.py cannot read raises anything; go on anew
                self._broken(error)
            await self._clock.sleep_until(self._clock.monotonic() + self._pause_s)
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)

    async def next(self) -> Heard:
        """The next event. Raises AuthFailed. LOST stands where events had to be dropped, all up to this moment."""
        while not self._buffer:
            if self._failure is not None:
                raise self._failure
            if self._lost:
                self._lost = False
                return LOST
            await self._filled.wait()
        return self._buffer.popleft()

    def talked_in(self, guild_id: str | None) -> list[LastSaid]:
        """The channels and threads of a server, or of all, in which something was said."""
        known = self._client.guilds if self._client is not None else ()
        return [
            LastSaid(str(guild.id), str(channel.id), str(channel.last_message_id))
            for guild in known
            if guild_id is None or guild.id == int(guild_id)
            for channel in _talked_in(guild)
            if channel.last_message_id is not None
        ]

    def place(self, message: Mapping[str, Any]) -> Place | None:
        """Where a message of a server is, as far as discord.py knows; None when the channel is not known."""
        guild = self._client.get_guild(int(message["guild_id"])) if self._client is not None else None
        channel = guild.get_channel_or_thread(int(message["channel_id"])) if guild is not None else None
        if guild is None or channel is None:
            return None

        def name_of(number: str) -> str | None:
            known = guild.get_role(int(number)) or guild.get_channel_or_thread(int(number))
            return known.name if known is not None else None

        role = str(guild.self_role.id) if guild.self_role is not None else None
        if not isinstance(channel, discord.Thread):
            return Place(role=role, name_of=name_of)
        ours = channel.me is not None or channel.owner_id == guild.me.id
        return Place(parent=str(channel.parent_id), ours=ours, role=role, name_of=name_of)

    async def _listen(self) -> None:
        rest = Rest(base_url=self._session.base_url, clock=self._clock, call_timeout_s=self._session.call_timeout_s)
        self._client = client = _Client(rest, self._clock, self._take)
        try:
            await client.start(self._session.token)
        finally:
            with anyio.move_on_after(CLOSE_WITHIN_S, shield=True):
                await client.close()

    def _take(self, heard: Heard) -> None:
        if heard[0] == "READY":
            self._ready_at_s = self._clock.monotonic()
        if self._lost:
            return
        if len(self._buffer) >= self._session.buffer_size:
            _log.warning("Discord says more than is taken; what is left out is read from history later")
            self._lost = True
            return
        self._buffer.append(heard)
        self._heard(heard)
        self._wake()

    def _fail(self, failure: AuthFailed) -> None:
        self._failure = failure
        self._wake()

    def _broken(self, error: Exception) -> None:
        if self._ready_at_s is not None and self._clock.monotonic() - self._ready_at_s >= HEALTHY_AFTER_S:
            self._pause_s = BETWEEN_SESSIONS_S
        self._ready_at_s = None
        _log.warning("The connection to Discord broke", extra={"error": repr(error), "retry_in_s": self._pause_s})

    def _wake(self) -> None:
        self._filled.set()
        self._filled = anyio.Event()


def _talked_in(guild: discord.Guild) -> list[discord.TextChannel | discord.VoiceChannel | discord.Thread]:
    return [*guild.text_channels, *guild.voice_channels, *guild.threads]


LOST: Final[Heard] = ("LOST", {})
"""Events were dropped because the buffer was full."""


class _Client(discord.Client):
    """discord.py's client over our calls, telling events as they came, before it reads them itself."""

    def __init__(self, rest: Rest, clock: Clock, take: Callable[[Heard], None]) -> None:
        self._rest = rest
        self._clock = clock
        self._take = take
        self._raw = "{}"
        self._down_since_s: float | None = None
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        super().__init__(
            intents=intents,
            enable_debug_events=True,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
            allowed_mentions=discord.AllowedMentions.none(),
        )

    def _get_state(self, **options: Any) -> Any:
        """The first thing that is made with the HTTP client: the place where another can take its seat."""
        self.http = self._rest
        return super()._get_state(**options)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await self._clock.sleep_until(self._clock.monotonic() + BETWEEN_SESSIONS_S)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if event == "socket_raw_receive":
            self._raw = args[0]
        elif event == "socket_event_type" and args[0] in _WANTED:
            self._take((args[0], json.loads(self._raw)["d"]))
        elif event == "disconnect":
            self._give_up_in_time()
        elif event in ("connect", "resumed"):
            self._down_since_s = None
        super().dispatch(event, *args, **kwargs)

    def _give_up_in_time(self) -> None:
        """Called at each failed attempt. Raising ends discord.py's loop of attempts, and ours begins a new session."""
        now_s = self._clock.monotonic()
        if self._down_since_s is None:
            self._down_since_s = now_s
        elif now_s - self._down_since_s > RESUME_FOR_S:
            raise ConnectionError(f"The session could not be resumed for {RESUME_FOR_S:g} s")

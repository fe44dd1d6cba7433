"""One connection to the gateway: discord.py's, supervised, telling what it hears.

discord.py keeps the session alive and resumes it; what Discord replays then comes through the same way. Whatever else
ends it - a time-out at the start, an error in discord.py's reading of an event - is followed by a new session.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import anyio
import discord
from msgspec import Struct

from adapters.adapter import NOT_UNDERSTOOD, HandsOver, to_nobody
from adapters.discord.api.calls import DiscordRest
from adapters.discord.codec.addresses import snowflake
from adapters.platform_clock import PlatformClock
from adapters.retrying import MayFail
from runtime.core.clock import Clock

BETWEEN_SESSIONS_S: Final = 5.0
"""Discord takes one new session of a kind in five seconds (Gateway, Rate Limiting, max_concurrency)."""
LONGEST_PAUSE_S: Final = 120.0
"""Discord takes 1000 new sessions a day, then it takes the token away (Gateway, Session Start Limit)."""
HEALTHY_AFTER_S: Final = 600.0
"""A session that lasted this long did not end by a fault that would end the next one as well."""
RESUME_FOR_S: Final = 60.0
"""The time for attempts to resume a session; discord.py would continue with pauses of many minutes."""
CLOSE_WITHIN_S: Final = 5.0
"""The time that Discord gets to confirm the end of a connection."""
USELESS: Final = frozenset({4004, 4010, 4011, 4012, 4013, 4014})
"""Close codes after which a retry is useless (Gateway Close Event Codes)."""
_WANTED: Final = frozenset(
    {
        "READY",
        "GUILD_CREATE",
        "INTERACTION_CREATE",
        "MESSAGE_CREATE",
        "MESSAGE_DELETE",
        "MESSAGE_REACTION_ADD",
        "MESSAGE_REACTION_REMOVE",
        "MESSAGE_UPDATE",
    }
)

_log = logging.getLogger(__name__)

_IDS: Final = frozenset({"id", "channel_id", "guild_id", "message_id", "user_id"})


class ShardEvent(Struct, frozen=True):
    """An event's name and its data, as Discord wrote them, and an id that is the same when it is replayed."""

    name: str
    data: Mapping[str, Any]
    id: str = ""


def heard_of(name: str, frame: Mapping[str, Any], session_id: str) -> ShardEvent:
    """An event of Discord's. Raises as `NOT_UNDERSTOOD` says where it has no data, or ids that are none."""
    data = dict[str, Any](frame["d"])
    for each in data.keys() & _IDS:
        snowflake(data[each])
    if name == "READY":
        for guild in data.get("guilds", ()):
            snowflake(guild["id"])
        int((data.get("shard") or [0])[0])
    elif not data.keys() & {"id", "message_id"}:
        raise KeyError("id")
    return ShardEvent(name, data, f"{session_id}.{frame['s']}")


class ShardSession(Struct, frozen=True):
    """The parameters of connections. `shards` None: as many as Discord recommends."""

    token: str
    base_url: str | None
    call_timeout_s: float
    buffer_size: int
    shards: int | None = None
    hands_over: HandsOver = to_nobody


class Starts:
    """The pace of new sessions: shards whose numbers are equal modulo `at_once` follow each other slowly."""

    def __init__(self, clock: Clock, at_once: int) -> None:
        self._clock = clock
        self._at_once = max(1, at_once)
        self._free_at_s: dict[int, float] = {}

    async def turn(self, shard: int) -> None:
        lane, now_s = shard % self._at_once, self._clock.monotonic()
        at_s = max(now_s, self._free_at_s.get(lane, now_s))
        self._free_at_s[lane] = at_s + BETWEEN_SESSIONS_S
        if at_s > now_s:
            await self._clock.sleep_until(at_s)


class Shard(Struct, eq=False):
    session: ShardSession
    clock: PlatformClock
    starts: Starts
    take: Callable[[ShardEvent], None]
    number: int
    count: int
    _client: _Client | None = None
    _pause_s: float = BETWEEN_SESSIONS_S
    _ready_at_s: float | None = None

    @property
    def guilds(self) -> list[discord.Guild]:
        return list(self._client.guilds) if self._client is not None else []

    async def run(self) -> NoReturn:
        """Listen until cancelled, one session after another. Raises discord.py's errors that stay."""
        while True:
            try:
                await self._listen()
            except (discord.LoginFailure, discord.PrivilegedIntentsRequired):
                raise
            except discord.ConnectionClosed as error:
                if error.code in USELESS:
                    raise
                self._broken(error)
            except Exception as error:  # noqa: BLE001 - an event that discord.py cannot read raises anything; go on anew
                self._broken(error)
            await self.clock.sleep_until(self.clock.monotonic() + self._pause_s)
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        session = self.session
        rest = DiscordRest(base_url=session.base_url, clock=self.clock, call_timeout_s=session.call_timeout_s)
        self._client = client = _Client(rest, self.clock, self.starts, self._hear, (self.number, self.count))
        await session.hands_over(client)
        try:
            await client.start(session.token)
        finally:
            with anyio.move_on_after(CLOSE_WITHIN_S, shield=True):
                await client.close()

    def _hear(self, heard: ShardEvent) -> None:
        if heard.name == "READY":
            self._ready_at_s = self.clock.monotonic()
        self.take(heard)

    def _broken(self, error: Exception) -> None:
        if self._ready_at_s is not None and self.clock.monotonic() - self._ready_at_s >= HEALTHY_AFTER_S:
            self._pause_s = BETWEEN_SESSIONS_S
        self._ready_at_s = None
        told = str(error) if isinstance(error, ConnectionError) else repr(error)
        extra = {"error": told, "retry_in_s": self._pause_s, "shard": self.number}
        _log.warning("The connection to Discord broke", extra=extra)


class _Client(discord.Client):
    """discord.py's client with our calls. It reports events as they arrived, before it reads them itself."""

    def __init__(
        self,
        rest: DiscordRest,
        clock: PlatformClock,
        starts: Starts,
        take: Callable[[ShardEvent], None],
        shard: tuple[int, int],
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._starts = starts
        self._take = take
        self._raw = "{}"
        self._session_id = ""
        self._down_since_s: float | None = None
        intents = discord.Intents(
            guilds=True,
            guild_messages=True,
            dm_messages=True,
            guild_reactions=True,
            dm_reactions=True,
            message_content=True,
        )
        super().__init__(
            intents=intents,
            shard_id=shard[0],
            shard_count=shard[1],
            enable_debug_events=True,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
            allowed_mentions=discord.AllowedMentions.none(),
        )

    def _get_state(self, **options: Any) -> Any:
        """The first object that is made with the HTTP client, where that client can be replaced."""
        self.http = self._rest
        state = super()._get_state(**options)
        read = {name: _leniently(parse) for name, parse in state.parsers.items() if name != "READY"}
        state.parsers.update(read)  # what has begun strangely is begun anew
        return state

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        await self._starts.turn(shard_id or 0)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if event == "socket_raw_receive":
            self._raw = args[0]
        elif event == "socket_event_type":
            _leniently(self._report)(args[0])
        elif event == "disconnect":
            self._give_up_at_the_start()
            self._give_up_in_time()
        elif event in ("connect", "resumed"):
            self._down_since_s = None
        super().dispatch(event, *args, **kwargs)

    def _report(self, name: str) -> None:
        if name not in _WANTED:
            return
        frame = json.loads(self._raw)
        if name == "READY":
            self._session_id = str(frame["d"].get("session_id"))
        self._take(heard_of(name, frame, self._session_id))

    def _give_up_at_the_start(self) -> None:
        """Raise the error of the first connection, since discord.py has no session to resume."""
        error = sys.exc_info()[1]
        socket: object = self.ws  # None before the first one, whatever discord.py's types say
        if socket is None and not isinstance(error, discord.ConnectionClosed):
            raise ConnectionError(f"The gateway of Discord cannot be reached: {error or 'no answer'}") from error

    def _give_up_in_time(self) -> None:
        """Called at each failed attempt. Raising ends discord.py's retries, and a new session follows."""
        now_s = self._clock.monotonic()
        if self._down_since_s is None:
            self._down_since_s = now_s
        elif now_s - self._down_since_s > RESUME_FOR_S:
            raise ConnectionError(f"The session could not be resumed for {RESUME_FOR_S:g} s")


def _leniently(read: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same for data of any form: what is not understood is ignored, and ends no connection."""

    def reading(data: Any) -> None:
        with MayFail(_log.warning, "An event of Discord's is not understood and is ignored", NOT_UNDERSTOOD):
            read(data)

    return reading

"""The gateway's side of a bot's session: what was sent to it, and what it gets once more when it resumes.

Gating by intents and the shape of events are simcord's.
"""

import copy
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import discord
from aiohttp import WSMsgType, web
from msgspec import Struct, field
from simcord import intents as gates
from simcord.backend import serializers

from runtime.core.clock import Clock
from tests.fakes.discord.world import DiscordWorld

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _INVALID, _HELLO, _BEAT = 0, 1, 2, 6, 9, 10, 11
HEARTBEAT_MS = 41_250
BETWEEN_SESSIONS_S = 5.0


def shard_of(payload: Mapping[str, Any], count: int) -> int:
    """Which of a bot's connections is told: private matters belong to the first."""
    return (int(payload["guild_id"]) >> 22) % count if payload.get("guild_id") else 0


class BotSession(Struct):
    """`frames` is all it was ever sent, in order: frame n has sequence number n + 1."""

    id: str
    intents: discord.Intents
    shard: tuple[int, int] = (0, 1)
    frames: list[dict[str, Any]] = field(default_factory=list)
    grown: anyio.Event = field(default_factory=anyio.Event)

    def push(self, event: str, data: Mapping[str, Any]) -> None:
        self.frames.append({"op": _DISPATCH, "t": event, "s": len(self.frames) + 1, "d": data})
        self.grown.set()
        self.grown = anyio.Event()


class DiscordGateway:
    """The sessions of one bot. `allowed` are the privileged intents that its portal has switched on."""

    def __init__(self, world: DiscordWorld, token: str, noticed: Callable[[], None], clock: Clock) -> None:
        self._clock = clock
        self.sessions: dict[str, BotSession] = {}
        self.identified = 0
        self.resumed = 0
        self.allows_message_content = True
        self.closed = False
        self.refused = 0
        self.address = ""
        self.recommends = 1
        self.least_shards = 1
        self.at_once = 1
        self.too_early = 0
        self.strict = False
        self._begun_at_s: dict[int, float] = {}
        self._world = world
        self._token = token
        self._noticed = noticed
        self._sockets: dict[web.WebSocketResponse, BotSession | None] = {}
        world.backend.subscribers.append(self.emit)

    @property
    def connected(self) -> bool:
        """Whether a session hears us."""
        return any(session is not None for session in self._sockets.values())

    @property
    def shards(self) -> set[tuple[int, int]]:
        """Those that hear us now: number and count."""
        return {session.shard for session in self._sockets.values() if session is not None}

    def told(self) -> dict[str, Any]:
        """Where the gateway is, and how it is to be used."""
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": self.at_once}
        return {"url": self.address, "shards": self.recommends, "session_start_limit": limit}

    def emit(self, event: str, payload: Mapping[str, Any]) -> None:
        """Tell every session that may know."""
        for session in self.sessions.values():
            if session.shard[0] == shard_of(payload, session.shard[1]):
                self._push(session, event, payload)

    async def drop(self, code: int = 4000, *, shard: int | None = None) -> None:
        """Close the connections, or one shard's; with 4000 the sessions can be resumed."""
        for socket, session in list(self._sockets.items()):
            if shard is None or (session is not None and session.shard[0] == shard):
                await socket.close(code=code)

    def again(self) -> None:
        """Tell every session once more what it was told last, as after a resume with a stale sequence number."""
        for session in self.sessions.values():
            last = session.frames[-1]
            session.push(last["t"], last["d"])

    def forget(self) -> None:
        """End all sessions: whoever wants to resume one must begin anew."""
        self.sessions.clear()

    def poison(self) -> None:
        """Say something that no client can read."""
        for session in self.sessions.values():
            session.frames.append({"op": _DISPATCH, "t": ["of no name"], "s": len(session.frames) + 1, "d": {}})
            session.push("CHANNEL_UPDATE", {"of a shape": "nobody knows"})

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection, from hello to its end; none while `closed`."""
        if self.closed:
            self.refused += 1
            self._noticed()
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets[socket] = None
        try:
            await socket.send_json({"op": _HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS}, "s": None, "t": None})
            async with anyio.create_task_group() as tasks:
                async for message in socket:
                    if message.type is not WSMsgType.TEXT:
                        continue
                    begun = await self._answer(socket, message.json())
                    if begun is not None:
                        tasks.start_soon(self._feed, socket, *begun)
                tasks.cancel_scope.cancel()
        finally:
            self._sockets.pop(socket, None)
            self._noticed()
        return socket

    async def _answer(self, socket: web.WebSocketResponse, said: Mapping[str, Any]) -> tuple[BotSession, int] | None:
        """React to a frame; a session and the first frame it has not seen, where one begins or goes on."""
        begun = None
        match said["op"]:
            case op if op == _HEARTBEAT:
                await socket.send_json({"op": _BEAT, "d": None, "s": None, "t": None})
            case op if op == _IDENTIFY:
                begun = await self._identify(socket, said["d"])
            case op if op == _RESUME:
                begun = await self._resume(socket, said["d"])
            case _:
                pass
        self._noticed()
        return begun

    async def _identify(self, socket: web.WebSocketResponse, data: Mapping[str, Any]) -> tuple[BotSession, int] | None:
        self.identified += 1
        intents = discord.Intents()
        intents.value = int(data["intents"])
        if data["token"] != self._token:
            await socket.close(code=4004)
            return None
        if intents.message_content and not self.allows_message_content:
            await socket.close(code=4014)
            return None
        number, count = data.get("shard", (0, 1))
        if count < self.least_shards:
            await socket.close(code=4011)
            return None
        if self._starts_too_early(number):
            await socket.send_json({"op": _INVALID, "d": False, "s": None, "t": None})
            return None
        backend = self._world.backend
        session = BotSession(secrets.token_hex(16), intents, (number, count))
        self.sessions[session.id] = session
        guilds = [guild for guild in backend.guilds if (guild >> 22) % count == number]
        ready = {
            "v": 10,
            "user": serializers.user_payload(backend.bot_user),
            "guilds": [{"id": str(guild), "unavailable": True} for guild in guilds],
            "shard": [number, count],
            "session_id": session.id,
            "resume_gateway_url": f"{self.address}/resume",
            "application": {"id": str(backend.application_id), "flags": 0},
        }
        session.push("READY", ready)
        for guild in guilds:
            payload = serializers.guild_create_payload(backend, backend.guilds[guild])
            self._push(session, "GUILD_CREATE", payload)
        self._sockets[socket] = session
        return session, 0

    def _starts_too_early(self, number: int) -> bool:
        """Sessions of a lane begin five seconds apart."""
        now_s, lane = self._clock.monotonic(), number % self.at_once
        early = now_s < self._begun_at_s.get(lane, now_s)
        if early:
            self.too_early += 1
        else:
            self._begun_at_s[lane] = now_s + BETWEEN_SESSIONS_S
        return early and self.strict

    async def _resume(self, socket: web.WebSocketResponse, data: Mapping[str, Any]) -> tuple[BotSession, int] | None:
        session = self.sessions.get(data["session_id"])
        if session is None:
            await socket.send_json({"op": _INVALID, "d": False, "s": None, "t": None})
            return None
        self.resumed += 1
        self._sockets[socket] = session
        session.push("RESUMED", {})
        return session, int(data["seq"])

    async def _feed(self, socket: web.WebSocketResponse, session: BotSession, seen: int) -> None:
        while not socket.closed:
            for frame in session.frames[seen:]:
                await socket.send_json(frame)
                seen += 1
            if seen == len(session.frames):
                await session.grown.wait()

    def _push(self, session: BotSession, event: str, payload: Mapping[str, Any]) -> None:
        gate = gates.required_intent(event, payload)
        if gate is not None and not getattr(session.intents, gate):
            return
        data = copy.deepcopy(dict(payload))
        bot = self._world.backend.bot_user.id
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and not session.intents.message_content:
            gates.censor_message(data, bot, backend=self._world.backend)
        if event == "GUILD_CREATE":
            gates.prune_guild_create(data, session.intents, bot)
        session.push(event, self._world.as_told(event, data))

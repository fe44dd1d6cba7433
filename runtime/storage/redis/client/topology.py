"""The topology: which server serves a key. Asked from the servers, and again whenever it is in doubt.

URL ──INFO──> alone     the one server at that address
              sentinel  the primary that the Sentinels name, of the newest configuration that any of them knows
              cluster   the primary of the key's slot
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from redis import exceptions
from redis.asyncio import Redis
from redis.crc import key_slot

from runtime.core.clock import Clock
from runtime.core.errors import ConfigError
from runtime.storage.redis.client.location import CREDENTIALS, Endpoint, Location
from runtime.storage.redis.client.server import Server, command

ASK_LIMIT_S = 2.0
"""The time limit of a server that is asked for the topology."""

_SLOTS = 16384
_UNREACHABLE = (exceptions.RedisError, TimeoutError, OSError)


class Topology(Protocol):
    """Raises the servers' errors, and ConfigError for an ambiguous URL."""

    kind: str
    """"alone", "sentinel" or "cluster"."""

    async def server(self, key: str, /) -> Server: ...

    async def primaries(self) -> Sequence[Server]:
        """All servers of keys."""

    def doubt(self, server: Server | None, error: Exception, /) -> None:
        """A call to `server` failed, or no server was found: look again before the next call."""

    async def aclose(self) -> None: ...


async def find_topology(location: Location, clock: Clock) -> Topology:
    """Ask where a URL leads. Raises the error of the last server that was asked, and ConfigError."""
    if not location.seeds[0][1]:
        return _Alone(location, location.seeds[0], clock)
    for last, seed in enumerate(location.seeds, start=1):
        try:
            mode, guarded = await _mode(location, seed)
            break
        except _UNREACHABLE:
            if last == len(location.seeds):
                raise
    if mode == "sentinel":
        return _Watched(location, guarded, clock)
    if mode == "cluster":
        return _Cluster(location, clock)
    return _Alone(location, seed, clock)


class _Alone:
    """The server that the URL names; of several, the first that answered."""

    kind = "alone"

    def __init__(self, location: Location, seed: Endpoint, clock: Clock) -> None:
        self._server = Server(location, seed, clock)
        self._other = False

    async def server(self, _key: str, /) -> Server:
        if self._other:
            self._other = False
            await self._server.hang_up()
        return self._server

    async def primaries(self) -> Sequence[Server]:
        return [self._server]

    def doubt(self, _server: Server | None, error: Exception, /) -> None:
        # Behind a name there may be another server by now.
        self._other = self._other or isinstance(error, exceptions.ReadOnlyError)

    async def aclose(self) -> None:
        await self._server.aclose()


class _Watched:
    """The primary that Sentinels monitor."""

    kind = "sentinel"

    def __init__(self, location: Location, guarded: bool, clock: Clock) -> None:
        self._location = location
        self._guarded = guarded
        self._clock = clock
        self._sentinels = dict.fromkeys(location.seeds)
        self._master = location.master
        self._looking = anyio.Lock()
        self._doubtful = True
        self._server: Server | None = None

    async def server(self, _key: str, /) -> Server:
        async with self._looking:
            if self._doubtful or self._server is None:
                self._server = await self._look()
                self._doubtful = False
            return self._server

    async def primaries(self) -> Sequence[Server]:
        return [await self.server("")]

    def doubt(self, _server: Server | None, _error: Exception, /) -> None:
        self._doubtful = True

    async def aclose(self) -> None:
        if self._server is not None:
            await self._server.aclose()

    async def _look(self) -> Server:
        endpoint = await self._primary()
        if self._server is not None:
            if self._server.endpoint == endpoint:
                await self._server.hang_up()
                return self._server
            await self._server.aclose()
        return Server(self._location, endpoint, self._clock)

    async def _primary(self) -> Endpoint:
        """The primary in the newest configuration that any Sentinel knows; all are asked at once."""
        answers: list[tuple[int, Endpoint]] = []
        failures: list[Exception] = []

        async def ask(sentinel: Endpoint) -> None:
            try:
                async with _asked(self._location, sentinel, credentials=self._guarded) as client:
                    answers.append(await self._ask(client))
            except (*_UNREACHABLE, ConfigError) as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            for sentinel in list(self._sentinels):
                tasks.start_soon(ask, sentinel)
        if answers:
            return max(answers)[1]
        raise next((error for error in failures if isinstance(error, ConfigError)), failures[0])

    async def _ask(self, client: Redis) -> tuple[int, Endpoint]:
        """The primary that a Sentinel knows, and the number of its configuration; other Sentinels are noted."""
        names = [_pairs(one)["name"] for one in await command(client, "SENTINEL", "MASTERS")]
        name = _only(names, self._master)
        found = _pairs(await command(client, "SENTINEL", "MASTER", name))
        for other in await command(client, "SENTINEL", "SENTINELS", name):
            told = _pairs(other)
            self._sentinels[told["ip"], int(told["port"])] = None
        host, port = await command(client, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        return int(found["config-epoch"]), (host, int(port))


class _Cluster:
    """The primaries of a Cluster, by slots."""

    kind = "cluster"

    def __init__(self, location: Location, clock: Clock) -> None:
        if location.database:
            raise ConfigError(
                f"PARLEY_REDIS_URL names the database {location.database} of a Cluster, which has only 0: "
                "leave the number out."
            )
        self._location = location
        self._clock = clock
        self._slots: list[Endpoint | None] = [None] * _SLOTS
        self._servers: dict[Endpoint, Server] = {}
        self._known: list[Endpoint] = list(location.seeds)
        self._looking = anyio.Lock()
        self._doubtful = True

    async def server(self, key: str, /) -> Server:
        await self._be_sure()
        slot = key_slot(key.encode())
        endpoint = self._slots[slot]
        if endpoint is None:
            raise exceptions.ClusterDownError(f"No server of the Cluster serves slot {slot}.")
        return self._at(endpoint)

    async def primaries(self) -> Sequence[Server]:
        await self._be_sure()
        return [self._at(endpoint) for endpoint in dict.fromkeys(self._slots) if endpoint is not None]

    def doubt(self, server: Server | None, error: Exception, /) -> None:
        self._doubtful = True
        if server is None:
            return
        # Who sends us elsewhere knows best what it thinks; who does not answer is asked last.
        position = 0 if isinstance(error, exceptions.MovedError) else len(self._known)
        if server.endpoint in self._known:
            self._known.remove(server.endpoint)
        self._known.insert(position, server.endpoint)

    async def aclose(self) -> None:
        for server in self._servers.values():
            await server.aclose()

    def _at(self, endpoint: Endpoint) -> Server:
        if endpoint not in self._servers:
            self._servers[endpoint] = Server(self._location, endpoint, self._clock)
        return self._servers[endpoint]

    async def _be_sure(self) -> None:
        if not self._doubtful:
            return
        async with self._looking:
            if self._doubtful:
                await self._look()
                self._doubtful = False

    async def _look(self) -> None:
        """Use the map of the first server that gives one. The next time another server comes first, because this map
        may be old.
        """
        for asked in dict.fromkeys([*self._known, *self._location.seeds]):
            try:
                async with _asked(self._location, asked) as client:
                    ranges = await command(client, "CLUSTER", "SLOTS")
            except _UNREACHABLE as error:
                failure: Exception = error
                continue
            if ranges:
                await self._take(ranges, asked)
                return
            failure = exceptions.ClusterDownError(f"{asked[0]}:{asked[1]} knows no server that serves anything.")
        raise failure

    async def _take(self, ranges: Sequence[Any], teller: Endpoint) -> None:
        self._slots = [None] * _SLOTS
        known: dict[Endpoint, None] = {}
        for first, last, *servers in ranges:
            found = [(host or teller[0], int(port)) for host, port, *_ in servers]
            known.update(dict.fromkeys(found))
            self._slots[int(first) : int(last) + 1] = [found[0]] * (int(last) - int(first) + 1)
        known.pop(teller, None)
        self._known = [*known, teller]
        primaries = set(self._slots)
        for endpoint in [endpoint for endpoint in self._servers if endpoint not in primaries]:
            await self._servers.pop(endpoint).aclose()


async def _mode(location: Location, seed: Endpoint) -> tuple[str, bool]:
    """The kind of server, and whether it accepts the URL's credentials: a Sentinel may have none."""
    try:
        async with _asked(location, seed) as client:
            return _mode_of(await client.info("server")), True
    except exceptions.AuthenticationError:
        if not location.guarded:
            raise
        async with _asked(location, seed, credentials=False) as client:
            mode = _mode_of(await client.info("server"))
        if mode != "sentinel":
            raise
        return mode, False


def _mode_of(server: Mapping[str, Any]) -> str:
    """Redis says `redis_mode`, Valkey `server_mode`."""
    return str(server.get("server_mode") or server.get("redis_mode") or "standalone")


@asynccontextmanager
async def _asked(location: Location, endpoint: Endpoint, *, credentials: bool = True) -> AsyncIterator[Redis]:
    """A connection for a few questions. Neither a Sentinel nor a Cluster has several databases."""
    without = ("db",) if credentials else ("db", *CREDENTIALS)
    client = location.client(endpoint, size=1, connect_s=ASK_LIMIT_S, read_s=ASK_LIMIT_S, without=without)
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()


def _pairs(flat: Any) -> Mapping[str, str]:
    return flat if isinstance(flat, Mapping) else dict(zip(flat[::2], flat[1::2], strict=True))


def _only(names: Sequence[str], wanted: str | None) -> str:
    if wanted is not None and wanted not in names:
        raise ConfigError(
            f"PARLEY_REDIS_URL asks the Sentinels for {wanted!r}, and they watch {', '.join(names) or 'nothing'}."
        )
    if wanted is None and len(names) != 1:
        raise ConfigError(
            f"PARLEY_REDIS_URL leads to Sentinels that watch {', '.join(names) or 'nothing'}; "
            "add which one is meant, such as redis://host:26379/0?master=name."
        )
    return wanted or names[0]

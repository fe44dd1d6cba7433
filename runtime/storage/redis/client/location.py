"""The parts of a Redis URL: where to connect, and with which credentials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.connection import HiredisRespSerializer

from runtime.core.errors import ConfigError
from runtime.core.plain_text import whole_characters

Endpoint = tuple[str, int]
"""Host and port of a server. A unix socket is its path and 0."""

_PORT = 6379
CREDENTIALS = ("username", "password")

_PACKER = HiredisRespSerializer()


def packed(*parts: str | int) -> list[bytes]:
    """A command as it is sent. Half a character, which nothing can store, becomes U+FFFD."""
    pack: Callable[..., list[bytes]] = _PACKER.pack
    try:
        return pack(*parts)
    except UnicodeEncodeError:
        return pack(*(whole_characters(part) if isinstance(part, str) else part for part in parts))


class _Packed(AbstractConnection):
    """A connection whose commands are packed in C, as the library does it only where it blocks, and written at once.

    The library begins a task and a timer for each write. Whoever writes reads the answer next, with a time limit.
    """

    def pack_command(self, *parts: Any) -> list[bytes]:
        return packed(*parts)

    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        if self._writer is None or isinstance(command, str | bytes):
            await super().send_packed_command(command, check_health=check_health)
        else:
            self._writer.writelines(command)


class _Plain(_Packed, Connection): ...


class _Encrypted(_Packed, SSLConnection): ...


class _Local(_Packed, UnixDomainSocketConnection): ...


_CONNECTIONS = {Connection: _Plain, SSLConnection: _Encrypted, UnixDomainSocketConnection: _Local}


class _Pool(BlockingConnectionPool):
    """Hands out a connection without the library's lock, timer and telemetry where nobody has to wait for one."""

    async def get_connection(self, *ignored: Any, **options: Any) -> AbstractConnection:
        if not self.can_get_connection():
            found: AbstractConnection = await super().get_connection(*ignored, **options)  # type: ignore[no-untyped-call]
            return found
        connection: AbstractConnection = self.get_available_connection()  # type: ignore[no-untyped-call]
        try:
            await self.ensure_connection(connection)
        except BaseException:
            await self.release(connection)
            raise
        return connection


@dataclass(frozen=True, slots=True)
class Location:
    """`seeds` are the servers to begin with; `master` is the name by which Sentinels know the primary, if given.

    `options` is what every connection takes: credentials, the number of the database, TLS.
    """

    seeds: tuple[Endpoint, ...]
    options: Mapping[str, Any] = field(repr=False)
    master: str | None = None

    def client(
        self, endpoint: Endpoint, *, size: int, connect_s: float, read_s: float | None, without: Collection[str] = ()
    ) -> Redis:
        """A client of one server with at most `size` connections; who wants one more waits for it.

        `without` names options that this client has no use for.
        """
        host, port = endpoint
        place = {"host": host, "port": port} if port else {"path": host}
        options = {name: value for name, value in self.options.items() if name not in without}
        options["connection_class"] = _CONNECTIONS[options.get("connection_class", Connection)]
        pool = _Pool(
            max_connections=size,
            timeout=None,
            socket_timeout=read_s,
            socket_connect_timeout=connect_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            decode_responses=True,
            driver_info=None,  # the library would read its own package's metadata for each connection
            **place,
            **options,
        )
        return Redis.from_pool(pool)

    @property
    def guarded(self) -> bool:
        """Whether it has credentials."""
        return any(self.options.get(name) for name in CREDENTIALS)

    @property
    def database(self) -> int:
        """The number of the database."""
        return int(self.options.get("db") or 0)


def locate(location: Path | str) -> Location:
    """Read a path of a unix socket, or a URL (redis, rediss, unix), which may name several hosts: `redis://a:1,b:2`.

    Raises ConfigError; its text does not repeat the password.
    """
    if isinstance(location, Path):
        return Location(((str(location), 0),), {"connection_class": UnixDomainSocketConnection})
    try:
        parts = urlsplit(location)
        before, _, hosts = parts.netloc.rpartition("@")
        found = [
            dict(parse_url(urlunsplit(parts._replace(netloc=f"{before}@{host}" if before else host))))
            for host in hosts.split(",")
        ]
    except ValueError as error:
        raise ConfigError(
            "PARLEY_REDIS_URL is not the URL of a Redis server, such as redis://user:password@host:6379/0. "
            "In a password / is written %2F, # is %23, ? is %3F, @ is %40."
        ) from error
    seeds = tuple(_endpoint(options) for options in found)
    master = found[0].get("master")
    options = {name: value for name, value in found[0].items() if name not in ("host", "port", "path", "master")}
    return Location(seeds, options, None if master is None else str(master))


def shown(location: Path | str) -> str:
    """The URL without what is secret in it."""
    scheme, _, rest = str(location).partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if rest else str(location)


def _endpoint(options: Mapping[str, Any]) -> Endpoint:
    if "path" in options:
        return options["path"], 0
    return options.get("host", "localhost"), options.get("port", _PORT)

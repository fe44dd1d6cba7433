"""The one way to the server: a bounded pool, time limits, one error, and patience while the server is away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.storage.notice import OnEvent, unheard
from runtime.storage.redis.script import Script

POOL_SIZE = 32
COMMAND_LIMIT_S = 5.0

_READERS = 4
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 1.0

_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
    TimeoutError,
    OSError,
)

Answer = TypeVar("Answer")
Call = Callable[["Redis"], Awaitable[Answer]]


class RedisConnection:
    """Calls the server. Every call is repeated while the server is away, so every call must be idempotent.

    `patience_s` is how long a call waits for the server to come back; None waits for ever. `on_event` hears
    storage.lost at the first failure and storage.back at the first success after it, once each.
    """

    def __init__(
        self,
        client: Redis,
        reader: Redis,
        *,
        on_event: OnEvent = unheard,
        patience_s: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._reader = reader
        self._on_event = on_event
        self._patience_s = patience_s
        self._clock = clock or SystemClock()
        self._lost_at: float | None = None

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """Run a script; its text is sent only to a server that does not know it."""

        async def call(client: Redis) -> Any:
            try:
                return await client.evalsha(script.digest, len(keys), *keys, *arguments)
            except exceptions.NoScriptError:
                return await client.eval(script.text, len(keys), *keys, *arguments)

        return await self.retrying(call)

    async def retrying(self, call: Call[Answer]) -> Answer:
        """The answer of `call`, which is made again while the server is away. Raises StorageUnavailable.

        A call under way is not cancelled: it ends by itself within `COMMAND_LIMIT_S`.
        """

        async def shielded() -> Answer:
            answer: list[Answer] = []
            with anyio.CancelScope(shield=True):
                answer.append(await call(self._client))
            return answer[0]

        return await self._patiently(shielded)

    async def read_streams(
        self, after: Mapping[str, str], *, wait_s: float, count: int
    ) -> Sequence[tuple[str, Sequence[tuple[str, Mapping[str, str]]]]]:
        """Entries of several streams, as soon as one has any; nothing after `wait_s`. Can be cancelled at any time."""

        async def call() -> Any:
            answer: Any = None
            streams: dict[Any, Any] = dict(after)
            with anyio.fail_after(wait_s + COMMAND_LIMIT_S):
                answer = await self._reader.xread(streams, count=count, block=max(1, round(wait_s * 1000)))
            return answer or ()

        return await self._patiently(call)

    async def _patiently(self, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        deadline = None if self._patience_s is None else self._clock.monotonic() + self._patience_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                answer = await attempt()
            except _REFUSED as error:
                raise StorageUnavailable(f"The Redis server refuses us: {error}. Check the URL's password.") from error
            except _AWAY as error:
                self._note_loss(error)
                if deadline is not None and self._clock.monotonic() + pause_s > deadline:
                    raise StorageUnavailable(
                        f"The Redis server did not come back within {self._patience_s} s: {error}."
                    ) from error
            except exceptions.RedisError as error:
                raise StorageUnavailable(f"The Redis server failed: {error}.") from error
            else:
                self._note_return()
                return answer
            await self._clock.sleep_until(self._clock.monotonic() + pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _note_loss(self, error: Exception) -> None:
        if self._lost_at is None:
            self._lost_at = self._clock.monotonic()
            self._on_event("storage.lost", reason=str(error) or type(error).__name__)

    def _note_return(self) -> None:
        if self._lost_at is not None:
            seconds = self._clock.monotonic() - self._lost_at
            self._lost_at = None
            self._on_event("storage.back", seconds=seconds)


@asynccontextmanager
async def open_connection(
    location: Path | str,
    *,
    on_event: OnEvent = unheard,
    patience_s: float | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[RedisConnection]:
    """A connection to a unix socket (a path) or a URL (redis, rediss, unix). Raises ConfigError for a bad URL.

    Connects with the first call, not before.
    """
    client = Redis.from_pool(_pool(location, POOL_SIZE, COMMAND_LIMIT_S))
    reader = Redis.from_pool(_pool(location, _READERS, None))
    try:
        yield RedisConnection(client, reader, on_event=on_event, patience_s=patience_s, clock=clock)
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()
            await reader.aclose()


def _pool(location: Path | str, size: int, read_limit_s: float | None) -> BlockingConnectionPool:
    options: dict[str, Any] = {
        "max_connections": size,
        "timeout": None,
        "socket_timeout": read_limit_s,
        "socket_connect_timeout": COMMAND_LIMIT_S,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "decode_responses": True,
    }
    if isinstance(location, Path):
        return BlockingConnectionPool(connection_class=UnixDomainSocketConnection, path=str(location), **options)
    try:
        return BlockingConnectionPool.from_url(location, **options)
    except ValueError as error:
        raise ConfigError(f"PARLEY_REDIS_URL is not the URL of a Redis server: {error}") from error

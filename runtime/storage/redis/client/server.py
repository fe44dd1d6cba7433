"""One server: its connections, whether a replica follows it, and the commands to it: those that callers make in the
same turn of the loop are one write and one wait. And outages: which failures are waited out, and when people learn of
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection

from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.events.happening import Tell
from runtime.events.service import StorageBack, StorageLost
from runtime.storage.redis.client.location import Endpoint, Location, packed
from runtime.stores.sessions import SHARDS

_POOL_SIZE = 32
_READERS = 2 * SHARDS
_LOOK_S = 10.0
"""How long it is believed whether replicas follow."""

_LAG_S = 10
"""A replica that was heard of longer ago is one that died without a word, as machines do; others are heard of every
second."""

ALONE_AFTER_S = 20.0
"""How long after its last replica went a server still counts as followed: one that was promoted leaves like one that
died, and what the old primary takes on from then on is lost. Until then it is known which of them it was."""

COMMAND_LIMIT_S = 5.0

_REPLICA_LIMIT_MS = 2000
_MAX_TOGETHER = 200
"""Commands in one write. Chosen: none waits long for those before it."""


class Server:
    """`commands` makes single commands, `client` is for other calls, each of which ends within `COMMAND_LIMIT_S`;
    `reader` for reads that wait longer.

    Both clients have bounded pools of connections. Connects with the first call, not before.
    """

    def __init__(self, location: Location, endpoint: Endpoint, clock: Clock) -> None:
        self.endpoint = endpoint
        self.client: Redis = location.client(
            endpoint, size=_POOL_SIZE, connect_s=COMMAND_LIMIT_S, read_s=COMMAND_LIMIT_S
        )
        self.reader: Redis = location.client(endpoint, size=_READERS, connect_s=COMMAND_LIMIT_S, read_s=None)
        self.commands = Commands(self.client, lambda look: self.followed(look=look), self.confirmed)
        self._clock = clock
        self._looked_at: float | None = None
        self._followed_at: float | None = None

    async def followed(self, *, look: bool = False) -> bool:
        """Whether a replica follows this server, or did a moment ago; `look`: not what was found in the last seconds.

        One that was never followed, as far as we know, is alone at once.
        """
        now = self._clock.monotonic()
        if look or self._looked_at is None or now - self._looked_at > _LOOK_S:
            if self._looked_at is not None:
                self._looked_at = now
            if _has_replica(await self.client.info("replication")):
                self._followed_at = now
            self._looked_at = now
        return self._followed_at is not None and now - self._followed_at <= ALONE_AFTER_S

    def confirmed(self) -> None:
        """A replica has told that it has something."""
        self._followed_at = self._clock.monotonic()

    async def hang_up(self) -> None:
        """Drop the idle connections, so that the next call finds out again which server is at this address."""
        await self.client.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        """Drop all connections; calls under way fail."""
        with anyio.CancelScope(shield=True):
            for client in (self.client, self.reader):
                await client.connection_pool.disconnect(inuse_connections=True)
                await client.aclose()

    def __str__(self) -> str:
        host, port = self.endpoint
        return f"{host}:{port}" if port else host


async def command(client: Redis, *parts: str | int) -> Any:
    """The answer to one command."""
    send: Callable[..., Awaitable[Any]] = client.execute_command
    return await send(*parts)


class NotReplicated(exceptions.ConnectionError):
    """A write is on the primary alone, though a replica follows it."""


class _Asked:
    """The command of one caller."""

    __slots__ = ("answer", "packed", "replicated")

    def __init__(self, parts: tuple[str | int, ...], replicated: bool) -> None:
        self.packed = packed(*parts)
        self.replicated = replicated
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Commands:
    """Each caller has the answer, or the error, of its own command; a connection that fails fails all on it.

    The first caller of a turn sends for all of them. A caller is not to be cancelled.
    """

    def __init__(
        self, client: Redis, followed: Callable[[bool], Awaitable[bool]], confirmed: Callable[[], None]
    ) -> None:
        """`followed` says whether a replica follows, where asked for not from memory; `confirmed` hears that one has
        what was written."""
        self._pool = client.connection_pool
        self._followed = followed
        self._confirmed = confirmed
        self._asked: list[_Asked] = []

    async def make(self, parts: tuple[str | int, ...], *, replicated: bool) -> Any:
        """The answer to one command. `replicated`: where a replica follows, when one has what was written before.

        Raises what the server answers, and NotReplicated, ConnectionError and TimeoutError.
        """
        asked = _Asked(parts, replicated)
        self._asked.append(asked)
        if len(self._asked) == 1:
            await self._send()
        return await asked.answer

    async def _send(self) -> None:
        """Send what is asked for by the end of this turn."""
        asked: Sequence[_Asked] = self._asked
        try:
            await asyncio.sleep(0)
            asked, self._asked = self._asked, []
            waits = any(one.replicated for one in asked) and await self._followed(False)
            for first in range(0, len(asked), _MAX_TOGETHER):
                await self._exchange(asked[first : first + _MAX_TOGETHER], waits)
        except (exceptions.RedisError, TimeoutError, OSError) as error:
            _fail(asked, error)
        finally:
            if asked is self._asked:
                self._asked = []
            _fail(asked)

    async def _exchange(self, asked: Sequence[_Asked], waits: bool) -> None:
        """Make these commands; `waits`: with what was written by them at a replica."""
        connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        answers, wanted = list[Any](), len(asked) + waits
        try:
            async with asyncio.timeout(COMMAND_LIMIT_S):
                pieces = [piece for one in asked for piece in one.packed]
                if waits:
                    pieces += packed("WAIT", 1, _REPLICA_LIMIT_MS)
                await connection.send_packed_command(pieces)
                while len(answers) < wanted:
                    answers.append(await _answer(connection))
        finally:
            if len(answers) < wanted:
                await connection.disconnect(nowait=True)
            await self._pool.release(connection)
        lacking = await self._lacking(answers.pop()) if waits else None
        for one, answer in zip(asked, answers, strict=True):
            found = lacking if lacking and one.replicated and not isinstance(answer, Exception) else answer
            if isinstance(found, Exception):
                one.answer.set_exception(found)
            else:
                one.answer.set_result(found)

    async def _lacking(self, replicas: Any) -> Exception | None:
        """The error when too few replicas have what was written."""
        if isinstance(replicas, Exception):
            return replicas
        if replicas:
            self._confirmed()
        elif await self._followed(True):
            return NotReplicated(f"No replica has confirmed a write within {_REPLICA_LIMIT_MS} ms.")
        return None


def _has_replica(replication: Mapping[str, Any]) -> bool:
    return any(
        isinstance(value, Mapping) and value.get("state") == "online" and int(value.get("lag", 0)) <= _LAG_S
        for name, value in replication.items()
        if name.startswith("slave")
    )


async def _answer(connection: AbstractConnection) -> Any:
    """One answer, or the server's refusal."""
    try:
        return await connection.read_response(timeout=float("inf"))
    except exceptions.ResponseError as error:
        return error


def _fail(asked: Sequence[_Asked], error: Exception | None = None) -> None:
    for one in asked:
        if not one.answer.done():
            one.answer.set_exception(error or exceptions.ConnectionError("the call was broken off"))


UNTOLD_S = 5.0
"""How long a slot may be on its way to another server before that is told as a loss."""

_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_MOVING = (exceptions.AskError, exceptions.TryAgainError)
"""A slot has gone to another server, or is on its way; while it goes key by key its calls wait for the end of that."""

_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.OutOfMemoryError,
    TimeoutError,
    OSError,
    *_MOVING,
)
_AWAY_TEXTS = ("MISCONF", "NOREPLICAS", "UNBLOCKED", "MASTERDOWN")
"""Answers without a class of their own: no disk, too few replicas, no primary any more, a replica without one."""


_NO_RIGHT_TEXTS = ("ACL failure", "The user executing the script can't")
"""How a script is told that the right to a command is missing."""


class Patience:
    """The failures that one call has met so far; the call has to leave it in the end."""

    def __init__(self, outage: Outage) -> None:
        self._outage = outage
        self._began = outage.clock.monotonic()
        self.waits = False

    def failed(self, error: Exception, pause_s: float) -> None:
        """Return when the call is to be made again after `pause_s`; else raises StorageUnavailable."""
        self._outage.failures += 1
        _refuse_hopeless(error)
        if not self.waits:
            self.waits = True
            self._outage.waiting += 1
        waited_s, patience_s = self._outage.clock.monotonic() - self._began, self._outage.patience_s
        if not isinstance(error, _MOVING) or waited_s > UNTOLD_S:
            self._outage.begin(error)
        if patience_s is not None and waited_s + pause_s > patience_s:
            raise StorageUnavailable(f"The Redis server did not come back within {patience_s} s: {error}.") from error

    def succeeded(self) -> None:
        """The call has its answer."""
        self.leave()
        self._outage.end()

    def leave(self) -> None:
        """The call waits no longer."""
        if self.waits:
            self.waits = False
            self._outage.waiting -= 1


class Outage:
    """Publishes storage.lost at the first failure, and storage.back at the first success when no call waits."""

    def __init__(self, on_event: Tell, clock: Clock, patience_s: float | None) -> None:
        self.waiting = 0
        self.failures = 0
        """The number of failed calls so far; an increase means that servers may have changed."""
        self._on_event = on_event
        self.clock = clock
        self.patience_s = patience_s
        self._lost_at: float | None = None

    def begin(self, error: Exception) -> None:
        """A call failed."""
        if self._lost_at is None:
            self._lost_at = self.clock.monotonic()
            self._on_event(StorageLost(str(error) or type(error).__name__))

    def end(self) -> None:
        """A call succeeded."""
        if self._lost_at is not None and not self.waiting:
            seconds = self.clock.monotonic() - self._lost_at
            self._lost_at = None
            self._on_event(StorageBack(seconds))


def _refuse_hopeless(error: Exception) -> None:
    if isinstance(error, _REFUSED):
        raise StorageUnavailable(f"The Redis server refuses us: {error}. Check the URL's password.") from error
    if isinstance(error, exceptions.NoPermissionError) or str(error).startswith(_NO_RIGHT_TEXTS):
        raise StorageUnavailable(
            f"The user of the Redis server lacks a permission: {error}. docs/running/nodes.md lists them."
        ) from error
    if not isinstance(error, _AWAY) and not str(error).startswith(_AWAY_TEXTS):
        raise StorageUnavailable(f"The Redis server failed: {error}.") from error

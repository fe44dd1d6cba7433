"""The check of a URL's servers: whether they are fit for conversations, and what data they may lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any

from msgspec import Struct
from redis import exceptions
from redis.asyncio import Redis

from runtime.core.clock import Clock
from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.events.happening import Happening
from runtime.events.service import StorageBack, StorageLost
from runtime.storage.embedded.server_binary import LEAST_VERSION
from runtime.storage.redis.client.connection import RedisConnection, load_script, open_connection
from runtime.storage.redis.client.location import shown

_LIMIT_S = 5.0
START_LIMIT_S = 60.0
"""How long a gateway that starts waits for servers that have never answered."""
_MEND = "Start it, or correct PARLEY_REDIS_URL."
_NOT_READY = (exceptions.BusyLoadingError, exceptions.ReadOnlyError, exceptions.ClusterDownError)
_PROBE = load_script("operation/probe")
_PROBED = ["{parley:probe}:hash", "{parley:probe}:stream", "{parley:probe}:set", "{parley:probe}:zset"]


class ServerCheck(Struct, frozen=True):
    """`servers` is a line about the servers; `warnings` say what data may be lost, and when."""

    servers: str
    warnings: Sequence[str]


async def ping(url: str) -> str:
    """The server at `url` with its version, and a line for each kind of data that may be lost, for `parley check`.

    Raises StorageUnavailable, and ConfigError for unfit servers; their texts do not repeat the password.
    """
    try:
        async with open_connection(url, patience_s=_LIMIT_S) as connection:
            found = await examine(connection)
    except StorageUnavailable as error:
        raise StorageUnavailable(f"No Redis or Valkey answers as it should at {shown(url)}: {error}") from error
    return "\n".join([found.servers, *(f"warning: {warning}" for warning in found.warnings)])


async def reach(url: str, tell: Callable[[str], None], *, clock: Clock | None = None) -> None:
    """Return when the servers at `url` have answered; `tell` gets a sentence for people when they do not at once.

    Raises StorageUnavailable where nothing has answered within `START_LIMIT_S`, and where it refuses us. A server that
    answers that it is not ready (it loads its data, it is a replica) is there, and waited for by whoever uses it.
    """
    place, limit_s = shown(url), round(START_LIMIT_S)

    def hear(what: Happening) -> None:
        if isinstance(what, StorageLost):
            tell(f"No Redis or Valkey answers at {place}: {what.reason} {_MEND} Trying again for {limit_s} s.")
        elif isinstance(what, StorageBack):
            tell(f"The database at {place} answers.")

    try:
        async with open_connection(url, on_event=hear, patience_s=START_LIMIT_S, clock=clock) as connection:
            await connection.everywhere(methodcaller("ping"))
    except StorageUnavailable as error:
        if isinstance(error.__cause__, _NOT_READY):
            return
        if not isinstance(error.__cause__, exceptions.ConnectionError | exceptions.TimeoutError | OSError):
            raise
        raise StorageUnavailable(
            f"No Redis or Valkey answered at {place} within {limit_s} s: {error} {_MEND}"
        ) from error


async def examine(connection: RedisConnection) -> ServerCheck:
    """Ask all primaries, and write and remove a value.

    Raises ConfigError for unfit servers, and StorageUnavailable for missing permissions.
    """
    told = await connection.everywhere(_tell)
    for one in told:
        _refuse_unfit(one)
    await connection.run(_PROBE, _PROBED, [])
    kind = await connection.kind()
    return ServerCheck(_line(kind, told), [warning for one in told for warning in _warnings(kind, one)])


async def _tell(client: Redis) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for section in ("server", "memory", "persistence", "replication"):
        found |= await client.info(section)
    return found


def _refuse_unfit(told: Mapping[str, Any]) -> None:
    version = tuple(int(part) for part in str(told["redis_version"]).split(".")[:2])
    if version < LEAST_VERSION:
        raise ConfigError(
            f"PARLEY_REDIS_URL leads to {_version(told)}; Redis {LEAST_VERSION[0]}.{LEAST_VERSION[1]} "
            "or newer, or any Valkey, is needed."
        )
    if str(told["maxmemory_policy"]).startswith("allkeys") and told["maxmemory"]:
        raise ConfigError(
            f"The Redis at PARLEY_REDIS_URL deletes conversations when its memory is full (maxmemory-policy "
            f"{told['maxmemory_policy']}). Set maxmemory-policy to noeviction there."
        )


def _warnings(kind: str, told: Mapping[str, Any]) -> Sequence[str]:
    warnings: list[str] = []
    if told["role"] != "master":
        warnings.append("it is a replica, and Parley waits until it is a primary; name the primary in PARLEY_REDIS_URL")
    if not told["aof_enabled"]:
        warnings.append("it writes no append-only file: a restart may lose the latest; set appendonly to yes")
    if str(told["maxmemory_policy"]).startswith("volatile") and told["maxmemory"]:
        warnings.append(
            "when its memory is full it forgets which messages have arrived, and repetitions are answered twice; "
            "set maxmemory-policy to noeviction"
        )
    if kind != "alone" and not told["connected_slaves"]:
        warnings.append("no replica follows it: when it dies, its conversations wait until it is back")
    return [f"the server at port {told['tcp_port']}: {warning}" for warning in warnings]


def _line(kind: str, told: Sequence[Mapping[str, Any]]) -> str:
    replicas = sum(int(one["connected_slaves"]) for one in told)
    versions = " and ".join(dict.fromkeys(map(_version, told)))
    if kind == "cluster":
        return f"{versions} answers: a Cluster of {len(told)} primaries, {_count(replicas, 'replica')}"
    if kind == "sentinel":
        return f"{versions} answers: a primary that Sentinels watch, {_count(replicas, 'replica')}"
    return f"{versions} answers" + (f", {_count(replicas, 'replica')}" if replicas else "")


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _version(told: Mapping[str, Any]) -> str:
    return f"Valkey {told['valkey_version']}" if "valkey_version" in told else f"Redis {told['redis_version']}"

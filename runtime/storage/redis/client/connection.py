"""The one way to the servers: bounded pools, time limits, one error, and patience while a server is away.

call ──> topology: who serves this key? ──> the call ──> is there a replica? it has what was written ──> answer
  ^                                            │
  └── a pause, then ask again who serves it <──┘ away, or a replica by now, or the slot is elsewhere
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline, PubSub

from runtime.core.background import beside
from runtime.core.clock import Clock, SystemClock
from runtime.events.happening import Tell, unheard
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from runtime.storage.redis.client.location import Location, locate
from runtime.storage.redis.client.server import COMMAND_LIMIT_S, Outage, Patience, Server
from runtime.storage.redis.client.streams import Entries, StreamWatch
from runtime.storage.redis.client.topology import Topology, find_topology

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 1.0

Answer = TypeVar("Answer")
Chosen = TypeVar("Chosen")
Call = Callable[["Redis"], Awaitable[Answer]]
Ask = Callable[["Pipeline", str], object]
Question = tuple[str, Callable[["Pipeline"], object]]
"""A key, and what puts one command about it into a batch; the command must not write."""


class ShardHistory(Struct):
    """The number of a shard's last commit, and the id of the last entry of its inbox that was read; 0 for none."""

    token: int
    commits: int = 0
    entry: tuple[int, int] = (0, 0)


class Histories:
    """For each shard, under the latest lease: the number of its last commit, and the last entry of its inbox."""

    def __init__(self) -> None:
        self._shards: dict[int, ShardHistory] = {}

    def begin(self, shard: int, token: int) -> None:
        """A lease was acquired: from here on the server's word counts."""
        self._shards[shard] = ShardHistory(token)

    def committed(self, shard: int, token: int, number: int) -> None:
        """The server has made the shard's commit of this number true."""
        seen = self.under(shard, token)
        seen.commits = max(seen.commits, number)

    def read(self, shard: int, entry_id: str) -> None:
        """An entry of the shard's inbox was read."""
        seen = self._shards.get(shard)
        if seen is not None:
            milliseconds, _, number = entry_id.partition("-")
            seen.entry = max(seen.entry, (int(milliseconds), int(number or 0)))

    def under(self, shard: int, token: int) -> ShardHistory:
        """What was seen of a shard under this lease, if it is the latest."""
        seen = self._shards.get(shard)
        return seen if seen is not None and seen.token == token else ShardHistory(token)


class RedisConnection:
    """Calls the servers. Every call is repeated while its server is away, so every call must be idempotent; a
    repetition writes something again, so that waiting for the replica covers what the first attempt wrote.

    `patience_s` is how long a call waits for a server to come back; None waits for ever. `on_event` hears
    storage.lost at the first failure, and storage.back at the first success when no call waits any more.
    """

    def __init__(
        self,
        location: Location,
        tasks: TaskGroup,
        *,
        on_event: Tell = unheard,
        patience_s: float | None = None,
        clock: Clock | None = None,
        sealing: ContentSealing = PLAIN,
    ) -> None:
        self.histories = Histories()
        self.sealing = sealing
        self._location = location
        self._tasks = tasks
        self._clock = clock or SystemClock()
        self.outage = Outage(on_event, self._clock, patience_s)
        self._topology: Topology | None = None
        self._finding = anyio.Lock()

    async def run(
        self, script: RedisScript, keys: Sequence[str], arguments: Sequence[str | int], *, replicated: bool = True
    ) -> Any:
        """Run a script; its text is sent only to a server that does not know it. All keys have one hash tag.

        Where a replica follows, returns when one has what the script wrote; `replicated=False` does not wait for that.
        """
        rest = (len(keys), *keys, *arguments)

        async def call(server: Server) -> Any:
            try:
                return await server.commands.make(("EVALSHA", script.digest, *rest), replicated=replicated)
            except exceptions.NoScriptError:
                return await server.commands.make(("EVAL", script.text, *rest), replicated=replicated)

        return await self._shielded(call, keys[0])

    async def write(self, name: str, key: str, *arguments: str | int) -> Any:
        """One command that writes at a key. Waits for a replica like `run`."""
        return await self._shielded(lambda server: server.commands.make((name, key, *arguments), replicated=True), key)

    async def ask(self, name: str, key: str, *arguments: str | int) -> Any:
        """The server's plain answer to one command that reads at a key, or whose writes no replica needs to have."""
        return await self._shielded(lambda server: server.commands.make((name, key, *arguments), replicated=False), key)

    async def retrying(self, call: Call[Answer], key: str) -> Answer:
        """The answer of `call` by the server of `key`, made again while that is away. Raises StorageUnavailable.

        All keys of the call have the hash tag of `key`. A call under way is not cancelled: it ends by itself within
        `COMMAND_LIMIT_S`. What it writes a replica may not have yet.
        """
        return await self._shielded(lambda server: call(server.client), key)

    async def read(self, command: str, key: str, *arguments: Any, **options: Any) -> Any:
        """The answer to a command that reads at a key, by the library's method of this name, as that gives it."""
        return await self.retrying(methodcaller(command, key, *arguments, **options), key)

    async def read_at_once(self, key: str, *commands: tuple[Any, ...]) -> list[Any]:
        """The answers to several such commands at one moment: their names and arguments, of keys with `key`'s tag."""

        async def call(client: Redis) -> list[Any]:
            async with client.pipeline(transaction=True) as batch:
                for command, *arguments in commands:
                    getattr(batch, command)(*arguments)
                return list(await batch.execute())

        return await self.retrying(call, key)

    async def each(self, keys: Sequence[str], ask: Ask) -> list[Any]:
        """The answers to one question about each of several keys; `ask` puts a command about a key into a batch."""
        return await self.answers([(key, partial(_about, key, ask)) for key in keys])

    async def answers(self, questions: Sequence[Question]) -> list[Any]:
        """The answers to questions about keys that different servers may have: one batch a server."""
        servers: dict[str, Server] = {}
        places: dict[Server, list[int]] = {}
        for number, (key, _) in enumerate(questions):
            tag = key.partition("}")[0]
            if tag not in servers:
                servers[tag] = await self._patiently(_serving(key), _itself)
            places.setdefault(servers[tag], []).append(number)
        answers: dict[int, Any] = {}
        for numbers in places.values():
            some = [questions[number] for number in numbers]
            found = await self.retrying(partial(_batch, some), some[0][0])
            answers.update(zip(numbers, found, strict=True))
        for number in [number for number, answer in answers.items() if isinstance(answer, Exception)]:
            question = questions[number]
            answers[number] = await self.retrying(partial(_single, question), question[0])
        return [answers[number] for number in range(len(questions))]

    async def everywhere(self, call: Call[Answer]) -> Sequence[Answer]:
        """The answers of all primaries, one after the other."""
        return [await self.at_primary(number, call) for number in range(await self.primaries())]

    async def primaries(self) -> int:
        """The number of servers with keys."""

        async def count(topology: Topology) -> int:
            return len(await topology.primaries())

        return await self._patiently(count, _itself)

    async def at_primary(self, number: int, call: Call[Answer]) -> Answer:
        """The answer of one of the primaries, repeated while it is away, then by the server that has its number."""

        async def choose(topology: Topology) -> Server:
            servers = await topology.primaries()
            return servers[min(number, len(servers) - 1)]

        return await self._patiently(choose, lambda server: _unbroken(call(server.client)))

    async def kind(self) -> str:
        """The kind of set-up that the URL leads to: "alone", "sentinel" or "cluster"."""

        return (await self._patiently(_itself, _itself)).kind

    async def read_streams(
        self, after: Mapping[str, str], *, wait_s: float, count: int
    ) -> Sequence[tuple[str, Entries]]:
        """Entries of streams of one hash tag or, but in a Cluster, of any; as soon as one has some, nothing after
        `wait_s`, or at once where that is 0. Can be cancelled at any time, which costs a connection."""

        async def call(server: Server) -> Any:
            answer: Any = None
            streams: dict[Any, Any] = dict(after)
            with anyio.fail_after(wait_s + COMMAND_LIMIT_S):
                block = max(1, round(wait_s * 1000)) if wait_s else None
                answer = await server.reader.xread(streams, count=count, block=block)
            return answer or ()

        return await self._patiently(_serving(next(iter(after))), call)

    async def subscribed(self, *channels: str) -> PubSub:
        """Channels that are listened to by now, on the server of the first one's name; to be closed by the caller.

        In a Cluster what is published anywhere is heard everywhere.
        """

        async def call(server: Server) -> PubSub:
            heard = server.reader.pubsub()
            await heard.subscribe(*channels)
            for _ in channels:
                if await heard.get_message(timeout=COMMAND_LIMIT_S) is None:
                    raise TimeoutError(f"{server} does not confirm a subscription")
            return heard

        return await self._patiently(_serving(channels[0]), call)

    @asynccontextmanager
    async def in_another_loop(self) -> AsyncIterator[RedisConnection]:
        """A connection to the same servers for the loop that asks, which knows what this one has seen of the shards.

        It waits for servers without a limit, and says nothing of it: this one does.
        """
        async with _opened(partial(RedisConnection, self._location, sealing=self.sealing)) as other:
            other.histories = self.histories
            await other.primaries()  # what the URL names may be away by the first call, and the others are not
            yield other

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have something done for many callers, which ends with the connection. It must not raise."""
        self._tasks.start_soon(work)

    def watch(self) -> StreamWatch:
        """For one caller who waits for news in many streams, wherever they are."""
        return StreamWatch(self.read_streams, self.kind, self._tasks)

    async def aclose(self) -> None:
        """Drop all connections."""
        if self._topology is not None:
            await self._topology.aclose()

    async def _shielded(self, call: Callable[[Server], Awaitable[Answer]], key: str) -> Answer:
        return await self._patiently(_serving(key), lambda server: _unbroken(call(server)))

    async def _patiently(
        self, choose: Callable[[Topology], Awaitable[Chosen]], attempt: Callable[[Chosen], Awaitable[Answer]]
    ) -> Answer:
        pause_s = _FIRST_PAUSE_S
        patience = Patience(self.outage)
        try:
            while True:
                chosen: Chosen | None = None
                try:
                    chosen = await choose(self._topology or await self._find())
                    answer = await attempt(chosen)
                except (exceptions.RedisError, TimeoutError, OSError) as error:
                    patience.failed(error, pause_s)
                    if self._topology is not None:
                        self._topology.doubt(chosen if isinstance(chosen, Server) else None, error)
                else:
                    patience.succeeded()
                    return answer
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        finally:
            patience.leave()

    async def _find(self) -> Topology:
        async with self._finding:
            if self._topology is None:
                self._topology = await find_topology(self._location, self._clock)
            return self._topology


@asynccontextmanager
async def open_connection(
    location: Path | str,
    *,
    on_event: Tell = unheard,
    patience_s: float | None = None,
    clock: Clock | None = None,
    sealing: ContentSealing = PLAIN,
) -> AsyncIterator[RedisConnection]:
    """A connection to what a unix socket (a path) or a URL (redis, rediss, unix) leads to: a server alone, a Cluster,
    or the primary that Sentinels watch. Raises ConfigError for a bad URL.

    `sealing` is how the stores write content through it. Connects with the first call, not before; that also raises
    ConfigError when it is left open what is meant.
    """
    place = locate(location)
    make = partial(RedisConnection, place, on_event=on_event, patience_s=patience_s, clock=clock, sealing=sealing)
    async with _opened(make) as connection:
        yield connection


class RedisScript(Struct, frozen=True):
    """The text and its SHA-1, by which EVALSHA finds it."""

    text: str
    digest: str


def load_script(name: str, package: str = "runtime.storage.redis") -> RedisScript:
    """The script `scripts/<name>.lua` of a package; a name has a folder where several scripts serve one store."""
    text = files(package).joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
    return RedisScript(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@asynccontextmanager
async def _opened(make: Callable[[TaskGroup], RedisConnection]) -> AsyncIterator[RedisConnection]:
    async with beside() as tasks:
        connection = make(tasks)
        try:
            yield connection
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await connection.aclose()


def _serving(key: str) -> Callable[[Topology], Awaitable[Server]]:
    return lambda topology: topology.server(key)


async def _itself(chosen: Chosen) -> Chosen:
    return chosen


async def _unbroken(call: Awaitable[Answer]) -> Answer:
    """A call that is not cancelled."""
    answer: list[Answer] = []
    with anyio.CancelScope(shield=True):
        answer.append(await call)
    return answer[0]


def _about(key: str, ask: Ask, batch: Pipeline) -> object:
    return ask(batch, key)


async def _batch(questions: Sequence[Question], client: Redis) -> list[Any]:
    async with client.pipeline(transaction=False) as batch:
        for _, ask in questions:
            ask(batch)
        return list(await batch.execute(raise_on_error=False))


async def _single(question: Question, client: Redis) -> Any:
    async with client.pipeline(transaction=False) as batch:
        question[1](batch)
        return (await batch.execute())[0]

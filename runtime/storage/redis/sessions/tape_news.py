"""News about tapes on Redis: one read for everybody who follows tapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from redis.asyncio import Redis

from runtime.core.errors import StorageError
from runtime.core.ids import SessionId
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.streams import Entries

_NEWS_KEPT = 100
"""The number of a shard's latest commits that the scripts keep at least."""

_WAIT_S = 30.0


@dataclass(eq=False, slots=True)
class Follower:
    """A listener for a session's news, which are in the shard's stream `stream`."""

    session: SessionId
    stream: str
    _rung: anyio.Event = field(default_factory=anyio.Event)
    _error: StorageError | None = None

    async def news(self) -> None:
        """Return when there may be news since the last wait. Raises StorageError."""
        await self._rung.wait()
        self._rung = anyio.Event()
        if self._error is not None:
            raise self._error

    def ring(self, error: StorageError | None = None) -> None:
        """Report possible news, or a failed read."""
        self._error = self._error or error
        self._rung.set()


class TapeNews:
    """Reads the news of all followed sessions, while there are any."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._watch = connection.watch()
        self._followers: dict[str, set[Follower]] = {}
        self._cursors: dict[str, str] = {}
        self._runs = False
        self._reading = anyio.CancelScope()

    async def follower(self, session: SessionId, stream: str) -> Follower:
        """Follow news from now on, until `leave`. Raises StorageError."""
        follower = Follower(session, stream)
        self._followers.setdefault(stream, set()).add(follower)
        try:
            last = self._cursors.get(stream) or await self._last(stream)
        except BaseException:
            self.leave(follower)
            raise
        if stream not in self._cursors:
            self._cursors[stream] = last
            self._read_anew()
        return follower

    def leave(self, follower: Follower) -> None:
        """Stop listening."""
        others = self._followers.get(follower.stream, set())
        others.discard(follower)
        if not others:
            self._followers.pop(follower.stream, None)
        if not self._followers:
            self._reading.cancel()

    def _read_anew(self) -> None:
        """Start another read, with one more stream."""
        if self._runs:
            self._reading.cancel()
        else:
            self._runs = True
            self._connection.start_soon(self._run)

    async def _run(self) -> None:
        try:
            while self._cursors:
                with anyio.CancelScope() as self._reading:
                    await self._read()
                self._cursors = {stream: at for stream, at in self._cursors.items() if stream in self._followers}
        except StorageError as error:
            self._cursors.clear()
            for stream in self._followers:
                self._ring(stream, error=error)
        finally:
            self._runs = False

    async def _read(self) -> None:
        answer = await self._watch.read(dict(self._cursors), wait_s=_WAIT_S, count=_NEWS_KEPT)
        for stream, entries in answer:
            self._cursors[stream] = entries[-1][0]
            self._ring(stream, entries)
        for stream in () if answer else list(self._cursors):  # the server may be another one by now
            self._cursors[stream] = await self._last(stream)
            self._ring(stream)

    def _ring(self, stream: str, entries: Entries = (), error: StorageError | None = None) -> None:
        """Wake the followers that the entries concern; all of them without entries, or if the oldest entry may
        be gone.
        """
        some = 0 < len(entries) < _NEWS_KEPT
        told = {_session(fields) for _, fields in entries}
        for follower in self._followers.get(stream, ()):
            if not some or follower.session in told:
                follower.ring(error)

    async def _last(self, stream: str) -> str:
        async def call(client: Redis) -> Any:
            return await client.xrevrange(stream, count=1)

        entries = await self._connection.retrying(call, stream)
        return str(entries[0][0]) if entries else "0-0"


def _session(fields: Mapping[str, str]) -> str:
    return fields["s"]

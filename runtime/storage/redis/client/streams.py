"""Waiting for news in streams on different servers, by one read for each slot that outlives the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from runtime.core.errors import StorageError

Entries = Sequence[tuple[str, Mapping[str, str]]]
"""Entries of a stream: id and fields."""

_WAIT_S = 30.0
_ANSWER_S = 2.0
"""The least time that servers get for their first answer."""


class ReadStreams(Protocol):
    """Reads streams after the given entries, as soon as one has any; nothing after `wait_s`."""

    async def __call__(
        self, after: Mapping[str, str], /, *, wait_s: float, count: int
    ) -> Sequence[tuple[str, Entries]]: ...


class _Reading(Struct, eq=False):
    """A read in progress, or its result."""

    after: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    found: Entries = ()
    error: StorageError | None = None
    looked: bool = False
    """Whether the server has given its first answer."""

    @property
    def over(self) -> bool:
        return bool(self.found) or self.error is not None


class StreamWatch:
    """Reads of many streams at once, for one caller. Between its calls they go on, so a call that is cancelled or ends
    with the news of one stream costs the others nothing. Where no Cluster is, one read is enough for all of them.

    `read` makes one read, `kind` says what there is.
    """

    def __init__(self, read: ReadStreams, kind: Callable[[], Awaitable[str]], tasks: TaskGroup) -> None:
        self._read = read
        self._kind = kind
        self._tasks = tasks
        self._readings: dict[str, _Reading] = {}
        self._news = anyio.Event()

    async def read(self, after: Mapping[str, str], /, *, wait_s: float, count: int) -> Sequence[tuple[str, Entries]]:
        """Entries of some of the streams, as soon as one has any; nothing after `wait_s`, or when all servers had time
        to say that there is nothing. Can be cancelled."""
        if await self._kind() != "cluster":
            return await self._read(after, wait_s=wait_s, count=count)
        for key in [key for key, reading in self._readings.items() if after.get(key) != reading.after]:
            self._readings.pop(key).scope.cancel()
        for key, entry_id in after.items():
            if key not in self._readings:
                self._readings[key] = reading = _Reading(entry_id)
                self._tasks.start_soon(self._follow, key, reading, count)
        readings = self._readings.values()
        with anyio.move_on_after(max(wait_s, _ANSWER_S)) as limit:
            while not any(one.over for one in readings) and not all(one.looked for one in readings):
                await self._news.wait()
            limit.deadline = min(limit.deadline, anyio.current_time() + wait_s)
            while not any(one.over for one in readings):
                await self._news.wait()
        return self._harvest()

    def _harvest(self) -> Sequence[tuple[str, Entries]]:
        harvest: list[tuple[str, Entries]] = []
        for key in [key for key, reading in self._readings.items() if reading.over]:
            reading = self._readings.pop(key)
            if reading.error is not None:
                raise reading.error
            harvest.append((key, reading.found))
        return harvest

    async def _follow(self, key: str, reading: _Reading, count: int) -> None:
        with reading.scope:
            try:
                reading.found = await self._one(key, reading.after, 0, count)
                reading.looked = True
                self._tell()
                while not reading.found:
                    reading.found = await self._one(key, reading.after, _WAIT_S, count)
            except StorageError as error:
                reading.error = error
        self._tell()

    async def _one(self, key: str, after: str, wait_s: float, count: int) -> Entries:
        answer = await self._read({key: after}, wait_s=wait_s, count=count)
        return answer[0][1] if answer else ()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

"""Clients that read events now, on all nodes: each process writes down its own, and looks at the others'."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import anyio

from adapters.records import Records, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.errors import StorageUnavailable

READERS_TABLE = "bus-readers"

VALID_S = 90.0
"""Readers of a process that was killed count for so long."""

_RENEW_S = 30.0
_SHORTEST_S = 0.5
"""The shortest time between two writes: clients that come and go often are written down together."""

_LAST_WRITE_S = 2.0


@dataclass(frozen=True, slots=True)
class Reader:
    """A reading client: the types that it may read, the types it asks for, and the subject."""

    may: tuple[str, ...]
    types: tuple[str, ...]
    subject: str | None

    def sees(self, event: CloudEvent) -> bool:
        """Whether it may have the event, and wants it."""
        if self.subject is not None and event.subject != self.subject:
            return False
        return all(any(matches(one, event.type) for one in patterns) for patterns in (self.may, self.types))


def receivers(readers: Iterable[Reader], events: Sequence[CloudEvent]) -> int:
    """How many of them see some of these events."""
    return sum(any(reader.sees(event) for event in events) for reader in readers)


class Readers:
    """The reading clients of this process, written down for the others. `run` has to run."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._process = uuid.uuid4().hex
        self._changed = anyio.Event()
        self._others: list[Reader] = []
        self._looked_until = -math.inf

    def changed(self) -> None:
        """A client has come or gone."""
        self._changed.set()

    async def elsewhere(self) -> list[Reader]:
        """The readers of all other processes, as they were within the last half second. Raises StorageUnavailable."""
        if self._clock.monotonic() >= self._looked_until:
            self._others = await self._look()
            self._looked_until = self._clock.monotonic() + _SHORTEST_S
        return self._others

    async def _look(self) -> list[Reader]:
        now, found = self._clock.now().timestamp(), list[Reader]()
        for process, (until, readers) in what_can_be_read(await self._records.all(), _read).items():
            if process == self._process:
                continue
            if until < now:
                await self._records.remove(process)
            else:
                found += readers
        return found

    async def run(self, here: Callable[[], Iterable[Reader]]) -> None:
        """Write down who reads here, until cancelled."""
        try:
            while True:
                self._changed = anyio.Event()
                readers = list(here())
                await self._write(readers)
                await self._clock.sleep_until(self._clock.monotonic() + _SHORTEST_S)
                with anyio.move_on_after(_RENEW_S if readers else None):
                    await self._changed.wait()
        finally:
            with anyio.move_on_after(_LAST_WRITE_S, shield=True):
                await self._remove()

    async def _write(self, readers: Sequence[Reader]) -> None:
        try:
            if not readers:
                await self._remove()
                return
            expiry = (self._clock.now() + timedelta(seconds=VALID_S)).timestamp()
            data = {"until": expiry, "readers": [asdict(reader) for reader in readers]}
            await self._records.put(self._process, json.dumps(data))
        except StorageUnavailable:
            self._changed.set()  # it is written as soon as that is possible

    async def _remove(self) -> None:
        try:
            await self._records.remove(self._process)
        except StorageUnavailable:
            return  # it runs out


def _read(text: str) -> tuple[float, Sequence[Reader]]:
    """Until when a process's readers are there, and they."""
    written = json.loads(text)
    return float(written["until"]), [_reader(one) for one in written["readers"]]


def _reader(data: Any) -> Reader:
    return Reader(tuple(data["may"]), tuple(data["types"]), data["subject"])

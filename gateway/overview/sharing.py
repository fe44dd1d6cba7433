"""What each process has seen, for all of them: each writes its own down, and who asks reads all of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Protocol

import anyio

from adapters.records import Records, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.errors import StorageError

EVERY_S = 5.0
"""So long a process gathers what is new before it writes that down. Chosen: few writes, however much happens."""

_KEPT_S = 86_400.0


class Noted(Protocol):
    """What a process has seen."""

    changed: anyio.Event
    """Set once something is new; another one is there from then on."""

    def data(self) -> Any:
        """It as JSON data, without words of people."""
        ...


class SharedView:
    """What the process of `node` has seen, written down by `run` under a `name`, and what the others wrote down."""

    def __init__(self, name: str, seen: Noted, records: Records, node: str, clock: Clock) -> None:
        self._name = name
        self._seen = seen
        self._records = records
        self._node = node
        self._clock = clock

    async def run(self) -> None:
        """Write down what there is now, and from then on what is new; until cancelled."""
        while True:
            changed = self._seen.changed
            try:
                written = {"at": self._clock.now().timestamp(), self._name: self._seen.data()}
                await self._records.put(self._node, json.dumps(written))
            except StorageError:
                changed.set()  # it is tried again
            await self._clock.sleep_until(self._clock.monotonic() + EVERY_S)
            await changed.wait()

    async def others(self, living: Collection[str]) -> Sequence[Any]:
        """What the other `living` nodes have seen. What one wrote down that lives no more is forgotten after a day.
        Raises StorageError.
        """
        kept = what_can_be_read(await self._records.all(), self._read)
        written = {node: one for node, one in kept.items() if node != self._node}
        now = self._clock.now().timestamp()
        for node in [node for node, (at, _) in written.items() if node not in living and now - at > _KEPT_S]:
            await self._records.remove(node)
        return [seen for node, (_, seen) in written.items() if node in living]

    def _read(self, text: str) -> tuple[float, Any]:
        """When a node wrote, and what it has seen."""
        written = json.loads(text)
        return float(written["at"]), written[self._name]

"""The platforms as all processes have seen them: each writes down what it has seen, and who asks reads all of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from adapters.records import Records
from gateway.overview.platforms import SeenPlatforms
from runtime.core.clock import Clock
from runtime.core.errors import StorageError

PLATFORMS_TABLE = "nodes:platforms"
"""What each process has seen, by its node, JSON."""

EVERY_S = 5.0
"""So long a process gathers what is new before it writes that down. Chosen: few writes, however much is said."""

_KEPT_S = 86_400.0


class SharedPlatforms:
    """Observations of the process of `node`, written down by `run`, and those of the others."""

    def __init__(self, seen: SeenPlatforms, records: Records, node: str, clock: Clock) -> None:
        self._seen = seen
        self._records = records
        self._node = node
        self._clock = clock

    async def run(self) -> None:
        """Write down what there is now, and from then on what is new; until cancelled."""
        while True:
            changed = self._seen.changed
            try:
                written = {"at": self._clock.now().timestamp(), "platforms": self._seen.data()}
                await self._records.put(self._node, json.dumps(written))
            except StorageError:
                changed.set()  # it is tried again
            await self._clock.sleep_until(self._clock.monotonic() + EVERY_S)
            await changed.wait()

    async def data(self, living: Collection[str]) -> list[dict[str, Any]]:
        """Each platform once, as this process and those of the `living` nodes have seen it. What others wrote down is
        forgotten after a day. Raises StorageError.
        """
        written = {node: json.loads(text) for node, text in (await self._records.all()).items() if node != self._node}
        now = self._clock.now().timestamp()
        for node in [node for node, one in written.items() if node not in living and now - one["at"] > _KEPT_S]:
            await self._records.remove(node)
        others = [one["platforms"] for node, one in written.items() if node in living]
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for one in (row for rows in [self._seen.data(), *others] for row in rows):
            by_name.setdefault(one["name"], []).append(one)
        return [_together(name, rows) for name, rows in sorted(by_name.items())]


def _together(name: str, rows: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """A platform of several processes. What is wrong at one of them counts where no other is connected."""
    connected = _latest(row["connected_at"] for row in rows)
    return {
        "name": name,
        "connected_at": connected,
        **{key: _latest(row[key] for row in rows) for key in ("last_in_at", "last_out_at", "paused_at")},
        "pauses": sum(row["pauses"] for row in rows),
        "trouble": None if connected else next((row["trouble"] for row in rows if row["trouble"]), None),
    }


def _latest(times: Iterable[str | None]) -> str | None:
    return max((one for one in times if one is not None), default=None)

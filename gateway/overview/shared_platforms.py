"""The platforms as all processes have seen them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from adapters.records import Records
from gateway.overview.platforms import SeenPlatforms
from gateway.overview.sharing import SharedView
from runtime.core.clock import Clock

PLATFORMS_TABLE = "nodes:platforms"
"""What each process has seen, by its node, JSON."""


class SharedPlatforms(SharedView):
    """Observations of the process of `node`, written down for the others, and those of the others."""

    def __init__(self, seen: SeenPlatforms, records: Records, node: str, clock: Clock) -> None:
        super().__init__("platforms", seen, records, node, clock)
        self._here = seen

    async def data(self, living: Collection[str]) -> list[dict[str, Any]]:
        """Each platform once, as this process and those of the `living` nodes have seen it. Raises StorageError."""
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for one in (row for rows in [self._here.data(), *await self.others(living)] for row in rows):
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

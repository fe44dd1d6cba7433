"""The platforms as this process has seen them since it began: connected since when, and what came and went last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import anyio

from adapters.records import Records
from gateway.overview.tallies import SharedView
from runtime.bus import Bus
from runtime.core.address import platform_in
from runtime.core.clock import Clock
from runtime.events.talk import AdapterConnected, AdapterFailed, AdapterRateLimited, MessageAdmitted, PageSent

PLATFORMS_TABLE = "nodes:platforms"
"""What each process has seen, by its node, JSON."""


@dataclass(slots=True)
class SeenPlatform:
    """One platform. Times are UTC, None for what has not happened yet; `trouble` says why it is off."""

    connected_at: datetime | None = None
    last_in_at: datetime | None = None
    last_out_at: datetime | None = None
    paused_at: datetime | None = None
    pauses: int = 0
    trouble: str | None = None

    def data(self, name: str) -> dict[str, Any]:
        """It as JSON data."""
        return {
            "name": name,
            "connected_at": _text(self.connected_at),
            "last_in_at": _text(self.last_in_at),
            "last_out_at": _text(self.last_out_at),
            "paused_at": _text(self.paused_at),
            "pauses": self.pauses,
            "trouble": self.trouble,
        }


class SeenPlatforms:
    """Follows the bus of this process from when it is made."""

    def __init__(self, bus: Bus) -> None:
        self._seen: dict[str, SeenPlatform] = {}
        self.changed = anyio.Event()
        """Set once something is new; another one is there from then on."""
        bus.hear(AdapterConnected, self._connected)
        bus.hear(AdapterFailed, self._failed)
        bus.hear(MessageAdmitted, self._admitted)
        bus.hear(PageSent, self._sent)
        bus.hear(AdapterRateLimited, self._paused)

    def data(self) -> list[dict[str, Any]]:
        """All of them, as JSON data."""
        return [seen.data(name) for name, seen in self._seen.items()]

    def _of(self, name: str) -> SeenPlatform:
        """The platform, which has news."""
        self.changed.set()
        self.changed = anyio.Event()
        return self._seen.setdefault(name, SeenPlatform())

    def _connected(self, what: AdapterConnected, at: datetime) -> None:
        seen = self._of(what.platform)
        seen.connected_at, seen.trouble = at, None

    def _failed(self, what: AdapterFailed, _: datetime) -> None:
        seen = self._of(what.platform)
        seen.connected_at, seen.trouble = None, what.error

    def _admitted(self, what: MessageAdmitted, at: datetime) -> None:
        self._of(what.platform).last_in_at = at

    def _sent(self, what: PageSent, at: datetime) -> None:
        self._of(what.platform).last_out_at = at

    def _paused(self, what: AdapterRateLimited, at: datetime) -> None:
        seen = self._of(platform_in(what.conversation))
        seen.paused_at, seen.pauses = at, seen.pauses + 1


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


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

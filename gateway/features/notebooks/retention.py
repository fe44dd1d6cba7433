"""Retention of notebooks: those in which nobody has written for long are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gateway.database import GatewayDatabase
from gateway.feature import FeatureGround
from gateway.features.notebooks.redis import notebooks_in
from gateway.features.notebooks.store import Notebook, NotebookStore
from gateway.jobs.retention import INTERVAL
from gateway.jobs.runner import Job, every
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.events.service import NotebooksRetired


@dataclass(frozen=True, slots=True)
class OldNotebook:
    """A notebook that the rule deletes, and when it was changed last."""

    name: str
    changed_at: datetime
    changed_ms: int
    written: int


class NotebookRetention:
    """Deletes what nobody has written in, forked or rebased from for `days`, 0 for never. One of which another notebook
    sees entries stays until that one is gone. Raises StorageUnavailable.
    """

    def __init__(self, notebooks: NotebookStore, days: float, clock: Clock) -> None:
        self._notebooks = notebooks
        self._days = days
        self._clock = clock

    async def plan(self) -> list[OldNotebook]:
        """What is to be deleted now, by name. Reads every notebook and changes nothing."""
        if not self._days:
            return []
        until_ms = (self._clock.now() - timedelta(days=self._days)).timestamp() * 1000
        changes = await self._notebooks.names()
        if all(changed_ms >= until_ms for changed_ms in changes.values()):
            return []
        found = [notebook for name in changes if (notebook := await self._notebooks.find(name)) is not None]
        seen = {name for notebook in found for name in _seen_by(notebook)}
        return [
            OldNotebook(one.name, datetime.fromtimestamp(changes[one.name] / 1000, UTC), changes[one.name], one.written)
            for one in found
            if changes[one.name] < until_ms and one.name not in seen
        ]

    async def apply(self) -> int:
        """Carry out a plan; the number of deleted notebooks. What was changed meanwhile stays."""
        return sum([await self._notebooks.delete(one.name, one.changed_ms) for one in await self.plan()])

    def job(self, bus: Bus) -> Job:

        async def run(_due: datetime) -> None:
            if deleted := await self.apply():
                bus.publish(NotebooksRetired(deleted))

        return every("notebook retention", INTERVAL, run)


def _seen_by(notebook: Notebook) -> set[str]:
    """The other notebooks whose entries this one shows, on any branch."""
    return {one.notebook for branch in notebook.branches.values() for one in branch.origin} - {notebook.name}


def retention_in(database: GatewayDatabase) -> NotebookRetention:
    return NotebookRetention(notebooks_in(database), database.settings.retention.notebooks_days, SystemClock())


def jobs(ground: FeatureGround) -> tuple[Job]:
    return (retention_in(ground.database).job(ground.bus),)

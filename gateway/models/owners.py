"""Owners are told what is wrong with models, in words of the provider: each kind of failure once a day."""

from __future__ import annotations

from contextlib import suppress

from anyio.abc import TaskGroup

from gateway.access.owner_notices import OwnerNotices
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.events.frames import LLMFailed
from runtime.events.service import ModelKeyRefused, ModelNotOffered

KINDS = (LLMFailed, ModelKeyRefused, ModelNotOffered)
"""What owners hear about."""

_UNHEARD_FAILURES = 1_000
_SHOWN_CHARS = 500


class ModelTroubles:
    """Tells owners. The id of a notice has its day, so that all nodes together say it once."""

    def __init__(self, owners: OwnerNotices, clock: Clock) -> None:
        self._owners = owners
        self._clock = clock

    def start(self, bus: Bus, tasks: TaskGroup) -> None:
        """Tell of all of them in `tasks`."""
        for kind in KINDS:
            tasks.start_soon(self.follow, bus, kind.name)

    async def follow(self, bus: Bus, name: str) -> None:
        """Tell of events of this name until cancelled."""
        async with bus.events(name, capacity=_UNHEARD_FAILURES) as failures:
            async for failure in failures:
                with suppress(StorageUnavailable):  # the log has it
                    await self.tell(failure.what)

    async def tell(self, what: object) -> None:
        """Tell owners of a failure, unless they were told of its kind today."""
        day = self._clock.now().date().isoformat()
        if isinstance(what, ModelKeyRefused):
            notice = f"model.key.{what.entry}.{day}"
            await self._owners.tell(notice, "models.key_refused", entry=what.entry, error=what.error[:_SHOWN_CHARS])
        elif isinstance(what, ModelNotOffered):
            notice = f"model.not_offered.{what.entry}.{day}"
            await self._owners.tell(notice, "models.not_offered", entry=what.entry, error=what.error[:_SHOWN_CHARS])
        elif isinstance(what, LLMFailed):
            notice = f"model.{what.error.partition(':')[0]}.{day}"
            await self._owners.tell(notice, "models.failed", error=what.error[:_SHOWN_CHARS])

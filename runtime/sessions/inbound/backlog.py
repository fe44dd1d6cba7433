"""Events of one conversation that its session has not taken: in order, except that a stop overtakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runtime.core.signals import WakeSignal
from runtime.stores.inbox import InboxEntry

_OVERTAKEN = frozenset({"message", "edit", "choice"})
"""What a stop makes void when it came before it. Commands, deletions and reactions keep their place."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Somebody wants everything to stop; `passed` are earlier messages that need no answer."""

    entry: InboxEntry
    passed: tuple[InboxEntry, ...] = ()

    @property
    def entries(self) -> tuple[InboxEntry, ...]:
        """All entries that are taken with it, in order."""
        return (*self.passed, self.entry)


class ShardBacklog:
    """Bounded by the shard's inbox, from which an entry is taken when it was processed."""

    def __init__(self) -> None:
        self._entries: list[InboxEntry] = []
        self._stops: list[StopRequest] = []
        self.on_stop: Callable[[], None] = _nobody
        """Called when there is a stop to take."""
        self.wanted = WakeSignal()
        """Sent when somebody asks for an event."""
        self._changed = WakeSignal()
        self._held = False

    def __len__(self) -> int:
        """The number of events that can be received."""
        return len(self._stops) + (0 if self._held else len(self._entries))

    def hold(self) -> None:
        """Hand out only stops: other events stay in the inbox, for the next owner."""
        self._held = True

    def put(self, entry: InboxEntry) -> None:
        """The newest entry."""
        if entry.event.kind == "stop":
            passed = tuple(e for e in self._entries if e.event.kind in _OVERTAKEN)
            self._entries = [e for e in self._entries if e.event.kind not in _OVERTAKEN]
            self._stops.append(StopRequest(entry, passed))
            self.on_stop()
        else:
            self._entries.append(entry)
        self._changed.send()

    def put_back(self, entries: Sequence[InboxEntry]) -> None:
        """Put back entries that were taken and not processed, in front of all others."""
        later = [*(entry for stop in self._stops for entry in stop.entries), *self._entries]
        self._entries.clear()
        self._stops.clear()
        for entry in (*entries, *later):
            self.put(entry)

    def take(self) -> InboxEntry | None:
        """The oldest entry that is no stop; None when there is none."""
        return self._entries.pop(0) if self._entries and not self._held else None

    def take_stop(self) -> StopRequest | None:
        """The oldest stop; None when there is none."""
        return self._stops.pop(0) if self._stops else None

    async def receive(self) -> InboxEntry:
        """The oldest entry that is no stop; waits for it."""
        self.wanted.send()
        while self._held or not self._entries:
            await self._changed.wait()
        return self._entries.pop(0)


def _nobody() -> None:
    """No listener for stops."""

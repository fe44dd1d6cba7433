"""Values that are read when metrics are requested, rather than counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gauges:
    """The sources of current values. `waiting` gives the events in inboxes and the pages in outboxes of shards."""

    shards: Callable[[], Collection[int]]
    conversations: Callable[[], int]
    at_work: Callable[[], int]
    sandbox_busy: Callable[[], int]
    sandbox_workers: Callable[[], int]
    sandbox_jailed: Callable[[], bool]
    waiting: Callable[[Collection[int]], Awaitable[tuple[int, int]]]
